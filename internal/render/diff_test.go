package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

func fileDiff(hunks ...tooluse.Hunk) *transcript.FileDiff {
	return &transcript.FileDiff{Path: "/home/dev/up/server.go", Hunks: hunks, Added: 3, Removed: 1}
}

func startHunk() tooluse.Hunk {
	return tooluse.Hunk{OldStart: 98, OldLines: 4, NewStart: 98, NewLines: 6, Lines: []string{
		" func (s *Server) Start() error {", "-\tgo s.serve(ctx)", "+\tif err := s.listen(); err != nil {", "+\t\treturn err",
		"+\tgo s.serve(context.WithoutCancel(ctx))", " }", `\ No newline at end of file`,
	}}
}

func TestFileDiff(t *testing.T) {
	t.Parallel()
	first := tooluse.Hunk{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []string{"-a\x1b[2J", "+\u202eb"}}
	relative := fileDiff(startHunk())
	relative.Relative = true
	for _, tt := range []struct {
		name string
		diff *transcript.FileDiff
		want string
	}{
		{"numbers", fileDiff(first, startHunk()), `  1  -  a\x1b[2J
  1  +  \u202eb
        …
 98     func (s *Server) Start() error {
 99  -      go s.serve(ctx)
 99  +      if err := s.listen(); err != nil {
100  +          return err
101  +      go s.serve(context.WithoutCancel(ctx))
102     }
        no newline at end of file
`},
		{"unknown numbers", relative, `  func (s *Server) Start() error {
-     go s.serve(ctx)
+     if err := s.listen(); err != nil {
+         return err
+     go s.serve(context.WithoutCancel(ctx))
  }
  no newline at end of file
`},
		{"hostile hunks", fileDiff(tooluse.Hunk{OldStart: -5, NewStart: 7, Lines: []string{"", "x", "+", "-"}}),
			"7     \n8     \n9  +  \n-3  -  \n"},
		{"nothing", fileDiff(), ""},
	} {
		var got strings.Builder
		for _, line := range (Options{}).FileDiff(tt.diff) {
			got.WriteString(line.String(false) + "\n")
		}
		if diff := cmp.Diff(tt.want, got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDiffHead(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"up/server.go +3 -1":           {Dir: "/home/dev"},
		"server.go +3 -1":              {Dir: "/home/dev/up"},
		"/home/dev/up/server.go +3 -1": {Dir: "/home/dev/up/down"},
		"\x1b[36m/home/dev/up/server.go\x1b[0m \x1b[32m+3\x1b[0m \x1b[31m-1\x1b[0m": {Color: true},
	} {
		if got := o.DiffHead(fileDiff()); got != want {
			t.Errorf("in %q the head is %q, want %q", o.Dir, got, want)
		}
	}
	if got := (Options{}).DiffHead(&transcript.FileDiff{Path: "a\nb", Created: true}); got != `a\nb (new)` {
		t.Errorf("the head is %q", got)
	}
}

// Changed words are marked if the lines are similar.
func TestDiffMarksWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, removed, added string }{
		{"go s.serve(ctx)", "go s.serve(context.WithoutCancel(ctx))", "go s.serve(ctx)", "go s.serve([context.WithoutCancel(]ctx[)])"},
		{"a := old + 1", "a := new + 1", "a := [old] + 1", "a := [new] + 1"},
		{"    print(x)", "        print(x)", "[    ]print(x)", "[        ]print(x)"},
		{"something", "otherwise", "something", "otherwise"},
		{"", "", "", ""},
		{"grün ist schön", "grün war schön", "grün [ist] schön", "grün [war] schön"},
	} {
		lines := (Options{}).FileDiff(fileDiff(tooluse.Hunk{Lines: []string{"-" + tt.before, "+" + tt.after}}))
		if got := []string{bracketed(lines[0]), bracketed(lines[1])}; got[0] != tt.removed || got[1] != tt.added {
			t.Errorf("%q and %q: %q", tt.before, tt.after, got)
		}
	}
}

func bracketed(l DiffLine) string {
	text, at := "", 0
	for _, c := range l.Changed {
		text += l.Text[at:c[0]] + "[" + l.Text[c[0]:c[1]] + "]"
		at = c[1]
	}
	return text + l.Text[at:]
}

