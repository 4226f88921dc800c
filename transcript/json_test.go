package transcript

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A chunk in JSON has the members of the documented format, and is read as it was.
func TestChunkJSON(t *testing.T) {
	t.Parallel()
	inside := []Chunk{{Turn: 1, Type: UserChunk, Text: "Look <there>", Lines: []int{1}}}
	agent := &Agent{
		ID: "a1", Meta: AgentMeta{AgentType: "Explore", Description: "Look"}, LinkedBy: LinkedByResult, Cost: &Spending{Calls: 1},
		Transcript: &Transcript{
			Chunks: inside, Branches: []Branch{{FromLine: 1, Chunks: inside}}, Info: Info{AgentID: "a1"},
		},
	}
	for want, chunk := range map[string]Chunk{
		`{"turn":2,"type":"user","time":"2026-11-15T10:00:00Z","text":"Hi","images":1,"documents":2,"queued":true,` +
			`"interrupted":true,"cost":{"calls":1,"tokens":2,"cost":0.000003,"unknown_cost":true},"injected":["a & b"],"first_line":3,"last_line":5}`: {
			Turn: 2, Type: UserChunk, Timestamp: atMillis(0), Text: "Hi", Images: 1, Documents: 2, Queued: true, Interrupted: true,
			Cost: &Spending{Calls: 1, Tokens: 2, Cost: 3 * usage.Dollar / 1_000_000, UnknownCost: true}, Injected: []string{"a & b"}, Lines: []int{3, 5},
		},
		`{"turn":0,"type":"system","text":"out","stderr":"err","is_error":true}`: {
			Type: SystemChunk, Text: "out", Stderr: "err", IsError: true,
		},
		`{"turn":0,"type":"compact","text":"","compaction":{"trigger":"auto","pre_tokens":9,"post_tokens":0,"duration_ms":7}}`: {
			Type: CompactChunk, Compaction: &Compaction{Trigger: "auto", PreTokens: 9, DurationMs: 7},
		},
		`{"turn":1,"type":"ai","text":"So","model":"m","stop_reason":"end_turn","duration_ms":5,"items":[` +
			`{"type":"thinking","text":"Hm","tokens":1},` +
			`{"type":"subagent","tool":"Agent","tool_id":"t1","summary":"Look","input":{"prompt":"<>"},"result":"Found","has_result":true,` +
			`"is_error":true,"structured":{"a":1},"patch":[],"status":"done","output":"Found it","output_path":"/x",` +
			`"images":[{"media_type":"image/png","data":"AQ=="}],"image_count":2,"injected":["b"],"duration_ms":4,"tokens":3,` +
			`"subagent_type":"Explore","description":"Look","agent_id":"a1","agents":[` +
			`{"id":"a1","type":"Explore","description":"Look","linked_by":"result","cost":{"calls":1,"tokens":0,"cost":0},` +
			`"chunks":[{"turn":1,"type":"user","text":"Look <there>","first_line":1,"last_line":1}],` +
			`"branches":[{"from_line":1,"chunks":[{"turn":1,"type":"user","text":"Look <there>","first_line":1,"last_line":1}]}]}]},` +
			`{"type":"teammate","text":"Hey","teammate":"bo","teammate_color":"red","teammate_summary":"Greets"}],` +
			`"usage":{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_creation_tokens":4}}`: {
			Turn: 1, Type: AIChunk, Text: "So", Model: "m", StopReason: "end_turn", DurationMs: 5, ThinkingCount: 1,
			Usage:     usage.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4},
			ToolCalls: []ToolCall{{ID: "t1", Name: "Agent"}},
			Items: []DisplayItem{
				{Type: ItemThinking, Text: "Hm", TokenCount: 1},
				{
					Type: ItemSubagent, ToolName: "Agent", ToolID: "t1", ToolSummary: "Look", ToolInput: `{"prompt":"<>"}`,
					ToolResult: "Found", HasResult: true, ToolError: true, Structured: `{"a":1}`, Patch: `[]`, Status: "done",
					Output: "Found it", SpillPath: "/x", Images: []Image{{"image/png", []byte{1}}}, ResultImages: 2,
					Injected: []string{"b"}, DurationMs: 4, TokenCount: 3, SubagentType: "Explore", SubagentDesc: "Look",
					AgentID: "a1", Agents: []*Agent{agent},
				},
				{Type: ItemTeammateMessage, Text: "Hey", TeammateID: "bo", TeammateColor: "red", TeammateSummary: "Greets"},
			},
		},
	} {
		got, err := plainJSON(chunk)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		var back Chunk
		err = json.Unmarshal(got, &back)
		if diff := cmp.Diff(chunk, back, cmpopts.IgnoreUnexported(Agent{}, Transcript{}), cmpopts.IgnoreTypes(Drift{})); diff != "" || err != nil {
			t.Errorf("%s read again: %v (-want +got):\n%s", want, err, diff)
		}
	}
}

// Positions and all lines but the first and the last are not in JSON.
func TestChunkJSONLacks(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Chunk{
		Type: UserChunk, PermissionMode: "plan", At: wire.Position{Line: 4, Offset: 9}, Lines: []int{7, 4, 6},
	})
	if want := `{"turn":0,"type":"user","text":"","first_line":4,"last_line":7}`; string(got) != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	var c Chunk
	if err := json.Unmarshal([]byte(`{"type":"robot"}`), &c); err == nil {
		t.Error("an unknown type of chunk is accepted")
	}
}
