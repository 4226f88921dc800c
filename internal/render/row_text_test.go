package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// callRow returns the row of a call with a result.
func callRow(tool, input, result string) *rows.Row {
	item := &transcript.DisplayItem{
		Type: transcript.ItemToolCall, ToolName: tool, ToolInput: wire.JSON(input), ToolResult: result, HasResult: true,
		ToolSummary: transcript.ToolSummary(tool, wire.JSON(input)),
	}
	return &rows.Row{ID: "2.0", Kind: rows.Call, Chunk: &transcript.Chunk{Type: transcript.AIChunk}, Item: item}
}

// longTexts are results that cost much if all of them is laid out.
func longTexts() map[string]string {
	return map[string]string{
		"lines":       strings.Repeat("some words of a line that is long enough to be wrapped\n", 200_000),
		"one line":    strings.Repeat("0123456789", 1_000_000),
		"wide":        strings.Repeat("漢字", 1_700_000),
		"escapes":     strings.Repeat("\x1b[31m", 2_000_000),
		"empty lines": strings.Repeat("\n", 10_000_000) + "x",
	}
}

// A text yields the same lines wherever the reading starts.
func TestTextLines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for name, text := range longTexts() {
		text = text[:soak.Size(20_000, 300_000)]
		for _, width := range []int{1, 7, 80, 0} {
			o := Options{Width: width}
			row := callRow("Bash", `{"command":"ls\nls","timeout":5}`, text)
			tabs := o.RowTabs(row)
			all := tabs[0].Text.Lines(0, 1_000_000)
			if body, more := o.RowBody(row, 0); width == 0 && len(all) != len(body)+1 || more > 0 {
				t.Errorf("%s: %d lines, and %d in the body", name, len(all), len(body))
			}
			again := o.RowTabs(row)[0].Text
			for range 50 {
				from, n := r.IntN(len(all)+10), r.IntN(100)
				want := all[min(from, len(all)):min(from+n, len(all))]
				if got := again.Lines(from, n); !cmp.Equal(append([]string{}, want...), append([]string{}, got...)) {
					t.Fatalf("%s, %d columns: %d lines from %d (-want +got):\n%s", name, width, n, from, cmp.Diff(want, got))
				}
			}
			if n, exact := again.Len(); exact && n != len(all) {
				t.Errorf("%s: %d lines, want %d", name, n, len(all))
			}
			if n := again.Count(); n != len(all) {
				t.Errorf("%s: counted %d lines, want %d", name, n, len(all))
			}
		}
	}
}

// numbered returns a text of numbered words in lines and paragraphs of all lengths.
func numbered(r *rand.Rand, words int) string {
	var b strings.Builder
	for n := range words {
		fmt.Fprintf(&b, "w%d", n)
		switch {
		case n > words/2 && n < words/2+1000: // one line that is longer than a piece
			b.WriteString(" ")
		case r.IntN(40) == 0:
			b.WriteString("\n\n")
		case r.IntN(60) == 0:
			b.WriteString("\n")
		default:
			b.WriteString(" ")
		}
	}
	return b.String()
}

// A place is the same text in all layouts.
func TestTextPlace(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	text := numbered(r, soak.Size(1500, 4000))
	prompt := &rows.Row{Kind: rows.Prompt, Text: text, Time: time.Unix(0, 0), Chunk: &transcript.Chunk{Type: transcript.UserChunk}}
	command := `{"command":"make","note":"` + strings.Repeat("n", 90) + `"}`
	texts := map[string]func(o Options) *Text{
		"result": func(o Options) *Text { return o.RowTabs(callRow("Bash", command, text))[0].Text },
		"prose": func(o Options) *Text {
			return o.RowTabs(&rows.Row{Kind: rows.Answer, Text: text[:len(text)/3]})[0].Text
		},
		"prompt": func(o Options) *Text { return o.RowTabs(prompt)[0].Text },
		"raw": func(o Options) *Text {
			return o.RawText([]byte(`["` + strings.Join(strings.Fields(text), `","`) + `"]`))
		},
	}
	for name, layOut := range texts {
		for range soak.Size(30, 100) {
			from, to := Options{Width: 8 + r.IntN(190)}, Options{Width: 8 + r.IntN(190)}
			before, after := layOut(from), layOut(to)
			line := r.IntN(before.Count())
			place := before.PlaceOf(line)
			if got := layOut(from).LineOf(place); got != line {
				t.Fatalf("%s: line %d of %d columns is found at %d", name, line, from.Width, got)
			}
			words := strings.Fields(strings.ReplaceAll(before.Lines(line, 1)[0], `"`, " "))
			got := after.Lines(after.LineOf(place), 1)
			if len(words) > 0 && strings.HasPrefix(words[0], "w") && (len(got) == 0 || !strings.Contains(got[0], words[0])) {
				t.Fatalf("%s: line %d of %d columns begins with %s; in %d columns it is %q", name, line, from.Width, words[0], to.Width, got)
			}
		}
	}
}

