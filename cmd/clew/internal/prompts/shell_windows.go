package prompts

import "os/exec"

// inOwnGroup does nothing: a command that is killed may leave others.
func inOwnGroup(*exec.Cmd) {}
