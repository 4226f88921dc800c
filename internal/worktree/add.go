package worktree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/files"
)

// A Request describes a tree.
type Request struct {
	// Repo is the repository: an https, http, ssh or git URL without credentials, user@host:path, or
	// an absolute path on this machine.
	Repo string
	// Ref is a branch, a tag, a commit or a full ref such as refs/pull/7/head. Empty means the
	// default branch.
	Ref string
	// Name names the tree, once and for all: a job and its attempt. It has letters, digits, and ".",
	// "_" and "-" between them. The branch is "clew/" and the name.
	Name string
	// Snapshot is the output of [Tree.Bundle] for an earlier attempt, or nil. The tree then starts
	// with the files of that snapshot, and with the branch where the agent had left it. Ref must be
	// the commit that the earlier attempt was based on.
	Snapshot io.Reader
	// Copy names files and directories that the tree gets although git does not have them. They are
	// in no snapshot. It is an error if one is missing.
	Copy []string
	// From is the directory that they are copied from. Empty means Repo if that is a path.
	From string
}

// Add makes a tree. It fetches the repository, unless Ref is a commit that is there already. It
// blocks until that is done, and while another process fetches the same repository. When it fails,
// nothing is left of the tree. The error is an [ErrDisk] if the disk is too full, or becomes so
// meanwhile, and an [ErrInUse] or [fs.ErrExist] if there is a tree of that name. The caller must close or remove the tree.
func (r *Root) Add(ctx context.Context, req *Request) (*Tree, error) {
	plan, err := req.check()
	if err != nil {
		return nil, err
	}
	if err := r.CheckDisk(); err != nil {
		return nil, err
	}
	t := r.newTree(req.Name)
	t.repo, t.Branch = plan.address, "clew/"+req.Name
	if err := t.acquire(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.folder, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("worktree: %w", err), t.Close())
	}
	ctx, stop := r.watchDisk(ctx)
	defer stop()
	if err := t.make(ctx, plan); err != nil {
		return nil, errors.Join(err, t.remove())
	}
	return t, nil
}

// An addPlan is a request that was checked.
type addPlan struct {
	*Request
	address string
	from    string
}

func (req *Request) check() (*addPlan, error) {
	if err := checkName(req.Name); err != nil {
		return nil, err
	}
	address, path, err := checkRepo(req.Repo)
	if err != nil {
		return nil, err
	}
	if req.Ref != "" {
		if err := checkRef(req.Ref); err != nil {
			return nil, err
		}
	}
	plan := &addPlan{Request: req, address: address, from: req.From}
	if plan.from == "" {
		plan.from = path
	}
	if len(req.Copy) > 0 && !filepath.IsAbs(plan.from) {
		return nil, errors.New("worktree: files are to be copied, but there is no directory to copy them from")
	}
	return plan, checkCopy(req.Copy)
}

// make makes the files of a tree. The record comes last: a tree without it was not finished.
func (t *Tree) make(ctx context.Context, plan *addPlan) error {
	m := t.root.mirror(t.repo)
	err := m.use(ctx, func() (err error) {
		if t.Base, err = m.commit(ctx, plan.Ref); err != nil {
			return err
		}
		return t.clone(ctx, m)
	})
	if err != nil {
		return err
	}
	t.head, t.last = t.Base, t.Base
	if err := t.initRepo(ctx, m); err != nil {
		return fmt.Errorf("worktree: tree %s: %w", t.Name, err)
	}
	if plan.Snapshot != nil {
		if err := t.unbundle(ctx, plan.Snapshot); err != nil {
			return fmt.Errorf("worktree: the snapshot for tree %s: %w", t.Name, err)
		}
	}
	if err := t.checkSize(ctx, t.last); err != nil {
		return err
	}
	if err := t.checkOut(ctx); err != nil {
		return fmt.Errorf("worktree: tree %s: %w", t.Name, err)
	}
	if err := t.copyFiles(ctx, plan.from, plan.Copy); err != nil {
		return err
	}
	return t.writeRecord(time.Time{})
}

func (t *Tree) writeRecord(kept time.Time) error {
	data, err := json.Marshal(record{Repo: t.repo, Base: t.Base, Branch: t.Branch, Copied: t.copied, Kept: kept})
	if err != nil {
		return err
	}
	if err := files.Write(t.recordPath(), data, files.WriteOptions{}); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	return nil
}

