//go:build unix

package prompts

import (
	"os/exec"
	"syscall"
)

// inOwnGroup makes a command end with all that it has started.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
