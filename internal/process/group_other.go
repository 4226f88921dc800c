//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttributes makes an agent the leader of a group. If this process dies, the agent ends
// because its input does.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startCommand starts cmd and calls closeFiles, which closes the files of the process.
func startCommand(cmd *exec.Cmd, closeFiles func()) error {
	defer closeFiles()
	return cmd.Start()
}

func commandGone() {}

// wait waits until the agent exits and calls endGroup right after that. The group keeps its ID
// while a process is in it.
func wait(cmd *exec.Cmd, endGroup func()) {
	_ = cmd.Wait()
	endGroup()
}
