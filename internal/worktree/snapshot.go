package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The refs of the repository of the worker. Those below the first two end with the hash of a
// snapshot, and name it and the commit that the agent was at.
const (
	snapshotRefs = "refs/clew/snapshots/"
	headRefs     = "refs/clew/heads/"
	lastRef      = "refs/clew/last"
)

// A Snapshot is the state of a tree at one time.
type Snapshot struct {
	// Commit is a commit of all files that git does not ignore. Its parent is the commit that the
	// agent was at. If that is new and has the same files, it is the snapshot itself. It is the
	// base only as long as nothing changes.
	Commit string
	// Changed reports whether it differs from the snapshot before, or from the base if it is the
	// first.
	Changed bool
	// Skipped lists the paths that are not in the snapshot, with reasons, up to 100 of them:
	// repositories inside of the tree, and files that are too large or can't be read. A file that
	// the snapshot before had is as it was there.
	Skipped []string
}

// maxSkipped is the maximum number of unreadable paths that a snapshot may leave out.
const maxSkipped = 100

// Snapshot makes a commit of all that git does not ignore. It does not change the files, the index,
// the branches and the HEAD of the agent, which may work meanwhile: the snapshot then has each file
// as it was at some time.
func (t *Tree) Snapshot(ctx context.Context) (*Snapshot, error) {
	done, err := t.open()
	if err != nil {
		return nil, err
	}
	defer done()
	s := new(Snapshot)
	if err := t.snapshot(ctx, s); err != nil {
		return nil, fmt.Errorf("worktree: snapshot of tree %s: %w", t.Name, err)
	}
	return s, nil
}

func (t *Tree) snapshot(ctx context.Context, s *Snapshot) error {
	if err := t.restore(ctx); err != nil {
		return err
	}
	if info, err := os.Lstat(t.Dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory any more", t.Dir)
	}
	head, err := t.importHead(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		s.skip("the commits of the agent", err)
	}
	files, err := t.writeTree(ctx, s)
	if err != nil {
		return err
	}
	s.Commit, err = t.commitFiles(ctx, files, head)
	if err != nil {
		return err
	}
	s.Changed = s.Commit != t.last
	t.head, t.last = head, s.Commit
	return t.keep(ctx, s.Commit, head)
}

// skip adds a line to s.Skipped. Names in it come from the agent.
func (s *Snapshot) skip(what string, why error) {
	if len(s.Skipped) < maxSkipped {
		s.Skipped = append(s.Skipped, fmt.Sprintf("%q: %s", what, strings.ReplaceAll(cleaned(why.Error()), "\n", " ")))
	}
}

// restore finds the last snapshot of a tree that an earlier process made, and removes the lock that
// a killed process may have left.
func (t *Tree) restore(ctx context.Context) error {
	if err := os.RemoveAll(t.indexPath() + lockSuffix); err != nil {
		return err
	}
	if t.last != "" {
		return nil
	}
	last, ok := t.resolve(ctx, lastRef)
	head, found := t.resolve(ctx, headRefs+last)
	if !ok || !found {
		return errors.Join(context.Cause(ctx), errors.New("its repository is damaged"))
	}
	t.last, t.head = last, head
	return nil
}

// keep makes refs, so that git does not remove the commit.
func (t *Tree) keep(ctx context.Context, commit, head string) error {
	c := t.command("update-ref", "--stdin")
	c.stdin = strings.NewReader(fmt.Sprintf("update %s%s %s\nupdate %s%s %s\nupdate %s %s\n",
		snapshotRefs, commit, commit, headRefs, commit, head, lastRef, commit))
	return t.root.git.run(ctx, c)
}

// resolve returns the commit that a ref or hash of the worker's repository names.
func (t *Tree) resolve(ctx context.Context, name string) (hash string, ok bool) {
	hash, err := t.root.git.output(ctx, t.command("rev-parse", "--quiet", "--verify", name+"^{commit}"))
	return hash, err == nil && fullHash.MatchString(hash)
}

