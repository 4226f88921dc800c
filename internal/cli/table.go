package cli

import (
	"strings"

	"github.com/clewdev/clew/internal/render"
)

// A table aligns cells. It takes every cell to be untrusted.
type table struct {
	right  []bool
	widths []int // columns of the screen that the cells need
	rows   [][]string
}

const (
	cellGap = 2
	// leastCell is how narrow a column of texts may become.
	leastCell = 8
)

// newTable returns a table with a line of headings. A column whose heading ends
// in ">" is aligned to the right.
func newTable(headings ...string) *table {
	t := &table{right: make([]bool, len(headings)), widths: make([]int, len(headings))}
	for i, h := range headings {
		headings[i], t.right[i] = strings.CutSuffix(h, ">")
	}
	t.add(headings...)
	return t
}

func (t *table) add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = escaped(cell)
		t.widths[i] = max(t.widths[i], render.Width(row[i]))
	}
	t.rows = append(t.rows, row)
}

// print writes the table in so many columns of the screen; 0 is no limit. Where
// it does not fit, texts are broken, and where that is not enough, each row
// becomes a list.
func (t *table) print(w *strings.Builder, columns int) {
	widths, ok := t.fitted(columns)
	if !ok {
		t.printLists(w, columns)
		return
	}
	for _, row := range t.rows {
		t.printRow(w, row, widths)
	}
}

// width returns how long the longest line can be.
func (t *table) width() int { return lineWidth(t.widths) }

func lineWidth(widths []int) int {
	sum := cellGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// fitted returns widths with which a line fits: the widest texts get less than
// they need, the first ones, which name the rows, last. Figures get all.
func (t *table) fitted(columns int) (widths []int, ok bool) {
	widths = append(widths, t.widths...)
	for columns > 0 && lineWidth(widths) > columns {
		widest := -1
		for i := range widths {
			if !t.right[i] && widths[i] > leastCell && (widest <= 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return widths, true
}

// printRow writes a row: one line, or as many as its longest cell needs.
func (t *table) printRow(w *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = render.Wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		line := ""
		for i := range cells {
			part := ""
			if n < len(cells[i]) {
				part = cells[i][n]
			}
			line += pad(part, widths[i], t.right[i]) + strings.Repeat(" ", cellGap)
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// printLists writes each row as a list, below its first cell.
func (t *table) printLists(w *strings.Builder, columns int) {
	head, rest := t.rows[0], t.rows[1:]
	names := 0
	for _, name := range head[1:] {
		names = max(names, render.Width(name))
	}
	for _, row := range rest {
		w.WriteString(wrapped(row[0], columns))
		for i, cell := range row[1:] {
			if cell != "" {
				label := "  " + pad(head[i+1], names, false) + "  "
				w.WriteString(strings.Join(brokenLines(cell, label, columns), "\n") + "\n")
			}
		}
	}
}

// pad fills a text up to a width, at its end or, to the right, at its beginning.
func pad(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(width-render.Width(text), 0))
	if right {
		return space + text
	}
	return text + space
}

// wrapped breaks a clean text into lines of so many columns; 0 is no limit.
func wrapped(text string, columns int) string {
	return strings.Join(render.Wrap(text, columns), "\n") + "\n"
}

// brokenLines returns a clean text in lines of so many columns; 0 or less is no limit. The first one has a mark in
// front, and the others are as far in.
func brokenLines(text, mark string, columns int) []string {
	lines := []string{text}
	if columns > 0 {
		lines = render.Wrap(text, max(columns-len(mark), 1))
	}
	for i := range lines {
		lines[i] = mark + lines[i]
		mark = strings.Repeat(" ", len(mark))
	}
	return lines
}
