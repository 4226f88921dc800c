package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// The modes of files in git.
const (
	ModeNone       = "000000" // there is no file
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000"
	ModeRepository = "160000" // a submodule
)

// A Change is the change of a file by a patch.
type Change struct {
	Path    string `json:"path"` // below the top of the repository, with slashes
	OldMode string `json:"old_mode"`
	NewMode string `json:"new_mode"`
	Target  string `json:"target,omitempty"` // of a symbolic link that the patch makes
}

// A RefusedError names a file of a patch that must not be applied.
type RefusedError struct {
	File   string
	Reason string
	// Link reports that it is a symbolic link that stays inside of the repository: a caller may allow it.
	Link bool
}

func (e *RefusedError) Error() string { return fmt.Sprintf("worktree: %q %s", e.File, e.Reason) }

// Inspect returns what a patch changes in the repository of a directory, without changing it: git applies it to the
// last commit, in a separate index and object directory. So the files and modes are as git sees them, and not as
// another reader of patches would. The error is a [RefusedError] if the patch has a submodule, a file of a repository,
// or a symbolic link that leaves the repository or leads over another link; without links, also if it has any new link.
// It is an [ApplyError] if the patch does not fit.
func Inspect(ctx context.Context, dir string, patch []byte, links bool) ([]Change, error) {
	if len(patch) == 0 {
		return nil, nil
	}
	git, err := findGit()
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "clew-patch-")
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	defer os.RemoveAll(temp) //nolint:errcheck // it is only in the way
	i := &inspection{git: git}
	changes, err := i.changes(ctx, dir, temp, patch)
	if err != nil {
		return nil, err
	}
	return changes, i.check(ctx, changes, links)
}

// An inspection is a patch that was applied to an index.
type inspection struct {
	git *git
	dir string
	env []string
}

func (i *inspection) output(ctx context.Context, stdin []byte, args ...string) (string, error) {
	return i.git.output(ctx, &command{args: args, dir: i.dir, env: i.env, stdin: bytes.NewReader(stdin), user: true})
}

// changes applies the patch to an index, and returns how that differs from the last commit.
func (i *inspection) changes(ctx context.Context, dir, temp string, patch []byte) ([]Change, error) {
	i.dir = dir
	top, err := i.output(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("worktree: the directory %s: %w", dir, err)
	}
	i.dir = filepath.FromSlash(top)
	objects, err := i.output(ctx, nil, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	i.env = []string{
		"GIT_INDEX_FILE=" + filepath.Join(temp, "index"), "GIT_OBJECT_DIRECTORY=" + temp, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + alternate(objects),
	}
	tree, err := i.output(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
	if err != nil { // there is no commit yet
		tree, err = i.output(ctx, nil, "hash-object", "-w", "-t", "tree", "--stdin")
	}
	if err == nil {
		_, err = i.output(ctx, nil, "read-tree", tree)
	}
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if _, err := i.output(ctx, patch, "apply", "--cached", "--binary", "--whitespace=nowarn"); err != nil {
		return nil, applyError(err, dir)
	}
	// A .gitmodules in the patch could hide its submodules.
	raw, err := i.output(ctx, nil, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none", tree)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	return i.parse(ctx, raw)
}

// parse reads entries such as ":100644 120000 HASH HASH M", each followed by its path.
func (i *inspection) parse(ctx context.Context, raw string) (changes []Change, err error) {
	fields := strings.Split(strings.TrimSuffix(raw, "\x00"), "\x00")
	for ; len(fields) >= 2; fields = fields[2:] {
		entry := strings.Fields(fields[0])
		if len(entry) != 5 {
			return nil, fmt.Errorf("worktree: git says %.100q of a patch", fields[0])
		}
		c := Change{Path: fields[1], OldMode: strings.TrimPrefix(entry[0], ":"), NewMode: entry[1]}
		if c.NewMode == ModeLink {
			if c.Target, err = i.output(ctx, nil, "cat-file", "blob", entry[3]); err != nil {
				return nil, fmt.Errorf("worktree: %w", err)
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// check returns a RefusedError for the first change that must not be.
func (i *inspection) check(ctx context.Context, changes []Change, links bool) error {
	var all map[string]bool
	if slices.ContainsFunc(changes, func(c Change) bool { return c.NewMode == ModeLink }) {
		var err error
		if all, err = i.links(ctx); err != nil {
			return err
		}
	}
	for _, c := range changes {
		switch {
		case c.NewMode == ModeRepository, c.OldMode == ModeRepository:
			return &RefusedError{File: c.Path, Reason: "is a submodule"}
		case !slices.Contains([]string{ModeNone, ModeFile, ModeExecutable, ModeLink}, c.NewMode):
			return &RefusedError{File: c.Path, Reason: "has the unknown mode " + c.NewMode}
		case slices.ContainsFunc(strings.Split(c.Path, "/"), isRepository):
			return &RefusedError{File: c.Path, Reason: "is in the directory of a repository"}
		case c.NewMode != ModeNone && isOverLink(c.Path, all):
			return &RefusedError{File: c.Path, Reason: "leads over a link"}
		case c.NewMode != ModeLink:
			continue
		}
		if why := leaves(c.Path, c.Target, all); why != "" {
			return &RefusedError{File: c.Path, Reason: fmt.Sprintf("would be a symbolic link to %q, which %s", c.Target, why)}
		}
		if !links {
			return &RefusedError{File: c.Path, Reason: fmt.Sprintf("would be a symbolic link to %q", c.Target), Link: true}
		}
	}
	return nil
}

// isRepository reports whether an element of a path may be a repository, on any file system.
func isRepository(element string) bool {
	name := strings.TrimRight(element, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// isOverLink reports whether one of the directories of a path is a link, as git itself finds out unless the cases of
// letters differ.
func isOverLink(path string, links map[string]bool) bool {
	for at, c := range path {
		if c == '/' && links[folded(path[:at])] {
			return true
		}
	}
	return false
}

// folded returns the same for all paths that are the same for some file system: many ignore the case of letters, or take
// an accent for a part of its letter.
func folded(path string) string {
	return norm.NFC.String(strings.ToLower(strings.ToUpper(norm.NFC.String(path))))
}

// links returns the symbolic links of the repository after the patch, folded.
func (i *inspection) links(ctx context.Context) (map[string]bool, error) {
	list, err := i.output(ctx, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, errors.Join(errors.New("worktree: the links of the repository"), err)
	}
	links := make(map[string]bool)
	for entry := range strings.SplitSeq(list, "\x00") {
		if head, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(head, ModeLink) {
			links[folded(path)] = true
		}
	}
	return links, nil
}

// leaves returns why a link does not stay among the files of the repository, or "". A way over another link is refused,
// wherever that leads: links outside of the repository may come into play.
func leaves(path, target string, links map[string]bool) string {
	target = strings.ReplaceAll(target, `\`, "/") // as on Windows
	if target == "" || strings.HasPrefix(target, "/") || strings.ContainsAny(target, ":\x00") {
		return "is not a relative path"
	}
	at := strings.Split(path, "/")
	at = at[:len(at)-1]
	for element := range strings.SplitSeq(target, "/") {
		switch {
		case element == "", element == ".":
			continue
		case element == "..":
			if len(at) == 0 {
				return "leaves the repository"
			}
			at = at[:len(at)-1]
			continue
		case isRepository(element):
			return "leads into the directory of a repository"
		}
		at = append(slices.Clip(at), element)
		if links[folded(strings.Join(at, "/"))] {
			return "leads over another link"
		}
	}
	return ""
}
