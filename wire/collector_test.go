package wire_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// lines returns the frames, each on a separate line.
func lines(frames ...string) string { return strings.Join(frames, "\n") + "\n" }

// collect feeds a stream to a collector and returns what Add returned.
func collect(t testing.TB, c *wire.Collector, stream string) []string {
	t.Helper()
	var shown []string
	for msg, err := range wire.NewReader(strings.NewReader(stream), nil).Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if text := c.Add(msg); text != "" {
			shown = append(shown, text)
		}
	}
	return shown
}

// The frames that the tests of the collector are made of.

func assistantText(id, text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"content":[{"type":"text","text":%q}]},"session_id":"s1"}`, id, text)
}

func assistantFrame(uuid, text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%q}]},"uuid":%q}`, text, uuid)
}

func bareDelta(index int, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`, index, text)
}

func streamed(id, event string) string {
	return fmt.Sprintf(`{"type":"stream_event","event":%s,"api_message_id":%q,"uuid":"u","session_id":"s1"}`, event, id)
}

// abandoning is an event of one API message that gives up blocks of another.
func abandoning(id, abandoned string, from int) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"ping"},"api_message_id":%q,"uuid":"u","session_id":"s1",
		"abandoned_blocks":{"api_message_id":%q,"from_block_index":%d}}`, id, abandoned, from)
}

func streamedStart(id string, index int) string {
	return streamed(id, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index))
}

func resultText(text string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","result":%q,"session_id":"s1"}`, text)
}

