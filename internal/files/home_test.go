package files

import (
	"path/filepath"
	"testing"
)

func TestExpandHome(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "me")
	for path, want := range map[string]string{
		"~": home, "~/": home, "~/a/b": filepath.Join(home, "a", "b"), "~other/a": "~other/a",
		"a/~": "a/~", "/~": "/~", "": "",
	} {
		if got := ExpandHome(path, home); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if got := ExpandHome(path, ""); got != path {
			t.Errorf("%s without a home: %s", path, got)
		}
	}
}
