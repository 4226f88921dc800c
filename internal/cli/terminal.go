package cli

import (
	"os"
	"slices"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/termio"
)

// layout returns how texts are laid out on the terminal.
func (s *screen) layout() markdown.Options {
	width, _ := s.window()
	return markdown.Options{Width: max(width-1, 1), Color: s.windowColor, Links: s.windowColor && termio.KnowsLinks(os.Getenv("TERM"), os.Getenv("TERM_PROGRAM"))}
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
	open = clikit.LastRows(open, width, height)
	rows := slices.Concat(final, open)
	if s.board != nil {
		s.growOnBoard(final, open)
		return nil
	}
	if len(rows) == 0 {
		return s.put(s.live.Replace(nil))
	}
	text := ""
	if len(s.live.Rows) == 0 && (s.spoke || s.answered || s.midLine) {
		text = "\n"
	}
	s.spoke, s.answered, s.midLine = false, false, false
	text += s.live.Replace(rows)
	if s.live.Rows = open; len(open) == 0 {
		text += "\n"
	}
	return s.put(text)
}

// growOnBoard is grow for a board.
func (s *screen) growOnBoard(final, open []string) {
	if len(final)+len(open) > 0 {
		if len(s.live.Rows) == 0 && (s.spoke || s.answered || s.midLine) {
			final = append([]string{""}, final...)
		}
		s.spoke, s.answered, s.midLine = false, false, false
	}
	s.live.Rows = open
	s.board.show(final, open)
}

// endAnswer notes that a text is complete: an empty line separates it from the following output.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = s.shared
}
