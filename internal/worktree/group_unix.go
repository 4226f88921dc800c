//go:build unix

package worktree

import (
	"os/exec"
	"syscall"
)

// A group is a command with the programs that it started.
type group struct{ cmd *exec.Cmd }

// newGroup prepares a command that was not started.
func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = groupAttributes()
	return &group{cmd: cmd}
}

// terminate lets git remove its temporary files.
func (g *group) terminate() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) }

func (g *group) kill() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }
