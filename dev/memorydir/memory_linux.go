package memorydir

import "golang.org/x/sys/unix"

// inMemory reports whether a directory is in memory, and whether programs may be run from there.
func inMemory(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.TMPFS_MAGIC && s.Flags&unix.ST_NOEXEC == 0
}
