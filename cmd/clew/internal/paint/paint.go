// Package paint draws frames on a terminal and writes only what has changed. It is pure: frames
// become bytes. Neither of its painters asks the terminal anything, so no answer can reach the
// program that runs next.
package paint

import (
	"fmt"
	"slices"

	"github.com/clewdev/clew/internal/tty"
)

// A Cursor is a place on the screen, from 0.
type Cursor struct{ X, Y int }

// The modes of a terminal that both painters set for a frame. Terminals ignore unknown modes.
const (
	beginFrame = "\x1b[?2026h\x1b[?25l\x1b[?7l" // draw at once, without the cursor and without wrapping
	endFrame   = "\x1b[?7h\x1b[?2026l"
	showCursor = "\x1b[?25h"
	resetLine  = "\x1b[m"
	clearRest  = "\x1b[K"
)

// moveTo moves the cursor.
func moveTo(x, y int) string { return fmt.Sprintf("\x1b[%d;%dH", y+1, x+1) }

// A Full draws on the whole screen. The zero value knows nothing of the screen.
type Full struct {
	width, height int
	rows          []string // as the terminal shows them; nil if that is not known
	cursor        *Cursor
	out           []byte // the last frame, for its memory
}

// Reset forgets what the terminal shows, so that the next frame is drawn whole.
func (f *Full) Reset() { f.rows = nil }

// Draw returns what makes the terminal show painted lines, with its cursor at a place, or hidden if
// that is nil. Lines that are too long are cut, and so are those below the screen.
func (f *Full) Draw(lines []string, cursor *Cursor, width, height int) string {
	next := make([]string, height)
	for i := range next {
		if i < len(lines) {
			next[i] = tty.CutPainted(lines[i], width)
		}
	}
	if f.width != width || f.height != height {
		f.rows = nil
	}
	out := f.out[:0]
	out = append(out, beginFrame...)
	if f.rows == nil {
		out = append(out, "\x1b[H\x1b[2J"...)
		f.rows = make([]string, height)
	} else if slices.Equal(f.rows, next) && sameCursor(f.cursor, cursor) {
		return ""
	}
	out = append(out, f.scroll(next)...)
	for y, row := range next {
		if row != f.rows[y] {
			out = append(out, moveTo(0, y)...)
			out = append(out, row...)
			out = append(out, endOf(row, width)...)
		}
	}
	out = append(out, atCursor(cursor)...)
	out = append(out, endFrame...)
	f.out = out
	f.width, f.height, f.rows, f.cursor = width, height, next, cursor
	return string(f.out)
}

// endOf returns what follows a row. After the last column the cursor is still in it, so that clearing the
// rest would clear the last character.
func endOf(row string, width int) string {
	if tty.PaintedWidth(row) >= width {
		return resetLine
	}
	return resetLine + clearRest
}

func sameCursor(a, b *Cursor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func atCursor(c *Cursor) string {
	if c == nil {
		return ""
	}
	return moveTo(c.X, c.Y) + showCursor
}

// minScroll is the minimum number of rows that must stay the same for the terminal to scroll them.
const minScroll = 4

// scroll returns what makes the terminal move rows that are the same in the next frame, but elsewhere.
func (f *Full) scroll(next []string) string {
	first, last := f.changed(next)
	if last-first < minScroll {
		return ""
	}
	by, same := 0, 0
	for shift := 1; shift <= (last-first)/2; shift++ {
		for _, d := range []int{shift, -shift} {
			if n := f.equalRows(next, first, last, d); n > same {
				by, same = d, n
			}
		}
	}
	if same < minScroll || same <= f.equalRows(next, first, last, 0)+minScroll {
		return ""
	}
	f.move(first, last, by)
	direction := 'S'
	if by < 0 {
		by, direction = -by, 'T'
	}
	return fmt.Sprintf("\x1b[%d;%dr\x1b[%d%c\x1b[r", first+1, last+1, by, direction) // only these rows move
}

// changed returns the first and the last row that differ.
func (f *Full) changed(next []string) (first, last int) {
	last = len(next) - 1
	for first < last && f.rows[first] == next[first] {
		first++
	}
	for last > first && f.rows[last] == next[last] {
		last--
	}
	return first, last
}

// equalRows counts the rows, other than empty ones, that the next frame has if they move up by so many.
func (f *Full) equalRows(next []string, first, last, by int) (n int) {
	for y := first; y <= last; y++ {
		if from := y + by; from >= first && from <= last && next[y] != "" && f.rows[from] == next[y] {
			n++
		}
	}
	return n
}

func (f *Full) move(first, last, by int) {
	moved := make([]string, len(f.rows))
	copy(moved, f.rows)
	for y := first; y <= last; y++ {
		moved[y] = ""
		if from := y + by; from >= first && from <= last {
			moved[y] = f.rows[from]
		}
	}
	f.rows = moved
}
