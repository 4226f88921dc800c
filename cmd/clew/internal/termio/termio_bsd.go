//go:build unix && !linux

package termio

import (
	"os"

	"golang.org/x/sys/unix"
)

// discard discards a terminal's unread input.
func discard(tty *os.File) {
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH) // it fails only for other files
}
