package transcript

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

func aiLine(content, model string) string {
	return `{"parentUuid":"p","isSidechain":false,"message":{"id":"msg_1","type":"message","role":"assistant","model":"` + model +
		`","content":` + content + `,"stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":42,` +
		`"cache_read_input_tokens":300,"cache_creation_input_tokens":20}},"requestId":"req_1","type":"assistant","uuid":"u",` +
		lineTimeText + `}`
}

func sawAnswer(blocks ...wire.Block) *AIMsg {
	return &AIMsg{
		Timestamp: lineTime, MessageID: "msg_1", RequestID: "req_1", Model: "claude-opus-5-5", StopReason: "tool_use",
		Usage:  usage.Usage{InputTokens: 100, OutputTokens: 42, CacheReadTokens: 300, CacheCreationTokens: 20},
		Blocks: blocks,
	}
}

func TestClassifyAnswers(t *testing.T) {
	text := sawAnswer(&wire.TextBlock{Text: "Running."})
	text.Text = "Running."

	many := sawAnswer(
		&wire.ThinkingBlock{Thinking: "So."}, &wire.RedactedThinkingBlock{Data: "eA=="},
		&wire.TextBlock{Text: "a"}, &wire.TextBlock{}, &wire.TextBlock{Text: "b"},
		&wire.ToolUseBlock{ID: "toolu_1", Name: "Bash", Input: `{"command":"ls"}`},
		&wire.ToolUseBlock{ID: "", Name: "Bash"},
		&wire.ServerToolUseBlock{ID: "srvtoolu_1", Name: "web_search", Input: `{"query":"go"}`},
		&wire.WebSearchToolResultBlock{ToolUseID: "srvtoolu_1", Content: `[]`},
	)
	many.Text, many.ThinkingCount = "a\nb", 2
	many.ToolCalls = []ToolCall{{"toolu_1", "Bash"}, {"srvtoolu_1", "web_search"}}

	object := sawAnswer(&wire.TextBlock{Text: `{"a":1}`})
	object.Text = `{"a":1}`

	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{name: "text", line: aiLine(`[{"type":"text","text":"Running."}]`, "claude-opus-5-5"), want: text},
		{name: "string", line: aiLine(`"Running."`, "claude-opus-5-5"), want: text},
		{name: "string in a list", line: aiLine(`["Running."]`, "claude-opus-5-5"), want: text},
		{
			name: "all kinds of blocks", want: many,
			line: aiLine(`[{"type":"thinking","thinking":"So."},{"type":"redacted_thinking","data":"eA=="},
				{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"},
				{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}},
				{"type":"tool_use","id":"","name":"Bash"},
				{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}},
				{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]`, "claude-opus-5-5"),
		},
		{name: "nothing said", line: aiLine(`[]`, "claude-opus-5-5"), want: sawAnswer(wire.Content{}...)},
		{name: "content of another shape", line: aiLine(`{"a":1}`, "claude-opus-5-5"), want: object},
		{name: "no message", line: `{"type":"assistant","uuid":"u"}`, noise: "empty"},
		{
			name: "made up", line: aiLine(`[{"type":"text","text":"No response requested."}]`, entrylex.SyntheticModel), noise: "synthetic",
		}, {
			name: "API error", want: &SystemMsg{Timestamp: lineTime, Output: "API Error: 400 bad request", IsError: true},
			line: strings.Replace(aiLine(`[{"type":"text","text":"API Error: 400 bad request"}]`, entrylex.SyntheticModel),
				`"type":"assistant",`, `"type":"assistant","isApiErrorMessage":true,`, 1),
		}, {
			name: "limit reached", want: &SystemMsg{Timestamp: lineTime, Output: "You've hit your limit", IsError: true},
			line: strings.Replace(aiLine(`[{"type":"text","text":"You've hit your limit"}]`, entrylex.SyntheticModel),
				`"type":"assistant",`, `"type":"assistant","isApiErrorMessage":true,`, 1),
		}, {
			name: "API error not marked", want: &SystemMsg{Timestamp: lineTime, Output: "API Error: 500", IsError: true},
			line: aiLine(`[{"type":"text","text":"API Error: 500"}]`, entrylex.SyntheticModel),
		},
	})
}

// A call without an ID or a name is not a call, and thinking without text is still thinking.
func TestClassifyInvalidBlocks(t *testing.T) {
	e, err := DecodeEntry([]byte(aiLine(`[{"type":"tool_use","name":"Bash"},{"type":"tool_use","id":"t"},
		{"type":"thinking"},{"type":"of_tomorrow"},7]`, "m")))
	if err != nil {
		t.Fatal(err)
	}
	msg, ok := Classify(e)
	ai, isAI := msg.(*AIMsg)
	if !ok || !isAI || len(ai.Blocks) != 5 || ai.ToolCalls != nil || ai.ThinkingCount != 1 || ai.Text != "" {
		t.Errorf("%+v", msg)
	}
}

