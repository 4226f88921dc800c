// Package pty creates pseudo-terminals, for tests and recordings of the program at a terminal. It
// works only on Linux.
package pty

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open returns both ends of a new pseudo-terminal of that size: the user's and the program's.
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
		_ = user.Close() // the first error is returned
		return nil, nil, err
	}
	return user, program, nil
}
