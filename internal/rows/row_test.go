package rows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/transcript"
)

// The entries of small transcripts. Each follows the one before it.
const (
	prompt  = `"type":"user","message":{"role":"user","content":"do it"}`
	queued  = `"type":"attachment","attachment":{"type":"queued_command","prompt":"and that"}`
	stopped = `"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}`
	broken  = `"type":"assistant","isApiErrorMessage":true,"message":{"id":"e","role":"assistant","model":"<synthetic>",` +
		`"content":[{"type":"text","text":"API Error: 529"}]}`
)

// said returns an answer with a text.
func said(id, text string) string {
	return fmt.Sprintf(`"type":"assistant","message":{"id":%q,"role":"assistant","model":"m","content":[{"type":"text","text":%q}]}`, id, text)
}

// calls returns an answer with Bash calls.
func calls(id string, tools ...string) string {
	blocks := make([]string, len(tools))
	for i, tool := range tools {
		blocks[i] = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"ls"}}`, tool)
	}
	return fmt.Sprintf(`"type":"assistant","message":{"id":%q,"role":"assistant","model":"m","content":[%s]}`, id, strings.Join(blocks, ","))
}

// returned returns a call's result.
func returned(tool string, failed bool) string {
	return fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":%v,`+
		`"content":"out"}]},"toolUseResult":"out"`, tool, failed)
}

