//go:build unix

package clewtest

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/clewdev/clew/internal/simagent"
)

// killProcess ends another process, with its group if it leads one. A process that has been stopped ends as well.
func killProcess(pid int) {
	if group, err := syscall.Getpgid(pid); err == nil && group == pid {
		pid = -pid
	}
	// One that is gone by now needs no killing.
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// killSelf ends this process by a signal. The Go runtime catches signals such as SIGSEGV and exits with 2, so a shell takes
// this process over, with the default action of every signal, and sends it to itself.
func killSelf(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("%v is no signal of the system", sig)
	}
	if number == syscall.SIGKILL {
		if err := syscall.Kill(os.Getpid(), number); err != nil {
			return err
		}
		select {}
	}
	// A signal that is ignored stays so in the shell, and one that is caught does not.
	signal.Notify(make(chan os.Signal, 1), number)
	script := fmt.Sprintf("ulimit -c 0; kill -%d $$; exit %d", int(number), simagent.MismatchCode)
	return syscall.Exec("/bin/sh", []string{"sh", "-c", script}, nil)
}
