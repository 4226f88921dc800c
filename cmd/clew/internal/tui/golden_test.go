package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/golden"
)

// goldenSizes are the sizes of terminals for which there are golden screens.
var goldenSizes = [][2]int{{40, 12}, {80, 24}, {160, 50}}

// golden compares the screen with a golden file, once it is the same or stays as it is: its text,
// and below it a letter for the style of each cell. Without colors no cell has a style. What the
// screen is to be known by is seen before.
func (s *story) golden(name string) *story {
	s.t.Helper()
	columns, rows := s.term.Size()
	name = fmt.Sprintf("%s_%dx%d", name, columns, rows)
	if s.app.opts.Color {
		name += "_color"
	}
	want, err := golden.Read(name)
	same := func() bool { return err == nil && golden.Escape(styledText(s.term)) == want }
	if golden.Updates() {
		s.settles(500*time.Millisecond, func() bool { return false })
	} else {
		s.settles(stillTime, same)
	}
	got := styledText(s.term)
	if !s.app.opts.Color && strings.Contains(got, stylesBelow) {
		s.t.Errorf("%s has styles:\n%s", name, got)
	}
	golden.Check(s.t, name, got)
	return s
}

// stillTime is the time without output after which a screen counts as final, on a busy machine.
// Only a screen that differs from its golden file takes that long.
const stillTime = 2 * time.Minute

// settles waits until a condition holds, or nothing was written to the screen for some time.
func (s *story) settles(still time.Duration, holds func() bool) {
	for begun := time.Now(); time.Since(begun) < storyLimit; {
		written := s.term.Written()
		ctx, cancel := context.WithTimeout(s.t.Context(), still)
		changed := s.term.Wait(ctx, func() bool { return holds() || s.term.Written() != written })
		cancel()
		if !changed || holds() {
			return
		}
	}
}

const stylesBelow = "-- styles --\n"

// styledText returns the text of a screen and, if there are any, the styles of its cells.
func styledText(term *termtest.Terminal) string {
	letters := map[string]byte{"": '.'}
	var styles, legend strings.Builder
	for _, cells := range term.Cells() {
		line := make([]byte, 0, len(cells))
		for _, c := range cells {
			style := c.Style.String()
			if c.Link != "" {
				style += " " + c.Link
			}
			if _, ok := letters[style]; !ok {
				letters[style] = byte('a' + len(letters) - 1) //nolint:gosec // there are few
				fmt.Fprintf(&legend, "%c %s\n", letters[style], style)
			}
			line = append(line, letters[style])
		}
		styles.WriteString(strings.TrimRight(string(line), ".") + "\n")
	}
	text := term.Text()
	if legend.Len() == 0 {
		return text
	}
	return text + stylesBelow + styles.String() + legend.String()
}

// checkBasic fails if a screen needs more than the 16 colors of every terminal, which its theme makes
// legible on light and on dark.
func checkBasic(t *testing.T, term *termtest.Terminal) {
	t.Helper()
	for y, cells := range term.Cells() {
		for x, c := range cells {
			if !c.Style.Basic() {
				t.Fatalf("line %d, column %d has the style %s", y, x, c.Style)
			}
		}
	}
}

// inAllSizes runs a part of a story for all sizes, with colors and without.
func inAllSizes(t *testing.T, name string, tells func(t *testing.T, opts Options, columns, rows int) *story) {
	t.Helper()
	for _, size := range goldenSizes {
		for _, color := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%dx%d/%t", name, size[0], size[1], color), func(t *testing.T) {
				t.Parallel()
				opts := storyOptions()
				opts.Color = color
				s := tells(t, opts, size[0], size[1])
				s.golden(name)
				checkBasic(t, s.term)
			})
		}
	}
}
