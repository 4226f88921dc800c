package paint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
)

// randomLine returns a painted line that may be too long.
func randomLine(random *rand.Rand) string {
	words := []string{"", "a", "日本", "hello", "e\u0301", strings.Repeat("long ", 9)}
	var b strings.Builder
	for range random.IntN(4) {
		style := tty.Style(random.IntN(int(tty.Match) + 1)) //nolint:gosec // there are few styles
		b.WriteString(style.Paint(words[random.IntN(len(words))], random.IntN(2) == 0))
	}
	return b.String()
}

// nextLines changes lines as programs do: they scroll, or some of them change.
func nextLines(random *rand.Rand, lines []string, height int) []string {
	switch random.IntN(5) {
	case 0:
		lines = slices.Concat(lines[min(random.IntN(4), len(lines)):], []string{randomLine(random), randomLine(random)})
	case 1:
		lines = slices.Concat([]string{randomLine(random)}, lines)
	case 2:
		lines = slices.Clone(lines)
		for i := range lines {
			if random.IntN(4) == 0 {
				lines[i] = randomLine(random)
			}
		}
	case 3:
		lines = nil
		for range random.IntN(height + 3) {
			lines = append(lines, randomLine(random))
		}
	}
	return lines[:min(len(lines), height+3)]
}

// drawn returns the cells of a screen on which lines are drawn once, one by one.
func drawn(lines []string, width, height int) [][]termtest.Cell {
	t := termtest.New(width, height)
	for y, line := range lines[:min(len(lines), height)] {
		_, _ = t.WriteString(fmt.Sprintf("\x1b[%d;1H", y+1) + tty.CutPainted(line, width))
	}
	return t.Cells()
}

// Frames that follow each other show the same as frames that are drawn whole.
func TestFull(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Size(50, 1000)) {
		random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a test
		width, height := 1+random.IntN(60), 1+random.IntN(30)
		term, full := termtest.New(width, height), new(Full)
		var lines []string
		for step := range 20 {
			if random.IntN(10) == 0 {
				width, height = 1+random.IntN(60), 1+random.IntN(30)
				term.Resize(width, height)
			}
			lines = nextLines(random, lines, height)
			var cursor *Cursor
			if random.IntN(2) == 0 {
				cursor = &Cursor{X: random.IntN(width), Y: random.IntN(height)}
			}
			_, _ = term.WriteString(full.Draw(lines, cursor, width, height))
			want, got := drawn(lines, width, height), term.Cells()
			if !slices.EqualFunc(want, got, slices.Equal[[]termtest.Cell]) {
				t.Fatalf("seed %d, step %d (-want +got):\n%s", seed, step, cmp.Diff(want, got))
			}
			checkModes(t, term, cursor, 0)
		}
	}
}

// checkModes checks where the cursor is, and the modes after a frame.
func checkModes(t *testing.T, term *termtest.Terminal, cursor *Cursor, top int) {
	t.Helper()
	if unknown := term.Unknown(); unknown != nil {
		t.Fatalf("unknown: %q", unknown)
	}
	modes := term.Modes()
	if modes.Cursor != (cursor != nil) || modes.Synchronized || !modes.Wrap {
		t.Fatalf("modes after a frame: %+v", modes)
	}
	if x, y := term.Cursor(); cursor != nil && (x != cursor.X || y != top+cursor.Y) {
		t.Fatalf("the cursor is at %d, %d, want %+v below row %d", x, y, *cursor, top)
	}
}

// A frame that scrolls by a line is a few bytes.
func TestFullScrolls(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 60)))
	}
	full := new(Full)
	full.Draw(lines, nil, 80, 24)
	if n := len(full.Draw(lines[1:], nil, 80, 24)); n > 200 {
		t.Errorf("a line down is %d bytes", n)
	}
	if n := len(full.Draw(lines, nil, 80, 24)); n > 200 {
		t.Errorf("a line up is %d bytes", n)
	}
	if got := full.Draw(lines, nil, 80, 24); got != "" {
		t.Errorf("the same frame again is %q", got)
	}
}

