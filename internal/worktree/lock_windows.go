package worktree

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock creates a file and locks it, until it is closed or the process ends. It returns errLocked
// if it is locked already, by this process or another.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = errLocked
	}
	return nil, err
}

// unlock unlocks a file and closes it.
func unlock(file *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, new(windows.Overlapped))
	return errors.Join(err, file.Close())
}

// removeLock unlocks a file, and then removes it. If another process has opened it meanwhile, it
// stays.
func removeLock(file *os.File) error {
	err := unlock(file)
	_ = os.Remove(file.Name())
	return err
}

// nonblock is for systems with pipes among the files.
const nonblock = 0
