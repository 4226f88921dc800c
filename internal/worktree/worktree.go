package worktree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/diskspace"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/wording"
)

// Options configures a [Root]. Nil means the defaults.
type Options struct {
	// MinFree and MinFreeShare are how much of the disk must be free for [Root.Add], in bytes and as
	// a part of the whole. Both must hold. 0 means 5 GB and 0.1; a negative value means no minimum.
	MinFree      int64
	MinFreeShare float64
	// MaxSize and MaxFiles limit the files of a commit that is checked out, of a copied directory,
	// of the changes in a snapshot and of the commits of an agent. 0 means 10 GB and a million.
	MaxSize  int64
	MaxFiles int64
	// MaxFile is the size of the largest file that a snapshot takes: it skips larger ones. 0 means
	// 256 MiB.
	MaxFile int64
	// MirrorAge is the time for which [Root.Sweep] keeps a mirror that no tree uses. 0 means 30
	// days; a negative value means forever.
	MirrorAge time.Duration
}

const (
	defaultMinFree  = 5e9
	defaultMinShare = 0.1
	defaultMaxSize  = 10e9
	defaultMaxFiles = 1e6
	defaultMaxFile  = DefaultBundleLimit
	defaultAge      = 30 * 24 * time.Hour
)

// orDefault returns the value that a number of the options stands for.
func orDefault[N int64 | float64](value, standard N) N {
	if value == 0 {
		return standard
	}
	return max(value, 0)
}

// ErrInUse means that a process has a tree, this one or another.
var ErrInUse = errors.New("worktree: the tree is in use")

// A Root is the directory in which a worker keeps mirrors and trees. Its methods may be called from
// several goroutines, and several processes may use one directory.
type Root struct {
	dir  string
	git  *git
	opts Options
}

// Open returns the root in a directory, which it makes if it is missing. It needs git.
func Open(dir string, opts *Options) (*Root, error) {
	git, err := findGit()
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = new(Options)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if strings.ContainsAny(dir, "\n\r\"") {
		return nil, fmt.Errorf("worktree: git can't use the path of %q", dir)
	}
	if err := git.check(); err != nil {
		return nil, err
	}
	r := &Root{dir: dir, git: git, opts: Options{
		MinFree: orDefault(opts.MinFree, defaultMinFree), MinFreeShare: orDefault(opts.MinFreeShare, defaultMinShare),
		MaxSize: orDefault(opts.MaxSize, defaultMaxSize), MaxFiles: orDefault(opts.MaxFiles, defaultMaxFiles),
		MaxFile: orDefault(opts.MaxFile, defaultMaxFile), MirrorAge: cmp.Or(opts.MirrorAge, defaultAge),
	}}
	for _, dir := range []string{r.mirrors(), r.trees()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("worktree: %w", err)
		}
	}
	return r, nil
}

func (r *Root) mirrors() string { return filepath.Join(r.dir, "mirrors") }
func (r *Root) trees() string   { return filepath.Join(r.dir, "trees") }

// Space is the space of a disk in bytes.
type Space struct {
	Free, Total int64
}

// Share returns which part is free.
func (s Space) Share() float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(s.Free) / float64(s.Total)
}

// ErrDisk means that too little of the disk is free. The error of [Root.CheckDisk] has the numbers.
var ErrDisk = errors.New("too little of the disk is free")

// Free returns how much of the disk is free.
func (r *Root) Free() (Space, error) {
	free, total, err := diskspace.Of(r.dir)
	if err != nil {
		return Space{}, fmt.Errorf("worktree: free space of %s: %w", r.dir, err)
	}
	return Space{Free: free, Total: total}, nil
}

// CheckDisk returns an [ErrDisk] if less of the disk is free than the options ask for.
func (r *Root) CheckDisk() error {
	space, err := r.Free()
	if err != nil {
		return err
	}
	need := max(r.opts.MinFree, int64(r.opts.MinFreeShare*float64(space.Total)))
	if space.Free < need {
		return fmt.Errorf("worktree: %w: %s has %s, and %s are the least", ErrDisk, r.dir,
			wording.Size(space.Free), wording.Size(need))
	}
	return nil
}

