package filelock_test

import (
	"os"
	"path/filepath"
	"runtime"
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

// Open waits for a lock, and then opens the file that has the name.
func TestOpenReplacedFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file can't be replaced")
	}
	path := filepath.Join(t.TempDir(), "file")
	old := open(t, path)
	if err := filelock.Lock(old); err != nil {
		t.Fatal(err)
	}
	// A process that opened the old file waits for its lock, or opens the new file.
	opened := make(chan *os.File)
	go func() {
		f, err := filelock.Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Error(err)
		}
		opened <- f
	}()
	if err := os.WriteFile(path+".new", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	f := <-opened
	if _, err := f.WriteString("er"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); string(text) != "newer" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}