// An estimate of the height is near it, whatever the lengths of lines are.
func TestEstimates(t *testing.T) {
	t.Parallel()
	texts := longTexts()
	texts["short lines"] = strings.Repeat("ab\n", 3000)
	texts["few lines"] = strings.Repeat("a line\n", 17)
	texts["paragraphs"] = strings.Repeat(strings.Repeat("words of a paragraph ", 60)+"\n\n", 200)
	delete(texts, "escapes") // they are shown as more than their bytes
	for name, text := range texts {
		text = text[max(len(text)-soak.Size(60_000, 300_000), 0):]
		input := fmt.Sprintf(`{"file_path":"/a","content":%q}`, text[:min(len(text), 9000)])
		list := []*rows.Row{
			callRow("Bash", `{"command":"ls"}`, text), callRow("Read", `{"file_path":"/a"}`, text), callRow("Write", input, "written"),
			{Kind: rows.Thinking, Text: text}, {Kind: rows.Prompt, Text: text, Chunk: new(transcript.Chunk)},
		}
		for _, width := range []int{30, 80, 200} {
			for _, r := range list {
				o := Options{Width: width}
				lines, _ := o.RowBody(r, 300)
				if got := min(o.EstimateRow(r, 300), 300); got > 2*len(lines)+3 || 2*got+3 < len(lines) {
					t.Errorf("%s of %s in %d columns: an estimate of %d lines for %d", name, r.Kind, width, got, len(lines))
				}
				shown := o.RowTabs(r)[0].Text
				guess, exact := shown.Len()
				if n := shown.Count(); exact || guess > 2*n+3 || 2*guess+3 < n {
					t.Errorf("%s of %s in %d columns: an estimate of %d lines for %d in all", name, r.Kind, width, guess, n)
				}
			}
		}
	}
}

// tabText returns the lines of a tab.
func tabText(t *testing.T, tabs []Tab, name TabName) string {
	t.Helper()
	for _, tab := range tabs {
		if tab.Name == name && tab.Text != nil {
			return strings.Join(tab.Text.Lines(0, 100), "\n")
		}
	}
	t.Fatalf("no tab %s in %v", name, tabs)
	return ""
}

func TestRowTabs(t *testing.T) {
	t.Parallel()
	row := callRow("Edit", `{"file_path":"/w/a.go","old_string":"x := 1\ny()\n","new_string":"x := 2\ny()\n"}`, "changed")
	row.Item.At = wire.Position{Line: 3}
	o := Options{Width: 120, Dir: "/w"}
	tabs := o.RowTabs(row)
	var names []TabName
	for _, tab := range tabs {
		names = append(names, tab.Name)
	}
	if diff := cmp.Diff([]TabName{TabShown, TabInput, TabResult, TabDiff, TabRaw}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const input = "file_path: /w/a.go\nold_string:\n  x := 1\n  y()\nnew_string:\n  x := 2\n  y()"
	if diff := cmp.Diff(input, tabText(t, tabs, TabInput)); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("a.go +1 -1\n- x := 1\n+ x := 2\n  y()", tabText(t, tabs, TabDiff)); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	split := strings.Join(o.CallDiff(row, true).Lines(0, 10), "\n")
	space := strings.Repeat(" ", 50)
	want := "a.go +1 -1\n- x := 1" + space + " │ + x := 2\n  y()" + space + "    │   y()"
	if diff := cmp.Diff(want, split); diff != "" {
		t.Errorf("split (-want +got):\n%s", diff)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	var before, after strings.Builder
	for i := range 100 {
		fmt.Fprintf(&before, "line %d\n", i)
		if i%30 == 10 {
			fmt.Fprintf(&after, "changed\n")
		}
		fmt.Fprintf(&after, "line %d\n", i)
	}
	diff := *transcript.DiffTexts("a.txt", before.String(), after.String())
	text := Options{Width: 80}.DiffText([]transcript.FileDiff{diff, diff}, false)
	var got []int
	for line := text.Stop(-1, StopHunk, false); line >= 0; line = text.Stop(line, StopHunk, false) {
		got = append(got, line)
	}
	for line := text.Stop(1000, StopFile, true); line >= 0; line = text.Stop(line, StopFile, true) {
		got = append(got, line)
	}
	// Each hunk has 7 lines, and those after the first one also an ellipsis.
	if diff := cmp.Diff([]int{1, 8, 16, 26, 33, 41, 25, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(text.Lines(0, 100), "\n"))
	}
}

func TestRawText(t *testing.T) {
	t.Parallel()
	o := Options{Width: 30}
	text := o.RawText([]byte(`{"a":[1,"\u001b[31mred`+"\u202e"+`"]}`), []byte("no \x1b JSON"))
	want := []string{"{", `  "a": [`, "    1,", `    "\u001b[31mred\u202e"`, "  ]", "}", "", `no \u001b JSON`}
	got := text.Lines(0, 20)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkRowBody(b *testing.B) {
	for name, text := range longTexts() {
		row := callRow("Bash", `{"command":"ls"}`, text)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Options{Width: 200, Color: true}.RowBody(row, 200)
			}
		})
		b.Run(name+", to its end", func(b *testing.B) {
			for b.Loop() {
				text := Options{Width: 200, Color: true}.RowTabs(row)[0].Text
				text.Lines(text.Count()-50, 50)
			}
		})
	}
}

func TestBreakPainted(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"  ab", "  cd", "  e"}, Options{Width: 4}.breakPainted("  abcde")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	line := tty.Keyword.Paint("func", true) + " " + tty.Hyperlink(tty.Link.Paint("name of it", true), "https://x.example/")
	for width := 1; width < 20; width++ {
		o := Options{Width: width, Color: true}
		plain := ""
		for _, row := range o.breakPainted(line) {
			if n := tty.PaintedWidth(row); n > width {
				t.Errorf("%d columns in %d: %q", n, width, row)
			}
			if strings.Count(row, "\x1b]8;;\x1b\\") != strings.Count(row, "\x1b]8;;https") {
				t.Errorf("a link is left open: %q", row)
			}
			for row != "" {
				if n := tty.EscapeLength(row); n > 0 {
					row = row[n:]
					continue
				}
				plain, row = plain+row[:1], row[1:]
			}
		}
		if plain != "func name of it" {
			t.Errorf("%d columns: %q", width, plain)
		}
	}
}
