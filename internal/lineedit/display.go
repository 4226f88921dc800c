package lineedit

import (
	"fmt"
	"io"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A Display draws editors on a terminal in raw mode, from the line of the cursor downwards. It
// ignores errors of the terminal.
type Display struct {
	// Out is the terminal.
	Out io.Writer
	// Size returns its numbers of columns and rows.
	Size func() (columns, rows int)
	// Color allows styles other than plain text.
	Color bool

	drawn view // what is on the screen; it has no rows if nothing is
}

// Begin makes the terminal mark pasted text. End reverses that.
func (d *Display) Begin() { d.write("\x1b[?2004h") }

// End reverses Begin.
func (d *Display) End() { d.write("\x1b[?2004l") }

func (d *Display) write(text string) { _, _ = io.WriteString(d.Out, text) }

func (d *Display) size() size {
	columns, rows := d.Size()
	return size{max(columns, 6), max(rows, 3)}
}

// Draw shows the editor, and replaces what was drawn before.
func (d *Display) Draw(e *Editor) { d.replace(e.view(d.size())) }

// Finish shows the text of an editor for the last time, and begins a new line.
func (d *Display) Finish(e *Editor) {
	d.replace(e.final(d.size()))
	d.drawn = view{}
	d.write("\r\n")
}

// Erase removes the editor from the screen.
func (d *Display) Erase() { d.replace(view{}) }

// Clear clears the whole screen.
func (d *Display) Clear() {
	d.drawn = view{}
	d.write("\x1b[H\x1b[2J")
}

// replace draws a view over the one that is on the screen. It clears line by line: a terminal
// multiplexer copies a screen that is cleared as a whole into its history.
func (d *Display) replace(v view) {
	var b strings.Builder
	before := d.home(&b)
	for i, row := range v.rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		style := tty.Plain
		if row.dim {
			style = tty.Dim
		}
		b.WriteString(style.Paint(row.text, d.Color) + clearRight)
	}
	if len(v.rows) == 0 {
		b.WriteString(clearRight)
	}
	last := max(len(v.rows)-1, 0)
	if before > last+1 {
		b.WriteString("\r\n" + clearBelow)
		last++
	}
	up(&b, last-v.cursor)
	b.WriteByte('\r')
	if v.column > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", v.column)
	}
	d.drawn = v
	d.write(b.String())
}

const (
	clearRight = "\x1b[K" // the rest of the line
	clearBelow = "\x1b[J" // and all lines below
)

// home moves the cursor to where drawing began, and returns the number of rows from there. A
// terminal that has become narrower has wrapped the rows that no longer fit.
func (d *Display) home(b *strings.Builder) (rows int) {
	columns := d.size().columns
	above := d.drawn.column / columns
	for i, row := range d.drawn.rows {
		lines := 1 + max(tty.Width(row.text)-1, 0)/columns
		if i < d.drawn.cursor {
			above += lines
		}
		rows += lines
	}
	up(b, above)
	b.WriteByte('\r')
	return rows
}

func up(b *strings.Builder, rows int) {
	if rows > 0 {
		fmt.Fprintf(b, "\x1b[%dA", rows)
	}
}

const (
	mark = "> " // before the first line of a text
	gap  = "  " // before the others
)

// A row is a line on the screen. It does not wrap.
type row struct {
	text string
	dim  bool
}

// A view is an editor on the screen.
type view struct {
	rows   []row
	cursor int // the row of the cursor
	column int // the column of the cursor
}

// size is the size of a terminal.
type size struct{ columns, rows int }

// view lays out the editor. No row reaches the last column, since terminals place the cursor there
// differently.
func (e *Editor) view(s size) view {
	text := e.layOut(s.columns)
	var above, below []row
	if e.Header != "" {
		above = []row{{text: tty.Fit(tty.Line(e.Header), s.columns-1), dim: true}}
	}
	for _, hint := range e.hints {
		below = append(below, row{text: tty.Fit(hint, s.columns-1), dim: true})
	}
	room := max(s.rows-len(above)-1, 1)
	below = below[:min(len(below), max(room-1, 0))]
	text.clip(max(room-len(below), 1))
	return view{
		rows:   append(append(above, text.rows...), below...),
		cursor: text.cursor + len(above),
		column: text.column,
	}
}

// clip keeps the n rows around the cursor.
func (v *view) clip(n int) {
	if len(v.rows) <= n {
		return
	}
	top := min(max(v.cursor-n/2, 0), len(v.rows)-n)
	v.rows, v.cursor = v.rows[top:top+n], v.cursor-top
}

// final returns the view of a complete text: without header and hints, and cut at its end if it is
// too long.
func (e *Editor) final(s size) view {
	e.at = len(e.text)
	v := e.layOut(s.columns)
	if most := max(s.rows-2, 1); len(v.rows) > most {
		v.rows = append(v.rows[:most:most], row{text: gap + "…"})
	}
	v.cursor, v.column = len(v.rows)-1, 0
	return v
}

// layOut breaks the text into rows, between words if possible.
func (e *Editor) layOut(columns int) view {
	l := layout{room: max(columns-1-len(mark), 2), at: e.at}
	for i, r := range e.text {
		cell := tty.Cut(cellOf(e.text[:i], r), l.room)
		l.cells = append(l.cells, cell)
	}
	start := 0
	for i, r := range e.text {
		if r == '\n' {
			l.line(e.text, start, i)
			start = i + 1
		}
	}
	l.line(e.text, start, len(e.text))
	return l.view
}

// A layout breaks lines into rows.
type layout struct {
	view  view
	cells []string // what is shown for each character of the text
	room  int      // columns of a row, without the mark
	at    int      // the position of the cursor
}

// line adds the rows of a line, which is text[from:to].
func (l *layout) line(text []rune, from, to int) {
	for first := true; first || from < to; first = false {
		end, next := l.rowEnd(text, from, to)
		if l.at >= from && (l.at < next || next == to && l.at == to) {
			shown := strings.Join(l.cells[from:min(l.at, end)], "")
			l.view.cursor, l.view.column = len(l.view.rows), len(mark)+tty.Width(shown)
		}
		prefix := gap
		if len(l.view.rows) == 0 {
			prefix = mark
		}
		l.view.rows = append(l.view.rows, row{text: prefix + strings.Join(l.cells[from:end], "")})
		from = next
	}
}

// rowEnd returns the end of the row that begins at from, and the start of the next one. Spaces
// between two rows are in neither.
func (l *layout) rowEnd(text []rune, from, to int) (end, next int) {
	space, wide := -1, 0 // space is the last one in the row
	for i := from; i < to; i++ {
		wide += tty.Width(l.cells[i])
		switch {
		case wide <= l.room || i == from:
			if text[i] == ' ' {
				space = i
			}
		case text[i] == ' ':
			for next = i; next < to && text[next] == ' '; next++ {
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

// cellOf returns how a character is shown after the others.
func cellOf(before []rune, r rune) string {
	if r == '\n' {
		return ""
	}
	return tty.CleanPiece(string(before[max(0, len(before)-3):]), string(r))
}
