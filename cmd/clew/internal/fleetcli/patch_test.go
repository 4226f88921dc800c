package fleetcli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A patch does not change a file that has changes of the user, whatever it does to the file.
func TestClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Run(t, dir, "init", "-q")
	write("a b", "1\n")
	write("other", "1\n")
	gittest.Run(t, dir, "add", ".")
	gittest.Run(t, dir, "commit", "-q", "-m", "first")
	write("other", "2\n")
	patches := map[string]string{
		"changed": "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-1\n+3\n",
		"renamed": "diff --git a/a b b/c\nsimilarity index 100%\nrename from a b\nrename to c\n",
		"removed": "diff --git a/a b b/a b\ndeleted file mode 100644\n--- a/a b\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n",
	}
	for name, patch := range patches {
		if err := clean(t.Context(), dir, []byte(patch)); err != nil {
			t.Errorf("%s, nothing is in the way: %v", name, err)
		}
	}
	write("a b", "1\n2\n")
	for name, patch := range patches {
		if err := clean(t.Context(), dir, []byte(patch)); err == nil || !strings.Contains(err.Error(), "a b has changes that are not committed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The command that applies a patch all the same does so at the top of the repository: elsewhere, git leaves out
// files without a word.
func TestApplyHint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here", "below")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, filepath.Dir(dir), "init", "-q")
	t.Chdir(dir)
	top, err := git(t.Context(), ".", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Fatal(err)
	}
	want := "clew jobs patch a --attempt 1 | git -C " + tty.ShellWord(top) + " apply"
	o := &jobsPatchOptions{}
	job := &fleet.Job{ID: "a", Spec: fleet.Spec{Repo: &fleet.Repo{URL: "https://host/a.git"}}}
	const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"
	for name, attempt := range map[string]*fleet.Attempt{
		"of another repository": {Number: 1, Base: strings.Repeat("0123456789", 4)},
		"that does not fit":     {Number: 1},
	} {
		err := o.applyHere(t.Context(), job, attempt, []byte(patch))
		if f, ok := errors.AsType[*clikit.Failure](err); !ok || !strings.Contains(f.Hint, want) {
			t.Errorf("a patch %s: %+v, want %s", name, err, want)
		}
	}
	job.Spec.Repo = nil
	if err := o.applyHere(t.Context(), job, &fleet.Attempt{Number: 1}, []byte(patch)); err == nil {
		t.Error("the patch of a job without a repository is applied")
	}
}

// A patch is an agent's work. A patch that makes links or submodules is refused with the name of the file, and nothing
// of it is applied; a patch that makes programs is applied, and the programs are named.
func TestApplyShowsModes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	gittest.Run(t, dir, "init", "-q")
	gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	created := func(name, mode, text string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode " + mode + "\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+" + text + "\n\\ No newline at end of file\n"
	}
	job := &fleet.Job{ID: "a", Spec: fleet.Spec{Repo: &fleet.Repo{URL: "https://host/a.git"}}}
	for _, tt := range []struct {
		name, patch      string
		links            bool
		err, hint, shown string
	}{
		{"outside", created("ok", "100644", "x") + created("evil", "120000", "/etc/passwd"), true, `"evil" would be a symbolic link to "/etc/passwd"`, "Nothing was changed", ""},
		{"inside", created("way", "120000", "docs"), false, `"way" would be a symbolic link to "docs"`, "--allow-links", ""},
		{"allowed", created("way", "120000", "docs"), true, "", "", "1 file\n  way is a symbolic link, to docs\n"},
		{"program", created("run.sh", "100755", "x") + created("plain", "100644", "x"), false, "", "", "2 files\n  run.sh is a program\n"},
	} {
		o := &jobsPatchOptions{apply: true, links: tt.links}
		err := o.applyHere(t.Context(), job, &fleet.Attempt{Number: 1}, []byte(tt.patch))
		if tt.err == "" {
			if shown := wording.Count(len(o.changes), "file") + "\n" + modes(o.changes); err != nil || shown != tt.shown {
				t.Errorf("%s: %q, %v", tt.name, shown, err)
			}
			continue
		}
		f, ok := errors.AsType[*clikit.Failure](err)
		if !ok || !strings.Contains(f.Err.Error(), tt.err) || !strings.Contains(f.Hint, tt.hint) {
			t.Errorf("%s: %+v", tt.name, err)
		}
		for _, file := range []string{"ok", "evil"} {
			if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
				t.Errorf("%s: %s is there", tt.name, file)
			}
		}
	}
}
