package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/files"
)

// maxPacks is the maximum number of packs in a mirror. Each fetch adds one, and each slows git
// down.
const maxPacks = 50

// A mirror is a bare copy of a repository. Only fetches write to it, one at a time.
type mirror struct {
	dir     string
	address string
	git     *git

	maxPacks int
}

func (r *Root) mirror(address string) *mirror {
	sum := sha256.Sum256([]byte(address))
	return &mirror{dir: filepath.Join(r.mirrors(), hex.EncodeToString(sum[:16])+".git"), address: address, git: r.git, maxPacks: maxPacks}
}

func (m *mirror) objects() string { return filepath.Join(m.dir, "objects") }

// command returns a git command in the mirror.
func (m *mirror) command(args ...string) *command {
	return &command{args: args, dir: m.dir, env: []string{"GIT_DIR=" + m.dir}}
}

// use calls f while no other process uses the mirror. It makes the mirror if there is none.
func (m *mirror) use(ctx context.Context, f func() error) error {
	lock, err := files.Lock(ctx, m.dir+lockSuffix)
	if err != nil {
		return fmt.Errorf("worktree: lock the mirror of %s: %w", m.address, err)
	}
	if err := m.prepare(ctx, lock); err != nil {
		return errors.Join(fmt.Errorf("worktree: the mirror of %s in %s: %w", m.address, m.dir, err), files.Unlock(lock))
	}
	if err := f(); err != nil {
		return errors.Join(err, m.clean(), files.Unlock(lock)) // a part of a repository may fill the disk
	}
	return errors.Join(lock.Truncate(0), files.Unlock(lock))
}

// commit returns the hash of the commit that a ref of the repository names, after a fetch. It does
// not fetch a commit that is there. An empty ref is the default branch.
func (m *mirror) commit(ctx context.Context, ref string) (string, error) {
	if fullHash.MatchString(ref) {
		if hash, ok := m.resolve(ctx, ref); ok {
			return hash, nil
		}
	}
	if err := m.fetch(ctx, ref); err != nil {
		return "", fmt.Errorf("worktree: fetch %s: %w", m.address, err)
	}
	for _, name := range candidates(ref) {
		if hash, ok := m.resolve(ctx, name); ok {
			m.repack(ctx)
			return hash, nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	return "", fmt.Errorf("worktree: %s has no commit %.100q", m.address, cmp.Or(ref, "HEAD"))
}

// The lock file of a mirror has this text while its owner works. If the next owner finds it, the
// last one was killed.
const dirty = "dirty"

// prepare makes the mirror if there is none, and removes the leftovers of a killed process.
func (m *mirror) prepare(ctx context.Context, lock *os.File) error {
	info, err := lock.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		if err := m.clean(); err != nil {
			return err
		}
	}
	if _, err := lock.WriteAt([]byte(dirty), 0); err != nil {
		return err
	}
	if exists(filepath.Join(m.dir, "HEAD")) && info.Size() == 0 {
		return nil
	}
	return m.git.run(ctx, &command{args: []string{"init", "--quiet", "--bare", "--template=", m.dir}, dir: filepath.Dir(m.dir)})
}

// clean removes lock files and temporary files, and the files that init makes, which may be cut. This
// process has the lock of the mirror, so nobody uses them. The objects stay, since trees use them.
func (m *mirror) clean() error {
	for _, name := range []string{"HEAD", "config"} {
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if name := entry.Name(); strings.HasSuffix(name, lockSuffix) || strings.HasPrefix(name, "tmp_") {
			return os.Remove(path)
		}
		return nil
	})
}

