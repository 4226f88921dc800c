package tty

import (
	"slices"
	"strconv"
	"strings"
)

// ClearLine moves the cursor to the start of its row, and clears the row.
const ClearLine = "\r\x1b[K"

// Up moves the cursor up by so many rows, but not above the first one of the screen.
func Up(rows int) string {
	switch {
	case rows <= 0:
		return ""
	case rows == 1:
		return "\x1b[A"
	}
	return "\x1b[" + strconv.Itoa(rows) + "A"
}

// A Panel is a part of a terminal that is drawn again and again: the rows above the cursor, which is
// at the start of a row. The zero value has no rows.
type Panel struct {
	lines []string // of the last drawing
	// lost are lines of earlier drawings that went into the terminal's history when it became
	// smaller. They return if it becomes larger. As long as there are any, the first row of the
	// screen belongs to a drawing.
	lost []string
}

// Draw returns what replaces the last drawing by painted lines, on a screen that now has that size.
// It clears row by row, so that nothing moves into the terminal's history. Lines that are too long
// are cut. Of too many lines, it draws the first one and the last ones.
func (p *Panel) Draw(lines []string, columns, rows int) string {
	columns, rows = max(columns, 1), max(rows, 2)
	above := p.reach(columns, rows-1)
	p.lines = fitted(lines, columns, rows-1)
	var b strings.Builder
	b.WriteString(Up(above))
	for _, line := range p.lines {
		b.WriteString(ClearLine + line + "\n")
	}
	rest := max(above-len(p.lines), 0)
	b.WriteString(strings.Repeat(ClearLine+"\n", rest) + Up(rest))
	return b.String()
}

// Redraw is Draw for the lines of the last drawing.
func (p *Panel) Redraw(columns, rows int) string { return p.Draw(p.lines, columns, rows) }

// reach returns how many rows earlier drawings have in so many columns, at most all rows, and keeps
// the lines of the others. A terminal that has become narrower breaks lines, or cuts them: then there
// are fewer rows, and those above are drawn over.
func (p *Panel) reach(columns, rows int) int {
	drawn := slices.Concat(p.lost, p.lines)
	height := 0
	for i := len(drawn) - 1; i >= 0; i-- {
		height += max((PaintedWidth(drawn[i])+columns-1)/columns, 1)
		if height > rows {
			p.lost = drawn[max(i-maxLost, 0) : i+1]
			return rows
		}
	}
	p.lost = nil
	return height
}

// maxLost is the number of lost lines that are kept. No screen has so many rows.
const maxLost = 1000

// fitted returns as many lines as there are rows, cut to so many columns.
func fitted(lines []string, columns, rows int) []string {
	if len(lines) > rows {
		lines = append(lines[:1:1], lines[len(lines)-rows+1:]...)
	}
	cut := make([]string, len(lines))
	for i, line := range lines {
		if cut[i] = line; PaintedWidth(line) > columns {
			cut[i] = CutPainted(line, columns)
		}
	}
	return cut
}
