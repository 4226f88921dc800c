package agents

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/clewdev/clew/internal/worktree"
)

// ErrPatch is wrapped by the error for a patch that does not fit. No file was changed then.
var ErrPatch = errors.New("the patch does not fit")

// Apply applies the patch of a job to a working directory: all of it or nothing. If the directory
// is in a git repository, the paths of the patch are relative to its top. Only files are changed,
// so that users see the changes beside their own. Git must be in PATH.
func Apply(ctx context.Context, dir string, patch io.Reader) error {
	err := worktree.Apply(ctx, dir, patch, false)
	if misfit, ok := errors.AsType[*worktree.ApplyError](err); ok {
		at := misfit.File
		if misfit.Line > 0 {
			at = fmt.Sprintf("%s, line %d", at, misfit.Line)
		}
		return fmt.Errorf("agents: %w: %s: %s", ErrPatch, at, misfit.Reason)
	}
	if err != nil {
		return fmt.Errorf("agents: %w", err)
	}
	return nil
}
