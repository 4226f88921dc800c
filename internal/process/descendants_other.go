//go:build !linux && !darwin

package process

import "os/exec"

// descendants are an agent and the processes that descend from it. On this system only those in its
// group, or in its job, can be found.
type descendants struct{}

func markDescendants(*exec.Cmd, bool) *descendants { return nil }

func (*descendants) end() {}

func (*descendants) kill() {}
