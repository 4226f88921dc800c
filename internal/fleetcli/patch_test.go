package fleetcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A patch does not change a file that has changes of the user, whatever it does to the file.
func TestClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if _, err := git(t.Context(), dir, append([]string{"-c", "user.name=me", "-c", "user.email=me@host", "-c", "core.autocrlf=false"}, args...)...); err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write("a b", "1\n")
	write("other", "1\n")
	run("add", ".")
	run("commit", "-q", "-m", "first")
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
