package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/transcript"
)

// prompt returns a prompt: the first one is in line 1, and the second one in a later line.
func prompt(line int, text string) transcript.Chunk {
	return transcript.Chunk{Type: transcript.UserChunk, Turn: min(line, 2), Text: text, Lines: []int{line}}
}

func answer(line int, items ...transcript.DisplayItem) transcript.Chunk {
	return transcript.Chunk{Type: transcript.AIChunk, Items: items, Lines: []int{line}}
}

func said(text string) transcript.DisplayItem {
	return transcript.DisplayItem{Type: transcript.ItemOutput, Text: text}
}

func called(result string) transcript.DisplayItem {
	return transcript.DisplayItem{
		Type: transcript.ItemToolCall, ToolName: "Bash", ToolSummary: "ls", ToolResult: result, HasResult: result != "",
	}
}

// An answer is shown item by item, and a call when its result is there.
func TestFeedOpenAnswer(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	var got []string
	for _, chunks := range [][]transcript.Chunk{
		{prompt(1, "Hello")},
		{prompt(1, "Hello"), answer(2, called(""))},
		{prompt(1, "Hello"), answer(2, said("Looking."), called(""))},
		{prompt(1, "Hello"), answer(2, said("Looking."), called("a.txt"))},
		{prompt(1, "Hello"), answer(2, said("Looking."), called("a.txt"), said("Done.")), prompt(5, "More")},
	} {
		got = append(got, f.Next(chunks, 0, false))
	}
	want := []string{
		"> Hello\n  #1\n\n",
		"",
		"agent\n  Looking.\n",
		"\n  Bash   ls\n         a.txt\n",
		"\n  Done.\n\n> More\n  #2\n\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Items that were shown are not read again. Otherwise the time for a long answer would grow with
// the square of its length.
func TestFeedLooksOnce(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	f.Next([]transcript.Chunk{answer(1, called("a.txt"))}, 0, false)
	unlike := answer(1, called(""), said("Done."))
	if got := f.Next([]transcript.Chunk{unlike}, 0, false); got != "\n  Done.\n" {
		t.Errorf("shown: %q", got)
	}
}

// A call that gets no result is shown at the end.
func TestFeedFinal(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	chunks := []transcript.Chunk{answer(1, called(""))}
	if got := f.Next(chunks, 0, false); got != "" {
		t.Errorf("before the end: %q", got)
	}
	if diff := cmp.Diff("agent\n  Bash   ls  no result\n\n", f.Next(chunks, 1, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f, chunks[0].Interrupted = &Feed{}, true
	if diff := cmp.Diff("agent\n  Bash   ls  interrupted\n  interrupted\n\n", f.Next(chunks, 0, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFeedRewind(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	f.Next([]transcript.Chunk{prompt(1, "One"), answer(2, said("Two")), prompt(3, "Three")}, 0, false)
	got := f.Next([]transcript.Chunk{prompt(1, "One"), answer(2, said("Two")), prompt(4, "Other")}, 0, false)
	want := "--- rewound: the conversation continues from an earlier message ---\n\n> Other\n  #2\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A feed that is final at once shows what Chunks shows.
func TestFeedEqualsChunks(t *testing.T) {
	t.Parallel()
	chunks := []transcript.Chunk{prompt(1, "One"), answer(2, said("Two"), called("x")), prompt(3, "Three")}
	if diff := cmp.Diff(Options{}.Chunks(chunks), (&Feed{}).Next(chunks, 0, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExpandShowsAll(t *testing.T) {
	t.Parallel()
	c := answer(1, called("1\n2\n3\n4\n5"))
	c.Items[0].Agents = []*transcript.Agent{{ID: "a1", Transcript: &transcript.Transcript{
		Chunks: []transcript.Chunk{prompt(1, "Dig")},
	}}}
	short := Options{}.Chunk(&c)
	if diff := cmp.Diff("agent\n  Bash   ls\n         1\n         2\n         3\n         … 2 more lines (--expand)\n         @ agent a1\n\n", short); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	long := Options{Expand: true}.Chunk(&c)
	if !strings.Contains(long, "    5\n") || !strings.Contains(long, "           > Dig\n             #1\n") {
		t.Errorf("expanded:\n%s", long)
	}
}

// Only our own colors are in the output, and each ends on its line.
func TestColor(t *testing.T) {
	t.Parallel()
	c := prompt(1, "red \x1b[31m")
	got := Options{Color: true}.Chunk(&c)
	if diff := cmp.Diff("\x1b[1;36m> red \\x1b[31m\x1b[0m\n  \x1b[2m#1\x1b[0m\n\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A text is shown while it is written, and only once.
func TestFeedGrows(t *testing.T) {
	t.Parallel()
	f := &Feed{Options: Options{Width: 30}}
	chunks := []transcript.Chunk{prompt(1, "Hello")}
	got := []string{
		f.Next(chunks, 0, false),
		f.Grow("opus", "Let me "),
		f.Grow("opus", "look at th"),
		f.Interject("Warning: \x1b[31m"),
	}
	chunks = append(chunks, answer(2, said("Let me look at this.")))
	got = append(got, f.Next(chunks, 1, false))
	chunks[1].Items = append(chunks[1].Items, called(""))
	got = append(got, f.Next(chunks, 1, false), f.Grow("opus", "Too early."))
	chunks[1].Items[1] = called("a.txt")
	got = append(got, f.Next(chunks, 1, false), f.Grow("opus", "Taken "), f.Grow("opus", "back. "), f.Stop())
	got = append(got, f.Grow("opus", "Other"))
	chunks[1].Items = append(chunks[1].Items, said("Something else."))
	got = append(got, f.Next(chunks, 1, false), f.Result("failed", "Boom"), f.Next(chunks, 2, true))
	want := []string{
		"> Hello\n  #1\n\n",
		"opus\n  Let me",
		" look at",
		" th\nWarning: \\x1b[31m\n",
		"  is.\n",
		"", "",
		"\n  Bash   ls\n         a.txt\n", "\n  Taken", " back.", "\n",
		"",
		"\n  Other\n\n  Something else.\n", "failed\n  Boom\n", "\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A feed that redraws lays a text out: a block is final when it is complete.
func TestFeedRedraws(t *testing.T) {
	t.Parallel()
	f := &Feed{Options: Options{Width: 40}, Redraws: true}
	got := []string{f.Grow("opus", "One **tw"), strings.Join(f.Open(), "|"), f.Grow("opus", "o**\n\n- three"), strings.Join(f.Open(), "|")}
	chunks := []transcript.Chunk{answer(2, said("One **two**\n\n- three"))}
	got = append(got, f.Next(chunks, 0, true))
	want := []string{"opus\n", "  One **tw", "  One two\n", "|  - three", "\n  - three\n\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A text that is in no chunk is shown, and separated from the next one.
func TestFeedGrowsForNothing(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	chunks := []transcript.Chunk{prompt(1, "Hello")}
	got := f.Grow("", "Half") + f.Next(chunks, 0, false) + f.Grow("", "Again") + f.Next(chunks, 1, true)
	if want := "agent\n  Half\n\n> Hello\n  #1\n\nagent\n  Again\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A call whose result was lost does not hold back what follows.
func TestFeedLostResult(t *testing.T) {
	t.Parallel()
	f := &Feed{}
	lost := transcript.DisplayItem{Type: transcript.ItemToolCall, ToolName: "Bash", ToolID: "t", ResultLost: true}
	chunks := []transcript.Chunk{{
		Type: transcript.AIChunk, Items: []transcript.DisplayItem{lost, {Type: transcript.ItemOutput, Text: "Anyway."}},
	}}
	if got := f.Next(chunks, 0, false); !strings.Contains(got, "Bash  no result") || !strings.Contains(got, "Anyway.") {
		t.Errorf("got %q", got)
	}
}

// The pictures in a result are mentioned.
func TestPicturesInResult(t *testing.T) {
	t.Parallel()
	for images, want := range map[int]string{0: "", 1: "[1 image]", 3: "[3 images]"} {
		for _, expand := range []bool{false, true} {
			for _, item := range []transcript.DisplayItem{
				{Type: transcript.ItemToolCall, ToolName: "Read", HasResult: true, ToolResult: "pixels", ResultImages: images},
				{Type: transcript.ItemOutput, ToolID: "x", Text: "pixels", ResultImages: images},
			} {
				got := Options{Expand: expand}.item(nil, &item, new(group))
				if !strings.Contains(got, "pixels\n") || !strings.Contains(got, want) || strings.Contains(got, "[") != (images > 0) {
					t.Errorf("%d images: %q", images, got)
				}
			}
		}
	}
}

// A report of a subagent is shown without what is for the model.
func TestReportOfSubagent(t *testing.T) {
	t.Parallel()
	const result = "<tools-used-before-summary>Read</tools-used-before-summary>\n\n[Subagent hand-back]\n  Line 3.\nYes."
	item := transcript.DisplayItem{
		Type: transcript.ItemSubagent, ToolName: "Agent", HasResult: true, ToolResult: result,
		Agents: []*transcript.Agent{{ID: "a1"}},
	}
	chunk := &transcript.Chunk{Type: transcript.AIChunk, Items: []transcript.DisplayItem{item}}
	short := Options{Width: 80}.Chunk(chunk)
	if strings.Contains(short, "hand-back") || !strings.Contains(short, "    Line 3.\n         Yes.\n") {
		t.Errorf("short:\n%s", short)
	}
	if whole := (Options{Width: 80, Expand: true}).Chunk(chunk); strings.Contains(whole, "hand-back") {
		t.Errorf("expanded:\n%s", whole)
	}
	chunk.Items[0].Type, chunk.Items[0].ToolName = transcript.ItemToolCall, "Bash"
	if other := (Options{Width: 80}).Chunk(chunk); !strings.Contains(other, "[Subagent hand-back]") {
		t.Errorf("no subagent:\n%s", other)
	}
}