const (
	initFrame = `{"type":"system","subtype":"init","session_id":"s1"}`
	bareStart = `{"type":"message_start","message":{"content":[]}}`

	toolUse = `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`

	subagentText   = `{"type":"assistant","message":{"id":"s","content":[{"type":"text","text":"inner"}]},"parent_tool_use_id":"t1"}`
	subagentStream = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"inner"}},"parent_tool_use_id":"t1","uuid":"u","session_id":"s1"}`
	subagentTool   = `{"type":"assistant","message":{"id":"s","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}]},"parent_tool_use_id":"t1"}`
)

func TestCollectorText(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		shown []string
		text  string
	}{
		{"nothing", "", nil, ""},
		{"bare deltas", lines(bareDelta(0, "Hel"), bareDelta(0, "lo")), []string{"Hel", "lo"}, "Hello"},
		{"a delta without delta", `{"type":"content_block_delta","index":0}`, nil, ""},
		{"a delta without text", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}`, nil, ""},
		{
			"deltas of other kinds",
			lines(
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","text":"x"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"text":"x"}}`,
			),
			nil, "",
		},
		{"an assistant message", assistantText("m1", "Hello"), []string{"Hello"}, "Hello"},
		{
			"blocks in order",
			`{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"n"},{"type":"text","text":"b"},{"type":"thinking","thinking":"hm"}]}}`,
			[]string{"ab"}, "ab",
		},
		{
			"blocks without type, without text, not objects",
			`{"type":"assistant","message":{"content":[{"text":"x"},{"type":"text"},7,{"type":"text","text":"ok"}]}}`,
			[]string{"ok"}, "ok",
		},
		{"no content", `{"type":"assistant","message":{}}`, nil, ""},
		{"several messages", lines(assistantText("m1", "a"), toolUse, assistantText("m2", "b")), []string{"a", "b"}, "ab"},
		{"the same text twice, not streamed", lines(assistantText("m1", "a"), assistantText("m2", "a")), []string{"a", "a"}, "aa"},
		{"bare deltas, then the message", lines(bareDelta(0, "Hel"), bareDelta(0, "lo"), assistantText("m1", "Hello")), []string{"Hel", "lo"}, "Hello"},
		{
			"bare deltas of two blocks, then both in one message",
			lines(bareDelta(0, "a"), bareDelta(1, "b"), `{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}`),
			[]string{"a", "b"}, "ab",
		},
		{
			"bare deltas of two messages",
			lines(bareDelta(0, "a"), assistantText("m1", "a"), bareDelta(0, "b"), assistantText("m2", "b"), assistantText("m2", "c")),
			[]string{"a", "b", "c"}, "abc",
		},
		{
			"streamed blocks and their frames by turns",
			lines(streamedStart("m1", 0), streamed("m1", bareDelta(0, "a")), assistantText("m1", "a"), streamed("m1", `{"type":"content_block_stop","index":0}`),
				streamedStart("m1", 1), streamed("m1", bareDelta(1, "b")), assistantText("m1", "b")),
			[]string{"a", "b"}, "ab",
		},
		{
			"streamed blocks, then their frames",
			lines(streamed("m1", bareDelta(0, "a")), streamed("m1", bareDelta(1, "b")), assistantText("m1", "a"), assistantText("m1", "b")),
			[]string{"a", "b"}, "ab",
		},
		{
			"a block between the streamed ones that is not text",
			lines(streamed("m1", bareDelta(0, "a")), assistantText("m1", "a"), toolUse, streamed("m1", bareDelta(2, "b")), assistantText("m1", "b")),
			[]string{"a", "b"}, "ab",
		},
		{
			"the id comes with message_start alone",
			lines(`{"type":"message_start","message":{"id":"m1","content":[]}}`, bareDelta(0, "a"), assistantText("m1", "a"), assistantText("m2", "b")),
			[]string{"a", "b"}, "ab",
		},
		{"a block that starts with text", streamed("m1", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`), []string{"a"}, "a"},
		{"a streamed prefix", lines(streamed("m1", bareDelta(0, "Hel")), assistantText("m1", "Hello")), []string{"Hel", "lo"}, "Hello"},
		{"a streamed text that differs", lines(streamed("m1", bareDelta(0, "Help")), assistantText("m1", "Hello")), []string{"Help"}, "Hello"},
		{
			"a streamed text that was longer, and another message",
			lines(streamed("m1", bareDelta(0, "Hello!!")), assistantText("m1", "Hello"), streamed("m2", bareDelta(0, "b")), assistantText("m2", "b")),
			[]string{"Hello!!", "b"}, "Hellob",
		},
		{
			"an answer that broke off, and another",
			lines(streamed("m1", bareDelta(0, "a")), streamed("m2", bareDelta(0, "b")), assistantText("m2", "b")),
			[]string{"a", "b"}, "ab",
		},
		{
			"another message in the middle of a streamed one",
			lines(streamed("m1", bareDelta(0, "a")), assistantText("m2", "x"), streamed("m1", bareDelta(0, "b")), assistantText("m1", "ab")),
			[]string{"a", "x", "b"}, "abx",
		},
		{
			"a message that replaces another",
			lines(
				`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"no"}]},"uuid":"u1"}`,
				`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"yes"}]},"uuid":"u2","supersedes":["u1"]}`,
			),
			[]string{"no", "yes"}, "yes",
		},
		{
			"a refusal that takes messages back",
			lines(
				assistantFrame("u1", "one"), assistantFrame("u2", "two"),
				`{"type":"system","subtype":"model_refusal_fallback","content":"switched","retracted_message_uuids":["u2","u9"]}`,
				assistantFrame("u3", "three"),
			),
			[]string{"one", "two", "three"}, "onethree",
		},
		{
			"answers without an id",
			lines(bareStart, bareDelta(0, "A"), bareStart, bareDelta(0, "B"), assistantText("", "B")),
			[]string{"A", "B"}, "AB",
		},
		{
			"an answer without an id behind one that has one",
			lines(streamed("m1", bareDelta(0, "A")), bareStart, bareDelta(0, "B"), assistantText("m2", "B")),
			[]string{"A", "B"}, "AB",
		},
		{
			"an answer without an id in another turn",
			lines(streamed("m1", bareDelta(0, "A")), resultText("one"), bareDelta(0, "B"), assistantText("m2", "B")),
			[]string{"A", "B"}, "B",
		},
		{
			"the same answer from the start",
			lines(`{"type":"message_start","message":{"id":"m1"}}`, bareDelta(0, "A"), `{"type":"message_start","message":{"id":"m1"}}`, bareDelta(0, "B"), assistantText("m1", "B")),
			[]string{"A", "B"}, "AB",
		},
		{
			"abandoned blocks",
			lines(streamed("m1", bareDelta(0, "a")), streamed("m1", bareDelta(1, "b")), streamed("m1", bareDelta(2, "c")), abandoning("m2", "m1", 1)),
			[]string{"a", "b", "c"}, "a",
		},
		{
			"abandoned blocks that were finished",
			lines(streamed("m1", bareDelta(0, "a")), assistantText("m1", "a"), streamed("m1", bareDelta(1, "b")), abandoning("m2", "m1", 0)),
			[]string{"a", "b"}, "a",
		},
		{
			"abandoned blocks of another message",
			lines(streamed("m1", bareDelta(0, "a")), streamed("m2", bareDelta(0, "b")), abandoning("m2", "m1", 0), assistantText("m2", "b")),
			[]string{"a", "b"}, "b",
		},
		{
			"abandoned blocks of a message without id",
			lines(bareStart, bareDelta(0, "a"), bareDelta(1, "b"), abandoning("", "", 1)),
			[]string{"a", "b"}, "a",
		},
		{
			"abandoned blocks that come again",
			lines(streamed("m1", bareDelta(0, "a")), streamed("m1", bareDelta(1, "b")), abandoning("m1", "m1", 1),
				streamed("m1", bareDelta(1, "c")), assistantText("m1", "a"), assistantText("m1", "c")),
			[]string{"a", "b", "c"}, "ac",
		},
		{"a subagent", lines(subagentText, subagentStream, assistantText("m1", "a")), []string{"a"}, "a"},
		{"a subagent while the answer streams", lines(bareDelta(0, "a"), subagentStream, subagentText, bareDelta(0, "b")), []string{"a", "b"}, "ab"},
		{"lines of text", "warning: x\n\n  indented\n", []string{"warning: x\n", "indented\n"}, "warning: x\nindented\n"},
		{"lines of text around an answer", lines("one", assistantText("m1", "a"), "two"), []string{"one\n", "a", "two\n"}, "one\natwo\n"},
		{"half a frame", "{\"type\":\"assist\nnot a frame either", nil, ""},
		{"the result wins", lines(assistantText("m1", "so far"), resultText("final")), []string{"so far"}, "final"},
		{"an empty result", lines(assistantText("m1", "so far"), resultText("")), []string{"so far"}, "so far"},
		{"a result without text", lines(assistantText("m1", "so far"), `{"type":"result","subtype":"success"}`), []string{"so far"}, "so far"},
		{"an error with a text", lines(assistantText("m1", "so far"), `{"type":"result","subtype":"success","is_error":true,"result":"API Error"}`), []string{"so far"}, "API Error"},
		{"an error with a list", lines(assistantText("m1", "so far"), `{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["one","two"]}`), []string{"so far"}, "one\ntwo"},
		{"an error by its subtype", lines(assistantText("m1", "so far"), `{"type":"result","subtype":"error_max_turns","errors":["one"]}`), []string{"so far"}, "one"},
		{"an error without text", lines(assistantText("m1", "so far"), `{"type":"result","subtype":"error_max_turns","is_error":true}`), []string{"so far"}, "so far"},
		{"text behind the result", lines(assistantText("m1", "a"), resultText("final"), "bye"), []string{"a", "bye\n"}, "final"},
		{"text behind the result, and no text in it", lines(assistantText("m1", "a"), resultText(""), "bye"), []string{"a", "bye\n"}, "abye\n"},
		{"text between two turns", lines(assistantText("m1", "a"), resultText("one"), "bye", assistantText("m2", "b")), []string{"a", "bye\n", "b"}, "b"},
		{"a second turn that has begun", lines(assistantText("m1", "a"), resultText("one"), initFrame), []string{"a"}, ""},
		{"text at the start of a second turn", lines(assistantText("m1", "a"), resultText("one"), initFrame, "hello"), []string{"a", "hello\n"}, "hello\n"},
		{"init in the middle of a turn", lines(assistantText("m1", "a"), initFrame, assistantText("m2", "b")), []string{"a", "b"}, "ab"},
		{"a second turn that is under way", lines(assistantText("m1", "a"), resultText("one"), assistantText("m2", "b")), []string{"a", "b"}, "b"},
		{"a second turn", lines(assistantText("m1", "a"), resultText("one"), bareDelta(0, "b"), resultText("two")), []string{"a", "b"}, "two"},
		{"a second turn without a word", lines(assistantText("m1", "a"), resultText("one"), resultText("")), []string{"a"}, ""},
		{"a subagent behind the result", lines(assistantText("m1", "a"), resultText("one"), subagentText), []string{"a"}, "one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c wire.Collector
			shown := collect(t, &c, test.in)
			if diff := cmp.Diff(test.shown, shown); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if got := c.Text(); got != test.text {
				t.Errorf("Text() = %q, want %q", got, test.text)
			}
		})
	}
}

func TestCollectorResult(t *testing.T) {
	var c wire.Collector
	if c.Done() || c.IsError() || c.Result() != nil || c.Duration() != 0 || c.CostUSD() != 0 || c.SessionID() != "" {
		t.Fatalf("the zero value is not empty: %+v", c)
	}
	collect(t, &c, lines(
		`{"type":"system","subtype":"init","session_id":"s0"}`,
		assistantText("m1", "a"),
		`{"type":"result","subtype":"success","is_error":true,"result":"no","duration_ms":1500,"total_cost_usd":0.25,"session_id":"s2"}`,
	))
	if !c.Done() || !c.IsError() || c.Result() == nil || c.Text() != "no" {
		t.Errorf("done %v, error %v, result %v, text %q", c.Done(), c.IsError(), c.Result(), c.Text())
	}
	if c.Duration() != 1500*time.Millisecond || c.CostUSD() != 0.25 || c.SessionID() != "s2" {
		t.Errorf("duration %v, cost %v, session %q", c.Duration(), c.CostUSD(), c.SessionID())
	}
	first := c.Result()
	collect(t, &c, assistantText("m2", "b"))
	if c.Done() || c.IsError() || c.Result() != first || c.CostUSD() != 0.25 || c.SessionID() != "s1" {
		t.Errorf("in the second turn: done %v, error %v, result %v, session %q", c.Done(), c.IsError(), c.Result(), c.SessionID())
	}
	collect(t, &c, `{"type":"result","subtype":"success","result":"yes","is_error":false}`)
	if !c.Done() || c.IsError() || c.Text() != "yes" || c.SessionID() != "s1" {
		t.Errorf("after it: done %v, error %v, text %q", c.Done(), c.IsError(), c.Text())
	}
	collect(t, &c, initFrame)
	if c.Done() || c.IsError() || c.Text() != "" || c.Result() == nil {
		t.Errorf("after init: done %v, error %v, text %q, result %v", c.Done(), c.IsError(), c.Text(), c.Result())
	}
	c.Reset()
	if c.Done() || c.Result() != nil || c.Text() != "" || c.SessionID() != "" {
		t.Errorf("after Reset: %+v", c)
	}
}

func TestCollectorIsError(t *testing.T) {
	for _, test := range []struct {
		name, result string
		want         bool
	}{
		{"neither", `{"type":"result","subtype":"success"}`, false},
		{"the flag is false", `{"type":"result","subtype":"success","is_error":false}`, false},
		{"the flag", `{"type":"result","subtype":"success","is_error":true}`, true},
		{"the subtype", `{"type":"result","subtype":"error_during_execution"}`, true},
		{"the subtype against the flag", `{"type":"result","subtype":"error_max_turns","is_error":false}`, true},
		{"a subtype of tomorrow", `{"type":"result","subtype":"error_of_tomorrow"}`, true},
		{"another subtype", `{"type":"result","subtype":"no_error"}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c wire.Collector
			collect(t, &c, test.result)
			if got := c.IsError(); got != test.want {
				t.Errorf("IsError() = %v, want %v", got, test.want)
			}
		})
	}
}

