package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Settings that changed since they were read stay as they are.
func TestReplaceSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	for _, c := range []struct {
		before, after string
		want          string // afterwards; "" if there is no file
		fails         bool
	}{
		{"read", "mine", "", true},
		{"", "mine", "mine", false},
		{"", "again", "mine", true},
		{"other", "again", "mine", true},
		{"mine", "again", "again", false},
	} {
		if err := replaceSettings(path, c.before, c.after); (err != nil) != c.fails {
			t.Errorf("%+v: error %v", c, err)
		}
		if got, _ := os.ReadFile(path); string(got) != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replaceSettings(path, "again", "{}"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o644) {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}
