//go:build unix

package archive

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile opens a file that only one process can lock, until it closes the file or ends. It waits
// for the others.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(err, file.Close())
		}
	}
}
