package archive

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile opens a file that only one process can lock, until it closes the file or ends. It waits
// for the others.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
