//go:build unix

package tempconfig

import (
	"os"
	"syscall"
)

// own reports whether a file belongs to this user.
func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
