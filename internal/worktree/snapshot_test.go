//go:build unix

package worktree

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/soak"
)

// filesOf returns what a commit has, as read returns it: it is checked out by git itself.
func filesOf(t *testing.T, tree *Tree, commit string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q")
	write(t, dir, map[string]string{".git/objects/info/alternates": filepath.Join(tree.repoDir(), "objects") + "\n"})
	gitIn(t, dir, "reset", "-q", "--hard", commit)
	return read(t, dir)
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n", "b": "two\n", "dir/c": "three\n", ".gitignore": "*.log\n"})
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "job1"})
	differ(t, "nothing has changed", &Snapshot{Commit: tree.Base}, snapshot(t, tree))

	write(t, tree.Dir, map[string]string{"a": "changed\n", "new/file": "new\n", "x.log": "ignored\n", "x.own": "ignored\n",
		".git/info/exclude": "*.own\n"})
	if err := os.Remove(filepath.Join(tree.Dir, "b")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, tree.Dir, "add", "a")
	status := gitIn(t, tree.Dir, "status", "--porcelain")
	first := snapshot(t, tree)
	want := map[string]string{"a": "changed\n", "dir/c": "three\n", "new/file": "new\n", ".gitignore": "*.log\n"}
	differ(t, "files", want, filesOf(t, tree, first.Commit))
	differ(t, "changed", true, first.Changed)
	differ(t, "status of the agent", status, gitIn(t, tree.Dir, "status", "--porcelain"))
	differ(t, "head of the agent", tree.Base, gitIn(t, tree.Dir, "rev-parse", "HEAD"))
	differ(t, "parent", tree.Base, gitIn(t, tree.repoDir(), "rev-parse", first.Commit+"^"))
	differ(t, "again", &Snapshot{Commit: first.Commit}, snapshot(t, tree))

	write(t, tree.Dir, map[string]string{"a": "CHANGED\n"}) // of the same length
	second := snapshot(t, tree)
	want["a"] = "CHANGED\n"
	differ(t, "files of the second", want, filesOf(t, tree, second.Commit))
	want["a"] = "changed\n"
	differ(t, "files of the first", want, filesOf(t, tree, first.Commit))
}

