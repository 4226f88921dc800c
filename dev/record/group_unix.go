//go:build unix

package record

import (
	"os/exec"
	"syscall"
)

// group makes cmd the leader of a process group. When the context of cmd ends, the whole group is
// killed.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills the rest of the process group of cmd, if there is any.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
