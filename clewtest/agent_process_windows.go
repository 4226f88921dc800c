package clewtest

import (
	"errors"
	"os"
)

// killProcess ends another process.
func killProcess(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		// One that is gone by now needs no killing.
		_ = p.Kill()
	}
}

// killSelf ends this process as TerminateProcess does.
func killSelf(sig os.Signal) error {
	if sig != os.Kill {
		return errors.New("this system has no signals but os.Kill")
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