func TestSnapshotOfCommits(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	gitIn(t, repo, "branch", "other")
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "job1"})
	parent := func(s *Snapshot) string { return gitIn(t, tree.repoDir(), "rev-parse", s.Commit+"^") }

	commit := commitAll(t, tree.Dir, map[string]string{"b": "two\n"})
	differ(t, "a commit is its own snapshot", &Snapshot{Commit: commit, Changed: true}, snapshot(t, tree))
	write(t, tree.Dir, map[string]string{"c": "three\n"})
	differ(t, "parent", commit, parent(snapshot(t, tree)))
	gitIn(t, tree.Dir, "reset", "-q", "--soft", tree.Base)
	differ(t, "parent of the same files", tree.Base, parent(snapshot(t, tree)))
	gitIn(t, tree.Dir, "reset", "-q", "--soft", commit)

	gitIn(t, tree.Dir, "pack-refs", "--all")
	gitIn(t, tree.Dir, "gc", "-q")
	next := commitAll(t, tree.Dir, map[string]string{"d": "four\n"})
	gitIn(t, tree.Dir, "pack-refs", "--all")
	differ(t, "packed", &Snapshot{Commit: next, Changed: true}, snapshot(t, tree))

	gitIn(t, tree.Dir, "checkout", "-q", "--orphan", "alone")
	orphan := commitAll(t, tree.Dir, map[string]string{"e": "five\n"})
	differ(t, "a history of its own", &Snapshot{Commit: orphan, Changed: true}, snapshot(t, tree))
	differ(t, "no parent", orphan, gitIn(t, tree.repoDir(), "rev-list", orphan))

	gitIn(t, tree.Dir, "checkout", "-q", "--detach", tree.Base)
	gitIn(t, tree.Dir, "clean", "-qdf")
	back := snapshot(t, tree)
	differ(t, "back at the base", []any{tree.Base, true}, []any{parent(back), back.Changed})
	differ(t, "back at the base, again", &Snapshot{Commit: back.Commit}, snapshot(t, tree))
	differ(t, "patch", "", patch(t, tree, back.Commit).String())
	second := add(t, newRoot(t), &Request{Repo: repo, Ref: tree.Base, Name: "job2", Snapshot: bundle(t, tree, back.Commit)})
	differ(t, "head after that", tree.Base, gitIn(t, second.Dir, "rev-parse", "HEAD"))

	// Without a repository there are still files, and the last known commit.
	write(t, tree.Dir, map[string]string{"f": "six\n"})
	if err := os.RemoveAll(filepath.Join(tree.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	s := snapshot(t, tree)
	differ(t, "files without a repository", map[string]string{"a": "one\n", "f": "six\n"}, filesOf(t, tree, s.Commit))
	differ(t, "parent without a repository", tree.Base, parent(s))
	if len(s.Skipped) != 1 || !strings.Contains(s.Skipped[0], "the commits of the agent") {
		t.Errorf("skipped: %q", s.Skipped)
	}
}

func TestSnapshotOfDamagedRepository(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	private := newRepo(t, map[string]string{"secret": "of the user\n"})
	outside := commitAll(t, private, nil)
	replace := func(t *testing.T, path, target string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir string){
		"garbage":          func(t *testing.T, dir string) { write(t, dir, map[string]string{"HEAD": "\x00\x1b[31m"}) },
		"a ref outside":    func(t *testing.T, dir string) { write(t, dir, map[string]string{"HEAD": "ref: refs/../../../x"}) },
		"a missing commit": func(t *testing.T, dir string) { write(t, dir, map[string]string{"HEAD": outside}) },
		"a blob": func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"HEAD": gitIn(t, dir, "rev-parse", "HEAD:a")})
		},
		"a directory": func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(filepath.Join(dir, "HEAD")), os.Mkdir(filepath.Join(dir, "HEAD"), 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"a link that leads out": func(t *testing.T, dir string) {
			replace(t, filepath.Join(dir, "HEAD"), filepath.Join(private, ".git", "refs", "heads", "main"))
		},
		"objects of the user": func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"HEAD": outside})
			replace(t, filepath.Join(dir, "objects"), filepath.Join(private, ".git", "objects"))
		},
		"some objects of the user": func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"HEAD": outside})
			entries, err := os.ReadDir(filepath.Join(private, ".git", "objects"))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if len(entry.Name()) == 2 {
					replace(t, filepath.Join(dir, "objects", entry.Name()), filepath.Join(private, ".git", "objects", entry.Name()))
				}
			}
		},
		"borrowed objects of the user": func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"HEAD": outside, "objects/info/alternates": filepath.Join(private, ".git", "objects") + "\n"})
		},
		"objects of the user after many empty lines": func(t *testing.T, dir string) {
			alternates := strings.Repeat("\n", 2*maxRefFile) + filepath.Join(private, ".git", "objects") + "\n"
			write(t, dir, map[string]string{"HEAD": outside, "objects/info/alternates": alternates})
		},
		"a link with an odd name": func(t *testing.T, dir string) {
			write(t, dir, map[string]string{"HEAD": outside})
			replace(t, filepath.Join(dir, "objects", "\x1b[31m\n"), "nowhere")
		},
		"the repository of the user": func(t *testing.T, dir string) { replace(t, dir, filepath.Join(private, ".git")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
			damage(t, filepath.Join(tree.Dir, ".git"))
			write(t, tree.Dir, map[string]string{"b": "two\n"})
			s := snapshot(t, tree)
			differ(t, "files", map[string]string{"a": "one\n", "b": "two\n"}, filesOf(t, tree, s.Commit))
			differ(t, "parent", tree.Base, gitIn(t, tree.repoDir(), "rev-parse", s.Commit+"^"))
			if out, err := gittest.Try(t, tree.repoDir(), "cat-file", "-e", outside); err == nil {
				t.Errorf("a commit of the user was copied: %s", out)
			}
			if len(s.Skipped) != 1 || strings.ContainsAny(s.Skipped[0], "\x1b\n") {
				t.Errorf("skipped: %q", s.Skipped)
			}
		})
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n", "gone": "x\n"})
	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "job1.1"})
	own := commitAll(t, tree.Dir, map[string]string{"b": "two\n"})
	write(t, tree.Dir, map[string]string{"a": "changed\n", "c": "three\n"})
	if err := os.Remove(filepath.Join(tree.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	status := gitIn(t, tree.Dir, "status", "--porcelain")
	s := snapshot(t, tree)
	data := bundle(t, tree, s.Commit).Bytes()

	// Another machine, which has the repository and the bundle.
	second := add(t, newRoot(t), &Request{Repo: repo, Ref: tree.Base, Name: "job1.2", Snapshot: strings.NewReader(string(data))})
	differ(t, "files", read(t, tree.Dir), read(t, second.Dir))
	differ(t, "base", tree.Base, second.Base)
	differ(t, "head", own, gitIn(t, second.Dir, "rev-parse", "HEAD"))
	differ(t, "branch", "clew/job1.2", gitIn(t, second.Dir, "branch", "--show-current"))
	differ(t, "status", status, gitIn(t, second.Dir, "status", "--porcelain"))
	differ(t, "log", gitIn(t, tree.Dir, "log", "--format=%H"), gitIn(t, second.Dir, "log", "--format=%H"))
	differ(t, "nothing has changed", &Snapshot{Commit: s.Commit}, snapshot(t, second))
	differ(t, "patch", patch(t, tree, s.Commit).String(), patch(t, second, s.Commit).String())

	// And a third attempt, from the work of the second one.
	write(t, second.Dir, map[string]string{"d": "four\n"})
	s2 := snapshot(t, second)
	third := add(t, newRoot(t), &Request{Repo: repo, Ref: tree.Base, Name: "job1.3", Snapshot: bundle(t, second, s2.Commit)})
	differ(t, "files of the third", read(t, second.Dir), read(t, third.Dir))
	differ(t, "head of the third", own, gitIn(t, third.Dir, "rev-parse", "HEAD"))
}

func TestResumeBeforeBase(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	first := gitIn(t, repo, "rev-parse", "HEAD")
	commitAll(t, repo, map[string]string{"a": "two\n"})
	for name, files := range map[string]map[string]string{"clean": {"a": "one\n"}, "changed": {"a": "one\n", "b": "new\n"}} {
		tree := add(t, newRoot(t), &Request{Repo: repo, Name: "job1.1"})
		gitIn(t, tree.Dir, "reset", "-q", "--hard", first)
		write(t, tree.Dir, files)
		s := snapshot(t, tree)
		differ(t, name+": again", &Snapshot{Commit: s.Commit}, snapshot(t, tree))
		second := add(t, newRoot(t), &Request{Repo: repo, Ref: tree.Base, Name: "job1.2", Snapshot: bundle(t, tree, s.Commit)})
		differ(t, name+": files", files, read(t, second.Dir))
		differ(t, name+": head", first, gitIn(t, second.Dir, "rev-parse", "HEAD"))
		differ(t, name+": snapshot", &Snapshot{Commit: s.Commit}, snapshot(t, second))
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	var out strings.Builder
	if err := tree.Bundle(t.Context(), tree.Base, &out, 0); !errors.Is(err, ErrNothing) {
		t.Errorf("of the base: %v", err)
	}
	for _, commit := range []string{"", "HEAD", "--all", strings.Repeat("0", 40)} {
		if err := tree.Bundle(t.Context(), commit, &out, 0); err == nil || !strings.Contains(err.Error(), "not a snapshot") {
			t.Errorf("of %q: %v", commit, err)
		}
	}
	var noise strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&noise, "%x", i*i*i)
	}
	write(t, tree.Dir, map[string]string{"b": noise.String()})
	s := snapshot(t, tree)
	var over *LimitError
	if err := tree.Bundle(t.Context(), s.Commit, &out, 10_000); !errors.As(err, &over) || over.Limit != 10_000 || out.Len() > 10_000 {
		t.Errorf("over the limit: %v, %d bytes written", err, out.Len())
	}
	if err := tree.Patch(t.Context(), s.Commit, failingWriter{}); !errors.Is(err, errWriter) {
		t.Errorf("a writer that fails: %v", err)
	}
	// Bundles that are none.
	whole := bundle(t, tree, s.Commit).String()
	for name, text := range map[string]string{"empty": "", "garbage": "-\x00-", "cut": whole[:len(whole)/2], "header": whole[:20]} {
		if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "b", Snapshot: strings.NewReader(text)}); err == nil {
			t.Errorf("%s: no error", name)
		}
		differ(t, name+": left", false, exists(filepath.Join(r.trees(), "b")))
	}
	// A bundle of another repository.
	other := newRepo(t, map[string]string{"z": "other\n"})
	if _, err := r.Add(t.Context(), &Request{Repo: other, Name: "b", Snapshot: strings.NewReader(whole)}); err == nil {
		t.Error("a bundle of another repository fits")
	}
}

