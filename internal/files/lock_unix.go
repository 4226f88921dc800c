//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

func lock(f *os.File, kind lockKind) error {
	how := [...]int{exclusive: unix.LOCK_EX, tryExclusive: unix.LOCK_EX | unix.LOCK_NB, shared: unix.LOCK_SH}[kind]
	err := flock(f, how)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	return lockError(f, err)
}

func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// removeLocked removes the name first: who opens the file afterwards creates another one.
func removeLocked(f *os.File) error { return errors.Join(os.Remove(f.Name()), Unlock(f)) }

func removeUnlocked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if lock(f, tryExclusive) != nil {
		_ = f.Close() // nothing was written
		return false
	}
	_ = removeLocked(f) // a file that stays is not locked
	return true
}
