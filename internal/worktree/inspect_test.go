package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newLink(name, target string) string {
	return "diff --git a/" + name + " b/" + name + "\nnew file mode 120000\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+" + target + "\n\\ No newline at end of file\n"
}

func newFileOf(name, mode string) string {
	return "diff --git a/" + name + " b/" + name + "\nnew file mode " + mode + "\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+text\n"
}

// TestInspectHostile has patches that leave the repository, and names the file of each. None of them changes anything.
func TestInspectHostile(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n", "dir/b": "two\n"})
	if err := os.Symlink("/etc", filepath.Join(repo, "etc")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-q", "-m", "a link of the user")
	before := read(t, repo)
	const submodule = "diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000000000000000000000000000000000000..1234567890123456789012345678901234567890\n" +
		"--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit 1234567890123456789012345678901234567890\n"
	const hiding = "diff --git a/.gitmodules b/.gitmodules\nnew file mode 100644\n--- /dev/null\n+++ b/.gitmodules\n@@ -0,0 +1,4 @@\n" +
		"+[submodule \"sub\"]\n+\tpath = sub\n+\turl = ./sub\n+\tignore = all\n"
	for name, tt := range map[string]struct{ patch, file, why string }{
		"absolute":             {newLink("x", "/etc/passwd"), "x", "not a relative path"},
		"above":                {newLink("dir/x", "../../x"), "dir/x", "leaves the repository"},
		"above and back":       {newLink("x", "dir/../../y"), "x", "leaves the repository"},
		"over a link":          {newLink("x", "etc/passwd"), "x", "leads over another link"},
		"to a link":            {newLink("x", "etc"), "x", "leads over another link"},
		"over a new link":      {newLink("w", "dir") + newLink("x", "w/b"), "x", "leads over another link"},
		"over a link in caps":  {newLink("x", "ETC/passwd"), "x", "leads over another link"},
		"over one with accent": {newLink("\u00e9", "dir") + newLink("x", "e\u0301/b"), "x", "leads over another link"},
		"a file over a link":   {newLink("w", "dir") + newFileOf("W/evil", "100644"), "W/evil", "leads over a link"},
		"over a link and back": {newLink("x", "etc/../b"), "x", "leads over another link"},
		"into the repository":  {newLink("x", ".git/hooks"), "x", "directory of a repository"},
		"into it in caps":      {newLink("x", "dir/../.GIT"), "x", "directory of a repository"},
		"of Windows":           {newLink("x", `C:\x`), "x", "not a relative path"},
		"with backslashes":     {newLink("x", `..\x`), "x", "leaves the repository"},
		"a submodule":          {submodule, "sub", "is a submodule"},
		"a hidden submodule":   {hiding + submodule, "sub", "is a submodule"},
		"a file that becomes a link": {
			"diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n" + newLink("a", "/etc/passwd"), "a", "not a relative path",
		},
	} {
		var refused *RefusedError
		_, err := Inspect(t.Context(), repo, []byte(tt.patch), true)
		if !errors.As(err, &refused) || refused.File != tt.file || !strings.Contains(err.Error(), tt.why) || refused.Link {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, patch := range map[string]string{
		"through a link":     newFileOf("etc/evil", "100644"),
		"through a new link": newLink("w", "dir") + newFileOf("w/evil", "100644"),
		"in the repository":  newFileOf(".git/hooks/pre-commit", "100755"),
		"in it in caps":      newFileOf(".GIT/config", "100644"),
		"above":              newFileOf("../evil", "100644"),
		"that does not fit":  "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-three\n+four\n",
	} {
		if changes, err := Inspect(t.Context(), repo, []byte(patch), true); err == nil {
			t.Errorf("a file %s: %+v", name, changes)
		}
	}
	differ(t, "files", before, read(t, repo))
}

// TestInspect has a patch with everything that may be applied. Links have to be allowed.
func TestInspect(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, map[string]string{"a": "one\n", "dir/b": "two\n"})
	patch := newFileOf("run.sh", "100755") + "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n" +
		"diff --git a/dir/b b/dir/c d\nsimilarity index 100%\nrename from dir/b\nrename to dir/c d\n" + newLink("dir/x", "../a")
	changes, err := Inspect(t.Context(), filepath.Join(repo, "dir"), []byte(patch), true)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"a", ModeFile, ModeExecutable, ""}, {"dir/b", ModeFile, ModeNone, ""}, {"dir/c d", ModeNone, ModeFile, ""},
		{"dir/x", ModeNone, ModeLink, "../a"}, {"run.sh", ModeNone, ModeExecutable, ""},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var refused *RefusedError
	if _, err := Inspect(t.Context(), repo, []byte(patch), false); !errors.As(err, &refused) || refused.File != "dir/x" || !refused.Link {
		t.Errorf("without links: %v", err)
	}
	empty := t.TempDir()
	gitIn(t, empty, "init", "-q")
	if changes, err := Inspect(t.Context(), empty, []byte(newFileOf("x", "100644")), false); err != nil || len(changes) != 1 {
		t.Errorf("without a commit: %+v, %v", changes, err)
	}
	if _, err := Inspect(t.Context(), t.TempDir(), []byte(patch), false); err == nil {
		t.Error("outside of a repository")
	}
}
