package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/tty"
)

func outputError(err error) error {
	return fmt.Errorf("cannot write the output: %w", cause(err))
}

func unwritable(path string, err error) error {
	return &failure{code: exitFailed, err: fmt.Errorf("cannot write %s: %w", printable(path), cause(err))}
}

// A writeError says that stdout could not be written.
type writeError struct{ err error }

func (e *writeError) Error() string { return outputError(e.err).Error() }

func (e *writeError) Unwrap() error { return e.err }

// An errWriter is the output of cobra: help, the version, completion scripts. Cobra drops most
// errors of it, so an errWriter keeps the first one instead of returning it.
type errWriter struct {
	w   io.Writer
	err error
}

func (o *errWriter) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
	return len(p), nil
}

// jsonLine returns v as a line of JSON that is safe to show on a terminal.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeLine(b.Bytes()), nil
}

// printable returns an untrusted text as one line that is safe for a terminal. Characters that a
// terminal might interpret or hide are escaped as in a Go string. Only a text that has some of them
// has its backslashes doubled, so that a path of Windows is shown as it is, and an escape differs
// from the same letters in the text.
func printable(s string) string {
	if tty.CleanLine(s) == s && !strings.ContainsRune(s, utf8.RuneError) { // it may have emoji of several parts
		return s
	}
	quoted := strconv.Quote(s)
	return tty.Clean(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
}

// escaped is printable, for a text of ours that quotes an untrusted one.
func escaped(s string) string { return printable(s) }

// maxText is the number of bytes that are kept of an untrusted text.
const maxText = 160

// clip shortens a text to maxText bytes, and keeps no more of it in memory.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// dollars returns an amount in cents.
func dollars(amount float64) string {
	if amount > 0 && amount < 0.005 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", amount)
}

// escapeLine escapes the characters of a line of JSON that control a terminal or are invisible.
func escapeLine(line []byte) []byte { return tty.JSON(line) }

// cleanText makes a text of several lines safe for a terminal, and leaves the rest unchanged.
func cleanText(s string) string { return tty.CleanExactly(s) }

func writeJSON(w io.Writer, v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// group writes a number with a comma between thousands.
func group(n int64) string { return tty.Thousands(n) }

// A table aligns cells in columns.
type table struct {
	right  []bool
	widths []int // columns of the screen that the cells need
	rows   []tableRow
	color  bool // whether cells are painted in their styles
}

// A tableRow is a row of clean cells. Its last style is that of all further cells; without one,
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
	cellGap = 2
	// leastCell is the least width of a column of texts.
	leastCell = 8
	// narrow is the width of a screen below which texts are not shown in columns.
	narrow = 72
)

// newTable returns a table with a line of headings. A column whose heading ends in ">" is aligned
// to the right.
func newTable(headings ...string) *table {
	t := &table{right: make([]bool, len(headings)), widths: make([]int, len(headings))}
	for i, h := range headings {
		headings[i], t.right[i] = strings.CutSuffix(h, ">")
	}
	t.add(headings...)
	t.style(tty.Title)
	return t
}

// newPlainTable returns a table without headings. It says of each column whether it is aligned to the
// right.
func newPlainTable(right []bool) *table {
	return &table{right: right, widths: make([]int, len(right))}
}

// columns returns the number of columns.
func (t *table) columns() int { return len(t.widths) }

// height returns the number of rows below the headings.
func (t *table) height() int { return len(t.rows) - 1 }

// style sets the styles of the cells in the row that was added last. The last style is also that of
// all further cells.
func (t *table) style(styles ...tty.Style) { t.rows[len(t.rows)-1].styles = styles }

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
	t.rows = append(t.rows, tableRow{cells: cells})
}

// lines returns one line per row, cut to so many columns of the screen; 0 means no limit.
func (t *table) lines(columns int) []string {
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

// line returns a row as one line that is not cut.
func (t *table) line(row int, color bool) string {
	r := &t.rows[row]
	return t.joined(r, r.cells, t.widths, color)
}

// joined aligns parts of the cells of a row as one line, and paints them if color is set.
func (t *table) joined(row *tableRow, parts []string, widths []int, color bool) string {
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
		space += strings.Repeat(" ", len(parts[i])-len(part)) + room + strings.Repeat(" ", cellGap)
	}
	return line
}

// print writes the table in so many columns of the screen; 0 means no limit. If the table does not
// fit, it wraps texts. If that is not enough, it writes each row as a list.
func (t *table) print(w *strings.Builder, columns int) {
	widths, ok := t.fitted(columns)
	if !ok {
		t.printLists(w, columns)
		return
	}
	for i := range t.rows {
		t.printRow(w, &t.rows[i], widths)
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
func (t *table) printRow(w *strings.Builder, row *tableRow, widths []int) {
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
		w.WriteString(t.joined(row, parts, widths, t.color) + "\n")
	}
}

// printLists writes each row as a list, below its first cell. Names of cells that leave no room for
// their values are cut.
func (t *table) printLists(w *strings.Builder, columns int) {
	head, rest := t.rows[0].cells, t.rows[1:]
	names := 0
	for _, name := range head[1:] {
		names = max(names, tty.Width(name))
	}
	if columns > 0 {
		names = min(names, max(columns/2-cellGap, 0))
	}
	for _, row := range rest {
		for _, part := range tty.Wrap(row.cells[0], columns) {
			w.WriteString(row.paint(0, part, t.color) + "\n")
		}
		for i, cell := range row.cells[1:] {
			if cell != "" {
				t.printListed(w, &row, i+1, pad(tty.Fit(head[i+1], names), names, false), columns)
			}
		}
	}
}

// printListed writes cell i of a row, after its name.
func (t *table) printListed(w *strings.Builder, row *tableRow, i int, name string, columns int) {
	indent, gap := strings.Repeat(" ", cellGap), strings.Repeat(" ", cellGap)
	const widest = 2 // columns of a character
	if columns > 0 && columns < tty.Width(name)+2*cellGap+widest {
		indent, gap, name = "", "", ""
	}
	used := tty.Width(indent + name + gap)
	if columns > 0 {
		columns -= used
	}
	mark := indent + tty.Dim.Paint(name, t.color) + gap
	for _, part := range tty.Wrap(strings.TrimLeft(row.cells[i], " "), columns) {
		w.WriteString(mark + row.paint(i, part, t.color) + "\n")
		mark = strings.Repeat(" ", used)
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
