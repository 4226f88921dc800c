package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped discards the unread input of a terminal.
func discardTyped(tty *os.File) {
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) // it fails only for other files
}
