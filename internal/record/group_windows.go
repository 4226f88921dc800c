package record

import "os/exec"

// group does nothing: cmd is killed alone when its context ends.
func group(*exec.Cmd) {}

// killGroup kills cmd, if it still runs.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
