package transcript

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// atMillis returns the time of so many milliseconds after a start.
func atMillis(millis int64) time.Time {
	return time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC).Add(time.Duration(millis) * time.Millisecond)
}

func user(millis int64, text string) *UserMsg {
	return &UserMsg{Timestamp: atMillis(millis), Text: text}
}

// ai returns an answer with an ID, a model and these blocks.
func ai(millis int64, id string, blocks ...wire.Block) *AIMsg {
	return &AIMsg{Timestamp: atMillis(millis), MessageID: id, Model: "claude-x", Blocks: blocks}
}

// meta returns what goes back to the model.
func meta(millis int64, blocks ...wire.Block) *AIMsg {
	return &AIMsg{Timestamp: atMillis(millis), IsMeta: true, Blocks: blocks}
}

func text(s string) wire.Block     { return &wire.TextBlock{Text: s} }
func thinking(s string) wire.Block { return &wire.ThinkingBlock{Thinking: s} }

func toolUse(id, name, input string) wire.Block {
	return &wire.ToolUseBlock{ID: id, Name: name, Input: wire.JSON(input)}
}

func result(id, content string) wire.Block {
	quoted, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return &wire.ToolResultBlock{ToolUseID: id, Content: wire.JSON(quoted)}
}

// failed returns a result that is an error.
func failed(id, content string) wire.Block {
	b, _ := result(id, content).(*wire.ToolResultBlock)
	yes := true
	b.IsError = &yes
	return b
}

// diffChunks compares chunks but for the words of summaries. It numbers the turns of the wanted ones.
func diffChunks(want, got []Chunk) string {
	want, turn := slices.Clone(want), 0
	for i := range want {
		if want[i].Type == UserChunk {
			turn++
		}
		want[i].Turn = turn
	}
	return cmp.Diff(want, got, cmpopts.IgnoreFields(DisplayItem{}, "ToolSummary"))
}

func TestTypesAreWords(t *testing.T) {
	t.Parallel()
	type both struct {
		Chunk ChunkType
		Item  DisplayItemType
	}
	for n, want := range []string{
		`{"Chunk":"user","Item":"thinking"}`,
		`{"Chunk":"ai","Item":"output"}`,
		`{"Chunk":"system","Item":"tool"}`,
		`{"Chunk":"compact","Item":"subagent"}`,
	} {
		value := both{ChunkType(n), DisplayItemType(n)}
		got, err := json.Marshal(value)
		if err != nil || string(got) != want {
			t.Errorf("Marshal(%v) = %s, %v, want %s", value, got, err, want)
		}
		var back both
		if err := json.Unmarshal(got, &back); err != nil || back != value {
			t.Errorf("Unmarshal(%s) = %v, %v, want %v", got, back, err, value)
		}
	}
	if got := ItemTeammateMessage.String(); got != "teammate" {
		t.Errorf("ItemTeammateMessage.String() = %q, want teammate", got)
	}
}

func TestTypesThatThereAreNot(t *testing.T) {
	t.Parallel()
	if got := ChunkType(4).String() + " " + DisplayItemType(-1).String(); got != "ChunkType(4) DisplayItemType(-1)" {
		t.Errorf("String() of types that there are not = %q", got)
	}
	if _, err := ChunkType(4).MarshalText(); err == nil {
		t.Error("MarshalText of an unknown type of chunk: no error")
	}
	if _, err := DisplayItemType(5).MarshalText(); err == nil {
		t.Error("MarshalText of an unknown type of item: no error")
	}
	chunk, item := SystemChunk, ItemSubagent
	if err := chunk.UnmarshalText([]byte("robot")); err == nil || chunk != SystemChunk {
		t.Errorf("UnmarshalText(robot) = %v, %v, want an error and no change", chunk, err)
	}
	if err := item.UnmarshalText([]byte("")); err == nil || item != ItemSubagent {
		t.Errorf("UnmarshalText() = %v, %v, want an error and no change", item, err)
	}
}

