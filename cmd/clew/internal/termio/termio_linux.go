package termio

import (
	"os"

	"golang.org/x/sys/unix"
)

// discard discards a terminal's unread input.
func discard(tty *os.File) {
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) // it fails only for other files
}