// old reports whether the agent went back to the base, or to a commit before it. Such a commit
// can't be in a bundle of new commits.
func (t *Tree) old(ctx context.Context, head string) bool {
	if head == t.Base {
		return t.last != t.Base
	}
	return t.root.git.run(ctx, t.command("merge-base", "--is-ancestor", head, t.Base)) == nil
}

// commitFiles returns a commit with these files: the head if it has them, or the last snapshot, or a
// new one.
func (t *Tree) commitFiles(ctx context.Context, files, head string) (string, error) {
	for _, commit := range []string{head, t.last} {
		known, err := t.root.git.output(ctx, t.command("rev-parse", "--verify", commit+"^{tree}"))
		if err != nil {
			return "", err
		}
		if known == files && (commit == head && !t.old(ctx, head) || commit == t.last && head == t.head) {
			return commit, nil
		}
	}
	c := t.command("commit-tree", "-p", head, "-m", "Snapshot of "+t.Name, files)
	c.env = append(c.env, "GIT_AUTHOR_NAME=clew", "GIT_AUTHOR_EMAIL=clew@localhost",
		"GIT_COMMITTER_NAME=clew", "GIT_COMMITTER_EMAIL=clew@localhost")
	return t.root.git.output(ctx, c)
}

// indexed returns a command that reads the files of the agent, with the repository and the index of
// the worker.
func (t *Tree) indexed(args ...string) *command {
	return &command{args: args, dir: t.Dir, env: []string{
		"GIT_DIR=" + t.repoDir(), "GIT_WORK_TREE=" + t.Dir, "GIT_INDEX_FILE=" + t.indexPath()}}
}

// writeTree brings the index up to date and returns the tree object of it. It does without "git
// add", which would run git in the repositories inside of the tree, with the settings that they
// have.
func (t *Tree) writeTree(ctx context.Context, s *Snapshot) (string, error) {
	gone, err := t.plainLinks(ctx, s)
	if err != nil {
		return "", err
	}
	if err := t.forget(ctx, gone); err != nil {
		return "", err
	}
	changed, gone, err := t.changes(ctx, s)
	if err == nil {
		changed, err = t.affordable(changed, s)
	}
	if err != nil {
		return "", err
	}
	if err := t.forget(ctx, gone); err != nil {
		return "", err
	}
	if err := t.update(ctx, changed, s); err != nil {
		return "", err
	}
	return t.root.git.output(ctx, t.indexed("write-tree"))
}

// errNested is the reason why a repository is not in a snapshot.
var errNested = errors.New("a repository of its own")

// plainLinks returns the submodules that are none any more: a file, a directory with files but
// without a repository, or nothing.
func (t *Tree) plainLinks(ctx context.Context, s *Snapshot) (gone []string, err error) {
	const submodule = "160000 "
	list, err := t.list(ctx, t.indexed("ls-files", "-z", "--stage"))
	if err != nil {
		return nil, err
	}
	for _, line := range list {
		_, path, ok := strings.Cut(line, "\t")
		if !ok || !strings.HasPrefix(line, submodule) {
			continue
		}
		dir := filepath.Join(t.Dir, filepath.FromSlash(path))
		entries, err := os.ReadDir(dir)
		switch {
		case err != nil:
			gone = append(gone, path)
		case exists(filepath.Join(dir, ".git")):
			s.skip(path, errNested)
		case len(entries) > 0:
			gone = append(gone, path)
		}
	}
	return gone, nil
}

// changes returns the new and changed files, and the files of the index that are gone.
func (t *Tree) changes(ctx context.Context, s *Snapshot) (changed, gone []string, err error) {
	known, err := t.list(ctx, t.indexed("diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=all"))
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i+1 < len(known); i += 2 {
		if known[i] == "D" {
			gone = append(gone, known[i+1])
		} else {
			changed = append(changed, known[i+1])
		}
	}
	args := []string{"ls-files", "-z", "--others", "--exclude-standard"}
	if exclude := filepath.Join(t.Dir, ".git", "info", "exclude"); isRegular(exclude) {
		args = append(args, "--exclude-from="+exclude)
	}
	others, err := t.list(ctx, t.indexed(args...))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range others {
		switch {
		case t.isCopied(path):
		case strings.HasSuffix(path, "/"):
			s.skip(path, errNested)
		default:
			changed = append(changed, path)
		}
	}
	return changed, gone, nil
}