// fetch fetches all branches and tags, and ref if it may be neither.
func (m *mirror) fetch(ctx context.Context, ref string) error {
	specs := []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	switch {
	case ref == "":
		specs = append(specs, "+HEAD:"+fetchedRef("HEAD"))
	case strings.HasPrefix(ref, "refs/") && !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/tags/"):
		specs = append(specs, "+"+ref+":"+fetchedRef(ref))
	}
	if err := m.fetchSpecs(ctx, specs); err != nil || !fullHash.MatchString(ref) {
		return err
	}
	if _, ok := m.resolve(ctx, ref); ok {
		return nil
	}
	return m.fetchSpecs(ctx, []string{"+" + ref + ":" + fetchedRef(ref)})
}

func (m *mirror) fetchSpecs(ctx context.Context, specs []string) error {
	c := m.command(append([]string{"fetch", "--quiet", "--prune", "--no-tags", "--force", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--end-of-options", m.address}, specs...)...)
	c.user = true
	return m.git.run(ctx, c)
}

// fetchedRef returns the mirror's ref for a ref of the repository that is neither a branch nor a
// tag.
func fetchedRef(ref string) string { return "refs/clew/" + ref }

// candidates returns the refs of the mirror that a job's ref may mean. The first existing one
// counts.
func candidates(ref string) []string {
	switch {
	case ref == "":
		return []string{fetchedRef("HEAD")}
	case fullHash.MatchString(ref):
		return []string{ref}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref, fetchedRef(ref)}
	}
	list := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	if shortHash.MatchString(ref) {
		list = append(list, ref)
	}
	return list
}

// resolve returns the commit that a ref or hash of the mirror names.
func (m *mirror) resolve(ctx context.Context, name string) (hash string, ok bool) {
	hash, err := m.git.output(ctx, m.command("rev-parse", "--quiet", "--verify", name+"^{commit}"))
	return hash, err == nil && fullHash.MatchString(hash)
}

// repack joins the packs when there are many. Objects that no ref has any more stay, since trees may
// use them. A mirror that was not repacked is slower, and no worse.
func (m *mirror) repack(ctx context.Context) {
	files, err := os.ReadDir(filepath.Join(m.objects(), "pack"))
	if err != nil || len(files) <= 2*m.maxPacks { // each has an index
		return
	}
	_ = m.git.run(ctx, m.command("repack", "-a", "-d", "--keep-unreachable", "--quiet"))
}

// sweepMirrors removes the mirrors that no tree uses and that were not used for long, and cleans
// those in which a process was killed.
func (r *Root) sweepMirrors() error {
	used, err := r.usedMirrors()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(r.mirrors())
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		info, err := entry.Info()
		dir, isLock := strings.CutSuffix(filepath.Join(r.mirrors(), entry.Name()), lockSuffix)
		if err != nil || !isLock {
			continue
		}
		m := &mirror{dir: dir, git: r.git}
		old := r.opts.MirrorAge >= 0 && !used[dir] && time.Since(info.ModTime()) > r.opts.MirrorAge
		if old || info.Size() > 0 {
			failed = append(failed, m.sweep(old))
		}
	}
	return errors.Join(failed...)
}

// sweep removes a mirror or cleans it, unless a process uses it. The text in the lock file stays, so
// that the mirror is prepared when it is used again.
func (m *mirror) sweep(remove bool) error {
	lock, err := files.TryLock(m.dir + lockSuffix)
	if errors.Is(err, files.ErrLocked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	if !remove {
		return errors.Join(m.clean(), files.Unlock(lock))
	}
	if err := removeAll(m.dir); err != nil {
		return errors.Join(fmt.Errorf("worktree: %w", err), files.Unlock(lock))
	}
	return files.RemoveLocked(lock)
}

// usedMirrors returns the directories of the mirrors that trees borrow objects from. A tree that is
// being made used its mirror a moment ago.
func (r *Root) usedMirrors() (map[string]bool, error) {
	entries, err := os.ReadDir(r.trees())
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	used := map[string]bool{}
	for _, entry := range entries {
		rec, err := r.newTree(entry.Name()).record()
		if err == nil {
			used[r.mirror(rec.Repo).dir] = true
		}
	}
	return used, nil
}
