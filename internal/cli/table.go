package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A table aligns cells. It takes every cell to be untrusted.
type table struct {
	right  []bool
	widths []int
	rows   [][]string
}

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
		row[i] = printable(cell)
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
	}
	t.rows = append(t.rows, row)
}

func (t *table) print(w *strings.Builder) {
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			line += t.align(i, cell) + "  "
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (t *table) align(column int, cell string) string {
	if t.right[column] {
		return fmt.Sprintf("%*s", t.widths[column], cell)
	}
	return fmt.Sprintf("%-*s", t.widths[column], cell)
}