func TestCollectorToolUses(t *testing.T) {
	var c wire.Collector
	names := func() []string {
		var names []string
		for _, b := range c.ToolUses() {
			names = append(names, b.ID+" "+b.Name)
		}
		return names
	}
	collect(t, &c, lines(assistantText("m1", "a"), toolUse, subagentTool,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"b"},{"type":"tool_use","id":"t3","name":"Edit"}]},"uuid":"u3"}`))
	if diff := cmp.Diff([]string{"t1 Bash", "t3 Edit"}, names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	collect(t, &c, `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t4","name":"Edit"}]},"uuid":"u4","supersedes":["u3"]}`)
	if diff := cmp.Diff([]string{"t1 Bash", "t4 Edit"}, names()); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	collect(t, &c, `{"type":"system","subtype":"model_refusal_fallback","content":"switched","retracted_message_uuids":["u4"]}`)
	if diff := cmp.Diff([]string{"t1 Bash"}, names()); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	collect(t, &c, lines(resultText("done"), assistantText("m2", "b")))
	if got := names(); got != nil {
		t.Errorf("a second turn has %q", got)
	}
}

func TestCollectorInvalid(t *testing.T) {
	var c wire.Collector
	shown := collect(t, &c, lines(assistantText("m1", "a"), `{"type":7}`, `{"bad`, assistantText("m1", "b"), `[1]`))
	if got := strings.Join(shown, ""); got != "ab" || c.Text() != "ab" {
		t.Errorf("shown %q, text %q", got, c.Text())
	}
	if c.Invalid() != 3 {
		t.Errorf("%d invalid frames, want 3", c.Invalid())
	}
}

