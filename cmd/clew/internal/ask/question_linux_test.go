package ask

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/clewdev/clew/internal/files"
)

// A named pipe in place of a file does not make a question wait.
func TestReadTextOfAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadText(path); !errors.Is(err, files.ErrNotRegular) {
		t.Errorf("error %v", err)
	}
	if _, err := ReadText("/dev/null"); !errors.Is(err, files.ErrNotRegular) {
		t.Errorf("a device: error %v", err)
	}
	if _, err := ReadText(t.TempDir()); !errors.Is(err, files.ErrNotRegular) {
		t.Errorf("a directory: error %v", err)
	}
}
