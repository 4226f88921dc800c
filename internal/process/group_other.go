//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttributes makes an agent the leader of a group. When this process dies, the end of its input ends the agent.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func fork(cmd *exec.Cmd) error { return cmd.Start() }

// reap waits until the agent has exited and calls disband right after that. The group keeps its ID while anybody is in
// it.
func reap(cmd *exec.Cmd, disband func()) {
	_ = cmd.Wait()
	disband()
}
