package worktree

import "syscall"

// groupAttributes makes git end with this process.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}
