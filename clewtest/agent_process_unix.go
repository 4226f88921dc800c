//go:build unix

package clewtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/simagent"
)

// isStopped reports whether a signal such as SIGSTOP stopped a process. On systems without /proc it
// is always false.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state comes after the name of the program, which is in parentheses and may contain any
	// character.
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.HasPrefix(state, "T")
}

// inputUntil returns the standard input of the process. When the test ends, the reader gets the
// rest of it, and then an error instead of waiting.
func inputUntil(gone <-chan struct{}) io.Reader {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 || syscall.SetNonblock(syscall.Stdin, true) != nil {
		// Other files are shared with other processes, which don't expect them not to block.
		go exitAfterGrace(gone)
		return os.Stdin
	}
	stdin := os.NewFile(uintptr(syscall.Stdin), "stdin")
	go func() {
		<-gone
		// From now on Read of the file fails at once.
		if stdin.SetReadDeadline(time.Unix(1, 0)) != nil {
			exitAfterGrace(gone)
		}
	}()
	return pipeInput{stdin}
}

// A pipeInput reads the standard input, which does not block.
type pipeInput struct{ stdin *os.File }

// Read blocks until there is input or the test ends.
func (p pipeInput) Read(dst []byte) (int, error) {
	n, err := p.stdin.Read(dst)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	switch n, err = syscall.Read(syscall.Stdin, dst); {
	case errors.Is(err, syscall.EAGAIN):
		return 0, errTestEnded
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// killProcess ends another process, with its group if it leads one. A process that was stopped ends
// as well.
func killProcess(pid int) {
	if group, err := syscall.Getpgid(pid); err == nil && group == pid {
		pid = -pid
	}
	// The error does not matter: the process may have ended by now.
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// killSelf ends this process by a signal. The Go runtime catches signals such as SIGSEGV and exits
// with 2. So this process becomes a shell, in which every signal has its default action, and the
// shell sends the signal to itself.
func killSelf(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("%v is not a signal of the system", sig)
	}
	if number == syscall.SIGKILL {
		if err := syscall.Kill(os.Getpid(), number); err != nil {
			return err
		}
		select {}
	}
	// An ignored signal would stay ignored in the shell. A signal that is caught does not.
	signal.Notify(make(chan os.Signal, 1), number)
	script := fmt.Sprintf("ulimit -c 0; kill -%d $$; exit %d", int(number), simagent.MismatchCode)
	return syscall.Exec("/bin/sh", []string{"sh", "-c", script}, nil)
}
