//go:build !windows

package sqlitefile

import (
	"os"

	"golang.org/x/sys/unix"
)

func access(path string, mode Mode) error {
	bits := uint32(unix.R_OK)
	if mode == ReadWrite {
		bits |= unix.W_OK
	}
	if err := unix.Access(path, bits); err != nil {
		return &os.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}
