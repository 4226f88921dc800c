package drive

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile creates a file and keeps it open. An open file can't be removed.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }

// abandoned reports whether no process has a file open, and removes the file in that case.
func abandoned(path string) bool {
	err := os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
