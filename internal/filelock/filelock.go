// Package filelock locks files between processes.
//
// A lock belongs to an open file, not to a process: two goroutines that open the same file exclude
// each other as well. It ends when the file is closed, at the latest by the end of the process. It is
// advisory: a process that does not ask for the lock can read and write the file.
package filelock

import "os"

// Lock locks a file. It waits for other processes that have locked it.
func Lock(f *os.File) error { return lock(f, true) }

// TryLock locks a file, or returns an error at once if another process has locked it.
func TryLock(f *os.File) error { return lock(f, false) }
