//go:build unix

package termio

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// open opens the terminal that the program was started from, wherever its streams lead.
func open() (in, out *os.File, err error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

// InForeground reports whether the program may read from its terminal. The system stops background
// processes that try.
func InForeground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error means that it is not the controlling terminal
}

// OnResize calls f when the size of the terminal changes, until stop is called.
func OnResize(f func()) (stop func()) { return onSignal(f, syscall.SIGWINCH) }

// onSignal calls f for a signal, until stop is called.
func onSignal(f func(), sig os.Signal) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, sig)
	go func() {
		for {
			select {
			case <-signals:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// continueLimit is the time that the program waits for the signal that continues it.
const continueLimit = 100 * time.Millisecond

// OnSuspend calls one function when the program is asked to stop, and another when it was continued,
// until stop is called.
func OnSuspend(suspended, continued func()) (stop func()) {
	stopSuspended := onSignal(suspended, syscall.SIGTSTP)
	stopContinued := onSignal(continued, syscall.SIGCONT)
	return func() {
		stopSuspended()
		stopContinued()
	}
}

// Suspend stops the process group of the program until the shell continues it. It does nothing if no
// shell could. SIGTSTP does not stop a Go program that has once asked for it.
func Suspend() {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGSTOP) // the user tries again
	select {
	case <-continued:
	case <-time.After(continueLimit): // it was not stopped
	}
}
