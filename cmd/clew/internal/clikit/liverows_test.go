package clikit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A glass is a terminal that understands what liveRows writes.
type glass struct {
	rows   []string
	cursor int
}

func (g *glass) write(t *testing.T, text string) {
	t.Helper()
	if g.rows == nil {
		g.rows = []string{""}
	}
	for text != "" {
		switch {
		case strings.HasPrefix(text, ClearLine):
			g.rows[g.cursor], text = "", text[len(ClearLine):]
		case strings.HasPrefix(text, "\x1b[A"):
			g.cursor--
			text = text[3:]
		case text[0] == '\n':
			if g.cursor++; g.cursor == len(g.rows) {
				g.rows = append(g.rows, "")
			}
			text = text[1:]
		case text[0] == '\x1b' || text[0] == '\r':
			t.Fatalf("unknown sequence: %q", text)
		default:
			g.rows[g.cursor] += text[:1]
			text = text[1:]
		}
	}
}

// shown returns the rows on the glass without empty ones at the end.
func (g *glass) shown() string { return strings.TrimRight(strings.Join(g.rows, "\n"), "\n") }

// However rows are replaced, the screen shows the last ones, below the earlier output.
func TestLiveRows(t *testing.T) {
	t.Parallel()
	seed := rand.New(rand.NewPCG(3, 4)) // the same rows each time
	for range 500 {
		g, live := &glass{}, &LiveRows{}
		g.write(t, "before\n")
		var rows []string
		for range 1 + seed.IntN(8) {
			kept := rows[:seed.IntN(len(rows)+1)]
			rows = append([]string{}, kept...)
			for range seed.IntN(4) {
				rows = append(rows, fmt.Sprint("row ", seed.IntN(3)))
			}
			g.write(t, live.Replace(rows))
			if want := strings.TrimRight("before\n"+strings.Join(rows, "\n"), "\n"); g.shown() != want {
				t.Fatalf("screen %q, want %q", g.shown(), want)
			}
			if len(rows) > 0 && g.cursor != len(rows) {
				t.Fatalf("the cursor is in row %d of %d", g.cursor, len(rows))
			}
		}
		g.write(t, live.Replace(nil)+"after\n")
		if g.shown() != "before\nafter" {
			t.Fatalf("at the end: %q", g.shown())
		}
	}
}

func TestLastRows(t *testing.T) {
	t.Parallel()
	got := LastRows([]string{"one", "two", "a long row", "four"}, 6, 5)
	if want := "two|a lon|four"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
