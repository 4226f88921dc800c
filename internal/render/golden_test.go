package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// panels returns all panels of a transcript, by name.
func panels(o Options, tr *transcript.Transcript, l *rows.List) map[string][]PanelLine {
	return map[string][]PanelLine{
		"agents": o.AgentsPanel(tr, l), "files": o.FilesPanel(tr, l), "turns": o.TurnsPanel(tr, l), "context": o.ContextPanel(tr, l),
		"usage": o.UsagePanel(tr, l), "branches": o.BranchesPanel(l), "outline": o.Outline(l),
	}
}

// goldens are the transcripts of the goldens.
var goldens = []string{"rewound", "allowed", "subagent_background", "compact", "error_400", "hostile"}

// eachGolden calls draw for each width and transcript, and compares what it writes.
func eachGolden(t *testing.T, name string, draw func(b *strings.Builder, o Options, tr *transcript.Transcript, l *rows.List)) {
	t.Helper()
	all := recorded(t)
	for _, width := range []int{40, 80, 160} {
		for _, color := range []bool{false, true} {
			var b strings.Builder
			for _, session := range goldens {
				tr := all[session]
				l := rows.List{Live: session == "rewound"}
				l.Update(tr, 0)
				fmt.Fprintf(&b, "=== %s\n", session)
				o := Options{Width: width, Color: color, Dir: tr.CWD, Zone: time.UTC, Day: tr.Created, ASCII: width == 40}
				draw(&b, o, tr, &l)
			}
			file := fmt.Sprintf("%s_%d", name, width)
			if color {
				file += "_color"
			}
			golden.Check(t, file, b.String())
		}
	}
}

func TestRowsGolden(t *testing.T) {
	t.Parallel()
	eachGolden(t, "rows", func(b *strings.Builder, o Options, _ *transcript.Transcript, l *rows.List) {
		for i := range l.Len() {
			mark := NoMark
			if o.HasBody(l.At(i)) || l.At(i).Below > 0 {
				mark = Folded
			}
			b.WriteString(o.RowLine(l.At(i), mark) + "\n")
		}
		b.WriteString("--- open\n")
		for i := range l.Len() {
			b.WriteString(o.RowLine(l.At(i), Open) + "\n")
			lines, more := o.RowBody(l.At(i), 8)
			for _, line := range lines {
				b.WriteString(line + "\n")
			}
			if more > 0 {
				fmt.Fprintf(b, "%d more\n", more)
			}
		}
	})
}

func TestPanelsGolden(t *testing.T) {
	t.Parallel()
	eachGolden(t, "panels", func(b *strings.Builder, o Options, tr *transcript.Transcript, l *rows.List) {
		all := panels(o, tr, l)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(b, "--- %s\n", name)
			for _, line := range all[name] {
				b.WriteString(line.Text + "\n")
			}
		}
	})
}

// Every line of rows, tabs and panels fits every width, and has nothing that a terminal would obey
// except for our own colors. A hostile session and one in six of the others are drawn at each width.
func TestFitsEveryWidth(t *testing.T) {
	t.Parallel()
	all := recorded(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		tr := all[name]
		var l rows.List
		l.Update(tr, 0)
		for _, width := range soak.Widths(1) {
			if name != "hostile" && (width+i)%soak.Size(6, 1) != 0 {
				continue
			}
			o := Options{Width: width, Color: width%2 == 0, Links: width%3 == 0, ASCII: width%5 == 0, Dir: tr.CWD, Thinking: true}
			check := func(what string, lines ...string) {
				for _, line := range lines {
					if n := tty.PaintedWidth(line); n > width {
						t.Fatalf("%s, %s: %d columns in a width of %d: %q", name, what, n, width, line)
					}
					if bad := obeyed(line); bad != "" {
						t.Fatalf("%s, %s: %q in %q", name, what, bad, line)
					}
				}
			}
			for i := range l.Len() {
				r := l.At(i)
				if n := o.EstimateRow(r, 1000); n > 0 != o.HasBody(r) && !(n > 0 && isProse(r.Kind) && len(r.Text) > width/2) {
					t.Fatalf("%s, row %s: an estimate of %d lines in a width of %d", name, r.ID, n, width)
				}
				lines, _ := o.RowBody(r, 30)
				check("row "+string(r.ID), append(lines, o.RowLine(r, NoMark), o.RowLine(r, Folded), o.RowLine(r, Open))...)
				for _, tab := range o.RowTabs(r) {
					if tab.Text != nil {
						check(string(tab.Name), tab.Text.Lines(0, 30)...)
					}
				}
				if r.IsCall() {
					check("split", o.CallDiff(r, true).Lines(0, 30)...)
				}
			}
			for panel, lines := range panels(o, tr, &l) {
				for _, line := range lines {
					check(panel, line.Text)
				}
			}
			check("raw", o.RawText([]byte(`{"text":"\u001b[31m 漢字"}`), []byte("\x1b[31m漢\xff")).Lines(0, 30)...)
		}
	}
}

// inkLength returns the length of the style or link that a painted line starts with, or 0. Unlike
// [tty.EscapeLength], it knows no others.
func inkLength(line string) int {
	switch {
	case strings.HasPrefix(line, "\x1b["):
		return strings.IndexByte(line, 'm') + 1
	case strings.HasPrefix(line, "\x1b]"):
		return strings.Index(line, "\x1b\\") + 2
	}
	return 0
}

// obeyed returns a part of a painted line that a terminal would obey or hide, other than styles and
// links.
func obeyed(line string) string {
	for line != "" {
		if n := inkLength(line); n > 0 {
			line = line[n:]
			continue
		}
		for i, r := range line {
			if r == '\x1b' && i > 0 {
				line = line[i:]
				break
			}
			if !tty.IsVisible(r) && !strings.ContainsRune("\u200d\ufe0f", r) {
				return line[i:min(len(line), i+8)]
			}
			if i+len(string(r)) == len(line) {
				line = ""
			}
		}
	}
	return ""
}
