// Package filelock locks files between processes.
//
// A lock belongs to an open file, not to a process: two goroutines that open the same file exclude
// each other as well. It ends when the file is closed, at the latest by the end of the process. It is
// advisory: a process that does not ask for the lock can read and write the file.
package filelock

import (
	"errors"
	"io/fs"
	"os"
)

// Lock locks a file. It waits for other processes that have locked it.
func Lock(f *os.File) error { return lock(f, true) }

// TryLock locks a file, or returns an error at once if another process has locked it.
func TryLock(f *os.File) error { return lock(f, false) }

// Open opens a file like [os.OpenFile], and locks it. It waits for other processes. If one of them
// replaces or removes the file in the meantime, Open opens the file that has the name now.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, flag, perm)
		if err != nil {
			return nil, err
		}
		opened, err := f.Stat()
		if err == nil {
			err = Lock(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		named, err := os.Stat(path)
		if err == nil && os.SameFile(opened, named) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}
