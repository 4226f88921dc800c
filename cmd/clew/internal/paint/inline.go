package paint

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// An Inline draws below what the terminal already shows: a few rows at the end, which are drawn again
// and again, and lines above them, which are printed once and then belong to the terminal. The zero
// value has no rows. The cursor must be at the start of a row when it begins.
type Inline struct {
	// Cuts means that the terminal cuts lines when it becomes narrower. Otherwise it breaks them.
	Cuts bool

	width  int
	height int
	rows   []string // as the terminal shows them
	cursor Cursor   // where the terminal's cursor is, counted from the first row
}

// Draw prints lines above the rows, and replaces the rows by others. The cursor is shown at a place
// counted from the first row, or hidden below the last one if that is nil. Rows that are too long are
// cut; the caller has to see that there are fewer than the screen has. Lines above may be longer than the
// screen is wide: then the terminal wraps them.
func (p *Inline) Draw(above, rows []string, cursor *Cursor, width int) string {
	next := make([]string, len(rows))
	for i, row := range rows {
		next[i] = strings.TrimRight(tty.CutPainted(row, width), " ") // terminals don't agree if spaces are broken
	}
	var b strings.Builder
	first := 0
	if len(above) > 0 || p.width != width {
		b.WriteString(p.Clear())
		for _, line := range above {
			b.WriteString("\x1b[?7h" + line + resetLine + "\x1b[?7l\r\n")
		}
	} else {
		for first < len(next) && first < len(p.rows) && next[first] == p.rows[first] {
			first++
		}
	}
	p.redraw(&b, next, first, width)
	p.width, p.rows = width, next
	at := Cursor{X: 0, Y: max(len(next)-1, 0)}
	if cursor != nil {
		at = *cursor
	}
	b.WriteString(p.goTo(at))
	if cursor != nil {
		b.WriteString(showCursor)
	}
	return beginFrame + b.String() + endFrame
}

// redraw writes the rows from an index on, and clears what was below them.
func (p *Inline) redraw(b *strings.Builder, next []string, first, width int) {
	if first == len(next) && len(p.rows) <= len(next) {
		return
	}
	start := min(first, max(len(next)-1, 0))
	b.WriteString(p.goToRow(start))
	for i := start; i < len(next); i++ {
		if i > start {
			b.WriteString("\r\n")
			p.cursor.Y++
		}
		b.WriteString(next[i] + endOf(next[i], width))
	}
	switch {
	case len(p.rows) <= len(next):
	case len(next) == 0:
		b.WriteString("\r\x1b[J")
	default: // from the row below: the cursor may still be in the last column
		b.WriteString("\r\n\x1b[J")
		p.cursor.Y++
	}
}

// goToRow moves the cursor to the start of a row. Rows that do not exist yet are made.
func (p *Inline) goToRow(y int) string {
	last := max(len(p.rows)-1, 0)
	text := p.goTo(Cursor{X: 0, Y: min(y, last)})
	for ; p.cursor.Y < y; p.cursor.Y++ {
		text += "\r\n"
	}
	return text
}

func (p *Inline) goTo(at Cursor) string {
	text := "\r"
	switch dy := at.Y - p.cursor.Y; {
	case dy < 0:
		text += fmt.Sprintf("\x1b[%dA", -dy)
	case dy > 0:
		text += fmt.Sprintf("\x1b[%dB", dy)
	}
	if at.X > 0 {
		text += fmt.Sprintf("\x1b[%dC", at.X)
	}
	p.cursor = at
	return text
}

// Clear removes the rows, and leaves the cursor at the start of the first one. If the size of the terminal
// may be another one, Resized comes first.
func (p *Inline) Clear() string {
	text := p.goTo(Cursor{X: 0, Y: 0}) + "\x1b[J"
	p.rows, p.cursor = nil, Cursor{}
	return text
}

// Resized gives the painter what size the terminal has now. If that is another one, it returns what removes
// the rows: the terminal has broken or cut them, or has dropped those below the cursor.
func (p *Inline) Resized(width, height int) string {
	another := height != p.height
	p.height = height
	switch {
	case len(p.rows) == 0:
		return ""
	case width == p.width && another:
		return p.Clear()
	case width == p.width:
		return ""
	}
	up := p.above(width)
	p.rows, p.cursor, p.width = nil, Cursor{}, width
	text := "\r"
	if up > 0 {
		text += fmt.Sprintf("\x1b[%dA", up)
	}
	return text + "\x1b[J"
}

// above returns how many rows are above the cursor if the terminal has become so many columns wide.
// If it breaks lines, lines that were drawn at another width take more rows.
func (p *Inline) above(width int) (n int) {
	if p.Cuts || width <= 0 || width > p.width {
		return p.cursor.Y
	}
	for i, row := range p.rows[:min(p.cursor.Y+1, len(p.rows))] {
		rows, at := tty.BrokenRows(row, width, p.cursor.X)
		if i == p.cursor.Y {
			rows = at
		}
		n += rows
	}
	return n
}

// Finish leaves the rows on the screen, with the cursor below them.
func (p *Inline) Finish() string {
	text := ""
	if len(p.rows) > 0 {
		text = p.goTo(Cursor{X: 0, Y: len(p.rows) - 1}) + "\r\n"
	}
	p.rows, p.cursor = nil, Cursor{}
	return text + showCursor
}
