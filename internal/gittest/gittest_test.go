package gittest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew/internal/gittest"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("GIT_DIR", filepath.Join(os.TempDir(), "not there")) // as git does for a hook
	os.Exit(gittest.Main(m))
}

// Git neither works in the repository of the user, nor reads the user's settings.
func TestMainIsolates(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = somebody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q")
	gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	if got := gittest.Run(t, dir, "log", "--format=%an"); got != "a" {
		t.Errorf("the author is %q", got)
	}
	if out, err := gittest.Try(t, dir, "config", "user.name"); err == nil {
		t.Errorf("git knows the user %s", out)
	}
}
