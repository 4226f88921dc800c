//go:build unix

package archive_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/archive"
)

// Opening a named pipe would block until another process opens its other end.
func TestArchiveRefusesPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "clew-archive.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.OpenExistingDir(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}