func TestClassifyResults(t *testing.T) {
	const patch = `[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" hi","-there","+world"]}]`
	failed := true
	ok := false
	runClassify(t, classifier{maxResult: 200}, []classifyCase{
		{
			name: "shell", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"one\ntwo","is_error":false}]`,
				`"toolUseResult":{"stdout":"one\ntwo","stderr":"","interrupted":false}`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, ToolUseResult: `{"stdout":"one\ntwo","stderr":"","interrupted":false}`,
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"one\ntwo"`, IsError: &ok}},
			},
		}, {
			name: "blocks", line: userLine(`[{"type":"tool_result","content":[{"type":"text","text":"3"}],"tool_use_id":"toolu_1"}]`,
				`"toolUseResult":[{"type":"text","text":"3"}]`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, ToolUseResult: `[{"type":"text","text":"3"}]`,
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `[{"type":"text","text":"3"}]`}},
			},
		}, {
			name: "refused", line: userLine(`[{"type":"tool_result","content":"no","is_error":true,"tool_use_id":"toolu_1"}]`,
				`"toolUseResult":"Error: no"`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, ToolUseResult: `"Error: no"`,
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"no"`, IsError: &failed}},
			},
		}, {
			name: "edit", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"}]`,
				`"toolUseResult":{"filePath":"a","structuredPatch": `+patch+` }`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, ToolUseResult: `{"filePath":"a","structuredPatch": ` + patch + ` }`, Patch: patch,
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`}},
			},
		}, {
			name: "edit of a long file", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"}]`,
				`"toolUseResult":{"originalFile":"`+strings.Repeat("x", 300)+`","structuredPatch":`+patch+`}`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, Patch: patch,
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`}},
			},
		}, {
			name: "nothing changed", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"}]`,
				`"toolUseResult":{"structuredPatch":[ ]}`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, ToolUseResult: `{"structuredPatch":[ ]}`,
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`}},
			},
		}, {
			name: "subagent with a long report", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"}]`,
				`"toolUseResult":{"status":"completed","prompt":"`+strings.Repeat("x", 300)+`","agentId":"ab45","persistedOutputPath":"/p/a.txt"}`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, AgentID: "ab45", ResultStatus: "completed", PersistedOutputPath: "/p/a.txt",
				Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`}},
			},
		}, {
			name: "teammate", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"}]`,
				`"toolUseResult":{"status":"teammate_spawned","agent_id":"ada@team","agentId":7}`),
			want: &AIMsg{
				Timestamp: lineTime, IsMeta: true, AgentID: "ada@team", ResultStatus: "teammate_spawned",
				ToolUseResult: `{"status":"teammate_spawned","agent_id":"ada@team","agentId":7}`,
				Blocks:        wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`}},
			},
		}, {
			name: "null", line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":null}]`, `"toolUseResult":null`),
			want: &AIMsg{Timestamp: lineTime, IsMeta: true, Blocks: wire.Content{&wire.ToolResultBlock{ToolUseID: "toolu_1"}}},
		}, {
			name: "text behind a result",
			line: userLine(`[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"},{"type":"text","text":"a"}]`, ""),
			want: &AIMsg{Timestamp: lineTime, IsMeta: true, Blocks: wire.Content{
				&wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`}, &wire.TextBlock{Text: "a"},
			}},
		}, {
			name: "text before a result",
			line: userLine(`[{"type":"text","text":"a"},{"tool_use_id":"toolu_1","type":"tool_result","content":"ok"}]`, ""),
			want: &AIMsg{Timestamp: lineTime, IsMeta: true, Blocks: wire.Content{
				&wire.TextBlock{Text: "a"}, &wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"ok"`},
			}},
		}, {
			name: "content of another shape", line: userLine(`{"a": 1}`, ""),
			want: &AIMsg{Timestamp: lineTime, IsMeta: true, Blocks: wire.Content{&wire.TextBlock{Text: `{"a": 1}`}}},
		},
	})
}

// A block that nobody knows is kept where nothing else is in a prompt.
func TestClassifyUnknownBlock(t *testing.T) {
	e, err := DecodeEntry([]byte(userLine(`[{"type":"audio","x":1}]`, "")))
	if err != nil {
		t.Fatal(err)
	}
	msg, _ := Classify(e)
	ai, ok := msg.(*AIMsg)
	if !ok || !ai.IsMeta || len(ai.Blocks) != 1 || ai.Blocks[0].Raw() != `{"type":"audio","x":1}` {
		t.Errorf("%+v", msg)
	}
}
