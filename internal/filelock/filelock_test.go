package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	if err := filelock.Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.TryLock(second); err == nil {
		t.Fatal("two have the lock")
	}
	if _, err := second.WriteString("x"); err != nil {
		t.Errorf("a locked file can't be written: %v", err)
	}
	locked := make(chan error)
	go func() { locked <- filelock.Lock(second) }()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	if err := filelock.TryLock(open(t, path)); err == nil {
		t.Error("two have the lock")
	}
}
