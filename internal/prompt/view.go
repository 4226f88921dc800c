package prompt

import (
	"strings"

	"github.com/clewdev/clew/internal/render"
)

const (
	mark = "> " // before the first line of a text
	gap  = "  " // before the others
)

// A row is a line on the screen. It fits there.
type row struct {
	text string
	dim  bool
}

// A view is what is on the screen of an editor.
type view struct {
	rows   []row
	cursor int // its row,
	column int // and column
}

// size is that of a terminal.
type size struct{ columns, rows int }

// view lays the editor out. No row reaches the last column, where terminals differ
// about where the cursor is.
func (e *Editor) view(s size) view {
	text := e.layOut(s.columns)
	var above, below []row
	if e.Header != "" {
		above = []row{{text: render.Fit(render.Line(e.Header), s.columns-1), dim: true}}
	}
	for _, hint := range e.hints {
		below = append(below, row{text: render.Fit(hint, s.columns-1), dim: true})
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

// final is the view of a text that is complete: without what is around it, and from
// its start if it is too long.
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
		cell := cellOf(r)
		w := render.Width(cell)
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
		line.WriteString(render.Cut(cell, room))
		wide += w
	}
	if e.at == len(e.text) {
		v.cursor, v.column = len(v.rows), len(mark)+wide
	}
	end()
	return v
}

// cellOf returns how a character is shown.
func cellOf(r rune) string {
	if r == '\n' {
		return ""
	}
	return render.Clean(string(r))
}
