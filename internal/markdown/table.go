package markdown

import (
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// table draws a table with lines, in columns of which each has room for its longest word. A table
// that is too wide for that becomes a list.
func (l layout) table(b *Block) []string {
	columns := len(b.Aligns)
	if columns == 0 {
		return nil
	}
	t := grid{layout: l, aligns: b.Aligns, words: make([][][]word, len(b.Rows))}
	least, most := make([]int, columns), make([]int, columns)
	for i, cells := range b.Rows {
		t.words[i] = make([][]word, columns)
		for j := range min(columns, len(cells)) {
			of := l
			if i == 0 {
				of.base = of.base.With(tty.Title)
			}
			t.words[i][j] = of.words(cells[j])
			ofWord, ofLine := longest(t.words[i][j])
			least[j], most[j] = max(least[j], ofWord, 1), max(most[j], ofLine, 1)
		}
	}
	frame := 3*columns + 1
	t.widths = most
	if l.Width > 0 {
		t.widths = columnWidths(least, most, l.Width-frame)
	}
	if t.widths == nil {
		return l.blocks(rowsAsList(b), true)
	}
	return t.draw()
}

// columnWidths returns widths between the least and the most of each column that make the most of a
// sum. It returns nil if even the least ones don't fit.
func columnWidths(least, most []int, sum int) []int {
	at := func(level int) (widths []int, rest int) {
		widths, rest = make([]int, len(least)), sum
		for i := range widths {
			widths[i] = max(least[i], min(level, most[i]))
			rest -= widths[i]
		}
		return widths, rest
	}
	if _, rest := at(0); rest < 0 {
		return nil
	}
	low, high := 0, slices.Max(most) // the highest level that fits is between them
	for low < high {
		middle := (low + high + 1) / 2
		if _, rest := at(middle); rest >= 0 {
			low = middle
		} else {
			high = middle - 1
		}
	}
	widths, rest := at(low)
	for i := range widths {
		if rest > 0 && widths[i] == low && widths[i] < most[i] {
			widths[i]++
			rest--
		}
	}
	return widths
}

// A grid is a table whose columns have widths.
type grid struct {
	layout
	aligns []Align
	words  [][][]word // of the cells
	widths []int
}

func (t *grid) draw() []string {
	rows := make([][]string, len(t.words))
	wrapped := false
	for i := range t.words {
		rows[i] = t.row(t.words[i])
		wrapped = wrapped || i > 0 && len(rows[i]) > 1
	}
	lines := []string{t.line("┌", "┬", "┐")}
	for i := range rows {
		if i == 1 || i > 1 && wrapped {
			lines = append(lines, t.line("├", "┼", "┤"))
		}
		lines = append(lines, rows[i]...)
	}
	return append(lines, t.line("└", "┴", "┘"))
}

// line returns a line between rows.
func (t *grid) line(left, middle, right string) string {
	parts := make([]string, len(t.widths))
	for i, w := range t.widths {
		parts[i] = strings.Repeat("─", w+2)
	}
	return tty.Dim.Paint(left+strings.Join(parts, middle)+right, t.Color)
}

// row returns the lines of a row.
func (t *grid) row(words [][]word) []string {
	cells := make([][]row, len(words))
	height := 1
	for j := range words {
		cells[j] = wrap(words[j], t.widths[j])
		height = max(height, len(cells[j]))
	}
	bar := tty.Dim.Paint("│", t.Color)
	lines := make([]string, height)
	for i := range lines {
		var b strings.Builder
		b.WriteString(bar)
		for j := range cells {
			var r row
			if i < len(cells[j]) {
				r = cells[j][i]
			}
			left, right := t.padding(j, r.columns)
			b.WriteString(strings.Repeat(" ", left+1) + r.paint(t.Color) + strings.Repeat(" ", right+1) + bar)
		}
		lines[i] = b.String()
	}
	return lines
}

// padding returns the spaces around a text in a column.
func (t *grid) padding(column, used int) (left, right int) {
	rest := t.widths[column] - used
	switch t.aligns[column] {
	case Right:
		return rest, 0
	case Center:
		return rest / 2, rest - rest/2
	}
	return 0, rest
}

// rowsAsList returns a table as a list with an item for each row, in which each cell follows its
// head.
func rowsAsList(b *Block) []Block {
	list := Block{Kind: List, Tight: true}
	for i, cells := range b.Rows {
		if i == 0 && len(b.Rows) > 1 {
			continue
		}
		item := Block{Kind: Item}
		for j, cell := range cells {
			spans := cell
			if i > 0 {
				spans = withHead(b.Rows[0], j, cell)
			}
			if len(spans) > 0 {
				item.Children = append(item.Children, Block{Kind: Paragraph, Spans: spans})
			}
		}
		list.Children = append(list.Children, item)
	}
	return []Block{list}
}

// withHead returns a cell after the head of its column. An empty cell has none.
func withHead(heads [][]Span, column int, cell []Span) []Span {
	if len(cell) == 0 || column >= len(heads) || len(heads[column]) == 0 {
		return cell
	}
	var spans []Span
	for _, s := range heads[column] {
		if !s.Break {
			s.Marks |= Strong
			spans = append(spans, s)
		}
	}
	return append(append(spans, Span{Text: ": "}), cell...)
}
