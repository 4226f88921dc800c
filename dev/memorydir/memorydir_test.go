package memorydir

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs can be run from the directory, which all users may write.
func TestNew(t *testing.T) {
	t.Parallel()
	dir, err := New("memorydir-test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if dir == "" {
		t.Skip("this machine has no file system in memory that its user can use")
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), program).Run(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		root    string
		minFree int64
	}{
		"no such directory": {filepath.Join(t.TempDir(), "none"), 0},
		"no space":          {"/dev/shm", math.MaxInt64},
		"not in memory":     {"/proc", 0},
	} {
		if dir, err := below(c.root, "memorydir-test", c.minFree); dir != "" || err != nil {
			t.Errorf("%s: %q, %v", name, dir, err)
		}
	}
}
