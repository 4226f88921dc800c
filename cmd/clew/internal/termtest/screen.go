package termtest

import (
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A Cell is a place for a character.
type Cell struct {
	Text  string // a character with its marks; empty for the second column of a wide one
	Style Style
	Link  string // the target of a hyperlink
}

// A Style is the appearance of a cell.
type Style struct {
	Bold, Dim, Italic, Underline, Blink, Inverse, Hidden, Struck bool
	// Foreground and Background are the parameters of the colors, such as "31" or "38;5;208". They
	// are empty for the terminal's own colors.
	Foreground, Background string
}

// String returns the parameters of the sequence that begins the style.
func (s Style) String() string {
	var codes []string
	for _, a := range []struct {
		on   bool
		code string
	}{
		{s.Bold, "1"}, {s.Dim, "2"}, {s.Italic, "3"}, {s.Underline, "4"}, {s.Blink, "5"}, {s.Inverse, "7"},
		{s.Hidden, "8"}, {s.Struck, "9"}, {s.Foreground != "", s.Foreground}, {s.Background != "", s.Background},
	} {
		if a.on {
			codes = append(codes, a.code)
		}
	}
	return strings.Join(codes, ";")
}

// Basic reports whether the style needs no more than the 16 colors of every terminal.
func (s Style) Basic() bool {
	return !strings.Contains(s.Foreground, ";") && !strings.Contains(s.Background, ";")
}

var blank = Cell{Text: " "}

type line struct {
	cells []Cell
	wraps bool // whether it goes on in the next one
}

func newLine(columns int) line {
	return line{cells: slices.Repeat([]Cell{blank}, columns)}
}

func (l line) text() string {
	var b strings.Builder
	for _, c := range l.cells {
		b.WriteString(c.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// A screen is the main or the alternate one.
type screen struct {
	columns, rows  int
	lines          []line
	x, y           int
	full           bool // the last column was written, and the next character goes to the next line
	style          Style
	link           string
	top, bottom    int // the rows that scroll, the bottom one excluded
	savedX, savedY int
	savedStyle     Style
}

func newScreen(columns, rows int) screen {
	s := screen{columns: columns, rows: rows, bottom: rows}
	for range rows {
		s.lines = append(s.lines, newLine(columns))
	}
	return s
}

// put writes a character at the cursor. It returns the lines that left the screen.
func (s *screen) put(r rune, wrap bool) (gone []line) {
	width := tty.RuneWidth(r)
	if width == 0 {
		s.mark(r)
		return nil
	}
	if wrap && (s.full || s.x+width > s.columns) {
		s.lines[s.y].wraps = true
		s.x, s.full = 0, false
		gone = s.feed()
	}
	s.x = max(min(s.x, s.columns-width), 0)
	s.clearWide(s.x, s.x+width)
	s.set(s.x, Cell{Text: string(r), Style: s.style, Link: s.link})
	if width == 2 {
		s.set(s.x+1, Cell{Style: s.style, Link: s.link})
	}
	if s.x += width; s.x >= s.columns {
		s.x, s.full = s.columns-1, true
	}
	return gone
}

func (s *screen) set(x int, c Cell) {
	if x < s.columns {
		s.lines[s.y].cells[x] = c
	}
}

// clearWide clears the other half of wide characters that are written over in part.
func (s *screen) clearWide(from, to int) {
	cells := s.lines[s.y].cells
	if from > 0 && from < len(cells) && cells[from].Text == "" {
		cells[from-1].Text = " "
	}
	if to < len(cells) && cells[to].Text == "" {
		cells[to].Text = " "
	}
}

// mark adds a character without a width to the one before the cursor.
func (s *screen) mark(r rune) {
	x := s.x - 1
	if s.full {
		x = s.x
	}
	cells := s.lines[s.y].cells
	for x > 0 && cells[x].Text == "" {
		x--
	}
	if x >= 0 {
		cells[x].Text += string(r)
	}
}

// feed moves the cursor down, and scrolls at the end of the region. It returns the lines that left
// the screen at its top.
func (s *screen) feed() []line {
	s.full = false
	if s.y+1 == s.bottom {
		return s.scrollUp(1)
	}
	s.y = min(s.y+1, s.rows-1)
	return nil
}

// scrollUp moves the lines of the region up. It returns the lines that left the screen at its top.
func (s *screen) scrollUp(n int) (gone []line) {
	n = min(n, s.bottom-s.top)
	if s.top == 0 {
		gone = slices.Clone(s.lines[:n])
	}
	s.lines = slices.Delete(s.lines, s.top, s.top+n)
	for range n {
		s.lines = slices.Insert(s.lines, s.bottom-n, newLine(s.columns))
	}
	return gone
}

// scrollDown moves the lines of the region down.
func (s *screen) scrollDown(n int) {
	n = min(n, s.bottom-s.top)
	s.lines = slices.Delete(s.lines, s.bottom-n, s.bottom)
	for range n {
		s.lines = slices.Insert(s.lines, s.top, newLine(s.columns))
	}
}

// within calls f with the top at the cursor, for functions that insert and delete lines.
func (s *screen) within(f func()) {
	if s.y < s.top || s.y >= s.bottom {
		return
	}
	top := s.top
	s.top = s.y
	f()
	s.top, s.x, s.full = top, 0, false
}

// move sets the cursor, as far as there is a screen.
func (s *screen) move(x, y int) {
	s.x, s.y, s.full = min(max(x, 0), s.columns-1), min(max(y, 0), s.rows-1), false
}

// erase clears cells of a row. They keep the background, as terminals do.
func (s *screen) erase(y, from, to int) {
	c := blank
	c.Style.Background = s.style.Background
	for x := max(from, 0); x < min(to, s.columns); x++ {
		s.lines[y].cells[x] = c
	}
	if to >= s.columns {
		s.lines[y].wraps = false
	}
}

// eraseRows clears whole rows.
func (s *screen) eraseRows(from, to int) {
	for y := from; y < to; y++ {
		s.erase(y, 0, s.columns)
	}
}

// resize changes the size. It returns the lines that left the screen at its top.
func (s *screen) resize(columns, rows int) (gone []line) {
	for i, l := range s.lines {
		s.lines[i].cells = slices.Concat(l.cells[:min(columns, len(l.cells))], newLine(max(columns-len(l.cells), 0)).cells)
	}
	if out := s.y + 1 - rows; out > 0 {
		gone = slices.Clone(s.lines[:out])
		s.lines = slices.Delete(s.lines, 0, out)
		s.y -= out
	}
	s.lines = s.lines[:min(rows, len(s.lines))]
	for len(s.lines) < rows {
		s.lines = append(s.lines, newLine(columns))
	}
	s.columns, s.rows, s.top, s.bottom = columns, rows, 0, rows
	s.move(s.x, s.y)
	return gone
}

// reflow breaks the lines of the main screen and the scrollback again. Those above the cursor that
// don't fit go to the scrollback.
func (t *Terminal) reflow(columns int) {
	s := &t.main
	all := slices.Concat(t.scrollback, s.lines[:s.y+1])
	cursor := s.x
	for i := len(all) - 2; i >= 0 && all[i].wraps; i-- {
		cursor += len(all[i].cells)
	}
	var broken []line
	last := 0 // where the paragraph of the cursor begins
	for start := 0; start < len(all); {
		end := start
		for end+1 < len(all) && all[end].wraps {
			end++
		}
		last = len(broken)
		broken = append(broken, rebreak(all[start:end+1], columns)...)
		start = end + 1
	}
	for len(broken) <= last+cursor/columns {
		broken = append(broken, newLine(columns))
	}
	shown := min(s.rows, len(broken))
	below := s.lines[s.y+1:]
	t.scrollback = broken[:len(broken)-shown]
	s.lines = slices.Concat(broken[len(broken)-shown:], below)
	s.y = shown - (len(broken) - (last + cursor/columns))
	s.x = cursor % columns
	for len(s.lines) < s.rows {
		s.lines = append(s.lines, newLine(columns))
	}
	s.lines = s.lines[:max(s.rows, s.y+1)]
}

// rebreak breaks a paragraph into lines of another width.
func rebreak(lines []line, columns int) []line {
	var cells []Cell
	for _, l := range lines {
		cells = append(cells, l.cells...)
	}
	for len(cells) > 0 && cells[len(cells)-1] == blank {
		cells = cells[:len(cells)-1]
	}
	var broken []line
	for {
		n := min(columns, len(cells))
		if n > 1 && n < len(cells) && cells[n].Text == "" {
			n-- // a wide character stays whole
		}
		l := newLine(columns)
		copy(l.cells, cells[:n])
		l.wraps = n < len(cells)
		broken = append(broken, l)
		if cells = cells[n:]; len(cells) == 0 {
			return broken
		}
	}
}
