package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// The target of each line of a panel is there.
func TestPanelPointers(t *testing.T) {
	t.Parallel()
	for name, tr := range recorded(t) {
		var l rows.List
		l.Update(tr, 0)
		pointed := 0
		for panel, lines := range panels(Options{Width: 80}, tr, &l) {
			for _, line := range lines {
				if _, ok := l.Index(line.Row); line.Row != "" && !ok {
					t.Errorf("%s, %s: no row %s", name, panel, line.Row)
				}
				if line.Path != "" && len(Changes(tr, line.Turn, line.Path)) == 0 {
					t.Errorf("%s, %s: no changes of %s in turn %d", name, panel, line.Path, line.Turn)
				}
				if line.Row != "" || line.Agent != "" {
					pointed++
				}
			}
		}
		if pointed == 0 && len(tr.Chunks) > 0 {
			t.Errorf("%s: no line points anywhere", name)
		}
	}
}

// texts returns the texts of lines.
func texts(lines []PanelLine) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.Text + "\n")
	}
	return b.String()
}

// startOf returns a transcript with a call that started a subagent.
func startOf(agents ...*transcript.Agent) *transcript.Transcript {
	return &transcript.Transcript{Chunks: []transcript.Chunk{
		{Text: "Go on."},
		{Type: transcript.AIChunk, Items: []transcript.DisplayItem{{
			Type: transcript.ItemSubagent, ToolName: "Agent", ToolID: "t", HasResult: true, DurationMs: 1500, Agents: agents,
			SubagentDesc: "several",
		}}},
	}}
}

