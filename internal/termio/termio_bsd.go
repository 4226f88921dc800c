//go:build unix && !linux

package termio

import (
	"os"

	"golang.org/x/sys/unix"
)

// discard discards the unread input of a terminal.
func discard(tty *os.File) {
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH) // it fails only for other files
}
