package tempconfig

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile creates a file and keeps it open. An open file can't be removed.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
}

// unlocked reports whether no process has the file open, and removes it in that case. A missing
// file is not open.
func unlocked(path string) bool {
	err := os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// own reports whether a file belongs to this user, as all temporary files of a user do.
func own(os.FileInfo) bool { return true }
