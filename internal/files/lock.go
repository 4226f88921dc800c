// Package files locks and replaces files that several processes use. Readers never see a part of a replaced file.
//
// A lock belongs to an open file, not to a process: two goroutines that open the same file exclude
// each other as well. It ends with [Unlock], and at the latest with the process. It is advisory: a
// process that does not ask for the lock can read and write the file.
package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// ErrLocked means that a file is locked, by another process or by another open file of this one.
var ErrLocked = errors.New("the file is locked")

const (
	// lockFlags open a file that exists only to be locked. A link at its place leads nowhere.
	lockFlags = os.O_RDWR | os.O_CREATE | noFollow
	lockMode  = 0o600
	// lockInterval is the time between two attempts of Lock.
	lockInterval = 10 * time.Millisecond
)

// A lockKind is one of the ways to lock a file.
type lockKind int

const (
	exclusive    lockKind = iota // waits for other locks
	tryExclusive                 // returns ErrLocked
	shared                       // waits for exclusive locks
)

// Lock creates a file that only its owner can read, and locks it. It waits for the process that has
// the lock, until the context ends, and then returns the context's error.
func Lock(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		if err := pause.For(ctx, lockInterval); err != nil {
			return nil, err
		}
	}
}

// TryLock is like [Lock], but returns [ErrLocked] instead of waiting.
func TryLock(path string) (*os.File, error) { return open(path, lockFlags, lockMode, TryLockFile) }

// LockShared is like [TryLock], but any number of processes may have such a lock at once. It excludes
// only the locks of the other functions. It waits for these, which must be short.
func LockShared(path string) (*os.File, error) { return open(path, lockFlags, lockMode, lockShared) }

// TryLockFile locks an open file, or returns [ErrLocked].
func TryLockFile(f *os.File) error { return lock(f, tryExclusive) }

func lockExclusive(f *os.File) error { return lock(f, exclusive) }
func lockShared(f *os.File) error    { return lock(f, shared) }

// Open opens a file like [os.OpenFile], and locks it. It waits for the process that has the lock.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return open(path, flag, perm, lockExclusive)
}

// open opens a file and locks it. If another process replaces or removes the file in the meantime,
// it opens the file that has the name now.
func open(path string, flag int, perm fs.FileMode, lock func(*os.File) error) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, flag, perm)
		if err != nil {
			return nil, err
		}
		opened, err := f.Stat()
		if err == nil {
			err = lock(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		named, err := os.Stat(path)
		if err == nil && os.SameFile(opened, named) {
			return f, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err := errors.Join(err, Unlock(f)); err != nil {
			return nil, err
		}
	}
}

// lockError adds the name of the file to an error of the system.
func lockError(f *os.File, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// Unlock unlocks a file and closes it. To close it would not be enough: a program that another
// goroutine starts at the moment has a copy of the open file, which keeps the lock for as long.
func Unlock(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// RemoveLocked removes a file that the caller locked, and unlocks it. On Windows, the file stays if
// another process opened it meanwhile.
func RemoveLocked(f *os.File) error { return removeLocked(f) }

// RemoveUnlocked removes a file that its owner locks for as long as it lives, if the owner is dead.
// It reports whether nobody holds the lock, or whether the file is missing.
func RemoveUnlocked(path string) bool { return removeUnlocked(path) }
