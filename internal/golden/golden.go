// Package golden compares what tests make with files in their testdata, which the flag -update writes.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests make to the golden files")

// Updates reports whether files are written instead of compared.
func Updates() bool { return *update }

// Read returns the golden file of a name, such as "screens/ls_80", with line breaks as they were
// written.
func Read(name string) (string, error) {
	data, err := os.ReadFile(path(name))
	return strings.ReplaceAll(string(data), "\r\n", "\n"), err
}

func path(name string) string { return filepath.Join("testdata", filepath.FromSlash(name)+".golden") }

// Escape returns a text as it is in a golden file: escape sequences begin with \e there.
func Escape(text string) string { return strings.ReplaceAll(text, "\x1b", `\e`) }

// Check compares a text with the golden file of a name.
func Check(t testing.TB, name, got string) {
	t.Helper()
	got = Escape(got)
	if Updates() {
		write(t, path(name), got)
	}
	want, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path(name), diff)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
