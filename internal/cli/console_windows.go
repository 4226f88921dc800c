package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func openSystemConsole() (in, out *os.File, err error) {
	in, inErr := os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, outErr := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	return in, out, errors.Join(inErr, outErr)
}

// inForeground reports whether the program may read from its terminal.
func inForeground(*os.File) bool { return true }

// discardTyped discards the unread input of a terminal.
func discardTyped(tty *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd())) // it fails only for other files
}

// onResize does nothing: the next key sees the new size.
func onResize(func()) (stop func()) { return func() {} }

// suspendProgram is nil: there is nothing that continues the program.
var suspendProgram func()

// onSuspend does nothing, for the same reason.
func onSuspend(_, _ func()) (stop func()) { return func() {} }