func TestAgentsPanel(t *testing.T) {
	t.Parallel()
	agent := func(id, kind, what string, of *transcript.Transcript) *transcript.Agent {
		return &transcript.Agent{ID: id, Meta: transcript.AgentMeta{AgentType: kind, Description: what, Finished: true}, Transcript: of}
	}
	inner := agent("c", "Plan", "Make a plan", startOf())
	tr := startOf(agent("a", "Explore", "Find it", startOf(inner)), agent("b", "", "", nil))
	tr.Unlinked = []*transcript.Agent{agent("d", "", "Alone", startOf()), agent("acompact-1", "", "", nil)}
	var l rows.List
	l.Update(tr, 0)
	const want = `session                             4 calls
  several                           2 calls  1.5 s
    Explore: Find it                2 calls
      Plan: Make a plan              1 call  1.5 s
        several                              1.5 s
    b
  Alone                              1 call
    several                                  1.5 s
  compaction: acompact-1
`
	lines := Options{Width: 50}.AgentsPanel(tr, &l)
	if diff := cmp.Diff(want, texts(lines)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var agents []string
	for _, line := range lines {
		agents = append(agents, line.Agent)
	}
	if diff := cmp.Diff([]string{"", "", "a", "c", "", "b", "d", "", "acompact-1"}, agents); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCommitMessage(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`git commit -m "a: one two" && git push`:                     "a: one two",
		`git add -A; git commit -qam 'it is'`:                        "it is",
		`git commit --message="x"`:                                   "x",
		"git commit -m \"$(cat <<'EOF'\nfirst\n\nsecond\nEOF\n)\"":   "first",
		`git commit --amend --no-edit`:                               "git commit --amend --no-edit",
		`git log`:                                                    "",
		"cd x && git commit -a -m one\ngit push":                     "one",
		"git commit -F - <<EOF\nfrom stdin\nEOF":                     "git commit -F - <<EOF\nfrom stdin\nEOF",
		strings.Repeat("x", maxRowDiff) + ` && git commit -m "long"`: "",
	} {
		item := callRow("Bash", fmt.Sprintf(`{"command":%q}`, command), "").Item
		if got, ok := commitMessage(item); got != want || ok != (want != "") {
			t.Errorf("%.60s: %q, %v, want %q", command, got, ok, want)
		}
	}
}

func TestOutline(t *testing.T) {
	t.Parallel()
	call := func(command string, failed bool) transcript.DisplayItem {
		item := callRow("Bash", fmt.Sprintf(`{"command":%q}`, command), "").Item
		item.ToolError = failed
		return *item
	}
	at := time.Date(2026, 11, 17, 10, 5, 0, 0, time.UTC)
	tr := &transcript.Transcript{Chunks: []transcript.Chunk{
		{Text: "Do it,\nplease.", Timestamp: at},
		{Type: transcript.AIChunk, Items: []transcript.DisplayItem{
			call("ls", false), call("make", true), call("make test", true), call(`git commit -m "done"`, false), call("make", true),
		}},
		{Type: transcript.CompactChunk, Compaction: &transcript.Compaction{}},
		{Type: transcript.SystemChunk, Text: "API Error", IsError: true},
	}}
	var l rows.List
	l.Update(tr, 0)
	const want = `> Do it, please.         10:05
  2 failures
  commit: done
  failed: Bash make
compacted
  failed: API Error
`
	if diff := cmp.Diff(want, texts(Options{Width: 30, Zone: time.UTC}.Outline(&l))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The outline is the same if it is made again only from the changed rows on, and its start is not
// made again.
func TestOutlineFrom(t *testing.T) {
	t.Parallel()
	for name, tr := range recorded(t) {
		o := Options{Width: 36, Zone: time.UTC}
		var l rows.List
		l.Update(tr, 0)
		want := o.Outline(&l)
		for n := range tr.Chunks {
			part := *tr
			part.Chunks = tr.Chunks[:n]
			var grown rows.List
			grown.Update(&part, 0)
			made := o.Outline(&grown)
			from := grown.Update(tr, n)
			if got := o.OutlineFrom(made, &grown, from); !cmp.Equal(want, got) {
				t.Fatalf("%s after %d chunks (-want +got):\n%s", name, n, cmp.Diff(want, got))
			}
		}
		for i := range want {
			want[i].Text = "kept"
		}
		last := max(l.Previous(l.Len(), rows.IsPrompt), 0)
		for _, line := range o.OutlineFrom(want, &l, l.Len()) {
			if i, _ := l.Index(line.Row); (line.Text == "kept") != (i < last) {
				t.Errorf("%s: %q of row %d was made before, and the last prompt is row %d", name, line.Text, i, last)
			}
		}
	}
}

// A turn of the context leads to its prompt.
func TestContextPanelLeadsToPrompts(t *testing.T) {
	t.Parallel()
	turns := 0
	for name, tr := range recorded(t) {
		var l rows.List
		l.Update(tr, 0)
		for _, line := range (Options{Width: 80}).ContextPanel(tr, &l) {
			if !strings.HasPrefix(strings.TrimSpace(line.Text), "#") {
				continue
			}
			turns++
			i, _ := l.Index(line.Row)
			if r := l.At(i); line.Turn > 0 && (!rows.IsPrompt(r) || r.Turn != line.Turn) {
				t.Errorf("%s: %q leads to a row of kind %s of turn %d", name, line.Text, r.Kind, r.Turn)
			}
		}
	}
	if turns == 0 {
		t.Error("there are no turns")
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	edit := func(turn int, path, text string) transcript.Chunk {
		item := callRow("Write", fmt.Sprintf(`{"file_path":%q,"content":%q}`, path, text), "ok").Item
		item.Structured = wire.JSON(fmt.Sprintf(`{"type":"create","filePath":%q,"content":%q,"structuredPatch":[]}`, path, text))
		return transcript.Chunk{Turn: turn, Type: transcript.AIChunk, Items: []transcript.DisplayItem{*item}}
	}
	tr := &transcript.Transcript{Chunks: []transcript.Chunk{
		edit(0, "/w/a", "0\n"), {Turn: 1, Text: "one"}, edit(1, "/w/a", "1\n2\n"), edit(1, "/w/b", "1\n"), {Turn: 2, Text: "two"},
		{Turn: 3, Text: "three"}, edit(3, "/w/a", "3\n"),
	}}
	for _, test := range []struct {
		turn int
		path string
		want string
	}{
		{0, "", "/w/a +1, /w/a +2, /w/a +1, /w/b +1"},
		{1, "", "/w/a +2, /w/b +1"},
		{2, "", ""},
		{3, "", "/w/a +1"},
		{4, "", ""},
		{0, "/w/b", "/w/b +1"},
		{1, "/w/a", "/w/a +2"},
	} {
		var got []string
		for _, d := range Changes(tr, test.turn, test.path) {
			got = append(got, fmt.Sprintf("%s +%d", d.Path, d.Added))
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("turn %d, file %q: %s, want %s", test.turn, test.path, got, test.want)
		}
	}
}

// Figures of a transcript may be absurd.
func TestAbsurdFigures(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1 << 62, -5, 0, 1, 1 << 40, 1<<63 - 1} {
		turn := &transcript.ContextTurn{Tokens: n, Window: 200_000, By: map[transcript.ContextClass]int{
			transcript.ContextFiles: n, transcript.ContextSystem: 1 << 62,
		}}
		for _, most := range []int{1, 200_000, 1<<63 - 1} {
			if bar, _ := classBar(turn, most); tty.Width(bar) != 24 {
				t.Errorf("%d of %d: %q", n, most, bar)
			}
			if bar := (Options{}).bar(n, most); tty.Width(bar) != 20 {
				t.Errorf("%d of %d: %q", n, most, bar)
			}
		}
	}
}

// FuzzRowText shows a text in every kind of row, at any width.
func FuzzRowText(f *testing.F) {
	for _, text := range []string{
		"plain", "# head\n\n- a\n- b\n\n```go\nfunc x() {}\n```", "漢字 \x1b[31m\u202e", strings.Repeat("x", 300), "\n\n \n", "| a |\n|--|\n| b |",
		"a\tb\r\nc", "\xff\xfe", "👩‍👩‍👧‍👦❤️",
	} {
		f.Add(text, 40)
		f.Add(text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + (width%200+200)%200
		o := Options{Width: width, Color: width%2 == 0, Links: true}
		chunk := &transcript.Chunk{Type: transcript.AIChunk, Text: text, Stderr: text}
		kinds := []rows.Kind{rows.Prompt, rows.Answer, rows.Thinking, rows.Teammate, rows.Notice, rows.Compaction, rows.Result, rows.Branch}
		list := []*rows.Row{callRow("Bash", text, text), callRow(text, fmt.Sprintf(`{"command":%q}`, text), text)}
		for _, kind := range kinds {
			item := &transcript.DisplayItem{Text: text, TeammateID: text, ToolID: "t"}
			list = append(list, &rows.Row{Kind: kind, Chunk: chunk, Item: item, Text: text, Depth: width % 20})
		}
		for _, r := range list {
			lines, _ := o.RowBody(r, 50)
			lines = append(lines, o.RowLine(r, Folded), o.RowLine(r, Open))
			lines = append(lines, o.RowTabs(r)[0].Text.Lines(0, 50)...)
			for _, line := range lines {
				if n := tty.PaintedWidth(line); n > width || strings.Contains(line, "\n") || obeyed(line) != "" {
					t.Fatalf("%s: %d columns in a width of %d: %q", r.Kind, n, width, line)
				}
			}
			if o.HasBody(r) && o.EstimateRow(r, 1000) == 0 {
				t.Fatalf("%s has lines, but none are estimated", r.Kind)
			}
		}
	})
}
