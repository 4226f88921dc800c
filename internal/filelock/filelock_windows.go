package filelock

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a byte far behind the end of the file: Windows keeps others from reading and writing
// the bytes that are locked.
func lock(f *os.File, wait bool) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
}