var errWriter = errors.New("the store is away")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errWriter }

func TestSnapshotSkips(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n", "dir/b": "two\n", "link/c": "three\n", "pipe": "four\n"})
	sub := newRepo(t, map[string]string{"s": "sub\n"})
	commit := gitIn(t, sub, "rev-parse", "HEAD")
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+commit+",vendored")
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+commit+",untouched")
	gitIn(t, repo, "commit", "-q", "-m", "submodules")
	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
	differ(t, "nothing has changed", &Snapshot{Commit: tree.Base}, snapshot(t, tree))

	gitIn(t, tree.Dir, "clone", "-q", sub, "nested")
	write(t, tree.Dir, map[string]string{"vendored/s": "now a file\n", "git~1": "no name for Windows\n", "a": "before the pipe\n", "z": "after it\n"})
	outside := t.TempDir()
	write(t, outside, map[string]string{"c": "a secret of the user\n"})
	if err := errors.Join(os.RemoveAll(filepath.Join(tree.Dir, "link")), os.Symlink(outside, filepath.Join(tree.Dir, "link")),
		os.RemoveAll(filepath.Join(tree.Dir, "dir")), makePipe(filepath.Join(tree.Dir, "pipe")), makePipe(filepath.Join(tree.Dir, "new pipe"))); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Dir, map[string]string{"dir": "was a directory\n"})
	s := snapshot(t, tree)
	differ(t, "files", map[string]string{"a": "before the pipe\n", "dir": "was a directory\n", "link": "-> " + outside, "pipe": "four\n", "vendored/s": "now a file\n", "z": "after it\n"},
		filesOf(t, tree, s.Commit))
	differ(t, "skipped", []string{`"nested/": a repository of its own`, `"pipe": pipe: unsupported file type`,
		`"git~1": git does not allow the name`}, s.Skipped)
	differ(t, "the other submodule", "160000 commit "+commit+"\tuntouched", gitIn(t, tree.repoDir(), "ls-tree", s.Commit, "untouched"))
}

