//go:build unix && !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped discards the unread input of a terminal.
func discardTyped(tty *os.File) {
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH) // it fails only for other files
}
