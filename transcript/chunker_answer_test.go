package transcript

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/wire"
)

// itemsOf builds chunks and returns the items of all of them.
func itemsOf(msgs []ClassifiedMsg) []DisplayItem {
	var items []DisplayItem
	for _, ch := range BuildChunks(msgs) {
		items = append(items, ch.Items...)
	}
	return items
}

func diffItems(want, got []DisplayItem) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(DisplayItem{}, "ToolSummary"))
}

func TestToolResults(t *testing.T) {
	t.Parallel()
	bash := called(0, "t", "Bash", `{"command":"ls"}`)
	read := called(5, "r", "Read", `{}`)
	call := ai(0, "m", toolUse("t", "Bash", `{"command":"ls"}`))
	failure := answered(bash, 70, "no such file")
	failure.ToolError = true
	orphan := outputItem(70, "lost")
	orphan.ToolID, orphan.ToolError = "other", true
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []DisplayItem
	}{
		{
			"fill in the call",
			[]ClassifiedMsg{call, meta(70, result("t", "a\nb\nc.txt"))},
			[]DisplayItem{answered(bash, 70, "a\nb\nc.txt")},
		},
		{
			"can be errors",
			[]ClassifiedMsg{call, meta(70, failed("t", "no such file"))},
			[]DisplayItem{failure},
		},
		{
			"can be empty",
			[]ClassifiedMsg{call, meta(70, result("t", ""))},
			[]DisplayItem{answered(bash, 70, "")},
		},
		{
			"come in any order",
			[]ClassifiedMsg{
				call, ai(5, "m", toolUse("r", "Read", `{}`)), meta(30, result("r", "two")), meta(70, result("t", "one")),
			},
			[]DisplayItem{answered(bash, 70, "one"), answered(read, 25, "two")},
		},
		{
			"can share a message",
			[]ClassifiedMsg{
				call, ai(5, "m", toolUse("r", "Read", `{}`)), meta(70, result("r", "two"), result("t", "one")),
			},
			[]DisplayItem{answered(bash, 70, "one"), answered(read, 65, "two")},
		},
		{
			"without a call are outputs",
			[]ClassifiedMsg{call, meta(70, failed("other", "lost"))},
			[]DisplayItem{bash, orphan},
		},
		{
			"without a time have no duration",
			[]ClassifiedMsg{call, &AIMsg{IsMeta: true, Blocks: wire.Content{result("t", "x")}}},
			[]DisplayItem{answered(bash, 0, "x")},
		},
		{
			"that come again take the place of the first",
			[]ClassifiedMsg{call, meta(20, failed("t", "try again")), meta(70, result("t", "ok"))},
			[]DisplayItem{answered(bash, 70, "ok")},
		},
		{
			"that come again empty don't",
			[]ClassifiedMsg{call, meta(20, result("t", "ok")), meta(70, failed("t", ""))},
			[]DisplayItem{answered(bash, 20, "ok")},
		},
		{
			"that come again empty don't, whatever else they say",
			[]ClassifiedMsg{call, meta(20, result("t", "ok")), &AIMsg{
				Timestamp: atMillis(70), IsMeta: true, Blocks: wire.Content{result("t", "")}, ToolUseResult: `{"stdout":""}`,
			}},
			[]DisplayItem{answered(bash, 20, "ok")},
		},
		{
			"that come again do after an empty one",
			[]ClassifiedMsg{call, meta(20, result("t", "")), meta(70, result("t", "ok"))},
			[]DisplayItem{answered(bash, 70, "ok")},
		},
		{
			"go to the last call where IDs repeat from answer to answer",
			[]ClassifiedMsg{
				call, meta(20, result("t", "first")),
				ai(30, "m2", toolUse("t", "Bash", `{"command":"ls"}`)), meta(40, result("t", "second")),
			},
			[]DisplayItem{
				answered(bash, 20, "first"), answered(called(30, "t", "Bash", `{"command":"ls"}`), 10, "second"),
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := diffItems(test.want, itemsOf(test.msgs)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcomeOfResults(t *testing.T) {
	t.Parallel()
	answer := meta(10, result("a", "one"), result("b", "two"))
	answer.ToolUseResult = `{"status":"completed"}`
	answer.Patch = `[{"oldStart":1}]`
	answer.AgentID, answer.ResultStatus, answer.PersistedOutputPath = "agent1", "completed", "/x/tool-results/1.txt"
	calls := ai(0, "m", toolUse("a", "Bash", `{}`), toolUse("b", "Agent", `{}`))

	got := itemsOf([]ClassifiedMsg{calls, answer})
	if o := got[0]; o.Structured != answer.ToolUseResult || o.Patch != answer.Patch || o.AgentID != "agent1" ||
		o.Status != "completed" || o.SpillPath != "/x/tool-results/1.txt" {
		t.Errorf("first item has not what the message says: %+v", o)
	}
	if o := got[1]; o.Structured != "" || o.AgentID != "" {
		t.Errorf("second item has what belongs to the first: %+v", o)
	}

	answer.SourceToolUseID = "b"
	if got := itemsOf([]ClassifiedMsg{calls, answer}); got[0].AgentID != "" || got[1].AgentID != "agent1" {
		t.Errorf("agent IDs = %q, %q, want it at the call that is the source", got[0].AgentID, got[1].AgentID)
	}

	retry := meta(20, result("b", "three"))
	got = itemsOf([]ClassifiedMsg{calls, answer, retry})
	if got[1].Structured != "" || got[1].AgentID != "agent1" {
		t.Errorf("after another result: %+v, want its structure gone and the agent kept", got[1])
	}
}

func TestSubagents(t *testing.T) {
	t.Parallel()
	input := `{"description":"Count \"files\"","prompt":"Count","subagent_type":"Explore"}`
	for _, name := range []string{"Task", "Agent"} {
		want := called(0, "t", name, input)
		want.Type, want.SubagentType, want.SubagentDesc = ItemSubagent, "Explore", `Count "files"`
		got := itemsOf([]ClassifiedMsg{ai(0, "m", toolUse("t", name, input))})
		if diff := diffItems([]DisplayItem{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"Workflow", "Skill", "TaskCreate", "task"} {
		got := itemsOf([]ClassifiedMsg{ai(0, "m", toolUse("t", name, input))})
		if diff := diffItems([]DisplayItem{called(0, "t", name, input)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := itemsOf([]ClassifiedMsg{ai(0, "m", toolUse("t", "Task", `{"subagent_type":7,"description":null}`))})
	if got[0].Type != ItemSubagent || got[0].SubagentType != "" || got[0].SubagentDesc != "" {
		t.Errorf("a subagent whose input is of other types = %+v", got[0])
	}
}

func TestDurationsBesideSubagents(t *testing.T) {
	t.Parallel()
	calls := ai(0, "m", toolUse("bash", "Bash", `{}`), toolUse("task", "Task", `{}`), toolUse("read", "Read", `{}`))
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []int64
	}{
		{
			"long ones are not believed",
			[]ClassifiedMsg{calls, meta(61_000, result("bash", "x"), result("task", "x"), result("read", "x"))},
			[]int64{0, 61_000, 0},
		},
		{
			"whatever comes first",
			[]ClassifiedMsg{
				calls, meta(70_000, result("bash", "x")), meta(100_000, result("task", "x")), meta(110_000, result("read", "x")),
			},
			[]int64{0, 100_000, 0},
		},
		{
			"a minute is believed",
			[]ClassifiedMsg{calls, meta(60_000, result("bash", "x"), result("task", "x"), result("read", "x"))},
			[]int64{60_000, 60_000, 60_000},
		},
		{
			"all are believed while no subagent has a duration",
			[]ClassifiedMsg{calls, meta(61_000, result("bash", "x"), result("read", "x"))},
			[]int64{61_000, 0, 61_000},
		},
		{
			"other turns are believed",
			[]ClassifiedMsg{
				calls, meta(90_000, result("task", "x")), user(91_000, "go on"),
				ai(100_000, "n", toolUse("late", "Bash", `{}`)), meta(190_000, result("late", "x")),
			},
			[]int64{0, 90_000, 0, 90_000},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []int64
			for _, item := range itemsOf(test.msgs) {
				got = append(got, item.DurationMs)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("durations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInjectedText(t *testing.T) {
	t.Parallel()
	skill := ai(0, "m", toolUse("s", "Skill", `{"skill":"pdf"}`))
	body := meta(20, text("How to read a PDF."))
	body.SourceToolUseID = "s"
	item := answered(called(0, "s", "Skill", `{"skill":"pdf"}`), 10, "Launching skill: pdf")
	item.Injected = []string{"How to read a PDF."}
	turn := Chunk{
		Type: AIChunk, Timestamp: atMillis(0), Model: "claude-x", DurationMs: 10,
		ToolCalls: []ToolCall{{"s", "Skill"}}, Items: []DisplayItem{item},
	}
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []Chunk
	}{
		{
			"of a call is in its item, and in no text",
			[]ClassifiedMsg{skill, meta(10, result("s", "Launching skill: pdf")), body},
			[]Chunk{turn},
		},
		{
			"of a call finds it in an earlier chunk",
			[]ClassifiedMsg{skill, meta(10, result("s", "Launching skill: pdf")), user(15, "and?"), body},
			[]Chunk{turn, {Type: UserChunk, Timestamp: atMillis(15), Text: "and?"}},
		},
		{
			"of a command is in the user's chunk, and makes no card",
			[]ClassifiedMsg{user(0, "/pdf"), meta(1, text("How to")), meta(2, text("read")), ai(50, "m", text("I see."))},
			[]Chunk{
				{Type: UserChunk, Timestamp: atMillis(0), Text: "/pdf", Injected: []string{"How to", "read"}},
				{
					Type: AIChunk, Timestamp: atMillis(50), Text: "I see.", Model: "claude-x",
					Items: []DisplayItem{outputItem(50, "I see.")},
				},
			},
		},
		{
			"in a turn is beside the items, and does not make it longer",
			[]ClassifiedMsg{ai(0, "m", text("I see.")), &AIMsg{Timestamp: atMillis(99), IsMeta: true, Text: "Remember."}},
			[]Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "I see.", Model: "claude-x",
				Items: []DisplayItem{outputItem(0, "I see.")}, Injected: []string{"Remember."},
			}},
		},
		{
			"before everything goes to the first chunk",
			[]ClassifiedMsg{meta(0, text("Hello, model.")), user(5, "hi")},
			[]Chunk{{Type: UserChunk, Timestamp: atMillis(5), Text: "hi", Injected: []string{"Hello, model."}}},
		},
		{
			"before the first answer does not begin it",
			[]ClassifiedMsg{meta(0, text("Hello, model.")), ai(5, "m", text("hi"))},
			[]Chunk{{
				Type: AIChunk, Timestamp: atMillis(5), Text: "hi", Model: "claude-x",
				Items: []DisplayItem{outputItem(5, "hi")}, Injected: []string{"Hello, model."},
			}},
		},
		{
			"alone is not lost",
			[]ClassifiedMsg{meta(0, text("Hello,")), meta(1, text("model."))},
			[]Chunk{{Type: AIChunk, Injected: []string{"Hello,", "model."}}},
		},
		{
			"can be a picture",
			[]ClassifiedMsg{user(0, "look"), meta(0, &wire.ImageBlock{}, &wire.DocumentBlock{})},
			[]Chunk{{Type: UserChunk, Timestamp: atMillis(0), Text: "look", Injected: []string{"[Image]", "[Document]"}}},
		},
		{
			"of a call that is not there goes to the last chunk",
			[]ClassifiedMsg{user(0, "hi"), body},
			[]Chunk{{Type: UserChunk, Timestamp: atMillis(0), Text: "hi", Injected: []string{"How to read a PDF."}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := diffChunks(test.want, BuildChunks(test.msgs)); diff != "" {
				t.Errorf("BuildChunks (-want +got):\n%s", diff)
			}
		})
	}
}
