package clikit

import (
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// LiveRows are the last rows on a terminal, which are not final: the block of an answer that is being
// written. They are drawn again when the block grows, and removed before anything else is written.
type LiveRows struct {
	Rows []string
}

// Replace returns the sequence that turns the rows on the screen into others. It skips unchanged
// rows, and only appends to a row that grew. The cursor is at the end of the last row before and
// after.
func (l *LiveRows) Replace(rows []string) string {
	same := 0
	for same < len(rows) && same < len(l.Rows) && rows[same] == l.Rows[same] {
		same++
	}
	old := l.Rows
	l.Rows = rows
	if same == len(old) { // nothing is to be removed
		return below(same, rows[same:])
	}
	if same == len(old)-1 && same < len(rows) {
		if more, grows := strings.CutPrefix(rows[same], old[same]); grows {
			return more + below(same+1, rows[same+1:])
		}
	}
	var b strings.Builder
	for range len(old) - same - 1 {
		b.WriteString(ClearLine + tty.Up(1))
	}
	b.WriteString(ClearLine)
	switch {
	case same < len(rows):
		b.WriteString(strings.Join(rows[same:], "\n"))
	case same > 0: // the last row that stays is drawn again, to get to its end
		b.WriteString(tty.Up(1) + ClearLine + rows[same-1])
	}
	return b.String()
}

// below returns rows that follow others, if there are any.
func below(above int, rows []string) string {
	if above == 0 || len(rows) == 0 {
		return strings.Join(rows, "\n")
	}
	return "\n" + strings.Join(rows, "\n")
}

// LastRows returns as many of the last rows as a terminal can redraw, cut to its width.
func LastRows(rows []string, width, height int) []string {
	rows = rows[max(0, len(rows)-max(height-2, 1)):]
	fitted := make([]string, len(rows))
	for i, row := range rows {
		fitted[i] = row
		if tty.PaintedWidth(row) >= width {
			fitted[i] = tty.CutPainted(row, max(width-1, 1))
		}
	}
	return fitted
}