// A text that is printed above stays in the scrollback once and in order, and the rows are below it.
func TestInline(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Size(50, 1000)) {
		random := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // a test
		width, height := 12+random.IntN(60), 8+random.IntN(20)
		term, inline := termtest.New(width, height), new(Inline)
		_, _ = term.WriteString("$ clew chat\r\n")
		want := []string{"$ clew chat"}
		var rows []string
		for step := range 25 {
			var above []string
			for range random.IntN(4) * random.IntN(2) {
				line := fmt.Sprintf("%d.%d %s", seed, len(want), strings.Repeat("y", random.IntN(2*width)))
				above = append(above, line)
				want = append(want, wrapped(line, width)...)
			}
			rows = nextLines(random, rows, 4)
			rows = rows[:min(len(rows), height-2)]
			var cursor *Cursor
			if len(rows) > 0 && random.IntN(2) == 0 {
				cursor = &Cursor{X: random.IntN(width), Y: random.IntN(len(rows))}
			}
			_, _ = term.WriteString(inline.Draw(above, rows, cursor, width))
			got := append(term.Scrollback(), strings.Split(strings.TrimSuffix(term.Text(), "\n"), "\n")...)
			checkInline(t, fmt.Sprintf("seed %d, step %d", seed, step), got, want, drawn(rows, width, max(len(rows), 1)))
			checkModes(t, term, cursor, len(want)-len(term.Scrollback()))
		}
		_, _ = term.WriteString(inline.Finish() + "$ ")
		if _, y := term.Cursor(); !strings.HasPrefix(term.Line(y), "$") {
			t.Fatalf("seed %d: the shell is at %q", seed, term.Line(y))
		}
	}
}

// Whatever the size of the terminal becomes, what was printed stays, and nothing of earlier frames does:
// on terminals that break long lines again, and on terminals that cut them.
func TestInlineResized(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Size(40, 500)) {
		random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // a test
		width, height := 12+random.IntN(60), 30+random.IntN(20)
		term, inline := termtest.New(width, height), &Inline{Cuts: seed%2 == 0}
		term.SetReflow(!inline.Cuts)
		var want, rows []string
		for step := range 25 {
			for range random.IntN(3) { // frames don't come between all changes
				width, height = 12+random.IntN(60), 30+random.IntN(20)
				term.Resize(width, height)
			}
			var above []string
			for range random.IntN(3) {
				above = append(above, fmt.Sprintf("%d.%d", seed, len(want)+len(above)))
			}
			want = append(want, above...)
			rows = nextLines(random, rows, 2)
			at := Cursor{Y: random.IntN(len(rows) + 1)}
			if at.Y < len(rows) {
				at.X = random.IntN(min(tty.PaintedWidth(rows[at.Y]), width) + 1)
				at.X = max(min(at.X, tty.PaintedWidth(strings.TrimRight(tty.CutPainted(rows[at.Y], width), " "))-1), 0)
			} else {
				at.Y = 0
			}
			_, _ = term.WriteString(inline.Resized(width, height) + inline.Draw(above, rows, &at, width))
			got := append(term.Scrollback(), strings.Split(strings.TrimSuffix(term.Text(), "\n"), "\n")...)
			checkInline(t, fmt.Sprintf("seed %d, step %d", seed, step), got, want, drawn(rows, width, max(len(rows), 1)))
		}
	}
}

// A terminal that becomes lower drops rows below the cursor: they are drawn again.
func TestInlineLower(t *testing.T) {
	t.Parallel()
	rows, at := []string{"text", "below"}, &Cursor{X: 1, Y: 0}
	var p Inline
	first := p.Resized(20, 10) + p.Draw(nil, rows, at, 20)
	if !strings.Contains(first, "below") {
		t.Fatalf("the first frame is %q", first)
	}
	if again := p.Resized(20, 10) + p.Draw(nil, rows, at, 20); strings.Contains(again, "below") {
		t.Errorf("drawn again without need: %q", again)
	}
	if lower := p.Resized(20, 5) + p.Draw(nil, rows, at, 20); !strings.Contains(lower, "below") {
		t.Errorf("not drawn again: %q", lower)
	}
}

// checkInline checks that lines are those above, then the rows, and then nothing.
func checkInline(t *testing.T, name string, got, above []string, rows [][]termtest.Cell) {
	t.Helper()
	want := slices.Clone(above)
	for _, cells := range rows {
		text := ""
		for _, c := range cells {
			text += c.Text
		}
		want = append(want, strings.TrimRight(text, " "))
	}
	for len(want) < len(got) {
		want = append(want, "")
	}
	if !slices.Equal(want, got) {
		t.Fatalf("%s (-want +got):\n%s", name, cmp.Diff(want, got))
	}
}

// wrapped returns the rows of a line of ASCII.
func wrapped(line string, width int) (rows []string) {
	for len(line) > width {
		rows = append(rows, strings.TrimRight(line[:width], " "))
		line = line[width:]
	}
	return append(rows, strings.TrimRight(line, " "))
}
