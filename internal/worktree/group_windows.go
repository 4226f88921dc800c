package worktree

import (
	"os/exec"
	"syscall"
)

// A group is a command. A program that it started may outlive it: when its pipes are closed, it
// ends by itself.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	return &group{cmd: cmd}
}

func (g *group) terminate() { g.kill() }

func (g *group) kill() { _ = g.cmd.Process.Kill() }
