package worktree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// An ApplyError names a file that a patch does not fit.
type ApplyError struct {
	// File is the first file that does not fit, and Line the line in it, or 0.
	File string
	Line int
	// Reason is git's message.
	Reason string
}

func (e *ApplyError) Error() string {
	at := strconv.Quote(e.File)
	if e.Line > 0 {
		at += fmt.Sprintf(", line %d", e.Line)
	}
	return fmt.Sprintf("worktree: the patch does not fit: %s: %s; no file was changed", at, e.Reason)
}

// Apply applies a patch of [Tree.Patch] to a working directory, or checks only whether it would
// fit. If the directory is in a repository, the paths of the patch are relative to its top. Only
// files are changed: the index stays, so that users see the changes beside their own and decide.
// The user's and the repository's settings decide on line endings. An empty patch changes nothing.
// Either all of the patch is applied or nothing: the error is an [ApplyError] if a file does not
// fit. A merge ("--3way") would leave conflicts in the files instead.
func Apply(ctx context.Context, dir string, patch io.Reader, check bool) error {
	input := bufio.NewReader(patch)
	if _, err := input.Peek(1); errors.Is(err, io.EOF) {
		return nil // git calls it an error
	}
	git, err := findGit()
	if err != nil {
		return err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	c := &command{args: []string{"apply", "--binary", "--whitespace=nowarn"}, dir: dir, stdin: input, user: true}
	if check {
		c.args = append(c.args, "--check")
	}
	// In a directory below the top, git would leave out what is not below it and say nothing.
	top, err := git.output(ctx, &command{args: []string{"rev-parse", "--show-toplevel"}, dir: dir, user: true})
	var outside *gitError // of every repository, which git can do without
	if err == nil {
		c.dir = filepath.FromSlash(top)
	} else if !errors.As(err, &outside) {
		return fmt.Errorf("worktree: apply a patch in %s: %w", dir, err)
	}
	return applyError(git.run(ctx, c), dir)
}

var (
	// failedLine matches what git says about the lines of a file, and failedFile about a file.
	failedLine = regexp.MustCompile(`^error: patch failed: (.+):(\d+)$`)
	failedFile = regexp.MustCompile(`^error: (.+): (.+)$`)
)

// applyError turns what git says about a patch into an ApplyError if it names a file.
func applyError(err error, dir string) error {
	if err == nil {
		return nil
	}
	var failed *gitError
	if errors.As(err, &failed) {
		for line := range strings.Lines(failed.stderr) {
			line = strings.TrimSuffix(line, "\n")
			if m := failedLine.FindStringSubmatch(line); m != nil {
				number, _ := strconv.Atoi(m[2]) // digits; too many of them are no line
				return &ApplyError{File: m[1], Line: number, Reason: "the lines around the change differ"}
			}
			if m := failedFile.FindStringSubmatch(line); m != nil {
				return &ApplyError{File: m[1], Reason: m[2]}
			}
		}
	}
	return fmt.Errorf("worktree: apply a patch in %s: %w", dir, err)
}
