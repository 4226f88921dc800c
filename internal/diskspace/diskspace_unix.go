//go:build unix

package diskspace

import "golang.org/x/sys/unix"

// Of returns the number of bytes that the user can still write to the file system of a directory,
// and its total size.
func Of(dir string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	size := int64(s.Bsize) //nolint:unconvert // its type differs by system
	return int64(s.Bavail) * size, int64(s.Blocks) * size, nil
}
