package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/files"
)

const lockSuffix = ".lock"

// A Tree is the working directory of one attempt. Its methods may be called from several goroutines;
// one runs after the other. They may be called while the agent works.
type Tree struct {
	// Name is the name of the tree, and Dir its working directory, an absolute path.
	Name, Dir string
	// Base is the hash of the commit that the tree was made from.
	Base string
	// Branch is the branch that was checked out. The agent may have left it.
	Branch string

	root   *Root
	repo   string // the address of the repository
	folder string // has all of the tree
	copied []string

	mu   sync.Mutex
	lock *os.File // nil when the tree was closed
	head string   // the last commit of the agent that is known, or the base
	last string   // the last snapshot, or the base; empty if it has to be looked up
}

func (r *Root) newTree(name string) *Tree {
	folder := filepath.Join(r.trees(), name)
	return &Tree{Name: name, Dir: filepath.Join(folder, "work"), root: r, folder: folder}
}

func (t *Tree) recordPath() string { return filepath.Join(t.folder, "tree.json") }
func (t *Tree) repoDir() string    { return filepath.Join(t.folder, "repo.git") }
func (t *Tree) indexPath() string  { return filepath.Join(t.repoDir(), "index") }

// command returns a command in the repository of the worker.
func (t *Tree) command(args ...string) *command {
	return &command{args: args, dir: t.repoDir(), env: []string{"GIT_DIR=" + t.repoDir()}}
}

// acquire locks the tree for this process.
func (t *Tree) acquire() error {
	lock, err := files.TryLock(t.folder + lockSuffix)
	if errors.Is(err, files.ErrLocked) {
		return fmt.Errorf("%w: %s", ErrInUse, t.Name)
	}
	if err != nil {
		return fmt.Errorf("worktree: tree %s: %w", t.Name, err)
	}
	t.lock = lock
	return nil
}

// errClosed is returned by methods of a tree that was closed or removed.
var errClosed = fmt.Errorf("worktree: the tree was closed: %w", os.ErrClosed)

// open locks t for a method. It returns an error if the tree was closed.
func (t *Tree) open() (done func(), err error) {
	t.mu.Lock()
	if t.lock == nil {
		t.mu.Unlock()
		return nil, errClosed
	}
	return t.mu.Unlock, nil
}

// Close leaves the tree as it is, for [Root.Tree] or [Root.Sweep]. A second call does nothing.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lock == nil {
		return nil
	}
	err := files.Unlock(t.lock)
	t.lock = nil
	return err
}

// Keep is like Close. [Root.Sweep] leaves the tree until a time.
func (t *Tree) Keep(until time.Time) error {
	done, err := t.open()
	if err != nil {
		return err
	}
	err = t.writeRecord(until)
	done()
	return errors.Join(err, t.Close())
}

// Remove removes the tree with its branch and its snapshots. The agent must have ended.
func (t *Tree) Remove() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lock == nil {
		return errClosed
	}
	return t.remove()
}

// remove removes a tree that is locked. The record goes first, so that half of a tree is not taken
// for a whole one.
func (t *Tree) remove() error {
	lock := t.lock
	t.lock = nil
	err := os.Remove(t.recordPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = removeAll(t.folder)
	}
	if err != nil { // the lock file stays for the next attempt
		return errors.Join(fmt.Errorf("worktree: remove tree %s: %w", t.Name, err), files.Unlock(lock))
	}
	return files.RemoveLocked(lock)
}

// Size returns the bytes of all files of the tree, including ignored files but not the mirror's.
// Files that vanish meanwhile don't count.
func (t *Tree) Size(ctx context.Context) (int64, error) {
	var size int64
	err := filepath.WalkDir(t.folder, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if path == t.folder {
				return err
			}
			return nil // it vanished, or the agent has forbidden to read it
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("worktree: size of tree %s: %w", t.Name, err)
	}
	return size, nil
}

// DefaultBundleLimit is the limit of [Tree.Bundle] if none is given.
const DefaultBundleLimit = 256 << 20

// ErrNothing means that a snapshot is the base itself, of which no bundle can be made: nothing
// changed so far. If changes were taken back, there is a snapshot and a bundle of that.
var ErrNothing = errors.New("worktree: there is nothing new since the base")

