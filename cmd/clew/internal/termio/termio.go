// Package termio controls the terminal that the program was started from, on each system. It has
// the terminal's own file, whether it may be read, its size as it changes, what it can draw, the
// modes to reset, and the signals that stop and continue the program.
package termio

import (
	"os"

	"golang.org/x/term"
)

// Open opens the terminal that the program was started from, wherever its streams lead. Tests
// replace it, since they have none.
var Open = open

// Discard discards a terminal's unread input. Test scripts replace it, since they type ahead.
var Discard = discard

// The size of a terminal that does not report its own.
const (
	DefaultColumns = 80
	DefaultRows    = 24
)

// Size returns the number of columns and rows of a terminal.
func Size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = DefaultColumns
	}
	if err != nil || rows <= 0 {
		rows = DefaultRows
	}
	return columns, rows
}
