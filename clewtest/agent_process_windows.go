package clewtest

import (
	"errors"
	"io"
	"os"
)

// isStopped returns false: Windows has no signals that stop a process.
func isStopped(int) bool { return false }

// inputUntil returns the standard input of the process, which ends some time after the test.
func inputUntil(gone <-chan struct{}) io.Reader {
	go exitAfterGrace(gone)
	return os.Stdin
}

// killProcess ends another process.
func killProcess(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		// The error does not matter: the process may have ended by now.
		_ = p.Kill()
	}
}

// killSelf ends this process as TerminateProcess does.
func killSelf(sig os.Signal) error {
	if sig != os.Kill {
		return errors.New("this system has no signal except os.Kill")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {}
}
