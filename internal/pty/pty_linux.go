// Package pty makes pseudo-terminals, for tests and recordings of what the program does at a terminal. It works on Linux.
package pty

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open returns both ends of a new pseudo-terminal of that size: that of the user, and that of the program.
func Open(columns, rows int) (user, program *os.File, err error) {
	user, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(user.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})
	}
	if err == nil {
		program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = user.Close() // the first error tells more
		return nil, nil, err
	}
	return user, program, nil
}
