//go:build !linux

package process

import "os/exec"

// descendants are an agent and the processes that descend from it. On this system only those in its
// group, or in its job, can be found.
type descendants struct{}

func markDescendants(*exec.Cmd) *descendants { return nil }

func (*descendants) kill() {}