// diskInterval is the interval of disk checks while a tree is made.
const diskInterval = time.Second

// watchDisk returns a context that ends when the disk is too full: nobody knows how large a
// repository is before it was fetched.
func (r *Root) watchDisk(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(diskInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := r.CheckDisk(); err != nil {
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// record is the file that describes the origin of a tree.
type record struct {
	Repo   string   `json:"repo"`
	Base   string   `json:"base"`
	Branch string   `json:"branch"`
	Copied []string `json:"copied,omitempty"`
	// Kept is until when nobody removes the tree.
	Kept time.Time `json:"kept,omitzero"`
}

// Tree returns a tree that an earlier process made, as after a restart. The error is an
// [fs.ErrNotExist] if there is none, or if it was not finished, and an [ErrInUse] if a process has
// it. The caller must close or remove the tree.
func (r *Root) Tree(name string) (*Tree, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	t := r.newTree(name)
	rec, err := t.record()
	if err != nil {
		return nil, fmt.Errorf("worktree: tree %s: %w", name, err)
	}
	t.repo, t.Base, t.Branch, t.copied = rec.Repo, rec.Base, rec.Branch, rec.Copied
	if err := t.acquire(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(t.recordPath()); err != nil { // it was removed before it was locked
		return nil, errors.Join(fmt.Errorf("worktree: tree %s: %w", name, err), files.RemoveLocked(t.lock))
	}
	return t, nil
}

func (t *Tree) record() (rec record, err error) {
	data, err := os.ReadFile(t.recordPath())
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, fmt.Errorf("%s: %w", t.recordPath(), err)
	}
	return rec, nil
}

// Used returns when a tree was made, or its last snapshot, or the zero time if there is none of that name.
func (r *Root) Used(name string) (last time.Time) {
	t := r.newTree(name)
	for _, path := range []string{t.recordPath(), t.indexPath()} {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Sweep removes the trees for which keep returns false, and the unfinished trees of killed
// processes, and returns their names. It leaves trees in use, and trees kept by [Tree.Keep]. It
// also removes mirrors unused for long, and the leftovers of killed processes in others. A failed
// removal does not stop the rest: the error joins all of them.
func (r *Root) Sweep(ctx context.Context, keep func(name string) bool) (removed []string, err error) {
	entries, err := os.ReadDir(r.trees())
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		if ctx.Err() != nil {
			failed = append(failed, context.Cause(ctx))
			break
		}
		name := strings.TrimSuffix(entry.Name(), lockSuffix)
		if checkName(name) != nil || name != entry.Name() && exists(filepath.Join(r.trees(), name)) {
			continue // not one of ours, or the lock of a tree that is in the list
		}
		gone, err := r.sweep(name, keep)
		if err != nil {
			failed = append(failed, err)
		} else if gone {
			removed = append(removed, name)
		}
	}
	return removed, errors.Join(append(failed, r.sweepMirrors())...)
}

// sweep removes a tree unless it is in use or is to be kept. It reports whether there was one.
func (r *Root) sweep(name string, keep func(name string) bool) (removed bool, err error) {
	t := r.newTree(name)
	if exists(t.recordPath()) && (keep(name) || t.isKept()) {
		return false, nil
	}
	switch err := t.acquire(); {
	case errors.Is(err, ErrInUse):
		return false, nil
	case err != nil:
		return false, err
	}
	removed = exists(t.folder)
	return removed, t.remove()
}

// isKept reports whether [Tree.Keep] has kept the tree for longer than until now.
func (t *Tree) isKept() bool {
	rec, err := t.record()
	return err == nil && time.Now().Before(rec.Kept)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeAll removes a directory with everything in it, even directories that nobody may write, as
// module caches have them.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs the bit to be read
		}
		return nil
	})
	return os.RemoveAll(dir)
}