func TestSnapshotLimits(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a"})
	write(t, tree.Dir, map[string]string{"a": "1234567890", "b": "1234567890", "c": "123"})
	r.opts.MaxFile, r.opts.MaxSize = 9, 1000
	s := snapshot(t, tree)
	differ(t, "files", map[string]string{"a": "one\n", "c": "123"}, filesOf(t, tree, s.Commit))
	differ(t, "skipped", []string{`"a": it has 10 bytes, and 9 are the most`, `"b": it has 10 bytes, and 9 are the most`}, s.Skipped)

	for _, opts := range []Options{{MaxFile: 1000, MaxSize: 19, MaxFiles: 1000}, {MaxFile: 1000, MaxSize: 1000, MaxFiles: 1}} {
		r.opts = opts
		var over *LimitError
		if _, err := tree.Snapshot(t.Context()); !errors.As(err, &over) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// rearrange puts a file, a directory, a link or nothing at a random path. Others may do so at the
// same time.
func rearrange(rng *rand.Rand, dir string) {
	path := filepath.Join(dir, fmt.Sprintf("dir%d", rng.IntN(5)))
	switch rng.IntN(4) {
	case 0:
		_ = os.RemoveAll(path)
	case 1:
		_ = os.WriteFile(path, content(rng), 0o644)
	case 2:
		_ = os.Mkdir(path, 0o755)
		_ = os.WriteFile(filepath.Join(path, "file"), content(rng), 0o644)
	case 3:
		_ = os.Symlink("nowhere/else", path)
	}
}

// Files become directories and links, and the other way round, between snapshots.
func TestSnapshotOfRearrangedFiles(t *testing.T) {
	t.Parallel()
	rng := soak.Rand(t)
	tree := add(t, newRoot(t), &Request{Repo: newRepo(t, map[string]string{"still": "one\n", "dir0/file": "x\n"}), Name: "a"})
	for range soak.Size(3, 50) {
		for range 20 {
			rearrange(rng, tree.Dir)
		}
		s := snapshot(t, tree)
		differ(t, "files", read(t, tree.Dir), filesOf(t, tree, s.Commit))
	}
}

// Files change while a snapshot is made.
func TestSnapshotWhileAgentWorks(t *testing.T) {
	t.Parallel()
	rnd := soak.Search(t)
	repo := newRepo(t, map[string]string{"still": "one\n", "dir0/file": "x\n"})
	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
	ctx, stop := context.WithCancel(t.Context())
	var agent sync.WaitGroup
	for range 2 {
		rng := rand.New(rand.NewPCG(rnd.Uint64(), 1))
		agent.Go(func() {
			for ctx.Err() == nil {
				rearrange(rng, tree.Dir)
			}
		})
	}
	for range 15 {
		s, err := tree.Snapshot(t.Context())
		if err != nil {
			t.Error(err)
			continue
		}
		differ(t, "a file that nobody changes", "one", gitIn(t, tree.repoDir(), "cat-file", "blob", s.Commit+":still"))
	}
	stop()
	agent.Wait()
	s := snapshot(t, tree)
	differ(t, "files in the end", read(t, tree.Dir), filesOf(t, tree, s.Commit))
}

// makePipe puts a pipe in the place of a file.
func makePipe(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return unix.Mkfifo(path, 0o600)
}

func TestCopy(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	write(t, repo, map[string]string{".env.test": "KEY=1\n", "cache/x/y": "cached\n", "odd [name]!": "odd\n"})
	if err := os.Symlink(t.TempDir(), filepath.Join(repo, "way out")); err != nil {
		t.Fatal(err)
	}
	r := newRoot(t)
	tree := add(t, r, &Request{Repo: repo, Name: "a", Copy: []string{".env.test", "cache", "odd [name]!"}})
	want := map[string]string{"a": "one\n", ".env.test": "KEY=1\n", "cache/x/y": "cached\n", "odd [name]!": "odd\n"}
	differ(t, "files", want, read(t, tree.Dir))
	differ(t, "status of the agent", "", gitIn(t, tree.Dir, "status", "--porcelain"))
	differ(t, "snapshot", &Snapshot{Commit: tree.Base}, snapshot(t, tree))
	if err := os.Remove(filepath.Join(tree.Dir, ".git", "info", "exclude")); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Dir, map[string]string{".gitignore": "!.env.test\n!cache/**\n", "cached": "x\n"})
	want = map[string]string{"a": "one\n", ".gitignore": "!.env.test\n!cache/**\n", "cached": "x\n"}
	differ(t, "snapshot when the agent wants them", want, filesOf(t, tree, snapshot(t, tree).Commit))
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := r.Tree("a")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	write(t, tree.Dir, map[string]string{"cached": "y\n"})
	want["cached"] = "y\n"
	differ(t, "snapshot after a restart", want, filesOf(t, again, snapshot(t, again).Commit))

	for _, test := range []struct{ name, text string }{
		{"missing", "no such file"}, {"a", "in the repository"}, {"../repo/.env.test", "can't be copied"}, {"/etc/passwd", "can't be copied"},
		{".git/config", "can't be copied"}, {".", "can't be copied"}, {"", "can't be copied"}, {"way out", "escapes"},
		{"way out/x", "escapes"},
	} {
		_, err := r.Add(t.Context(), &Request{Repo: repo, Name: "b", Copy: []string{test.name}})
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%q: %v", test.name, err)
		}
	}
	if _, err := r.Add(t.Context(), &Request{Repo: "https://localhost/x", Name: "b", Copy: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "no directory to copy them from") {
		t.Error(err)
	}
	if _, err := r.Add(t.Context(), &Request{Repo: repo, Name: "b", From: t.TempDir(), Copy: []string{".env.test"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("from another directory: %v", err)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n"})
	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "job1"})
	write(t, tree.Dir, map[string]string{"b": "two\n"})
	first := snapshot(t, tree).Commit
	push := func(commit, last string) error { return tree.Push(t.Context(), commit, "clew/job1", last) }
	if err := push(first, ""); err != nil {
		t.Fatal(err)
	}
	differ(t, "branch", first, gitIn(t, repo, "rev-parse", "refs/heads/clew/job1"))
	write(t, tree.Dir, map[string]string{"b": "three\n"})
	second := snapshot(t, tree).Commit
	if err := push(second, ""); !errors.Is(err, ErrStale) {
		t.Errorf("a branch that must not exist: %v", err)
	}
	if err := push(second, tree.Base); !errors.Is(err, ErrStale) {
		t.Errorf("another value: %v", err)
	}
	if err := push(second, first); err != nil {
		t.Errorf("the last value: %v", err)
	}
	differ(t, "branch", second, gitIn(t, repo, "rev-parse", "refs/heads/clew/job1"))
	for _, branch := range []string{"", "-f", "a b", "--mirror", "a:b", "+a", "refs/heads/.x"} {
		if err := tree.Push(t.Context(), second, branch, ""); err == nil && branch != "+a" {
			t.Errorf("branch %q: no error", branch)
		}
	}
	if err := push("HEAD", second); err == nil {
		t.Error("a commit that is no snapshot")
	}
	if err := push(second, "main"); err == nil {
		t.Error("a last value that is no hash")
	}
}