func TestCollectorAccumulated(t *testing.T) {
	var c wire.Collector
	collect(t, &c, lines("note", assistantText("m1", "so far"), resultText("final")))
	if got, want := c.Accumulated(), "note\nso far"; got != want {
		t.Errorf("Accumulated() = %q, want %q", got, want)
	}
}

// TestCollectorRecorded checks that what a collector puts together from the agent's frames is what
// the agent itself gives as the result.
func TestCollectorRecorded(t *testing.T) {
	want := map[string]string{
		"compact":             "",
		"control_requests":    "Hi.",
		"error_400":           "API Error: 400 scripted bad request",
		"hello_partial":       "Hello, this is a scripted answer.",
		"interrupt":           "This answer ",
		"subagent_background": "The subagent finished.",
		"two_turns":           "Two.",
	}
	for path, frames := range recorded(t) {
		name := dialogueName(path)
		text, ok := want[name]
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var c wire.Collector
			shown := collect(t, &c, string(bytes.Join(frames, []byte("\n"))))
			if got := c.Accumulated(); got != text {
				t.Errorf("Accumulated() = %q, want %q", got, text)
			}
			if !c.Done() || c.SessionID() == "" || c.Invalid() != 0 {
				t.Errorf("done %v, session %q, %d invalid", c.Done(), c.SessionID(), c.Invalid())
			}
			if got := strings.Join(shown, ""); !strings.HasSuffix(got, text) {
				t.Errorf("shown %q", got)
			}
			if c.Result().Result != "" && c.Text() != c.Result().Result {
				t.Errorf("Text() = %q, want %q", c.Text(), c.Result().Result)
			}
		})
	}
}

