package files

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

// lockedByte returns a byte far after the end of a file: Windows keeps others from reading and
// writing locked bytes.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func lock(f *os.File, kind lockKind) error {
	flags := [...]uint32{
		exclusive:    windows.LOCKFILE_EXCLUSIVE_LOCK,
		tryExclusive: windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY,
		shared:       0,
	}[kind]
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrLocked
	}
	return lockError(f, err)
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

// removeLocked unlocks the file first: Windows removes no open file.
func removeLocked(f *os.File) error {
	err := Unlock(f)
	_ = os.Remove(f.Name()) // another process opened it
	return err
}

// removeUnlocked relies on the same: the owner of the lock has the file open.
func removeUnlocked(path string) bool {
	err := os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
