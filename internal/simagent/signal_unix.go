//go:build unix

package simagent

import "syscall"

// endsProcess reports whether the signal ends a process that does not handle it.
func endsProcess(sig syscall.Signal) bool {
	switch sig {
	case 0, syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGURG, syscall.SIGWINCH:
		return false
	}
	return true
}
