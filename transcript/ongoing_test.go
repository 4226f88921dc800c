package transcript

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

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
