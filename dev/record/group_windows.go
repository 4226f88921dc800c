package record

import "os/exec"

// group does nothing: when the context of cmd ends, only cmd itself is killed.
func group(*exec.Cmd) {}

// killGroup kills cmd if it still runs.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
