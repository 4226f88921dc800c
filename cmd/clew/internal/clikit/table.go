package clikit

import (
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A Table aligns cells in columns.
type Table struct {
	right  []bool
	widths []int // columns of the screen that the cells need
	rows   []tableRow
	Color  bool // whether cells are painted in their styles
}

// A tableRow is a row of clean cells. Its last style applies to all further cells; without one,
// they are plain.
type tableRow struct {
	cells  []string
	styles []tty.Style
}

// paint returns a part of cell i in its style.
func (r *tableRow) paint(i int, text string, color bool) string {
	if len(r.styles) == 0 {
		return text
	}
	return r.styles[min(i, len(r.styles)-1)].Paint(text, color)
}

const (
	// CellGap is the space between two columns.
	CellGap = 2
	// minCell is the minimum width of a text column.
	minCell = 8
	// Narrow is the width of a screen below which texts are not shown in columns.
	Narrow = 72
)

// NewTable returns a table with a line of headings. A column whose heading ends in ">" is aligned
// to the right.
func NewTable(headings ...string) *Table {
	t := &Table{right: make([]bool, len(headings)), widths: make([]int, len(headings))}
	for i, h := range headings {
		headings[i], t.right[i] = strings.CutSuffix(h, ">")
	}
	t.Add(headings...)
	t.Style(tty.Title)
	return t
}

// NewPlainTable returns a table without headings. right marks the columns that are aligned to the
// right.
func NewPlainTable(right []bool) *Table {
	return &Table{right: right, widths: make([]int, len(right))}
}

// Columns returns the number of columns.
func (t *Table) Columns() int { return len(t.widths) }

// Height returns the number of rows below the headings.
func (t *Table) Height() int { return len(t.rows) - 1 }

// Style sets the cell styles in the row that was added last. The last style applies to all further
// cells.
func (t *Table) Style(styles ...tty.Style) { t.rows[len(t.rows)-1].styles = styles }

// Add adds a row with untrusted texts.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = Printable(cell)
	}
	t.AddClean(row...)
}

// AddClean adds a row with texts that a terminal can show.
func (t *Table) AddClean(cells ...string) {
	for i, cell := range cells {
		t.widths[i] = max(t.widths[i], tty.Width(cell))
	}
	t.rows = append(t.rows, tableRow{cells: cells})
}

// Lines returns one line per row, cut to the given number of screen columns; 0 means no limit.
func (t *Table) Lines(columns int) []string {
	lines := make([]string, 0, len(t.rows))
	for _, row := range t.rows {
		line := t.joined(&row, row.cells, t.widths, false)
		if columns > 0 {
			line = tty.Fit(line, columns)
		}
		lines = append(lines, line)
	}
	return lines
}

// Line returns a row as one line that is not cut.
func (t *Table) Line(row int, color bool) string {
	r := &t.rows[row]
	return t.joined(r, r.cells, t.widths, color)
}

// joined aligns parts of the cells of a row as one line, and paints them if color is set.
func (t *Table) joined(row *tableRow, parts []string, widths []int, color bool) string {
	line, space := "", "" // the space before the next part
	for i, part := range parts {
		room := strings.Repeat(" ", max(widths[i]-tty.Width(part), 0))
		if t.right[i] {
			space, room = space+room, ""
		}
		if part = strings.TrimRight(part, " "); part != "" {
			line += space + row.paint(i, part, color)
			space = ""
		}
		space += strings.Repeat(" ", len(parts[i])-len(part)) + room + strings.Repeat(" ", CellGap)
	}
	return line
}

// Print writes the table in the given number of screen columns; 0 means no limit. If the table does
// not fit, it wraps texts. If that is not enough, it writes each row as a list.
func (t *Table) Print(w *strings.Builder, columns int) {
	widths, ok := t.fitted(columns)
	if !ok {
		t.printLists(w, columns)
		return
	}
	for i := range t.rows {
		t.printRow(w, &t.rows[i], widths)
	}
}

// Width returns the width of the longest line.
func (t *Table) Width() int { return lineWidth(t.widths) }

func lineWidth(widths []int) int {
	sum := CellGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// fitted returns widths with which a line fits. It takes columns from the widest texts, and from
// the first column, which names the rows, last. Figures keep their width.
func (t *Table) fitted(columns int) (widths []int, ok bool) {
	widths = append(widths, t.widths...)
	for columns > 0 && lineWidth(widths) > columns {
		widest := -1
		for i := range widths {
			if !t.right[i] && widths[i] > minCell && (widest <= 0 || widths[i] > widths[widest]) {
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
func (t *Table) printRow(w *strings.Builder, row *tableRow, widths []int) {
	cells := make([][]string, len(row.cells))
	height := 1
	for i, cell := range row.cells {
		cells[i] = tty.Wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		parts := make([]string, len(cells))
		for i := range cells {
			if n < len(cells[i]) {
				parts[i] = cells[i][n]
			}
		}
		w.WriteString(t.joined(row, parts, widths, t.Color) + "\n")
	}
}

// printLists writes each row as a list, below its first cell. Names of cells that leave no room for
// their values are cut.
func (t *Table) printLists(w *strings.Builder, columns int) {
	head, rest := t.rows[0].cells, t.rows[1:]
	names := 0
	for _, name := range head[1:] {
		names = max(names, tty.Width(name))
	}
	if columns > 0 {
		names = min(names, max(columns/2-CellGap, 0))
	}
	for _, row := range rest {
		for _, part := range tty.Wrap(row.cells[0], columns) {
			w.WriteString(row.paint(0, part, t.Color) + "\n")
		}
		for i, cell := range row.cells[1:] {
			if cell != "" {
				t.printListed(w, &row, i+1, Pad(tty.Fit(head[i+1], names), names, false), columns)
			}
		}
	}
}

// printListed writes cell i of a row, after its name.
func (t *Table) printListed(w *strings.Builder, row *tableRow, i int, name string, columns int) {
	indent, gap := strings.Repeat(" ", CellGap), strings.Repeat(" ", CellGap)
	const widest = 2 // columns of a character
	if columns > 0 && columns < tty.Width(name)+2*CellGap+widest {
		indent, gap, name = "", "", ""
	}
	used := tty.Width(indent + name + gap)
	if columns > 0 {
		columns -= used
	}
	mark := indent + tty.Dim.Paint(name, t.Color) + gap
	for _, part := range tty.Wrap(strings.TrimLeft(row.cells[i], " "), columns) {
		w.WriteString(mark + row.paint(i, part, t.Color) + "\n")
		mark = strings.Repeat(" ", used)
	}
}

// Pad pads a text to a width: on its right side, or on its left side if right is set.
func Pad(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(width-tty.Width(text), 0))
	if right {
		return space + text
	}
	return text + space
}