func TestFindLastOutput(t *testing.T) {
	t.Parallel()
	said := DisplayItem{Type: ItemOutput, Text: "Done."}
	blankOutput := DisplayItem{Type: ItemOutput, Text: " \n"}
	ran := DisplayItem{Type: ItemToolCall, ToolName: "Bash", HasResult: true, ToolResult: "a.txt", ToolError: true}
	silent := DisplayItem{Type: ItemToolCall, ToolName: "Write", HasResult: true}
	agent := DisplayItem{Type: ItemSubagent, ToolName: "Agent", HasResult: true, ToolResult: "Found 3."}
	thought := DisplayItem{Type: ItemThinking, Text: "Hmm"}
	mate := DisplayItem{Type: ItemTeammateMessage, Text: "Hello"}
	answer := &LastOutput{Type: LastOutputText, Text: "Done."}
	tests := []struct {
		name  string
		items []DisplayItem
		want  *LastOutput
	}{
		{"nothing", nil, nil},
		{"nothing that is shown", []DisplayItem{thought, mate, silent, blankOutput}, nil},
		{"the answer", []DisplayItem{thought, said}, answer},
		{"the answer although a tool came later", []DisplayItem{said, ran, blankOutput}, answer},
		{"the last answer", []DisplayItem{{Type: ItemOutput, Text: "First"}, said}, answer},
		{
			"a tool if there is no answer", []DisplayItem{agent, ran, silent, thought},
			&LastOutput{Type: LastOutputToolResult, Text: "a.txt", ToolName: "Bash", IsError: true},
		},
		{
			"a subagent if there is no answer", []DisplayItem{ran, agent},
			&LastOutput{Type: LastOutputToolResult, Text: "Found 3.", ToolName: "Agent"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, FindLastOutput(test.items)); diff != "" {
				t.Errorf("FindLastOutput (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOngoing(t *testing.T) {
	t.Parallel()
	prompt, queued := Chunk{Type: UserChunk}, Chunk{Type: UserChunk, Queued: true}
	system, compaction := Chunk{Type: SystemChunk}, Chunk{Type: CompactChunk}
	turn := func(items ...DisplayItem) Chunk { return Chunk{Type: AIChunk, Items: items} }
	stopped := func(ch Chunk) Chunk { ch.Interrupted = true; return ch }
	call := func(name, input string) DisplayItem {
		return DisplayItem{Type: ItemToolCall, ToolName: name, ToolID: "t", ToolInput: wire.JSON(input)}
	}
	done := func(item DisplayItem) DisplayItem { item.HasResult, item.ToolResult = true, "ok"; return item }

	said, thought := DisplayItem{Type: ItemOutput, Text: "Done."}, DisplayItem{Type: ItemThinking}
	orphan := DisplayItem{Type: ItemOutput, ToolID: "x", Text: "y"}
	mate := DisplayItem{Type: ItemTeammateMessage, Text: "x"}
	bash, plan := call("Bash", `{}`), call("ExitPlanMode", `{}`)
	agent := DisplayItem{Type: ItemSubagent, ToolName: "Agent", ToolID: "a"}
	structured := call("StructuredOutput", `{}`)
	misfit := done(structured)
	misfit.ToolError = true
	goodbye := call("SendMessage", `{"type":"shutdown_response","approve":true}`)
	newGoodbye := call("SendMessage", `{"to":"lead","message":{"type":"shutdown_response","approve":true}}`)
	refusedToGo := call("SendMessage", `{"type":"shutdown_response","approve":false}`)
	structuredNo, plainNo := done(bash), done(bash)
	structuredNo.Structured, plainNo.ToolResult = `"User rejected tool use"`, "User rejected tool use"

	tests := []struct {
		name   string
		chunks []Chunk
		want   bool
	}{
		{"nothing", nil, false},
		{"a prompt", []Chunk{prompt}, true},
		{"a prompt after an answer", []Chunk{prompt, turn(said), prompt}, true},
		{"a queued prompt", []Chunk{prompt, turn(said), queued}, true},
		{"an answer", []Chunk{prompt, turn(thought, done(bash), said)}, false},
		{"thinking", []Chunk{prompt, turn(thought)}, true},
		{"thinking after an answer", []Chunk{prompt, turn(said, thought)}, true},
		{"a call", []Chunk{prompt, turn(said, bash)}, true},
		{"a result", []Chunk{prompt, turn(said, done(bash))}, true},
		{"a result of an unknown call", []Chunk{prompt, turn(said, orphan)}, true},
		{"a blank answer", []Chunk{prompt, turn(done(bash), DisplayItem{Type: ItemOutput, Text: " "})}, true},
		{"a teammate's message after an answer", []Chunk{prompt, turn(said, mate)}, false},
		{"a plan", []Chunk{prompt, turn(done(bash), plan)}, false},
		{"a plan with its result", []Chunk{prompt, turn(done(plan))}, false},
		{"work after a plan", []Chunk{prompt, turn(done(plan), done(bash))}, true},
		{"structured output", []Chunk{prompt, turn(done(structured))}, false},
		{"structured output that has yet to be checked", []Chunk{prompt, turn(structured)}, true},
		{"structured output that does not fit", []Chunk{prompt, turn(misfit)}, true},
		{"the end of a teammate", []Chunk{prompt, turn(done(bash), goodbye)}, false},
		{"the end of a teammate with its result", []Chunk{prompt, turn(done(bash), done(goodbye))}, false},
		{"the end of a teammate in a member", []Chunk{prompt, turn(done(newGoodbye))}, false},
		{"a teammate that stays", []Chunk{prompt, turn(done(refusedToGo))}, true},
		{"a refusal", []Chunk{prompt, turn(done(bash), structuredNo)}, false},
		{"a refusal as text", []Chunk{prompt, turn(plainNo)}, false},
		{"a subagent that runs on", []Chunk{prompt, turn(agent, said)}, true},
		{"a subagent that is done", []Chunk{prompt, turn(done(agent), said)}, false},
		{"an unanswered call before the answer", []Chunk{prompt, turn(bash, said)}, true},
		{"an unanswered call of a turn that was left", []Chunk{prompt, turn(bash), prompt, turn(said)}, false},
		{"an unanswered call before a queued prompt", []Chunk{prompt, turn(bash), queued, turn(said)}, true},
		{"an interrupted turn", []Chunk{prompt, stopped(turn(said, bash))}, false},
		{"an interrupted prompt", []Chunk{stopped(prompt)}, false},
		{"a command after an interrupted turn", []Chunk{prompt, stopped(turn(bash)), system}, false},
		{"an answer after an interrupted turn", []Chunk{prompt, stopped(turn(bash)), turn(said)}, false},
		{"a command", []Chunk{prompt, turn(said), prompt, system}, false},
		{"a compaction on the way", []Chunk{prompt, turn(done(bash)), compaction}, true},
		{"a compaction after an answer", []Chunk{prompt, turn(said), compaction}, false},
		{"no items, the model stopped", []Chunk{prompt, {Type: AIChunk, StopReason: "end_turn"}}, false},
		{"no items, the model wants a tool", []Chunk{prompt, {Type: AIChunk, StopReason: "tool_use"}}, true},
		{"no items, and no word of stopping", []Chunk{prompt, {Type: AIChunk}}, true},
		{
			"no items, the last counts",
			[]Chunk{{Type: AIChunk, StopReason: "tool_use"}, system, {Type: AIChunk, StopReason: "end_turn"}}, false,
		},
		{"injected text alone", []Chunk{{Type: AIChunk, Injected: []string{"x"}}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Ongoing(test.chunks); got != test.want {
				t.Errorf("Ongoing = %v, want %v", got, test.want)
			}
		})
	}
}

func TestSpillPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		item DisplayItem
		want string
	}{
		{"kept apart", DisplayItem{SpillPath: "/s/tool-results/a.txt"}, "/s/tool-results/a.txt"},
		{
			"in the structured result",
			DisplayItem{Structured: `{"stdout":"x","persistedOutputPath":"/s/tool-results/\u0061.txt"}`},
			"/s/tool-results/a.txt",
		},
		{
			"in the text", DisplayItem{ToolResult: "<persisted-output>\nOutput too large (89.8KB). Full output saved to: " +
				"/s/tool-results/a b.txt\n\nPreview (first 2KB):\nsaved to: /etc/passwd\n</persisted-output>"},
			"/s/tool-results/a b.txt",
		},
		{
			"on one line",
			DisplayItem{ToolResult: "<persisted-output>Full output saved to: /s/a.txt</persisted-output>"}, "/s/a.txt",
		},
		{"of a Windows agent", DisplayItem{ToolResult: "<persisted-output>\r\nsaved to: C:\\s\\a.txt\r\n"}, `C:\s\a.txt`},
		{"short output", DisplayItem{Structured: `{"stdout":"x"}`, ToolResult: "x"}, ""},
		{"output that talks of it", DisplayItem{ToolResult: "see <persisted-output> saved to: /x"}, ""},
		{"no path", DisplayItem{ToolResult: "<persisted-output>Full output saved to: \n"}, ""},
		{"no sentence", DisplayItem{ToolResult: "<persisted-output>"}, ""},
		{"another type", DisplayItem{Structured: `{"persistedOutputPath":7}`}, ""},
		{"no JSON", DisplayItem{Structured: `{"persistedOutputPath`}, ""},
	}
	for _, tt := range tests {
		if got, ok := SpillPath(&tt.item); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}

func TestItemInputAndResult(t *testing.T) {
	t.Parallel()
	item := DisplayItem{
		Type: ItemToolCall, ToolName: "Bash", ToolID: "t1", ToolInput: `{"command":"ls"}`,
		ResultAt: wire.Position{Line: 7, Offset: 900},
	}
	in, err := item.Input()
	if diff := cmp.Diff(tooluse.Input(&tooluse.BashInput{Command: "ls"}), in); diff != "" || err != nil {
		t.Errorf("input: %v (-want +got):\n%s", err, diff)
	}
	if _, err := item.Result(); !errors.Is(err, ErrNoResult) {
		t.Errorf("before the result: %v", err)
	}
	item.HasResult = true
	if _, err := item.Result(); !errors.Is(err, ErrNotKept) || !strings.Contains(err.Error(), "line 7, at byte 900") {
		t.Errorf("a long result: %v", err)
	}
	item.Structured = `{"stdout":"a"}`
	r, err := item.Result()
	if diff := cmp.Diff(tooluse.Result(&tooluse.BashResult{Stdout: "a"}), r); diff != "" || err != nil {
		t.Errorf("result: %v (-want +got):\n%s", err, diff)
	}
	text := DisplayItem{Type: ItemOutput, Text: "hello"}
	if _, err := text.Input(); err == nil {
		t.Error("a text has an input")
	}
	if _, err := text.Result(); err == nil {
		t.Error("a text has a result")
	}
}
