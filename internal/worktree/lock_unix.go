//go:build unix

package worktree

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock creates a file and locks it, until it is closed or the process ends. It returns errLocked
// if it is locked already, by this process or another.
func tryLock(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(file, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = file.Close()
			return nil, err
		}
		// Its owner may have removed it before it was locked here.
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

func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}

// unlock unlocks a file and closes it. Closing alone would not do: a program that another goroutine is
// starting at the moment has a copy of the open file.
func unlock(file *os.File) error { return errors.Join(flock(file, unix.LOCK_UN), file.Close()) }

// removeLock removes a locked file, and then unlocks it.
func removeLock(file *os.File) error { return errors.Join(os.Remove(file.Name()), unlock(file)) }

// nonblock keeps the opening of a file from blocking if a pipe has taken its place.
const nonblock = unix.O_NONBLOCK
