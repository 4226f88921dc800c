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

func (d *Display) replace(v view) {
	var b strings.Builder
	b.WriteString(d.home())
	for i, row := range v.rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if row.dim && d.Color {
			b.WriteString("\x1b[2m" + row.text + "\x1b[0m")
		} else {
			b.WriteString(row.text)
		}
	}
	up(&b, len(v.rows)-1-v.cursor)
	b.WriteByte('\r')
	if v.column > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", v.column)
	}
	d.drawn = v
	d.write(b.String())
}

// home moves the cursor to where drawing began, and clears the rest of the screen. A terminal that
// has become narrower has wrapped the rows that no longer fit.
func (d *Display) home() string {
	columns := d.size().columns
	var b strings.Builder
	rows := 0
	for i := 0; i < d.drawn.cursor && i < len(d.drawn.rows); i++ {
		rows += 1 + max(tty.Width(d.drawn.rows[i].text)-1, 0)/columns
	}
	up(&b, rows+d.drawn.column/columns)
	b.WriteString("\r\x1b[J")
	return b.String()
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

// layOut breaks the text into rows.
func (e *Editor) layOut(columns int) view {
	room := max(columns-1-len(mark), 2)
	var v view
	line, wide, prefix := strings.Builder{}, 0, mark
	end := func() {
		v.rows = append(v.rows, row{text: prefix + line.String()})
		line.Reset()
		wide, prefix = 0, gap
	}
	for i, r := range e.text {
		cell := cellOf(e.text[:i], r)
		w := tty.Width(cell)
		if r != '\n' && wide+w > room && wide > 0 {
			end()
		}
		if i == e.at {
			v.cursor, v.column = len(v.rows), len(mark)+wide
		}
		if r == '\n' {
			end()
			continue
		}
		line.WriteString(tty.Cut(cell, room))
		wide += w
	}
	if e.at == len(e.text) {
		v.cursor, v.column = len(v.rows), len(mark)+wide
	}
	end()
	return v
}

// cellOf returns how a character is shown after the others.
func cellOf(before []rune, r rune) string {
	if r == '\n' {
		return ""
	}
	return tty.CleanPiece(string(before[max(0, len(before)-3):]), string(r))
}
