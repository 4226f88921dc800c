package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// fill puts text in the place of % in a frame.
func fill(frame, text string) string { return strings.Replace(frame, "%", text, 1) }

// The content has been nested under message, and flat on the frame; a string,
// and a list.
func TestShapesOfContent(t *testing.T) {
	for _, kind := range []string{"assistant", "user"} {
		for _, shape := range []string{
			`{"type":"KIND","message":{"role":"r","model":"m","content":%},"session_id":"s","new":1}`,
			`{"type":"KIND","role":"r","model":"m","content":%,"session_id":"s","new":1}`,
			`{"content":%,"session_id":"s","model":"m","role":"r","new":1,"type":"KIND"}`,
			`{"type":"KIND","message":null,"role":"r","model":"m","content":%,"session_id":"s","new":1}`,
		} {
			for _, content := range []string{`"Hi."`, `[{"type":"text","text":"Hi."}]`, `[{"type":"text","text":"H"},{"type":"text","text":"i."}]`} {
				frame := fill(strings.Replace(shape, "KIND", kind, 1), content)
				msg := wire.Decode([]byte(frame))
				api, session := apiMessage(t, msg)
				if api.Content.Text() != "Hi." || api.Role != "r" || api.Model != "m" || session != "s" {
					t.Errorf("%s: %+v", frame, msg)
				}
				if diff := cmp.Diff(value(t, []byte(frame)), value(t, encoded(t, msg))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", frame, diff)
				}
			}
		}
	}
}

func apiMessage(t testing.TB, msg wire.Message) (m wire.APIMessage, session string) {
	t.Helper()
	switch msg := msg.(type) {
	case *wire.AssistantMessage:
		return msg.APIMessage, msg.SessionID
	case *wire.UserMessage:
		return msg.APIMessage, msg.SessionID
	}
	t.Fatalf("%T: %v", msg, msg)
	return
}

// The flat shape is written flat again without its raw bytes, too.
func TestFlatShapeWithoutRaw(t *testing.T) {
	const frame = `{"type":"user","role":"user","content":"Hi.","session_id":"s"}`
	msg := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true}).Decode([]byte(frame))
	if got := encoded(t, msg); string(got) != frame {
		t.Errorf("encoded %s", got)
	}
}

// The frames of older agents have fewer fields.
func TestFramesOfOlderAgents(t *testing.T) {
	init := decodeAs[*wire.InitMessage](t, `{"type":"system","subtype":"init","cwd":"/p","session_id":"abc-123",
		"tools":["Task","Bash"],"mcp_servers":[{"name":"docs","status":"connected"}],"model":"claude-opus-4-20250514",
		"permissionMode":"bypassPermissions","apiKeySource":"none"}`)
	if init.CWD != "/p" || init.PermissionMode != wire.PermissionModeBypassPermissions ||
		init.APIKeySource != wire.APIKeySourceNone || init.MCPServers[0].Status != "connected" || init.UUID != "" {
		t.Errorf("init %+v", init)
	}

	use := decodeAs[*wire.AssistantMessage](t, `{"type":"assistant","message":{"id":"msg_01ABC","type":"message",
		"role":"assistant","model":"claude-opus-4-20250514","content":[{"type":"text","text":"I'll create that file for you."},
		{"type":"tool_use","id":"toolu_01XYZ","name":"Write","input":{"file_path":"/path/to/file.txt","content":"File contents"}}],
		"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":1,
		"cache_read_input_tokens":2,"output_tokens":3,"service_tier":"standard"}},"session_id":"abc-123"}`)
	if use.ID != "msg_01ABC" || use.StopReason != wire.StopReasonToolUse || use.Usage.TotalTokens() != 10 ||
		use.Content.ToolUses()[0].Name != "Write" || use.ParentToolUseID != "" {
		t.Errorf("assistant %+v", use)
	}

	answer := decodeAs[*wire.UserMessage](t, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result",
		"tool_use_id":"toolu_01XYZ","content":"File created successfully","is_error":false}]},"session_id":"abc-123"}`)
	if block := answer.Content.ToolResults()[0]; block.Text() != "File created successfully" || block.Failed() {
		t.Errorf("result %+v", block)
	}

	result := decodeAs[*wire.ResultMessage](t, `{"type":"result","subtype":"success","is_error":false,"duration_ms":3000,
		"duration_api_ms":2500,"num_turns":2,"result":"Done.","session_id":"abc-123","total_cost_usd":0.05,
		"usage":{"input_tokens":4,"output_tokens":3,"server_tool_use":{"web_search_requests":0}}}`)
	if result.Duration.Duration().Seconds() != 3 || result.NumTurns != 2 || result.TotalCostUSD != 0.05 {
		t.Errorf("result %+v", result)
	}
}
