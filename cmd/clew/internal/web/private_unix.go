//go:build unix

package web

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate returns an error unless only this user can read and change a directory.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("other users can use the directory %s: run chmod 700 on it, or remove it", dir)
	}
	return nil
}