// affordable returns the files without the too large ones. The error is a LimitError if they are
// too large together.
func (t *Tree) affordable(paths []string, s *Snapshot) ([]string, error) {
	opts := &t.root.opts
	if int64(len(paths)) > opts.MaxFiles {
		return nil, &LimitError{What: "the number of changed files", Limit: opts.MaxFiles}
	}
	var total int64
	kept := paths[:0]
	for _, path := range paths {
		if info, err := os.Lstat(filepath.Join(t.Dir, filepath.FromSlash(path))); err == nil && info.Mode().IsRegular() {
			if info.Size() > opts.MaxFile {
				s.skip(path, fmt.Errorf("it has %d bytes, and %d are the most", info.Size(), opts.MaxFile))
				continue
			}
			total += info.Size()
		}
		kept = append(kept, path)
	}
	if total > opts.MaxSize {
		return nil, &LimitError{What: "the size of the changed files", Limit: opts.MaxSize}
	}
	return kept, nil
}

// list returns the output of a command that ends each value with a NUL.
func (t *Tree) list(ctx context.Context, c *command) (list []string, err error) {
	size := 0
	c.stdout = &lineWriter{call: func(line string) error {
		if size += len(line); size > maxOutput {
			err = &LimitError{What: "the list of files of git " + c.args[0], Limit: maxOutput}
		}
		list = append(list, line)
		return err
	}}
	if failed := t.root.git.run(ctx, c); err == nil {
		err = failed
	}
	return list, err
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// forget removes paths from the index.
func (t *Tree) forget(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	c := t.indexed("update-index", "-z", "--force-remove", "--stdin")
	c.stdin = values(paths)
	return t.root.git.run(ctx, c)
}

// update puts files into the index. Git writes no index if it can't read one of them, so the others
// are put into it without that one. It is tried once more alone, since the agent may have been
// writing it, and else left as it was in the index.
func (t *Tree) update(ctx context.Context, paths []string, s *Snapshot) error {
	batches := [][]string{paths}
	for failures := 0; len(batches) > 0; {
		batch := batches[len(batches)-1]
		batches = batches[:len(batches)-1]
		if len(batch) == 0 {
			continue
		}
		err := t.updateAll(ctx, batch, s)
		if err == nil {
			continue
		}
		i, why := culprit(err, batch)
		if failures++; i < 0 || failures > maxSkipped {
			return err
		}
		if t.updateAll(ctx, batch[i:i+1], s) != nil {
			s.skip(batch[i], why)
		}
		batches = append(batches, batch[i+1:], batch[:i])
	}
	return nil
}

func (t *Tree) updateAll(ctx context.Context, paths []string, s *Snapshot) error {
	c := t.indexed("update-index", "-z", "--add", "--replace", "--remove", "--stdin")
	c.stdin = values(paths)
	if err := t.root.git.run(ctx, c); err != nil {
		return err
	}
	for line := range strings.Lines(c.stderr) {
		if path, ok := strings.CutPrefix(line, "Ignoring path "); ok {
			s.skip(strings.TrimSpace(path), errName)
		}
	}
	return nil
}

// errName is the reason why a file is not in a snapshot: another system would take its name for a
// repository's.
var errName = errors.New("git does not allow the name")

// culprit returns the index of the path that update-index failed at, or -1, and git's message about
// it.
func culprit(err error, paths []string) (found int, why error) {
	var failed *gitError
	if !errors.As(err, &failed) {
		return -1, nil
	}
	said, at, ok := strings.Cut(failed.stderr, "fatal: Unable to process path ")
	if !ok {
		return -1, nil
	}
	found = -1
	for i, path := range paths {
		if strings.TrimSuffix(at, "\n") == cleaned(path) {
			found = i
			break
		}
	}
	return found, errors.New(reason(said))
}

// values returns a reader of values that each end with a NUL.
func values(list []string) io.Reader { return strings.NewReader(strings.Join(list, "\x00") + "\x00") }
