//go:build unix

package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// oddNames are names that tools get wrong.
var oddNames = []string{
	"plain.txt", "-rf", "--force", "a b", " leading", "trailing ", "quote\"d", "it's", "new\nline", "tab\there", "back\\slash", "ümläut", "e\u0301",
	"日本", "dir/inner", "dir/-x", "deep/er/and/deeper/file", "$HOME", "`id`", "*", "?", "[a]", "#hash", "!bang", ":colon", "~", "semi;colon", "\x01control",
	"\x1b[31mred", "nul", "a => b", "b/a/b", "a/x", "{x}", ".hidden", "..dots", ".gitattributes.txt", "dev/null",
}

// change makes a random change to a directory.
func change(t *testing.T, rng *rand.Rand, dir string) {
	t.Helper()
	names := slices.Clone(oddNames)
	if runtime.GOOS == "linux" {
		names = append(names, "\xff\xfe", "dir/\xc3\x28") // not UTF-8, which macOS refuses
	}
	path := filepath.Join(dir, names[rng.IntN(len(names))])
	other := filepath.Join(dir, names[rng.IntN(len(names))])
	// A change that can't be made, such as a directory to a file, is left out.
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	switch rng.IntN(8) {
	case 0, 1, 2:
		_ = os.WriteFile(path, content(rng), 0o644)
	case 3:
		_ = os.Remove(path)
	case 4:
		_ = os.MkdirAll(filepath.Dir(other), 0o755)
		_ = os.Rename(path, other)
	case 5:
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(path, []os.FileMode{0o644, 0o755}[rng.IntN(2)])
		}
	case 6:
		_ = os.Remove(path)
		_ = os.Symlink([]string{"plain.txt", "/etc/passwd", "../..", "nowhere", "dir"}[rng.IntN(5)], path)
	case 7:
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			data[rng.IntN(len(data))] ^= 1
			_ = os.WriteFile(path, data, 0o644)
		}
	}
}

// content returns a text, binary data, or nothing.
func content(rng *rand.Rand) []byte {
	var b bytes.Buffer
	kind := rng.IntN(5)
	for i := range rng.IntN(200) {
		switch kind {
		case 0:
			fmt.Fprintf(&b, "line %d of %d\n", i, rng.IntN(3))
		case 1:
			fmt.Fprintf(&b, "line %d\r\n", i)
		case 2:
			fmt.Fprintf(&b, "%d  \n\t \nno line end at the end %d", i, rng.IntN(3))
		case 3:
			b.WriteByte(byte(rng.Uint32()))
		}
	}
	return b.Bytes()
}

// TestPatch checks that a patch makes exactly the files of the snapshot, in a new clone.
func TestPatch(t *testing.T) {
	t.Parallel()
	for i := range soak.Size(1, 25) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rng := soak.Rand(t)
			repo := newRepo(t, map[string]string{"plain.txt": "text\n"})
			for range rng.IntN(60) {
				change(t, rng, repo)
			}
			commitAll(t, repo, nil)
			tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
			for range 1 + rng.IntN(40) {
				change(t, rng, tree.Dir)
				if rng.IntN(20) == 0 {
					commitAll(t, tree.Dir, nil)
				}
			}
			s := snapshot(t, tree)
			if len(s.Skipped) > 0 {
				t.Fatalf("skipped: %q", s.Skipped)
			}
			differ(t, "files of the snapshot", read(t, tree.Dir), filesOf(t, tree, s.Commit))
			text := patch(t, tree, s.Commit).String()

			clone := filepath.Join(t.TempDir(), "clone")
			gitIn(t, "/", "clone", "-q", repo, clone)
			if err := Apply(t.Context(), clone, strings.NewReader(text), true); err != nil {
				t.Fatalf("check: %v\n%s", err, text)
			}
			differ(t, "files after the check", read(t, repo), read(t, clone))
			if err := Apply(t.Context(), clone, strings.NewReader(text), false); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			differ(t, "files after the patch", read(t, tree.Dir), read(t, clone))

			// A bundle makes the same files.
			if s.Commit != tree.Base {
				second := add(t, newRoot(t), &Request{Repo: repo, Ref: tree.Base, Name: "b", Snapshot: bundle(t, tree, s.Commit)})
				differ(t, "files from the bundle", read(t, tree.Dir), read(t, second.Dir))
			}
		})
	}
}

