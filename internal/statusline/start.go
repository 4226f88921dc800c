package statusline

import (
	"context"
	"os/exec"
)

// Start starts a program in the background. It does not wait for it, and the program keeps none of
// the caller's streams open: who reads the caller's output does not wait for it either.
func Start(program string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), program, args...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
