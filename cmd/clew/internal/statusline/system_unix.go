//go:build unix

package statusline

import (
	"os/exec"
	"syscall"
)

// detach makes a command outlive this process, and the signals to its group and terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
