//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func openSystemConsole() (in, out *os.File, err error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

// inForeground reports whether the program may read from its terminal. The system stops background
// processes that try.
func inForeground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error means that it is not the controlling terminal
}

// onResize calls f when the size of the terminal changes, until stop is called.
func onResize(f func()) (stop func()) {
	changed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-changed:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
	}
}

// suspendProgram stops the program, and those that it runs with, until the shell continues it.
func suspendProgram() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP) // the user tries again
	select {
	case <-continued:
	case <-time.After(tidyLimit): // there is no shell that could continue it, so it was not stopped
	}
}
