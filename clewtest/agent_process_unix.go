//go:build unix

package clewtest

import (
	"fmt"
	"os"
	"syscall"
)

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
	script := fmt.Sprintf("ulimit -c 0; kill -%d $$; exit %d", int(number), mismatchCode)
	return syscall.Exec("/bin/sh", []string{"sh", "-c", script}, nil)
}