func TestDiffLineColors(t *testing.T) {
	t.Parallel()
	lines := (Options{}).FileDiff(fileDiff(tooluse.Hunk{OldStart: 7, NewStart: 7, Lines: []string{" x", "-a b c", "+a d c"}}))
	want := []string{
		"\x1b[2m7     \x1b[0mx",
		"\x1b[31m8  -  \x1b[0m\x1b[31ma \x1b[0m\x1b[1;7;31mb\x1b[0m\x1b[31m c\x1b[0m",
		"\x1b[32m8  +  \x1b[0m\x1b[32ma \x1b[0m\x1b[1;7;32md\x1b[0m\x1b[32m c\x1b[0m",
	}
	for i, line := range lines {
		if got := line.String(true); got != want[i] {
			t.Errorf("line %d is %q, want %q", i, got, want[i])
		}
	}
}

// Rows fit, have all of the text, and a number and a mark only in the first one.
func TestDiffLineRows(t *testing.T) {
	t.Parallel()
	d := fileDiff(startHunk())
	d.Hunks[0].Lines = append(d.Hunks[0].Lines, "+"+strings.Repeat("世界 é 👩\u200d💻 word ", 12), "-"+strings.Repeat("x", 300))
	for columns := 1; columns <= 200; columns++ {
		for _, line := range (Options{}).FileDiff(d) {
			text := ""
			for i, row := range line.Rows(columns, false) {
				gutter := line.Gutter
				if columns-len(gutter) < 10 {
					gutter = line.mark
				}
				if i > 0 {
					gutter = strings.Repeat(" ", len(gutter))
				}
				rest, ok := strings.CutPrefix(row, gutter)
				if !ok || columns > 2 && len(tty.Break(row, columns)) > 1 {
					t.Errorf("%d columns: row %d is %q", columns, i, row)
				}
				text += rest
			}
			if text != line.Text {
				t.Errorf("%d columns: %q", columns, text)
			}
		}
	}
	long := (Options{}).FileDiff(fileDiff(startHunk()))[1]
	want := " 99  -      go\n        s.serve(ctx)\n"
	got := ""
	for _, row := range long.Rows(20, false) {
		got += strings.TrimRight(row, " ") + "\n"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func BenchmarkFileDiff(b *testing.B) {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("-\tline %d of a file that is long", i))
	}
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("+\tline %d of another file that is long", i))
	}
	d := fileDiff(tooluse.Hunk{Lines: lines})
	for b.Loop() {
		(Options{}).FileDiff(d)
	}
}

// Code around a change has its colors, except the colors of added and removed lines, and a comment
// that starts on an added line continues after it.
func TestFileDiffHighlightsContext(t *testing.T) {
	t.Parallel()
	d := fileDiff(tooluse.Hunk{
		OldStart: 1, OldLines: 3, NewStart: 1, NewLines: 4,
		Lines: []string{" func f() {", `-	g("x")`, "+	/* why", " not */ g(1)", ` return "s"`},
	})
	var got []string
	for _, l := range (Options{}).FileDiff(d) {
		got = append(got, l.String(true))
	}
	want := []string{
		"\x1b[2m1     \x1b[0m\x1b[35mfunc\x1b[0m f() {",
		"\x1b[31m2  -  \x1b[0m\x1b[31m    g(\"x\")\x1b[0m",
		"\x1b[32m2  +  \x1b[0m\x1b[32m    /* why\x1b[0m",
		"\x1b[2m3     \x1b[0m\x1b[2mnot */\x1b[0m g(\x1b[33m1\x1b[0m)",
		"\x1b[2m4     \x1b[0m\x1b[35mreturn\x1b[0m \"s\"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("got %s", diff)
	}
}

// The first lines of a diff are the same as in the whole, apart from marks in its last ones, and
// the number of the others is complete.
func TestDiffLinesLimit(t *testing.T) {
	t.Parallel()
	d := fileDiff(
		tooluse.Hunk{OldStart: 1, NewStart: 1, Lines: []string{" a", "-b", "+c", `\ No newline at end of file`}},
		tooluse.Hunk{OldStart: 100, OldLines: 1, NewStart: 100, NewLines: 1, Lines: []string{" d", " e"}},
	)
	all := Options{}.FileDiff(d)
	for most := range len(all) + 2 {
		lines, more := diffLines(d, most)
		if len(lines) != min(most, len(all)) || len(lines)+more != len(all) {
			t.Errorf("at most %d: %d lines and %d more, of %d", most, len(lines), more, len(all))
		}
		for i, l := range lines {
			if l.Gutter != all[i].Gutter || l.Text != all[i].Text {
				t.Errorf("at most %d: line %d is %q %q", most, i, l.Gutter, l.Text)
			}
		}
	}
}
