package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/polltest"
)

// TestMain lets this program be a second process that uses a root.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "add" {
		os.Exit(addProcess(os.Args[2], os.Args[3], os.Args[4:]))
	}
	if err := polltest.AtOnce(8); err != nil {
		panic(err)
	}
	os.Exit(gittest.Main(m))
}

// addProcess adds trees, all at once, and prints their commits.
func addProcess(root, repo string, names []string) int {
	r, err := Open(root, &Options{MinFree: -1, MinFreeShare: -1})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var adding sync.WaitGroup
	for _, name := range names {
		adding.Go(func() {
			tree, err := r.Add(context.Background(), &Request{Repo: repo, Ref: "main", Name: name})
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(tree.Name, tree.Base, tree.Close())
		})
	}
	adding.Wait()
	return 0
}

// newRoot returns a root that does not look at the disk, which may be full where tests run.
func newRoot(t *testing.T) *Root {
	t.Helper()
	return openRoot(t, filepath.Join(t.TempDir(), "a root"))
}

func openRoot(t *testing.T, dir string) *Root {
	t.Helper()
	r, err := Open(dir, &Options{MinFree: -1, MinFreeShare: -1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// gitIn runs git as a user would.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gittest.Run(t, dir, args...)
}

// newRepo makes a repository with one commit on the branch main.
func newRepo(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	gitIn(t, filepath.Dir(dir), "init", "-q", "-b", "main", dir)
	commitAll(t, dir, files)
	return dir
}

// commitAll writes files, commits all and returns the commit.
func commitAll(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	write(t, dir, files)
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "a change")
	return gitIn(t, dir, "rev-parse", "HEAD")
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the content of a directory, without .git: the text of files with a mark for
// executables, and the targets of links.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case entry.Name() == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case entry.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			files[name] = "-> " + to
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		if info.Mode()&0o100 != 0 {
			files[name] = "executable: " + files[name]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func add(t *testing.T, r *Root, req *Request) *Tree {
	t.Helper()
	tree, err := r.Add(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

func snapshot(t *testing.T, tree *Tree) *Snapshot {
	t.Helper()
	s, err := tree.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bundle(t *testing.T, tree *Tree, commit string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	if err := tree.Bundle(t.Context(), commit, &b, 0); err != nil {
		t.Fatal(err)
	}
	return &b
}

func patch(t *testing.T, tree *Tree, commit string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	if err := tree.Patch(t.Context(), commit, &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

func differ(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a.txt": "one\n"})
	first := gitIn(t, repo, "rev-parse", "HEAD")
	gitIn(t, repo, "tag", "-a", "-m", "a release", "v1")
	second := commitAll(t, repo, map[string]string{"a.txt": "two\n"})
	gitIn(t, repo, "branch", "feature/x", first)
	gitIn(t, repo, "update-ref", "refs/pull/7/head", first)
	r := newRoot(t)
	for i, test := range []struct{ ref, base string }{
		{"", second}, {"main", second}, {"feature/x", first}, {"v1", first}, {"refs/heads/main", second}, {"refs/tags/v1", first},
		{"refs/pull/7/head", first}, {first, first}, {first[:10], first}, {second, second},
	} {
		tree := add(t, r, &Request{Repo: repo, Ref: test.ref, Name: fmt.Sprintf("job.%d", i)})
		text := map[string]string{first: "one\n", second: "two\n"}[test.base]
		differ(t, test.ref+": files", map[string]string{"a.txt": text}, read(t, tree.Dir))
		differ(t, test.ref+": base", test.base, tree.Base)
		differ(t, test.ref+": head", test.base, gitIn(t, tree.Dir, "rev-parse", "HEAD"))
		differ(t, test.ref+": branch", fmt.Sprintf("clew/job.%d", i), gitIn(t, tree.Dir, "branch", "--show-current"))
		differ(t, test.ref+": status", "", gitIn(t, tree.Dir, "status", "--porcelain"))
		differ(t, test.ref+": origin", repo, gitIn(t, tree.Dir, "remote", "get-url", "origin"))
	}
}

func TestAddFetches(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a.txt": "one\n"})
	first := gitIn(t, repo, "rev-parse", "HEAD")
	r := newRoot(t)
	add(t, r, &Request{Repo: repo, Ref: "main", Name: "a"})

	second := commitAll(t, repo, map[string]string{"a.txt": "two\n"})
	gitIn(t, repo, "branch", "old", first)
	differ(t, "a branch that has moved", second, add(t, r, &Request{Repo: repo, Ref: "main", Name: "b"}).Base)
	gitIn(t, repo, "branch", "-D", "old")
	gitIn(t, repo, "branch", "old/new", first) // a mirror that is not pruned can't have it
	differ(t, "a branch below the name of one that is gone", first, add(t, r, &Request{Repo: repo, Ref: "old/new", Name: "c"}).Base)
	if _, err := r.Add(t.Context(), &Request{Repo: repo, Ref: "old", Name: "d"}); err == nil || !strings.Contains(err.Error(), `no commit "old"`) {
		t.Errorf("a branch that is gone: %v", err)
	}

	// A commit that the mirror has needs no repository.
	if err := os.Rename(repo, repo+".away"); err != nil {
		t.Fatal(err)
	}
	differ(t, "a commit that is there", first, add(t, r, &Request{Repo: repo, Ref: first, Name: "e"}).Base)
	_, err := r.Add(t.Context(), &Request{Repo: repo, Ref: "main", Name: "f"})
	if err == nil || !strings.Contains(err.Error(), "fetch "+repo) || !strings.Contains(err.Error(), "does not appear to be a git repository") {
		t.Errorf("a repository that is gone: %v", err)
	}
	differ(t, "what a failure leaves", false, exists(filepath.Join(r.trees(), "f")) || exists(filepath.Join(r.trees(), "f.lock")))
}

func TestAddTwice(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": ""})
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "a"}); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is open: %v", err)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "a"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("while it exists: %v", err)
	}
	if _, err := tree.Snapshot(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a snapshot of a closed tree: %v", err)
	}
	if !exists(tree.Dir) {
		t.Error("a refused tree has removed that of the same name")
	}
}

func TestTreesShareNothing(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "text\n"})
	r := newRoot(t)
	one := add(t, r, &Request{Repo: repo, Name: "one"})
	two := add(t, r, &Request{Repo: repo, Name: "two"})
	write(t, one.Dir, map[string]string{"a": "changed\n"})
	gitIn(t, one.Dir, "stash")
	gitIn(t, one.Dir, "config", "core.hooksPath", "/evil")
	gitIn(t, one.Dir, "branch", "mine")
	for _, args := range [][]string{{"stash", "list"}, {"branch", "--list", "mine"}} {
		differ(t, args[0], "", gitIn(t, two.Dir, args...))
	}
	if out, err := gittest.Try(t, two.Dir, "config", "core.hooksPath"); err == nil {
		t.Errorf("a setting of another tree: %s", out)
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": ""})
	for _, opts := range []*Options{{MinFree: 1 << 60, MinFreeShare: -1}, {MinFree: -1, MinFreeShare: 1.5}} {
		r, err := Open(t.TempDir(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "a"}); !errors.Is(err, ErrDisk) || !strings.Contains(err.Error(), r.dir) {
			t.Errorf("%+v: %v", opts, err)
		}
		ctx, stop := r.watchDisk(t.Context()) // as if it had become full while a tree is made
		<-ctx.Done()
		stop()
		if err := context.Cause(ctx); !errors.Is(err, ErrDisk) {
			t.Errorf("%+v: the context of a tree that is made has ended: %v", opts, err)
		}
		space, err := r.Free()
		if err != nil || space.Total <= 0 || space.Free > space.Total || space.Share() < 0 || space.Share() > 1 {
			t.Errorf("free space: %+v, %v", space, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	r, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	differ(t, "options", Options{
		MinFree: 5e9, MinFreeShare: 0.1, MaxSize: 10e9, MaxFiles: 1e6, MaxFile: 256 << 20, MirrorAge: 30 * 24 * time.Hour}, r.opts)
}

func TestSizeLimits(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "1234567890", "b": "1234567890"})
	for _, opts := range []*Options{{MaxSize: 19}, {MaxFiles: 1}} {
		opts.MinFree, opts.MinFreeShare = -1, -1
		r, err := Open(t.TempDir(), opts)
		if err != nil {
			t.Fatal(err)
		}
		var over *LimitError
		if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "a"}); !errors.As(err, &over) {
			t.Errorf("%+v: %v", opts, err)
		}
		differ(t, "what is left", false, exists(filepath.Join(r.trees(), "a")))
	}
}

// TestBomb has a repository of some kilobytes with 10^10 files.
func TestBomb(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "text"})
	hash := gitIn(t, repo, "rev-parse", "HEAD:a")
	kind, mode := "blob", "100644"
	for range 10 {
		var list strings.Builder
		for i := range 10 {
			fmt.Fprintf(&list, "%s %s %s\tf%d\n", mode, kind, hash, i)
		}
		cmd := exec.CommandContext(t.Context(), "git", "mktree")
		cmd.Dir, cmd.Stdin = repo, strings.NewReader(list.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		hash, kind, mode = strings.TrimSpace(string(out)), "tree", "040000"
	}
	gitIn(t, repo, "update-ref", "refs/heads/bomb", gitIn(t, repo, "commit-tree", "-m", "bomb", hash))
	r := newRoot(t)
	r.opts.MaxFiles = 10_000
	var over *LimitError
	if _, err := r.Add(t.Context(), &Request{Repo: repo, Ref: "bomb", Name: "a"}); !errors.As(err, &over) {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "1234567890"})
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	write(t, tree.Dir, map[string]string{"cache/mod/file": "x"})
	before, err := tree.Size(t.Context())
	if err != nil || before < 11 {
		t.Errorf("size: %d, %v", before, err)
	}
	write(t, tree.Dir, map[string]string{"more": strings.Repeat("x", 1000)})
	if after, err := tree.Size(t.Context()); err != nil || after != before+1000 {
		t.Errorf("size after 1000 bytes: %d, %v, before it was %d", after, err, before)
	}
	if err := os.Chmod(filepath.Join(tree.Dir, "cache/mod"), 0o500); err != nil { // as the caches of modules of Go
		t.Fatal(err)
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(r.trees())
	if err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := tree.Remove(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second time: %v", err)
	}
	add(t, r, &Request{Repo: repo, Name: "a"})
}

// A tree that is kept stays until its time is over.
func TestKeep(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": ""})
	r := newRoot(t)
	for name, age := range map[string]time.Duration{"kept": -time.Hour, "old": time.Hour} {
		tree := add(t, r, &Request{Repo: repo, Name: name})
		if err := tree.Keep(time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Snapshot(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("it is not closed: %v", err)
		}
	}
	removed, err := openRoot(t, r.dir).Sweep(t.Context(), func(string) bool { return false })
	if err != nil {
		t.Error(err)
	}
	differ(t, "removed", []string{"old"}, removed)
	tree, err := r.Tree("kept")
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(); err != nil {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": ""})
	r := newRoot(t)
	for _, name := range []string{"kept", "gone", "open", "half"} {
		tree := add(t, r, &Request{Repo: repo, Name: name})
		if name != "open" {
			if err := tree.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if name == "half" { // the process was killed before it was finished
			if err := os.Remove(tree.recordPath()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(r.trees(), "begun"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, r.trees(), map[string]string{"orphan.lock": "", ".foreign": "", "foreign dir/file": ""})

	// Another process, as far as locks are concerned.
	removed, err := openRoot(t, r.dir).Sweep(t.Context(), func(name string) bool { return name == "kept" || name == "half" })
	if err != nil {
		t.Error(err)
	}
	differ(t, "removed", []string{"begun", "gone", "half"}, removed)
	entries, err := os.ReadDir(r.trees())
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	differ(t, "left", []string{".foreign", "foreign dir", "kept", "kept.lock", "open", "open.lock"}, left)
}

func TestTreeAfterRestart(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	if _, err := r.Tree("a"); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is open: %v", err)
	}
	write(t, tree.Dir, map[string]string{"b": "two\n"})
	before := snapshot(t, tree)
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	// The leftovers of a kill.
	write(t, tree.repoDir(), map[string]string{"index.lock": ""})

	again, err := openRoot(t, r.dir).Tree("a")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	differ(t, "tree", []string{tree.Name, tree.Dir, tree.Base, tree.Branch, tree.repo},
		[]string{again.Name, again.Dir, again.Base, again.Branch, again.repo})
	differ(t, "snapshot", &Snapshot{Commit: before.Commit}, snapshot(t, again))
	for _, name := range []string{"none", "../a", ""} {
		if _, err := r.Tree(name); err == nil {
			t.Errorf("there is a tree %q", name)
		}
	}
}

// TestMirrorAfterKill leaves in a mirror what git leaves when it is killed.
func TestMirrorAfterKill(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	r := newRoot(t)
	add(t, r, &Request{Repo: repo, Name: "a"})
	m := r.mirror(repo)
	commit := commitAll(t, repo, map[string]string{"a": "two\n"})
	write(t, m.dir, map[string]string{
		"refs/heads/main.lock": "", "packed-refs.lock": "", "config.lock": "", "objects/pack/tmp_pack_x": "half"})
	if out, err := gittest.Try(t, m.dir, "fetch", repo, "+refs/heads/*:refs/heads/*"); err == nil {
		t.Fatalf("a lock of git does not matter, so this test shows nothing: %s", out)
	}
	write(t, filepath.Dir(m.dir), map[string]string{filepath.Base(m.dir) + lockSuffix: dirty})
	tree := add(t, r, &Request{Repo: repo, Name: "b"})
	differ(t, "base", commit, tree.Base)
	differ(t, "temporary file", false, exists(filepath.Join(m.dir, "objects/pack/tmp_pack_x")))

	// Killed while the mirror was made.
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	write(t, m.dir, map[string]string{"HEAD": "ref: re", "config.lock": "x"})
	write(t, filepath.Dir(m.dir), map[string]string{filepath.Base(m.dir) + lockSuffix: dirty})
	differ(t, "base in a new mirror", commit, add(t, r, &Request{Repo: repo, Name: "c"}).Base)
}

func TestSweepMirrors(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	dirs := map[string]string{}
	for _, name := range []string{"used", "old", "killed", "new"} {
		repo := newRepo(t, map[string]string{"a": name})
		tree := add(t, root, &Request{Repo: repo, Name: name})
		dirs[name] = root.mirror(repo).dir
		if name != "used" {
			if err := tree.Remove(); err != nil {
				t.Fatal(err)
			}
		}
	}
	long := time.Now().Add(-31 * 24 * time.Hour)
	for _, name := range []string{"used", "old"} {
		if err := os.Chtimes(dirs[name]+lockSuffix, long, long); err != nil {
			t.Fatal(err)
		}
	}
	garbage := filepath.Join(dirs["killed"], "objects", "pack", "tmp_pack_1")
	write(t, filepath.Dir(garbage), map[string]string{filepath.Base(garbage): "half a repository"})
	write(t, root.mirrors(), map[string]string{filepath.Base(dirs["killed"]) + lockSuffix: dirty})
	if _, err := root.Sweep(t.Context(), func(string) bool { return true }); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"used": true, "old": false, "killed": true, "new": true} {
		differ(t, name, []bool{want, want}, []bool{exists(dirs[name]), exists(dirs[name] + lockSuffix)})
	}
	differ(t, "what a killed process has left", false, exists(garbage))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"2.39.5": true, "2.32.0": true, "2.100.1.windows.1": true, "3.0 (Apple Git-154)": true, "2.31.9": false, "1.99": false, "": false} {
		if err := checkVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestMirrorIsRepacked(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	r := newRoot(t)
	ctx := t.Context()
	m := r.mirror(repo)
	fetch := func() (hash string) {
		err := m.use(ctx, func() (err error) {
			hash, err = m.commit(ctx, "main")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	first := fetch()
	gitIn(t, repo, "commit", "-q", "--amend", "-m", "another") // the first is in no branch any more
	m.maxPacks = 5
	for i := range m.maxPacks + 1 {
		commitAll(t, repo, map[string]string{"a": fmt.Sprint(i)})
		fetch()
	}
	files, err := os.ReadDir(filepath.Join(m.objects(), "pack"))
	if err != nil || len(files) > 2*m.maxPacks {
		t.Errorf("%d files of packs, %v", len(files), err)
	}
	if _, ok := m.resolve(ctx, first); !ok {
		t.Error("a commit that a tree may use is gone")
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": ""})
	r := newRoot(t)
	lock, err := files.TryLock(r.mirror(repo).dir + lockSuffix) // another process fetches
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	why := errors.New("the job was canceled")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() {
		_, err := r.Add(ctx, &Request{Repo: repo, Name: "a"})
		failed <- err
	}()
	cancel(why)
	if err := <-failed; !errors.Is(err, why) {
		t.Error(err)
	}
	tree, err := openRoot(t, r.dir).Sweep(t.Context(), func(string) bool { return true })
	if err != nil || len(tree) > 0 {
		t.Errorf("left: %v, %v", tree, err)
	}
}