// TestCollectorIsLinear checks that four times the events need about four times the memory,
// counting all allocations. A collector that built its text again for each event would need sixteen
// times as much.
func TestCollectorIsLinear(t *testing.T) {
	tests := []struct {
		name   string
		frames []string
	}{
		{"deltas of one block", []string{bareDelta(0, "twelve bytes")}},
		{"messages", []string{bareStart, bareDelta(0, "twelve bytes"), assistantText("", "twelve bytes")}},
		{"lines of text", []string{"twelve bytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var msgs []wire.Message
			for msg := range wire.NewReader(strings.NewReader(lines(test.frames...)), nil).Messages() {
				msgs = append(msgs, msg)
			}
			const n = 2000
			once, fourfold := collectedBytes(msgs, n), collectedBytes(msgs, 4*n)
			if fourfold >= 6*once {
				t.Errorf("%d bytes allocated for %d rounds, %d for %d", once, n, fourfold, 4*n)
			}
		})
	}
}

// collectedBytes returns how much is allocated to add the messages n times and ask for the text.
func collectedBytes(msgs []wire.Message, n int) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var c wire.Collector
	for range n {
		for _, msg := range msgs {
			c.Add(msg)
		}
	}
	_ = c.Text()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// dialogueName returns the name of a recorded dialogue.
func dialogueName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".txt")
}
