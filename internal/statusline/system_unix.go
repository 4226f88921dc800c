//go:build unix

package statusline

import (
	"os"
	"os/exec"
	"syscall"
)

// tryLock locks a file until it is closed, at the latest by the end of this process.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// detach makes a command outlive this process, and the signals to its group and terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
