package termio

import (
	"os"

	"golang.org/x/sys/unix"
)

// discard discards the unread input of a terminal.
func discard(tty *os.File) {
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) // it fails only for other files
}
