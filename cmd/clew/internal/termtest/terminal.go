// Package termtest is a terminal in memory, for tests of programs that draw on one. It obeys what
// such programs write, keeps the cells, the modes and the scrollback, and records every sequence that
// it does not know.
package termtest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
)

// A Terminal is a terminal in memory. Its methods can be called at once. It is in raw mode: a line
// feed does not return to the first column.
type Terminal struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change

	columns, rows int
	main, alt     screen
	modes         Modes
	keyboard      []int // what was pushed to the stack of keyboard modes
	scrollback    []line
	reflows       bool
	replies       io.Writer
	answers       []byte // replies that are not sent yet
	pending       []byte // the beginning of a sequence or character

	title     string
	clipboard []string
	notices   []string
	queries   []string
	unknown   []string
	bells     int
	written   int
	history   bytes.Buffer
}

// Modes are the modes of a terminal that programs switch.
type Modes struct {
	AltScreen     bool // 1049
	Cursor        bool // 25: whether it is shown
	Wrap          bool // 7: whether a line that is too long goes on in the next one
	Paste         bool // 2004
	Mouse         bool // 1000, 1002 or 1003
	MouseMotion   bool // 1002 or 1003
	MouseSGR      bool // 1006
	Focus         bool // 1004
	Synchronized  bool // 2026: whether a frame is being written
	Keyboard      int  // the flags of the keyboard protocol
	KeyboardDepth int  // how many sets of flags were pushed and not popped
}

// New returns an empty terminal, as a shell has it: with a cursor and without any other mode than
// wrapping.
func New(columns, rows int) *Terminal {
	t := &Terminal{
		columns: max(columns, 1), rows: max(rows, 1), changed: make(chan struct{}),
		modes: Modes{Cursor: true, Wrap: true},
	}
	t.main, t.alt = newScreen(t.columns, t.rows), newScreen(t.columns, t.rows)
	return t
}

// SetReflow sets whether a change of the width breaks and joins the lines of the main screen and of
// the scrollback, as most terminals do. Otherwise lines are cut.
func (t *Terminal) SetReflow(reflows bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reflows = reflows
}

// SetReplies sets where the answers to queries go. Nil, the default, answers none.
func (t *Terminal) SetReplies(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replies = w
}

// Write obeys a text, which may end in the middle of a character or sequence. It never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.written += len(p)
	t.history.Write(p)
	t.pending = append(t.pending, p...)
	t.obey()
	answers, w := t.answers, t.replies
	t.answers = nil
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
	if len(answers) > 0 && w != nil {
		_, _ = w.Write(answers) // a program that has ended reads no answer
	}
	return len(p), nil
}

// WriteString is like Write.
func (t *Terminal) WriteString(s string) (int, error) { return t.Write([]byte(s)) }

// Wait waits until a condition holds between two frames, or until the context is done. It reports
// whether the condition holds. The condition calls methods of the terminal.
func (t *Terminal) Wait(ctx context.Context, holds func() bool) bool {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if t.Whole() && holds() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return holds()
		}
	}
}

// Whole reports whether the screen is not being drawn.
func (t *Terminal) Whole() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.modes.Synchronized && len(t.pending) == 0
}

// Size returns the size of the screen.
func (t *Terminal) Size() (columns, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.columns, t.rows
}

// Text returns the screen as lines without the spaces at their ends. Every row has a line.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, l := range t.screen().lines {
		b.WriteString(l.text() + "\n")
	}
	return b.String()
}

// Line returns a row of the screen without the spaces at its end. It is empty outside of the screen.
func (t *Terminal) Line(y int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if y < 0 || y >= t.rows {
		return ""
	}
	return t.screen().lines[y].text()
}

// Cell returns a cell of the screen. It is empty outside of the screen, and in the second column of a
// wide character.
func (t *Terminal) Cell(x, y int) Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	if y < 0 || y >= t.rows || x < 0 || x >= t.columns {
		return Cell{}
	}
	return t.screen().lines[y].cells[x]
}

// Cells returns a copy of the cells of the screen, by row and column.
func (t *Terminal) Cells() [][]Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all [][]Cell
	for _, l := range t.screen().lines {
		all = append(all, slices.Clone(l.cells))
	}
	return all
}

// Cursor returns the position of the cursor. After the last column was written the cursor is in it.
func (t *Terminal) Cursor() (x, y int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen().x, t.screen().y
}

// Modes returns the modes.
func (t *Terminal) Modes() Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.modes
}

// Scrollback returns the lines that left the main screen at its top, the oldest one first.
func (t *Terminal) Scrollback() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, l := range t.scrollback {
		lines = append(lines, l.text())
	}
	return lines
}

// Title returns the title of the window.
func (t *Terminal) Title() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.title
}

// Clipboard returns the texts that were copied by OSC 52, the last one at the end.
func (t *Terminal) Clipboard() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.clipboard)
}

// Notices returns the texts of the notifications by OSC 9 and OSC 777.
func (t *Terminal) Notices() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.notices)
}

// Bells returns how often the bell rang.
func (t *Terminal) Bells() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bells
}

// Queries returns the sequences that ask for an answer.
func (t *Terminal) Queries() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.queries)
}

// Unknown returns the sequences that the terminal does not know, and the control characters that it
// does not obey.
func (t *Terminal) Unknown() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.unknown)
}

// Written returns the number of bytes that were written.
func (t *Terminal) Written() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written
}

// History returns everything that was written.
func (t *Terminal) History() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.history.String()
}

// Resize changes the size of the screen. The program has to be told by other means.
func (t *Terminal) Resize(columns, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	columns, rows = max(columns, 1), max(rows, 1)
	t.alt.resize(columns, rows)
	if t.reflows && columns != t.columns {
		t.reflow(columns)
	}
	t.scrollback = append(t.scrollback, t.main.resize(columns, rows)...)
	t.columns, t.rows = columns, rows
	close(t.changed)
	t.changed = make(chan struct{})
}

// screen returns the screen that is shown.
func (t *Terminal) screen() *screen {
	if t.modes.AltScreen {
		return &t.alt
	}
	return &t.main
}