// initRepo makes the repository of the worker, which borrows the objects of the mirror.
func (t *Tree) initRepo(ctx context.Context, m *mirror) error {
	err := t.root.git.run(ctx, &command{args: []string{"init", "--quiet", "--bare", "--template=", t.repoDir()}, dir: t.folder})
	if err != nil {
		return err
	}
	alternates := filepath.Join(t.repoDir(), "objects", "info", "alternates")
	if err := os.MkdirAll(filepath.Dir(alternates), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(alternates, []byte(filepath.ToSlash(m.objects())+"\n"), 0o600); err != nil {
		return err
	}
	return t.keep(ctx, t.Base, t.Base)
}

// unbundle takes a snapshot from a bundle.
func (t *Tree) unbundle(ctx context.Context, bundle io.Reader) error {
	path := filepath.Join(t.folder, "snapshot.bundle")
	defer func() { _ = os.Remove(path) }() // if it stays, it goes with the tree
	if err := t.saveBundle(path, bundle); err != nil {
		return err
	}
	c := t.command("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--end-of-options", path,
		"+"+snapshotRefs+"*:"+snapshotRefs+"*", "+"+headRefs+"*:"+headRefs+"*")
	if err := t.root.git.run(ctx, c); err != nil {
		return err
	}
	list, err := t.root.git.output(ctx, t.command("for-each-ref", "--format=%(objectname)", snapshotRefs))
	if err != nil {
		return err
	}
	for hash := range strings.FieldsSeq(list) {
		if hash == t.Base {
			continue
		}
		if t.last != t.Base {
			return errors.New("the bundle has more than one snapshot")
		}
		t.last = hash
	}
	if t.last == t.Base {
		return errors.New("the bundle has no snapshot")
	}
	// A bundle does not have the ref of a head that is not new. Then the snapshot has it as its parent.
	head, ok := t.resolve(ctx, headRefs+t.last)
	if !ok {
		head, ok = t.resolve(ctx, t.last+"^")
	}
	if !ok {
		return errors.Join(context.Cause(ctx), errors.New("the bundle does not say which commit the agent was at"))
	}
	t.head = head
	return t.keep(ctx, t.last, t.head)
}

func (t *Tree) saveBundle(path string, bundle io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := &cappedWriter{w: file, limit: t.root.opts.MaxSize}
	_, err = io.Copy(out, bundle)
	if over := out.exceeded("the bundle"); over != nil {
		err = over
	}
	return errors.Join(err, file.Close())
}

// checkSize checks the files of a commit before they are written. It stops at the limit: a small
// repository can name one file a billion times.
func (t *Tree) checkSize(ctx context.Context, commit string) error {
	counter := &sizeCounter{commit: commit, opts: &t.root.opts}
	lines := &lineWriter{call: counter.add}
	c := t.command("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
	c.stdout = lines
	err := t.root.git.run(ctx, c)
	if counter.err != nil {
		return counter.err
	}
	if err != nil {
		return fmt.Errorf("worktree: commit %s: %w", commit, err)
	}
	return nil
}

// A sizeCounter adds up the files of a commit.
type sizeCounter struct {
	commit      string
	opts        *Options
	size, files int64
	err         error
}

// add takes a line of ls-tree: mode, type, hash, size, a tab and the path. Submodules have no size.
func (c *sizeCounter) add(line string) error {
	facts, _, _ := strings.Cut(line, "\t")
	fields := strings.Fields(facts)
	if len(fields) == 4 {
		if n, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
			c.size += n
		}
	}
	c.files++
	switch {
	case c.size > c.opts.MaxSize:
		c.err = &LimitError{What: "the size of commit " + c.commit, Limit: c.opts.MaxSize}
	case c.files > c.opts.MaxFiles:
		c.err = &LimitError{What: "the number of files of commit " + c.commit, Limit: c.opts.MaxFiles}
	}
	return c.err
}

// A lineWriter passes on what is written to it in lines that end with a NUL.
type lineWriter struct {
	call func(line string) error
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, ended := bytes.Cut(rest, []byte{0})
		w.rest = append(w.rest, line...)
		if !ended {
			return len(p), nil
		}
		if err := w.call(string(w.rest)); err != nil {
			return 0, err
		}
		w.rest, rest = w.rest[:0], after
	}
}

// clone makes the repository of the agent. It has the branches and tags of the mirror, and borrows
// its objects.
func (t *Tree) clone(ctx context.Context, m *mirror) error {
	err := t.root.git.run(ctx, &command{dir: t.folder, args: []string{"clone", "--quiet", "--shared", "--no-checkout", "--template=",
		"--end-of-options", m.dir, t.Dir}})
	if err != nil {
		return fmt.Errorf("worktree: tree %s: %w", t.Name, err)
	}
	return nil
}

// checkOut writes the files of the last snapshot, with the branch at the head.
func (t *Tree) checkOut(ctx context.Context) error {
	work := func(args ...string) *command { return &command{args: args, dir: t.Dir} }
	// The objects of a snapshot are in the repository of the worker.
	err := appendFile(filepath.Join(t.Dir, ".git", "objects", "info", "alternates"),
		filepath.ToSlash(filepath.Join(t.repoDir(), "objects"))+"\n")
	if err != nil {
		return err
	}
	steps := []*command{
		work("remote", "set-url", "origin", t.repo),
		work("checkout", "--quiet", "--no-track", "-b", t.Branch, t.last),
	}
	for _, step := range steps {
		if err := t.root.git.run(ctx, step); err != nil {
			return err
		}
	}
	if err := t.copyIndex(); err != nil {
		return err
	}
	if t.head == t.last {
		return nil
	}
	return t.root.git.run(ctx, work("reset", "--quiet", "--mixed", t.head))
}

// copyIndex copies the index of the agent's repository, which has the times of all files: without
// them the first snapshot would read every file. Its own time is copied as well. Git does not trust
// the times of files that are as new as the index.
func (t *Tree) copyIndex() error {
	path := filepath.Join(t.Dir, ".git", "index")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.indexPath(), data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(t.indexPath(), time.Time{}, info.ModTime())
}
