// Package memorydir makes temporary directories whose files are in memory.
package memorydir

import (
	"errors"
	"os"

	"github.com/clewdev/clew/internal/diskspace"
)

// New makes a directory in memory that all users may write, as they may /tmp. The caller removes it. New
// returns "" if the system has no file system in memory, if its files can't be run as programs, or if fewer
// than minFree bytes are free there.
func New(pattern string, minFree int64) (string, error) { return below("/dev/shm", pattern, minFree) }

// below makes a directory in the root of a file system in memory.
func below(root, pattern string, minFree int64) (string, error) {
	if !inMemory(root) || !hasFree(root, minFree) {
		return "", nil
	}
	dir, err := os.MkdirTemp(root, pattern)
	if errors.Is(err, os.ErrPermission) { // this user can't use it
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

func hasFree(root string, bytes int64) bool {
	free, _, err := diskspace.Of(root)
	return err == nil && free >= bytes
}
