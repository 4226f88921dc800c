//go:build unix

package search

import (
	"io/fs"
	"syscall"
)

// inode distinguishes a file from another of the same name.
func inode(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Ino) //nolint:gosec // any number will do
	}
	return 0
}
