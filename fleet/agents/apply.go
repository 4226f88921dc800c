package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/clewdev/clew/internal/worktree"
)

// Errors of [Apply]. No file was changed then.
var (
	// ErrPatch is wrapped by the error for a patch that does not fit.
	ErrPatch = errors.New("the patch does not fit")
	// ErrUnsafe is wrapped by the error for a patch that leaves the repository, or changes what an agent must not.
	ErrUnsafe = errors.New("the patch is refused")
	// ErrLink is also wrapped if that is a symbolic link which ApplyOptions.Links would allow.
	ErrLink = errors.New("the patch has a symbolic link")
)

// ApplyOptions configures [Apply].
type ApplyOptions struct {
	// Links allows symbolic links that stay among the files of the repository and don't lead over other links.
	Links bool
}

// A Change is the change of a file by a patch: its path, its modes in git before and after, and the target of a new
// symbolic link.
type Change = worktree.Change

// The modes of a [Change].
const (
	ModeNone       = worktree.ModeNone // there is no file
	ModeFile       = worktree.ModeFile
	ModeExecutable = worktree.ModeExecutable
	ModeLink       = worktree.ModeLink
)

// Apply applies the patch of a job to the git repository that has a directory: all of it or nothing. It returns the
// changes. Only files are changed, so that users see the changes beside their own. A patch is an agent's work: it is
// refused if it has a submodule, a file in the directory of a repository, or a symbolic link, except for links that the
// options allow. Options may be nil. Git must be in PATH.
func Apply(ctx context.Context, dir string, patch io.Reader, o *ApplyOptions) ([]Change, error) {
	text, err := io.ReadAll(patch)
	if err != nil {
		return nil, fmt.Errorf("agents: the patch: %w", err)
	}
	changes, err := worktree.Inspect(ctx, dir, text, o != nil && o.Links)
	if err == nil {
		err = worktree.Apply(ctx, dir, bytes.NewReader(text), false)
	}
	if err != nil {
		return nil, applyError(err)
	}
	return changes, nil
}

// applyError returns the error of a patch that was not applied.
func applyError(err error) error {
	if refused, ok := errors.AsType[*worktree.RefusedError](err); ok {
		if refused.Link {
			return fmt.Errorf("agents: %w: %q %s%w", ErrUnsafe, refused.File, refused.Reason, silent{ErrLink})
		}
		return fmt.Errorf("agents: %w: %q %s", ErrUnsafe, refused.File, refused.Reason)
	}
	if misfit, ok := errors.AsType[*worktree.ApplyError](err); ok {
		at := misfit.File
		if misfit.Line > 0 {
			at = fmt.Sprintf("%s, line %d", at, misfit.Line)
		}
		return fmt.Errorf("agents: %w: %s: %s", ErrPatch, at, misfit.Reason)
	}
	return fmt.Errorf("agents: %w", err)
}

// silent is an error without a text, for [errors.Is].
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }
