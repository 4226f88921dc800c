//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadPipe reads a named pipe without a writer, which a program that opens it waits for, and links of a
// directory whose owner is not trusted.
func TestReadPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := ReadSmall(path, 10); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := readSmall(swapped{}, path, 10); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe that took the place of a file: %v", err)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(root.WriteFile("text", []byte("x"), 0o600), root.Symlink("text", "link"), root.Symlink(os.Args[0], "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"text", "link"} {
		if text, err := ReadSmallIn(root, name, 10); string(text) != "x" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := ReadSmallIn(root, "out", 1<<40); err == nil {
		t.Errorf("%d bytes are read through a link that leads out", len(text))
	}
}

// A swapped tree had another file when it was asked.
type swapped struct{ system }

func (swapped) Stat(string) (fs.FileInfo, error) { return os.Stat(os.Args[0]) }