// Bundle writes what a snapshot has and the base does not as a bundle of git, for
// [Request.Snapshot]. A limit of 0 means [DefaultBundleLimit]. If the bundle is larger, the error is
// a [LimitError], and w has a part of it.
func (t *Tree) Bundle(ctx context.Context, commit string, w io.Writer, limit int64) error {
	done, err := t.open()
	if err != nil {
		return err
	}
	defer done()
	if err := t.checkCommit(ctx, commit); err != nil {
		return err
	}
	if commit == t.Base {
		return ErrNothing
	}
	if limit <= 0 {
		limit = DefaultBundleLimit
	}
	c := t.command("bundle", "create", "--quiet", "-", snapshotRefs+commit, headRefs+commit, "^"+t.Base)
	return t.write(ctx, c, &cappedWriter{w: w, limit: limit}, "the bundle of tree "+t.Name)
}

// write runs a command and writes its output. If the write fails, git only reports that nobody
// reads it.
func (t *Tree) write(ctx context.Context, c *command, out *cappedWriter, what string) error {
	c.stdout = out
	err := t.root.git.run(ctx, c)
	switch {
	case out.over:
		return &LimitError{What: what, Limit: out.limit}
	case out.err != nil:
		err = out.err
	case err == nil:
		return nil
	}
	return fmt.Errorf("worktree: write %s: %w", what, err)
}

// MaxPatch is the size of the largest patch.
const MaxPatch = 256 << 20

// Patch writes the difference between the base and a snapshot, for [Apply] or "git apply". It is
// empty if there is none. If it is larger than [MaxPatch], the error is a [LimitError], and w has a
// part of it.
func (t *Tree) Patch(ctx context.Context, commit string, w io.Writer) error {
	done, err := t.open()
	if err != nil {
		return err
	}
	defer done()
	if err := t.checkCommit(ctx, commit); err != nil {
		return err
	}
	c := t.command("diff-tree", "-r", "-p", "-M", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
		"--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", t.Base, commit)
	return t.write(ctx, c, &cappedWriter{w: w, limit: MaxPatch}, "the patch of tree "+t.Name)
}

// checkCommit returns an error unless commit is a snapshot of the tree, or its base.
func (t *Tree) checkCommit(ctx context.Context, commit string) error {
	if fullHash.MatchString(commit) {
		if _, ok := t.resolve(ctx, snapshotRefs+commit); ok {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("worktree: %.100q is not a snapshot of tree %s", commit, t.Name)
}

// ErrStale means that a branch differs from its last known value, so that nothing was pushed.
var ErrStale = errors.New("worktree: the branch was changed by somebody else")

// Push pushes a snapshot to a branch of the repository. Last is the commit that the branch is known
// to have, and empty if it must not exist yet. The error is an [ErrStale] if it has another one.
func (t *Tree) Push(ctx context.Context, commit, branch, last string) error {
	done, err := t.open()
	if err != nil {
		return err
	}
	defer done()
	if err := checkRef(branch); err != nil {
		return err
	}
	if last != "" && !fullHash.MatchString(last) {
		return fmt.Errorf("worktree: the last value of branch %s is not the hash of a commit: %.100q", branch, last)
	}
	if err := t.checkCommit(ctx, commit); err != nil {
		return err
	}
	ref := "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
	args := []string{"push", "--quiet", "--no-verify", "--force-with-lease=" + ref + ":" + last}
	if filepath.IsAbs(t.repo) { // a repository on this machine, whose programs would run here
		args = append(args, "--receive-pack=git -c core.hooksPath="+os.DevNull+" -c core.alternateRefsCommand=true receive-pack")
	}
	c := t.command(append(args, "--end-of-options", t.repo, commit+":"+ref)...)
	c.user = true
	err = t.root.git.run(ctx, c)
	var failed *gitError
	if errors.As(err, &failed) && strings.Contains(failed.stderr, "(stale info)") {
		return fmt.Errorf("%w: %s of %s", ErrStale, branch, t.repo)
	}
	if err != nil {
		return fmt.Errorf("worktree: push %s to %s: %w", branch, t.repo, err)
	}
	return nil
}
