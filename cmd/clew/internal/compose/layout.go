package compose

import (
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A layout is a text in rows of a width.
type layout struct {
	width int
	text  []rune   // the text that was laid out
	cells []string // the displayed form of each rune
	wide  []int    // the columns of each cell
	rows  []row
}

// A row shows the runes from an index to another. Spaces between two rows are in neither, and next
// is the start of the row after it.
type row struct{ from, to, next int }

// Lines returns the visible rows of the text, at most maxRows rows of that width, and the place of
// the cursor among them. No row reaches the last column, so that the cursor has room.
func (e *Editor) Lines(width, maxRows int) (lines []string, cursorX, cursorY int) {
	maxRows = max(maxRows, 1)
	l := e.layOut(width)
	y, x := l.place(e.at)
	e.top = min(max(e.top, y-maxRows+1), y, max(len(l.rows)-maxRows, 0))
	for _, r := range l.rows[e.top:min(e.top+maxRows, len(l.rows))] {
		lines = append(lines, strings.Join(l.cells[r.from:r.to], ""))
	}
	return lines, min(x, max(width-1, 0)), y - e.top
}

// rows returns the text, laid out for the width that was drawn last.
func (e *Editor) rows() *layout { return e.layOut(e.layout.width) }

// layOut breaks the text into rows, unless that was done before.
func (e *Editor) layOut(width int) *layout {
	l := &e.layout
	if len(l.rows) > 0 && l.width == width && isSame(l.text, e.text) {
		return l
	}
	*l = layout{width: width, text: e.text}
	room := l.room()
	for i, r := range e.text {
		cell := e.cell(i, r, room)
		l.cells = append(l.cells, cell)
		l.wide = append(l.wide, tty.Width(cell))
	}
	start := 0
	for i, r := range e.text {
		if r == '\n' {
			l.line(start, i)
			start = i + 1
		}
	}
	l.line(start, len(e.text))
	return l
}

// isSame reports whether two texts are the same slice: no text is changed in place.
func isSame(a, b []rune) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// room returns the number of columns of a row.
func (l *layout) room() int {
	if l.width <= 0 {
		return 1 << 30 // it was never drawn
	}
	return max(l.width-1, 1)
}

// cell returns the displayed form of the rune at an index, in at most room columns.
func (e *Editor) cell(i int, r rune, room int) string {
	switch {
	case r == '\n':
		return ""
	case isPaste(r):
		return tty.Fit(pasteLabel(e.pasted(r)), room)
	case r >= ' ' && r < 0x7f:
		return string(r)
	}
	const context = 3 // runes that decide how the next one is shown
	before := e.text[max(0, i-context):i]
	for n, b := range before {
		if isPaste(b) {
			before = before[n+1:]
			break
		}
	}
	return tty.Cut(tty.CleanPiece(string(before), string(r)), room)
}

// line adds the rows for a line.
func (l *layout) line(from, to int) {
	for first := true; first || from < to; first = false {
		end, next := l.rowEnd(from, to)
		l.rows = append(l.rows, row{from, end, next})
		from = next
	}
}

// rowEnd returns the end of the row that starts at from, and the start of the next one.
func (l *layout) rowEnd(from, to int) (end, next int) {
	room := l.room()
	space, wide := -1, 0 // space is the last one in the row
	for i := from; i < to; i++ {
		wide += l.wide[i]
		switch {
		case wide <= room || i == from:
			if l.text[i] == ' ' {
				space = i
			}
		case l.text[i] == ' ':
			for next = i; next < to && l.text[next] == ' '; next++ {
			}
			return i, next
		case space >= 0:
			return space + 1, space + 1
		default:
			return i, i
		}
	}
	return to, to
}

// place returns the row and the column of a position.
func (l *layout) place(at int) (y, x int) {
	for y = len(l.rows) - 1; y > 0 && l.rows[y].from > at; y-- {
	}
	r := l.rows[y]
	for i := r.from; i < min(at, r.to); i++ {
		x += l.wide[i]
	}
	return y, x
}

// at returns the position in a row that is nearest to a column, from the left.
func (l *layout) at(y, column int) int {
	r := l.rows[y]
	end := r.to
	if r.next == r.to && y+1 < len(l.rows) && l.rows[y+1].from == r.to && end > r.from {
		end-- // the end of this row is the start of the next one
	}
	x, i := 0, r.from
	for ; i < end && x+l.wide[i] <= column; i++ {
		x += l.wide[i]
	}
	return i
}
