package termio

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// open opens the terminal that the program was started from, wherever its streams lead.
func open() (in, out *os.File, err error) {
	in, inErr := os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, outErr := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	return in, out, errors.Join(inErr, outErr)
}

// InForeground reports whether the program may read from its terminal.
func InForeground(*os.File) bool { return true }

// discard discards a terminal's unread input.
func discard(tty *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd())) // it fails only for other files
}

// OnResize does nothing: the next key sees the new size.
func OnResize(func()) (stop func()) { return func() {} }

// Suspend is nil: there is nothing that continues the program.
var Suspend func()

// OnSuspend does nothing, for the same reason.
func OnSuspend(_, _ func()) (stop func()) { return func() {} }