// TestPatchKeepsAttributes has files that git converts when it writes them.
func TestPatchKeepsAttributes(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{".gitattributes": "*.bat text eol=crlf\n*.txt text\n", "a.bat": "one\r\ntwo\r\n", "b.txt": "one\n"})
	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
	differ(t, "nothing has changed", &Snapshot{Commit: tree.Base}, snapshot(t, tree))
	write(t, tree.Dir, map[string]string{"a.bat": "one\r\ntwo\r\nthree\r\n", "c.bat": "new\r\n"})
	text := patch(t, tree, snapshot(t, tree).Commit)
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, "/", "clone", "-q", repo, clone)
	if err := Apply(t.Context(), clone, text, false); err != nil {
		t.Fatal(err)
	}
	differ(t, "files", read(t, tree.Dir), read(t, clone))
}

func TestApply(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"sub/a": "one\ntwo\nthree\n", "sub/b": "b\n", "bin": "\x00\x01", "other": "x\n"})
	tree := add(t, newRoot(t), &Request{Repo: repo, Name: "a"})
	write(t, tree.Dir, map[string]string{"sub/a": "one\n2\nthree\n", "bin": "\x00\x02", "new": "new\n"})
	if err := os.Remove(filepath.Join(tree.Dir, "sub/b")); err != nil {
		t.Fatal(err)
	}
	text := patch(t, tree, snapshot(t, tree).Commit).String()
	if !regexp.MustCompile(`(?m)^index [0-9a-f]{40}\.\.[0-9a-f]{40} 100644$`).MatchString(text) { // for a merge with "git apply --3way"
		t.Errorf("the patch has no whole hashes:\n%s", text)
	}
	for _, test := range []struct {
		name string
		have map[string]string
		want *ApplyError
	}{
		{"fits", map[string]string{"other": "changed by the user\n"}, nil},
		{"lines differ", map[string]string{"sub/a": "1\n"}, &ApplyError{File: "sub/a", Line: 1, Reason: "the lines around the change differ"}},
		{"exists", map[string]string{"new": "mine\n"}, &ApplyError{File: "new", Reason: "already exists in working directory"}},
		{"binary", map[string]string{"bin": "\x00\x03"}, &ApplyError{File: "bin"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clone := filepath.Join(t.TempDir(), "clone")
			gitIn(t, "/", "clone", "-q", repo, clone)
			write(t, clone, test.have)
			before := read(t, clone)
			// From below, git itself would leave out the files above.
			err := Apply(t.Context(), filepath.Join(clone, "sub"), strings.NewReader(text), false)
			if test.want == nil {
				want := read(t, tree.Dir)
				want["other"] = test.have["other"]
				differ(t, "error", nil, err)
				differ(t, "files", want, read(t, clone))
				differ(t, "staged", "", gitIn(t, clone, "diff", "--cached", "--name-only"))
				return
			}
			var failed *ApplyError
			if !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if test.want.Reason == "" {
				test.want.Reason = failed.Reason
			}
			differ(t, "error", test.want, failed)
			differ(t, "files", before, read(t, clone))
		})
	}
	t.Run("without a repository", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, dir, read(t, repo))
		if err := Apply(t.Context(), dir, strings.NewReader(text), false); err != nil {
			t.Fatal(err)
		}
		differ(t, "files", read(t, tree.Dir), read(t, dir))
	})
	if err := Apply(t.Context(), t.TempDir(), strings.NewReader(""), false); err != nil {
		t.Errorf("an empty patch: %v", err)
	}
	if err := Apply(t.Context(), t.TempDir(), strings.NewReader("no patch at all\n"), false); err == nil {
		t.Error("a text was applied")
	}
}

// TestApplyHostile has patches that write where they must not.
func TestApplyHostile(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	file := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+evil\n"
	}
	link := "diff --git a/way b/way\nnew file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+" + outside + "\n\\ No newline at end of file\n"
	for name, text := range map[string]string{
		"above":        file("../evil"),
		"absolute":     file(filepath.Join(outside, "evil")),
		"git":          file(".git/hooks/post-checkout"),
		"git in caps":  file(".GIT/config2"),
		"git for ntfs": file("git~1/config2"),
		"through link": link + file("way/evil"),
		"old link":     file("link/evil"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t, map[string]string{"a": "one\n"})
			if err := os.Symlink(outside, filepath.Join(repo, "link")); err != nil {
				t.Fatal(err)
			}
			before := read(t, repo)
			if err := Apply(t.Context(), repo, strings.NewReader(text), false); err == nil {
				t.Error("it was applied")
			}
			differ(t, "files", before, read(t, repo))
			differ(t, "outside", map[string]string{}, read(t, outside))
			differ(t, "hook", false, exists(filepath.Join(repo, ".git/hooks/post-checkout")))
		})
	}
}
