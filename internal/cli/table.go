package cli

import (
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A table aligns cells in columns.
type table struct {
	right  []bool
	widths []int // columns of the screen that the cells need
	rows   [][]string
}

const (
	cellGap = 2
	// leastCell is the least width of a column of texts.
	leastCell = 8
)

// newTable returns a table with a line of headings. A column whose heading ends in ">" is aligned
// to the right.
func newTable(headings ...string) *table {
	t := &table{right: make([]bool, len(headings)), widths: make([]int, len(headings))}
	for i, h := range headings {
		headings[i], t.right[i] = strings.CutSuffix(h, ">")
	}
	t.add(headings...)
	return t
}

// add adds a row of untrusted texts.
func (t *table) add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = escaped(cell)
	}
	t.addClean(row...)
}

// addClean adds a row of texts that a terminal can show.
func (t *table) addClean(cells ...string) {
	for i, cell := range cells {
		t.widths[i] = max(t.widths[i], tty.Width(cell))
	}
	t.rows = append(t.rows, cells)
}

// lines returns one line per row, cut to so many columns of the screen; 0 means no limit.
func (t *table) lines(columns int) []string {
	lines := make([]string, 0, len(t.rows))
	for _, row := range t.rows {
		line := t.joined(row, t.widths)
		if columns > 0 {
			line = tty.Fit(line, columns)
		}
		lines = append(lines, line)
	}
	return lines
}

// joined aligns the cells of one line.
func (t *table) joined(cells []string, widths []int) string {
	line := ""
	for i, cell := range cells {
		line += pad(cell, widths[i], t.right[i]) + strings.Repeat(" ", cellGap)
	}
	return strings.TrimRight(line, " ")
}

// print writes the table in so many columns of the screen; 0 means no limit. If the table does not
// fit, it wraps texts. If that is not enough, it writes each row as a list.
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

// width returns the width of the longest line.
func (t *table) width() int { return lineWidth(t.widths) }

func lineWidth(widths []int) int {
	sum := cellGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// fitted returns widths with which a line fits. It takes columns from the widest texts, and from
// the first column, which names the rows, last. Figures keep their width.
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
		cells[i] = tty.Wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		line := make([]string, len(row))
		for i := range cells {
			if n < len(cells[i]) {
				line[i] = cells[i][n]
			}
		}
		w.WriteString(t.joined(line, widths) + "\n")
	}
}

// printLists writes each row as a list, below its first cell.
func (t *table) printLists(w *strings.Builder, columns int) {
	head, rest := t.rows[0], t.rows[1:]
	names := 0
	for _, name := range head[1:] {
		names = max(names, tty.Width(name))
	}
	for _, row := range rest {
		w.WriteString(wrapped(row[0], columns))
		for i, cell := range row[1:] {
			if cell != "" {
				label := "  " + pad(head[i+1], names, false) + "  "
				w.WriteString(strings.Join(wrapMarked(cell, label, columns), "\n") + "\n")
			}
		}
	}
}

// pad pads a text to a width: on its right side, or on its left side if right is set.
func pad(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(width-tty.Width(text), 0))
	if right {
		return space + text
	}
	return text + space
}

// wrapped breaks a clean text into lines of so many columns; 0 means no limit.
func wrapped(text string, columns int) string {
	return strings.Join(tty.Wrap(text, columns), "\n") + "\n"
}

// wrapMarked breaks a clean text into lines of so many columns; 0 or less means no limit. The first
// line begins with the mark, and the others are indented by its width.
func wrapMarked(text, mark string, columns int) []string {
	lines := []string{text}
	if columns > 0 {
		lines = tty.Wrap(text, max(columns-len(mark), 1))
	}
	for i := range lines {
		lines[i] = mark + lines[i]
		mark = strings.Repeat(" ", len(mark))
	}
	return lines
}
