package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/tty"
	"golang.org/x/term"
)

// restorer returns a function that restores the terminal when the program ends immediately: it
// leaves raw mode and starts a new line.
func restorer(s Streams) (restoreAll func()) {
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
			if clikit.IsTerminal(s.Err) {
				modes, _ := terminalModes.Load().(string)
				_, _ = io.WriteString(s.Err, modes+"\n") // nor here
			}
		}()
		select {
		case <-done:
		case <-time.After(tidyLimit):
		}
	}
}

// terminalModes is the string that resets the terminal modes that the program changed.
var terminalModes atomic.Value

// liveRows are the last rows on a terminal, which are not final: the block of an answer that is being
// written. They are drawn again when the block grows, and removed before anything else is written.
type liveRows struct {
	rows []string
}

// replace returns the sequence that turns the rows on the screen into others. It skips unchanged
// rows, and only appends to a row that grew. The cursor is at the end of the last row before and
// after.
func (l *liveRows) replace(rows []string) string {
	same := 0
	for same < len(rows) && same < len(l.rows) && rows[same] == l.rows[same] {
		same++
	}
	old := l.rows
	l.rows = rows
	if same == len(old) { // nothing is to be removed
		return below(same, rows[same:])
	}
	if same == len(old)-1 && same < len(rows) {
		if more, grows := strings.CutPrefix(rows[same], old[same]); grows {
			return more + below(same+1, rows[same+1:])
		}
	}
	var b strings.Builder
	for range len(old) - same - 1 {
		b.WriteString(clikit.ClearLine + tty.Up(1))
	}
	b.WriteString(clikit.ClearLine)
	switch {
	case same < len(rows):
		b.WriteString(strings.Join(rows[same:], "\n"))
	case same > 0: // the last row that stays is drawn again, to get to its end
		b.WriteString(tty.Up(1) + clikit.ClearLine + rows[same-1])
	}
	return b.String()
}

// below returns rows that follow others, if there are any.
func below(above int, rows []string) string {
	if above == 0 || len(rows) == 0 {
		return strings.Join(rows, "\n")
	}
	return "\n" + strings.Join(rows, "\n")
}

// lastRows returns as many of the last rows as a terminal can redraw, cut to its width.
func lastRows(rows []string, width, height int) []string {
	rows = rows[max(0, len(rows)-max(height-2, 1)):]
	fitted := make([]string, len(rows))
	for i, row := range rows {
		fitted[i] = row
		if tty.PaintedWidth(row) >= width {
			fitted[i] = tty.CutPainted(row, max(width-1, 1))
		}
	}
	return fitted
}

// layout returns how texts are laid out on the terminal.
func (s *screen) layout() markdown.Options {
	width, _ := s.window()
	return markdown.Options{Width: max(width-1, 1), Color: s.windowColor, Links: s.windowColor && knowsLinks(os.Getenv("TERM"), os.Getenv("TERM_PROGRAM"))}
}

// knowsLinks reports whether a terminal may show links (OSC 8). On terminals that surely don't, a
// reader would not see the target of a link.
func knowsLinks(terminal, program string) bool {
	for _, old := range []string{"linux", "dumb", "screen", "vt", "cons"} {
		if strings.HasPrefix(terminal, old) {
			return false
		}
	}
	return program != "Apple_Terminal"
}

// grow writes final lines to the terminal, and shows open rows below them. An empty line separates
// them from earlier reports.
func (s *screen) grow(final, open []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared {
		s.wipe()
	}
	width, height := s.window()
	if s.plain {
		open = nil
	}
	open = lastRows(open, width, height)
	rows := slices.Concat(final, open)
	if s.board != nil {
		s.growOnBoard(final, open)
		return nil
	}
	if len(rows) == 0 {
		return s.put(s.live.replace(nil))
	}
	text := ""
	if len(s.live.rows) == 0 && (s.spoke || s.answered || s.midLine) {
		text = "\n"
	}
	s.spoke, s.answered, s.midLine = false, false, false
	text += s.live.replace(rows)
	if s.live.rows = open; len(open) == 0 {
		text += "\n"
	}
	return s.put(text)
}

// growOnBoard is grow for a board.
func (s *screen) growOnBoard(final, open []string) {
	if len(final)+len(open) > 0 {
		if len(s.live.rows) == 0 && (s.spoke || s.answered || s.midLine) {
			final = append([]string{""}, final...)
		}
		s.spoke, s.answered, s.midLine = false, false, false
	}
	s.live.rows = open
	s.board.show(final, open)
}

// endAnswer notes that a text is complete: an empty line separates it from the following output.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = s.shared
}
