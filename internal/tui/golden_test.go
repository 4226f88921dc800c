package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/termtest"
)

var updateGolden = flag.Bool("update", false, "write what the tests make to the golden files")

// checkGolden compares a text with a file in testdata. Escape sequences are written as \e there.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got = strings.ReplaceAll(got, "\x1b", `\e`)
	if *updateGolden {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// goldenSizes are the sizes of terminals for which there are golden screens.
var goldenSizes = [][2]int{{40, 12}, {80, 24}, {160, 50}}

// golden waits until the screen is that of a golden file: its text, and below it a letter for the style
// of each cell. Without colors no cell has a style.
func (s *story) golden(name string) *story {
	s.t.Helper()
	columns, rows := s.term.Size()
	name = fmt.Sprintf("%s_%dx%d", name, columns, rows)
	if s.app.opts.Color {
		name += "_color"
	}
	if *updateGolden {
		time.Sleep(300 * time.Millisecond) // the screen to come is not known: it is the one that stays
	} else if want, err := os.ReadFile(filepath.Join("testdata", name+".golden")); err == nil {
		ctx, cancel := context.WithTimeout(s.t.Context(), storyLimit)
		s.term.Wait(ctx, func() bool { return styledText(s.term) == string(want) })
		cancel()
	}
	got := styledText(s.term)
	if !s.app.opts.Color && strings.Contains(got, stylesBelow) {
		s.t.Errorf("%s has styles:\n%s", name, got)
	}
	checkGolden(s.t, name, got)
	return s
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
