package transcript

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/usage"
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
	orphan.ToolID, orphan.ToolError, orphan.TokenCount = "other", true, estimate(`"lost"`)
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

// The tokens of a call are those that statistics count.
func TestTokensOfCalls(t *testing.T) {
	t.Parallel()
	const call = `{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[` +
		`{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a.png"}}]}}` + "\n"
	const picture = `[{"type":"text","text":"a.png"},{"type":"image","source":{"type":"base64","data":"PICTURE"}}]`
	for _, content := range []string{
		`"one line\nand another, with \"quotes\" and \u00e9"`, `""`, `[{"type":"text","text":"one"},{"type":"text","text":"two"}]`,
		strings.Replace(picture, "PICTURE", strings.Repeat("x", 100_000), 1),
	} {
		result := `{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"t","content":` + content + `}]}}` + "\n"
		read, err := Read(strings.NewReader(call+result), nil)
		if err != nil {
			t.Fatal(err)
		}
		var tally usage.ToolTally
		tally.AddLine([]byte(call))
		tally.AddLine([]byte(result))
		counted := tally.Calls()[0]
		want := counted.InputTokens + counted.ResultTokens
		if got := read.Chunks[0].Items[0].TokenCount; got != want || want > 2000 {
			t.Errorf("%.80s: %d tokens, statistics count %d", content, got, want)
		}
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

// output returns the item of a text.
func outputItem(millis int64, s string) DisplayItem {
	return DisplayItem{Type: ItemOutput, Timestamp: atMillis(millis), Text: s, TokenCount: len(s) / 4}
}

// called returns the item of a call that has no result.
func called(millis int64, id, name, input string) DisplayItem {
	return DisplayItem{
		Type: ItemToolCall, Timestamp: atMillis(millis), ToolID: id, ToolName: name,
		ToolInput: wire.JSON(input), TokenCount: estimate(input),
	}
}

// answered returns the item of a call with a result that came so many milliseconds later.
func answered(call DisplayItem, duration int64, content string) DisplayItem {
	call.HasResult, call.ToolResult, call.DurationMs = true, content, duration
	call.TokenCount = estimate(call.ToolInput) + estimate(strconv.Quote(content))
	return call
}

func TestBuildChunks(t *testing.T) {
	t.Parallel()
	used := func(m *AIMsg, usage usage.Usage, stop string) *AIMsg {
		m.Usage, m.StopReason = usage, stop
		return m
	}
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []Chunk
	}{
		{name: "nothing"},
		{name: "no message", msgs: []ClassifiedMsg{nil}},
		{
			name: "a user message keeps what it has",
			msgs: []ClassifiedMsg{&UserMsg{
				Timestamp: atMillis(1), Text: "hi", PermissionMode: "plan", Images: 2, Documents: 1, Queued: true,
			}},
			want: []Chunk{{
				Type: UserChunk, Timestamp: atMillis(1), Text: "hi", PermissionMode: "plan", Images: 2, Documents: 1, Queued: true,
			}},
		},
		{
			name: "answers in a row are one chunk, which user, system and compaction end",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), Text: "a"},
				&AIMsg{Timestamp: atMillis(10), Text: "b"},
				user(20, "u"),
				&AIMsg{Timestamp: atMillis(30), Text: "c"},
				&SystemMsg{Timestamp: atMillis(40), Output: "s", Stderr: "e", IsError: true},
				&AIMsg{Timestamp: atMillis(50), Text: "d"},
				&CompactMsg{Timestamp: atMillis(60), Trigger: "auto"},
				&AIMsg{Timestamp: atMillis(70), Text: "e"},
			},
			want: []Chunk{
				{Type: AIChunk, Timestamp: atMillis(0), Text: "a\nb", DurationMs: 10},
				{Type: UserChunk, Timestamp: atMillis(20), Text: "u"},
				{Type: AIChunk, Timestamp: atMillis(30), Text: "c"},
				{Type: SystemChunk, Timestamp: atMillis(40), Text: "s", Stderr: "e", IsError: true},
				{Type: AIChunk, Timestamp: atMillis(50), Text: "d"},
				{Type: CompactChunk, Timestamp: atMillis(60), Compaction: &Compaction{Trigger: "auto"}},
				{Type: AIChunk, Timestamp: atMillis(70), Text: "e"},
			},
		},
		{
			name: "blank texts are not joined",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), Text: "a"},
				&AIMsg{Timestamp: atMillis(0), Text: " \n"},
				ai(0, "m", text(""), text("b")),
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "a\nb", Model: "claude-x", Items: []DisplayItem{outputItem(0, "b")},
			}},
		},
		{
			name: "the model is the first, the stop reason the last that there is",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), IsMeta: true, Model: "meta", Blocks: wire.Content{result("x", "r")}},
				&AIMsg{Timestamp: atMillis(0), Model: "", StopReason: "tool_use"},
				&AIMsg{Timestamp: atMillis(0), Model: "first"},
				&AIMsg{Timestamp: atMillis(0), Model: "second", StopReason: "end_turn"},
				&AIMsg{Timestamp: atMillis(0), Model: "third"},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Model: "first", StopReason: "end_turn",
				Items: []DisplayItem{{Type: ItemOutput, Timestamp: atMillis(0), Text: "r", ToolID: "x", TokenCount: 1}},
			}},
		},
		{
			name: "the usage is that of the last answer that has one, and no sum",
			msgs: []ClassifiedMsg{
				used(ai(0, "1"), usage.Usage{InputTokens: 5, OutputTokens: 7}, ""),
				used(ai(0, "2"), usage.Usage{CacheReadTokens: 100, OutputTokens: 3}, ""),
				used(ai(0, "3"), usage.Usage{ServiceTier: "standard"}, ""),
				&AIMsg{Timestamp: atMillis(0), IsMeta: true, Usage: usage.Usage{InputTokens: 9}, Blocks: wire.Content{result("x", "r")}},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Model: "claude-x", Usage: usage.Usage{CacheReadTokens: 100, OutputTokens: 3},
				Items: []DisplayItem{{Type: ItemOutput, Timestamp: atMillis(0), Text: "r", ToolID: "x", TokenCount: 1}},
			}},
		},
		{
			name: "without blocks there are no items, but what the message says counts",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(0), ThinkingCount: 2, ToolCalls: []ToolCall{{"t", "Read"}}},
				&AIMsg{Timestamp: atMillis(0), ThinkingCount: 1},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), ThinkingCount: 3, ToolCalls: []ToolCall{{"t", "Read"}},
			}},
		},
		{
			name: "thinking, output and calls are items in order",
			msgs: []ClassifiedMsg{
				&AIMsg{
					Timestamp: atMillis(0), MessageID: "m", Model: "claude-x", Text: "Let me see.", ThinkingCount: 2,
					ToolCalls: []ToolCall{{"t", "Bash"}},
					Blocks: wire.Content{
						thinking("Hmm, hmm."), &wire.RedactedThinkingBlock{Data: "x"}, text("Let me see."),
						toolUse("t", "Bash", `{"command":"ls"}`),
					},
				},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "Let me see.", Model: "claude-x", ThinkingCount: 2,
				ToolCalls: []ToolCall{{"t", "Bash"}},
				Items: []DisplayItem{
					{Type: ItemThinking, Timestamp: atMillis(0), Text: "Hmm, hmm.", TokenCount: 2},
					{Type: ItemThinking, Timestamp: atMillis(0)},
					outputItem(0, "Let me see."),
					called(0, "t", "Bash", `{"command":"ls"}`),
				},
			}},
		},
		{
			name: "messages of teammates fold into the answers",
			msgs: []ClassifiedMsg{
				&TeammateMsg{Timestamp: atMillis(0), Text: "I am done", TeammateID: "bob", Color: "blue"},
				ai(10, "m", text("Thanks.")),
				&TeammateMsg{Timestamp: atMillis(30), Text: "Bye", TeammateID: "eve"},
			},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "Thanks.", Model: "claude-x", DurationMs: 30,
				Items: []DisplayItem{
					{
						Type: ItemTeammateMessage, Timestamp: atMillis(0), Text: "I am done", TokenCount: 2,
						TeammateID: "bob", TeammateColor: "blue",
					},
					outputItem(10, "Thanks."),
					{Type: ItemTeammateMessage, Timestamp: atMillis(30), Text: "Bye", TeammateID: "eve"},
				},
			}},
		},
		{
			name: "times that are not known don't count",
			msgs: []ClassifiedMsg{
				&AIMsg{Text: "a"},
				&AIMsg{Timestamp: atMillis(100), Text: "b"},
				&AIMsg{Timestamp: atMillis(350), Text: "c"},
				&AIMsg{Text: "d"},
			},
			want: []Chunk{{Type: AIChunk, Timestamp: atMillis(100), Text: "a\nb\nc\nd", DurationMs: 250}},
		},
		{
			name: "a clock that goes back makes no negative duration",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(100), Text: "a"},
				&AIMsg{Timestamp: atMillis(40), Text: "b"},
			},
			want: []Chunk{{Type: AIChunk, Timestamp: atMillis(100), Text: "a\nb"}},
		},
		{
			name: "the latest time ends a turn, wherever it stands",
			msgs: []ClassifiedMsg{
				&AIMsg{Timestamp: atMillis(100), Text: "a"},
				&AIMsg{Timestamp: atMillis(300), Text: "b"},
				&AIMsg{Timestamp: atMillis(200), Text: "c"},
			},
			want: []Chunk{{Type: AIChunk, Timestamp: atMillis(100), Text: "a\nb\nc", DurationMs: 200}},
		},
		{
			name: "a block that is not known is an output, and no answer",
			msgs: []ClassifiedMsg{ai(0, "m", unknownBlock(`{"type":"hologram","x":1}`), text("See above."))},
			want: []Chunk{{
				Type: AIChunk, Timestamp: atMillis(0), Text: "See above.", Model: "claude-x",
				Items: []DisplayItem{outputItem(0, `{"type":"hologram","x":1}`), outputItem(0, "See above.")},
			}},
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

// unknownBlock decodes one block.
func unknownBlock(block string) wire.Block {
	content, err := wire.DecodeContent(wire.JSON("[" + block + "]"))
	if err != nil {
		panic(err)
	}
	return content[0]
}

func TestBuildChunksCompaction(t *testing.T) {
	t.Parallel()
	boundary := func(millis int64) *CompactMsg {
		return &CompactMsg{
			Timestamp: atMillis(millis), Text: "Conversation compacted", Trigger: "manual",
			PreTokens: 100, PostTokens: 20, Duration: time.Second,
		}
	}
	summary := func(millis int64) *CompactMsg {
		return &CompactMsg{Timestamp: atMillis(millis), Text: "We built a boat.", Summary: true}
	}
	facts := &Compaction{Trigger: "manual", PreTokens: 100, PostTokens: 20, DurationMs: 1000}
	whole := func(millis int64) Chunk {
		return Chunk{Type: CompactChunk, Timestamp: atMillis(millis), Text: "We built a boat.", Compaction: facts}
	}
	alone := Chunk{Type: CompactChunk, Timestamp: atMillis(5), Text: "Conversation compacted", Compaction: facts}
	untold := Chunk{Type: CompactChunk, Timestamp: atMillis(5), Text: "We built a boat.", Compaction: &Compaction{}}
	tests := []struct {
		name string
		msgs []ClassifiedMsg
		want []Chunk
	}{
		{"boundary and summary", []ClassifiedMsg{boundary(5), summary(4)}, []Chunk{whole(5)}},
		{"summary and boundary", []ClassifiedMsg{summary(5), boundary(6)}, []Chunk{whole(5)}},
		{"boundary alone", []ClassifiedMsg{boundary(5)}, []Chunk{alone}},
		{"summary alone", []ClassifiedMsg{summary(5)}, []Chunk{untold}},
		{"two boundaries", []ClassifiedMsg{boundary(5), boundary(5)}, []Chunk{alone, alone}},
		{"two summaries", []ClassifiedMsg{summary(5), summary(5)}, []Chunk{untold, untold}},
		{"two boundaries and a summary", []ClassifiedMsg{boundary(5), boundary(6), summary(7)}, []Chunk{alone, whole(6)}},
		{"two compactions", []ClassifiedMsg{boundary(5), summary(5), boundary(9), summary(9)}, []Chunk{whole(5), whole(9)}},
		{
			"not over another chunk",
			[]ClassifiedMsg{boundary(5), user(6, "go on"), summary(5)},
			[]Chunk{alone, {Type: UserChunk, Timestamp: atMillis(6), Text: "go on"}, untold},
		},
		{
			"boundary without a time",
			[]ClassifiedMsg{
				&CompactMsg{Trigger: "manual", PreTokens: 100, PostTokens: 20, Duration: time.Second}, summary(5),
			},
			[]Chunk{whole(5)},
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
