package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clewdev/clew/internal/render"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// tidier returns what makes the terminal fit for others when the program ends at once:
// it is not in raw mode then, and the cursor is on a line of its own.
func tidier(s Streams) (tidy func()) {
	restore := func() {}
	if in, ok := s.In.(*os.File); ok {
		if before, err := term.GetState(int(in.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(in.Fd()), before) } // there is nothing else to try
		}
	}
	return func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			restore()
			if isTerminal(s.Err) {
				_, _ = io.WriteString(s.Err, "\n") // as above
			}
		}()
		select {
		case <-done:
		case <-time.After(tidyLimit):
		}
	}
}

// terminalWidth returns how many characters fit on a line of a terminal.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// A look is how conversations are shown as text.
type look struct {
	expand   bool
	thinking bool
}

func (l *look) addFlags(cmd *cobra.Command) {
	addOnOff(cmd, &l.expand, "expand", "show inputs and results of tools whole, and what subagents did")
	addOnOff(cmd, &l.thinking, "thinking", "show what the agent thought")
}

func (l *look) options(s Streams) render.Options {
	return render.Options{
		Width:    textWidth(s.Out, 80),
		Color:    coloured(s.Out),
		Expand:   l.expand,
		Thinking: l.thinking,
	}
}

// coloured reports whether a stream may get colours.
func coloured(stream any) bool {
	switch os.Getenv("CLEW_COLOR") {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("CLICOLOR") != "0" && os.Getenv("TERM") != "dumb"
}

func emphasized(line string) string { return "\x1b[1m" + line + "\x1b[0m" }

// textWidth returns how many columns text may take: those of the terminal, or of
// COLUMNS where there is none, or a number for want of both.
func textWidth(stream any, otherwise int) int {
	if isTerminal(stream) {
		return terminalWidth(stream)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// jsonLine returns v as a line of JSON that a terminal can show.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeLine(b.Bytes()), nil
}

// printable makes a text that comes from elsewhere fit for a terminal: control
// characters, invisible ones and bytes that are not UTF-8 are escaped as in a Go
// string, so that it neither moves the cursor nor leaves its line.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// escaped is printable for a text that is one of ours, but for what it quotes: if
// nothing of it needs escaping, it stays as it is.
func escaped(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return printable(s)
		}
	}
	return s
}

// maxText is how many bytes are kept of a text that comes from elsewhere.
const maxText = 160

// clip shortens a text to what is worth keeping, and holds on to no more memory
// than that.
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

// escapeLine escapes the characters of a line of JSON that a terminal might obey
// or hide.
func escapeLine(line []byte) []byte { return render.JSON(line) }

// harmless makes a text of several lines fit for a terminal, and leaves the rest of
// it as it is.
func harmless(s string) string { return render.CleanExactly(s) }

// A progress is a line on a terminal that tells how far reading has come. A nil
// progress draws nothing.
type progress struct {
	w     io.Writer
	width int
	total int64 // how much there is to read, or -1
	now   func() time.Time

	read    int64
	started time.Time
	drawn   time.Time // when the line was last drawn, or could have been
	visible bool
}

const (
	redrawInterval = 100 * time.Millisecond
	barCells       = 20
	// clearLine goes to the start of the line and wipes it.
	clearLine = "\r\x1b[K"
)

func newProgress(w io.Writer, total int64, now func() time.Time) *progress {
	started := now()
	return &progress{w: w, width: terminalWidth(w), total: total, now: now, started: started, drawn: started}
}

// set says how many bytes have been read, and redraws the line if it is time to.
func (p *progress) set(read int64) {
	if p == nil {
		return
	}
	p.read = read
	now := p.now()
	if now.Sub(p.drawn) < redrawInterval {
		return
	}
	p.drawn = now
	p.visible = true
	p.print(clearLine + p.fit(p.line(now.Sub(p.started))))
}

// clear takes the line off the screen.
func (p *progress) clear() {
	if p == nil || !p.visible {
		return
	}
	p.visible = false
	p.print(clearLine)
}

// print ignores errors: work does not stop because nobody can watch it.
func (p *progress) print(text string) { _, _ = io.WriteString(p.w, text) }

// fit keeps the line from wrapping, after which it could not be cleared.
func (p *progress) fit(line string) string { return line[:max(0, min(len(line), p.width-1))] }

func (p *progress) line(elapsed time.Duration) string {
	rate := float64(p.read) / elapsed.Seconds()
	speed := formatSize(int64(rate)) + "/s"
	if p.total <= 0 {
		return fmt.Sprintf("%s  %s", formatSize(p.read), speed)
	}
	done := min(1, float64(p.read)/float64(p.total))
	cells := int(done * barCells)
	bar := strings.Repeat("#", cells) + strings.Repeat("-", barCells-cells)
	line := fmt.Sprintf("[%s] %3.0f%%  %s of %s  %s", bar, done*100, formatSize(p.read), formatSize(p.total), speed)
	if left := p.total - p.read; left > 0 && rate > 0 {
		line += fmt.Sprintf("  %v left", time.Duration(float64(left)/rate*1e9).Round(time.Second))
	}
	return line
}

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
