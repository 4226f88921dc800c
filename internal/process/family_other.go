//go:build !linux

package process

import "os/exec"

// A family is an agent and what descends from it. On this system only its group, or its job, can be told.
type family struct{}

func newFamily(*exec.Cmd) *family { return nil }

func (*family) kill() {}