// read reads entries, each a second after the one before.
func read(t *testing.T, entries ...string) *transcript.Transcript {
	t.Helper()
	var b strings.Builder
	parent := "null"
	for i, entry := range entries {
		if !strings.HasPrefix(entry, `"type"`) {
			b.WriteString(entry + "\n")
			continue
		}
		fmt.Fprintf(&b, `{"uuid":"u%d","parentUuid":%s,"timestamp":"2026-11-17T10:00:%02dZ",%s}`+"\n", i, parent, i, entry)
		parent = fmt.Sprintf(`"u%d"`, i)
	}
	tr, err := transcript.Read(strings.NewReader(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// outline returns a list's rows as text.
func outline(l *List) string {
	var b strings.Builder
	for i := range l.Len() {
		r := l.At(i)
		fmt.Fprintf(&b, "%s%s %s %s, turn %d", strings.Repeat("  ", r.Depth), r.ID, r.Kind, r.State, r.Turn)
		if r.Duration > 0 {
			fmt.Fprintf(&b, ", %s", r.Duration)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		live    bool
		entries []string
		want    string
	}{
		{"parallel calls", false, []string{prompt, calls("m1", "a", "b"), returned("b", true), returned("a", false), said("m2", "Done.")}, `
1 prompt done, turn 1
2.0 call done, turn 1, 2s
2.1 call failed, turn 1, 1s
5.0 answer done, turn 1
`},
		{"a call that runs", true, []string{prompt, calls("m1", "a", "b"), returned("a", false)}, `
1 prompt done, turn 1
2.0 call done, turn 1, 1s
2.1 call running, turn 1
`},
		{"a call of a session that ended", false, []string{prompt, calls("m1", "a")}, `
1 prompt done, turn 1
2.0 call no result, turn 1
`},
		{"a call before a prompt", true, []string{prompt, calls("m1", "a"), prompt}, `
1 prompt done, turn 1
2.0 call no result, turn 1
3 prompt done, turn 2
`},
		{"a call while a prompt waits", true, []string{prompt, calls("m1", "a"), queued}, `
1 prompt done, turn 1
2.0 call running, turn 1
3 prompt done, turn 2
`},
		{"a lost result", true, []string{prompt, calls("m1", "a"), said("m2", "Hm.")}, `
1 prompt done, turn 1
2.0 call no result, turn 1
3.0 answer done, turn 1
`},
		{"an interruption", true, []string{prompt, calls("m1", "a"), stopped}, `
1 prompt done, turn 1
2.0 call interrupted, turn 1
2.end interruption interrupted, turn 1
`},
		{"an error of the API", false, []string{prompt, broken}, `
1 prompt done, turn 1
2 notice failed, turn 1
`},
		{"a result without its call", false, []string{prompt, returned("x", true), said("m1", " \n")}, `
1 prompt done, turn 1
2.0 result failed, turn 1
`},
		{"lines that are not entries", false, []string{prompt, "{", said("m1", "Hm."), "}"}, `
1 prompt done, turn 1
invalid invalid failed, turn 1
3.0 answer done, turn 1
`},
	} {
		l := List{Live: test.live}
		l.Update(read(t, test.entries...), 0)
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), outline(&l)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// agent returns a subagent with a transcript.
func agent(t *testing.T, id string, entries ...string) *transcript.Agent {
	t.Helper()
	return &transcript.Agent{ID: id, Transcript: read(t, entries...)}
}

func TestSubagents(t *testing.T) {
	t.Parallel()
	tr := read(t, prompt, calls("m1", "a", "b"), returned("a", false), returned("b", false), said("m2", "Done."))
	items := tr.Chunks[1].Items
	one := agent(t, "one", prompt, calls("n1", "c"), returned("c", false))
	one.Transcript.Chunks[1].Items[0].Agents = []*transcript.Agent{one, agent(t, "two", prompt)}
	items[0].Agents = []*transcript.Agent{one}
	items[1].Agents = []*transcript.Agent{one, nil, agent(t, "three", prompt), {ID: "four"}}
	tr.Unlinked = []*transcript.Agent{agent(t, "five", prompt), agent(t, "acompact-six", prompt)}
	var l List
	l.Update(tr, 0)
	const want = `1 prompt done, turn 1
@five unlinked no result, turn 1
  five/1 prompt done, turn 1
2.0 subagent done, turn 1, 1s
  one/1 prompt done, turn 1
  one/2.0 subagent done, turn 1, 1s
    @one agent no result, turn 1, 2s
    @two agent no result, turn 1
      two/1 prompt done, turn 1
2.1 subagent done, turn 1, 2s
  @one+ agent no result, turn 1, 2s
  @three agent no result, turn 1
    three/1 prompt done, turn 1
  @four agent done, turn 1
5.0 answer done, turn 1
`
	// five started with the session, so it is before everything later.
	if diff := cmp.Diff(want, outline(&l)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w := l.At(3).Work; w == nil || w.Calls != 1 {
		t.Errorf("the work of a subagent is %+v, want one call", w)
	}
}

func TestNavigation(t *testing.T) {
	t.Parallel()
	var l List
	l.Update(read(t, prompt, calls("m1", "a"), returned("a", true), prompt, said("m2", "Hm."), prompt), 0)
	var got []int
	for i := l.Next(-1, IsPrompt); i >= 0; i = l.Next(i, IsPrompt) {
		got = append(got, i)
	}
	for i := l.Previous(l.Len(), IsPrompt); i >= 0; i = l.Previous(i, IsPrompt) {
		got = append(got, i)
	}
	got = append(got, l.Next(0, IsFailure), l.Next(1, IsFailure), l.Turns())
	if diff := cmp.Diff([]int{0, 2, 4, 4, 2, 0, 1, -1, 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Rows of transcripts that were not read from a file have IDs as well.
func TestWithoutLines(t *testing.T) {
	t.Parallel()
	texts := func(texts ...string) (chunks []transcript.Chunk) {
		for _, text := range texts {
			chunks = append(chunks, transcript.Chunk{Text: text}, transcript.Chunk{Type: transcript.AIChunk, Items: []transcript.DisplayItem{
				{Type: transcript.ItemOutput, Text: text}, {Type: transcript.ItemOutput}, {Type: transcript.ItemThinking},
			}})
		}
		return chunks
	}
	tr := &transcript.Transcript{
		Chunks:   texts("a", "b"),
		Branches: []transcript.Branch{{Chunks: texts("c")}, {Chunks: texts("d")}},
		Unlinked: []*transcript.Agent{{ID: "x", Transcript: &transcript.Transcript{Chunks: texts("e")}}},
	}
	var l List
	l.Update(tr, 0)
	if l.Len() != 18 {
		t.Errorf("%d rows:\n%s", l.Len(), outline(&l))
	}
	for place, item := range tr.All() {
		i, ok := l.Find(place)
		if !ok || item.Text != "" && l.At(i).Item != item {
			t.Errorf("%q is at row %d", item.Text, i)
		}
	}
	if n := l.Update(tr, 2); n != l.Len() {
		t.Errorf("row %d of %d has changed", n, l.Len())
	}
	if n := l.Update(nil, 7); n != 0 || l.Len() != 0 {
		t.Errorf("no transcript has %d rows", l.Len())
	}
}

// Only changes are reported, even if a whole answer is made again.
func TestChanged(t *testing.T) {
	t.Parallel()
	entries := []string{prompt, said("m1", "One."), calls("m1", "a"), calls("m1", "b"), returned("b", false), returned("a", false)}
	want := []int{0, 1, 2, 3, 3, 2}
	var l List
	l.Live = true
	for n := range entries {
		if got := l.Update(read(t, entries[:n+1]...), n/2); got != want[n] {
			t.Errorf("entry %d changes row %d, want %d", n+1, got, want[n])
		}
	}
	l.Live = false
	if got := l.Update(read(t, entries...), 1); got != l.Len() {
		t.Errorf("nothing runs, but row %d has changed", got)
	}
	if l.At(0).Time.IsZero() || l.At(2).Duration != 3*time.Second {
		t.Errorf("times are wrong: %v, %v", l.At(0).Time, l.At(2).Duration)
	}
}

// The state of a subagent in the background follows its report, and not the call's result, which
// came at once.
func TestBackgroundStates(t *testing.T) {
	t.Parallel()
	going := &transcript.Agent{ID: "a", Transcript: &transcript.Transcript{Chunks: []transcript.Chunk{{Type: transcript.UserChunk, Text: "p"}}}}
	ended := &transcript.Agent{ID: "a", Meta: transcript.AgentMeta{Finished: true}, Transcript: going.Transcript}
	for _, tt := range []struct {
		status     string
		agent      *transcript.Agent
		live, read State
	}{
		{"", nil, Running, NoResult},
		{"", going, Running, NoResult},
		{"", ended, Done, Done},
		{"completed", ended, Done, Done},
		{"completed", going, Running, Done}, // it was resumed
		{"failed", going, Failed, Failed},
		{"killed", going, Interrupted, Interrupted},
		{"stopped", going, Interrupted, Interrupted},
	} {
		item := transcript.DisplayItem{Type: transcript.ItemSubagent, ToolName: "Agent", ToolID: "x", HasResult: true, Status: "async_launched"}
		if tt.status != "" {
			item.Report = &transcript.TaskReport{Status: tt.status}
		}
		if tt.agent != nil {
			item.Agents = []*transcript.Agent{tt.agent}
		}
		parsed := &transcript.Transcript{Chunks: []transcript.Chunk{{Type: transcript.AIChunk, Items: []transcript.DisplayItem{item}}}}
		for live, want := range map[bool]State{true: tt.live, false: tt.read} {
			l := List{Live: live}
			l.Update(parsed, 0)
			if got := l.At(0).State; got != want {
				t.Errorf("report %q, agent %v, live %v: %v, want %v", tt.status, tt.agent, live, got, want)
			}
		}
	}
}
