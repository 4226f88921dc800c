package tty

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A testScreen is a terminal in memory. The cursor is in its last row, and rows above the screen
// are history. It knows only the output of a Panel.
type testScreen struct {
	columns, rows int
	reflows       bool // whether a narrower screen breaks lines
	restores      bool // whether a larger screen shows rows of the history again
	lines         []string
	continued     map[int]bool // the lines that are the rest of the one above
	row           int          // of the cursor, in lines
	gone          int          // the number of rows in the history
}

func newTestScreen(columns, rows int, reflows, restores bool) *testScreen {
	return &testScreen{columns: columns, rows: rows, reflows: reflows, restores: restores, lines: []string{"$ clew", ""}, row: 1}
}

// write obeys a text.
func (s *testScreen) write(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		var up int
		switch {
		case strings.HasPrefix(text, ClearLine):
			s.lines[s.row], text = "", text[len(ClearLine):]
			delete(s.continued, s.row)
			delete(s.continued, s.row+1)
		case text[0] == '\n':
			if s.row++; s.row == len(s.lines) {
				s.lines = append(s.lines, "")
			}
			text = text[1:]
		case text[0] == '\x1b':
			if strings.HasPrefix(text, Up(1)) {
				up = 1
			} else if n, err := fmt.Sscanf(text, "\x1b[%dA", &up); n != 1 || err != nil {
				t.Fatalf("an unknown sequence: %q", text)
			}
			s.row, text = max(s.row-up, s.top()), text[len(Up(up)):]
		default:
			end := strings.IndexAny(text+"\n", "\n\x1b\r")
			if s.lines[s.row] += text[:end]; Width(s.lines[s.row]) > s.columns {
				t.Fatalf("a line is longer than the screen: %q", s.lines[s.row])
			}
			text = text[end:]
		}
	}
}

// top is the first row on the screen.
func (s *testScreen) top() int {
	top := max(len(s.lines)-s.rows, 0)
	if !s.restores {
		top = max(top, s.gone)
	}
	s.gone = top
	return top
}

// resize changes the size as terminals do: the row of the cursor stays the last one.
func (s *testScreen) resize(columns, rows int) {
	s.top()
	var lines []string
	gone, continued, joined := 0, map[int]bool{}, ""
	for i, line := range s.lines[:s.row+1] {
		if i == s.gone {
			gone = len(lines)
		}
		if joined += line; s.continued[i+1] && s.reflows {
			continue
		}
		for s.reflows && len(joined) > columns {
			lines = append(lines, joined[:columns])
			joined = joined[columns:]
			continued[len(lines)] = true
		}
		lines = append(lines, joined[:min(len(joined), columns)])
		joined = ""
	}
	s.lines, s.continued, s.columns, s.rows, s.gone, s.row = lines, continued, columns, rows, gone, len(lines)-1
	s.top()
}

// shown returns what is on the screen above the cursor, and fails if anything is below it.
func (s *testScreen) shown(t *testing.T) []string {
	t.Helper()
	if below := strings.Join(s.lines[s.row:], ""); below != "" {
		t.Fatalf("below the cursor: %q", below)
	}
	return s.lines[s.top():s.row]
}

// A panel replaces its last drawing, and nothing else.
func TestPanel(t *testing.T) {
	t.Parallel()
	s, p := newTestScreen(20, 6, true, true), new(Panel)
	for _, tt := range []struct{ draw, want string }{
		{"head 1 2", "$ clew,head,1,2"},
		{"head 3", "$ clew,head,3"},
		{"head 1 2 3 4 5 6 7", "head,4,5,6,7"},
		{"head 8", "head,8"},
	} {
		s.write(t, p.Draw(strings.Fields(tt.draw), 20, 6))
		if got := strings.Join(s.shown(t), ","); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.draw, got, tt.want)
		}
	}
}

// Whatever happens to the size of the terminal, the screen shows the last drawing and no rest of an
// earlier one.
func TestPanelResized(t *testing.T) {
	t.Parallel()
	for kind := range 4 {
		reflows, restores := kind&1 > 0, kind&2 > 0
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
			s, p := newTestScreen(80, 24, reflows, restores), new(Panel)
			for step := range 20 {
				columns, rows := 1+random.IntN(90), 2+random.IntN(30)
				s.resize(columns, rows)
				var lines []string
				for i := range 1 + random.IntN(12) {
					lines = append(lines, fmt.Sprintf("%d.%d", step, i)+strings.Repeat("x", random.IntN(100)))
				}
				if random.IntN(4) == 0 {
					lines = slices.Clone(p.lines)
					s.write(t, p.Redraw(columns, rows))
				} else {
					s.write(t, p.Draw(lines, columns, rows))
				}
				want := fitted(lines, columns, rows-1)
				got := s.shown(t)
				if len(got) < len(want) {
					t.Fatalf("reflows %t, restores %t, seed %d, step %d: %q, want %q", reflows, restores, seed, step, got, want)
				}
				rest, shown := got[:len(got)-len(want)], got[len(got)-len(want):]
				if diff := cmp.Diff(want, append([]string{}, shown...)); diff != "" && len(want) > 0 {
					t.Fatalf("reflows %t, restores %t, seed %d, step %d (-want +got):\n%s", reflows, restores, seed, step, diff)
				}
				if strings.Contains(strings.Join(rest, ""), "x") {
					t.Fatalf("reflows %t, restores %t, seed %d, step %d: a rest: %q", reflows, restores, seed, step, rest)
				}
			}
		}
	}
}

// Colors take no room, and end where a line is cut.
func TestPanelPainted(t *testing.T) {
	t.Parallel()
	p := new(Panel)
	if got := p.Draw([]string{Cost.Paint("12345", true)}, 3, 9); got != ClearLine+Cost.Paint("123", true)+"\n" {
		t.Errorf("%q", got)
	}
	if got := p.Draw([]string{"a"}, 2, 9); !strings.HasPrefix(got, Up(2)+ClearLine+"a\n"+ClearLine+"\n"+Up(1)) {
		t.Errorf("%q", got)
	}
}
