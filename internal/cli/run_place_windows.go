package cli

import (
	"errors"
	"os"
)

func openConsole() (in, out *os.File, err error) {
	in, inErr := os.OpenFile("CONIN$", os.O_RDWR, 0)
	out, outErr := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	return in, out, errors.Join(inErr, outErr)
}

// inForeground reports whether the program may read from its terminal.
func inForeground(*os.File) bool { return true }
