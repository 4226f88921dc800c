//go:build unix

package drive

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile creates a file and locks it, until it is closed or the process ends. The file of a process
// may be locked several times by that process.
func lockFile(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(file, unix.LOCK_SH); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		// Another server may have removed it before it was locked.
		locked, err := file.Stat()
		now, missing := os.Stat(path)
		if err == nil && missing == nil && os.SameFile(locked, now) {
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

// abandoned reports whether no process has locked a file, and removes the file in that case.
func abandoned(path string) bool {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	if flock(file, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	_ = os.Remove(path) // one that stays is not locked
	return true
}

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
