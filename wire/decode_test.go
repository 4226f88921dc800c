package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

var contents = []string{
	``,
	`null`,
	`"plain"`,
	`"with \"escapes\" and \u00e4"`,
	`[]`,
	` [ {"type":"text","text":"a"} ] `,
	`[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]`,
	`[{"tool_use_id":"toolu_1","type":"tool_result","content":[{"type":"text","text":"a"}],"is_error":true}]`,
	`["bare",{"type":"text","text":"a"},{"type":"text"},7]`,
	`[{"type":"of_tomorrow","x":[1,2]}]`,
	`{"type":"text","text":"no list"}`,
	`17`,
	`[{"type":"text","text":"cut`,
	`"a" "b"`,
}

func TestDecoderContent(t *testing.T) {
	for name, opts := range map[string]*wire.ReaderOptions{
		"with raw":    nil,
		"without raw": {DiscardRaw: true},
	} {
		d := wire.NewDecoder(opts)
		for _, text := range contents {
			want, wantErr := wire.DecodeContent(wire.JSON(text))
			got, err := d.Content([]byte(text))
			if diff := cmp.Diff(want, got, exported); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, text, diff)
			}
			if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s, error of %s (-want +got):\n%s", name, text, diff)
			}
		}
	}
}

func TestDecoderContentRaw(t *testing.T) {
	const text = `[{"type":"text","text":"a"},{"type":"of_tomorrow"},{"type":"tool_use"}]`
	want := []string{`{"type":"text","text":"a"}`, `{"type":"of_tomorrow"}`, `{"type":"tool_use"}`}
	for _, discard := range []bool{false, true} {
		content, err := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: discard}).Content([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range content {
			got = append(got, b.Raw())
		}
		if discard {
			want[0] = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("DiscardRaw %v (-want +got):\n%s", discard, diff)
		}
		var field *wire.FieldError
		if bad, ok := content[2].(*wire.InvalidBlock); !ok || !errors.As(bad.Err(), &field) || !field.Missing {
			t.Errorf("DiscardRaw %v: %#v", discard, content[2])
		}
	}
}

// The bytes may be written over once they are decoded, and the decoder used again.
func TestDecoderContentOwnsItsMemory(t *testing.T) {
	d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
	data := []byte(`[{"type":"text","text":"first"},` +
		`{"tool_use_id":"toolu_1","type":"tool_result","content":"result"},{"type":"of_tomorrow","x":1}]`)
	content, err := d.Content(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'x'
	}
	if _, err := d.Content([]byte(`"next"`)); err != nil {
		t.Fatal(err)
	}
	want := wire.Content{&wire.TextBlock{Text: "first"}, &wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"result"`}}
	if diff := cmp.Diff(want, content[:2], exported); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if raw := content[2].Raw(); raw != `{"type":"of_tomorrow","x":1}` {
		t.Errorf("unknown block %s", raw)
	}
}

// The pointer names the field, even when an earlier one has the same text.
func TestPointersAmongEqualValues(t *testing.T) {
	for frame, want := range map[string]string{
		`{"a":5,"type":5}`:          "/type",
		`{"a":"","type":""}`:        "/type",
		`{"a":{"type":5},"type":5}`: "/type",
	} {
		var field *wire.FieldError
		if msg := invalid(t, frame); !errors.As(msg, &field) || field.Pointer != want {
			t.Errorf("%s: %v, want %s", frame, msg, want)
		}
	}
	for _, frame := range []string{
		`{"x":{},"message":{},"type":"user"}`,
		`{"x":{"a":1},"type":"user","message":{"a":1}}`,
	} {
		if field := misfit[*wire.UserMessage](t, frame); field.Pointer != "/message/content" {
			t.Errorf("%s: %v", frame, field)
		}
	}
}

// A type that is present but not a string is not reported as missing.
func TestTypesOfAnotherKind(t *testing.T) {
	const event = `{"type":"stream_event","event":{"type":5},"uuid":"u","session_id":"s"}`
	if field := misfit[*wire.StreamEventMessage](t, event); field.Pointer != "/event/type" || field.Missing {
		t.Errorf("%v", field)
	}
	block := blockOf[*wire.InvalidBlock](t, `{"type":5}`)
	var field *wire.FieldError
	if !errors.As(block.Err(), &field) || field.Pointer != "/message/content/0/type" {
		t.Errorf("%v", block.Err())
	}
}

// Garbage after a frame with a bad field is a syntax error, like garbage inside it.
func TestGarbageBehindABadField(t *testing.T) {
	for _, frame := range []string{`{"type":5} x`, `{"type":"result"}}`, `{} {}`, `5 x`} {
		var syntax *wire.SyntaxError
		if msg := invalid(t, frame); !errors.As(msg, &syntax) {
			t.Errorf("%s: %v", frame, msg)
		}
	}
}

// Lenient fields can be changed like any other.
func TestChangedLenientFields(t *testing.T) {
	for _, tt := range []struct {
		name, read string
		change     func(wire.Message)
		want       string
	}{
		{"origin to nil", `{"type":"user","message":{"content":"a"},"origin":{"kind":"human"}}`,
			func(m wire.Message) { m.(*wire.UserMessage).Origin = nil }, `{"type":"user","message":{"content":"a"}}`},
		{"errors to nil", `{"type":"result","subtype":"success","errors":["a"]}`,
			func(m wire.Message) { m.(*wire.ResultMessage).Errors = nil }, `{"type":"result","subtype":"success"}`},
		{"id to empty", `{"type":"system","subtype":"new","uuid":"u"}`,
			func(m wire.Message) { m.(*wire.SystemMessage).UUID = "" }, `{"type":"system","subtype":"new"}`},
		{"patch replaced", `{"type":"system","subtype":"task_updated","patch":{"status":"running"}}`,
			func(m wire.Message) {
				m.(*wire.TaskUpdatedMessage).Patch = wire.TaskPatch{Status: wire.TaskStatusFailed}
			}, `{"type":"system","subtype":"task_updated","patch":{"status":"failed"}}`},
		{"bent patch set", `{"type":"system","subtype":"task_updated","patch":"x"}`,
			func(m wire.Message) { m.(*wire.TaskUpdatedMessage).Patch.Status = wire.TaskStatusFailed },
			`{"type":"system","subtype":"task_updated","patch":{"status":"failed"}}`},
		{"request replaced", `{"type":"control_request","request_id":"q","request":{"subtype":"a","x":1}}`,
			func(m wire.Message) {
				m.(*wire.ControlRequestMessage).Request = wire.ControlRequest{Subtype: "b"}
			}, `{"type":"control_request","request_id":"q","request":{"subtype":"b"}}`},
		{"citations to nil", `{"type":"user","message":{"content":[{"type":"text","text":"a","citations":[{"type":"x"}]}]}}`,
			func(m wire.Message) { m.(*wire.UserMessage).Content[0].(*wire.TextBlock).Citations = nil },
			`{"type":"user","message":{"content":[{"type":"text","text":"a"}]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg := wire.Decode([]byte(tt.read))
			tt.change(msg)
			if diff := cmp.Diff(value(t, []byte(tt.want)), value(t, encoded(t, msg))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A message that is used again forgets that it was flat.
func TestUnmarshalIntoAUsedMessage(t *testing.T) {
	var msg wire.UserMessage
	const nested = `{"type":"user","message":{"content":"b"}}`
	for _, frame := range []string{`{"type":"user","content":"a"}`, nested} {
		if err := json.Unmarshal([]byte(frame), &msg); err != nil {
			t.Fatal(err)
		}
	}
	if got := encoded(t, &msg); string(got) != nested {
		t.Errorf("encoded %s, want %s", got, nested)
	}
}

// A flat frame with a null message has no unknown field.
func TestFlatFrameWithNullMessage(t *testing.T) {
	msg := wire.Decode([]byte(`{"type":"user","message":null,"content":"a"}`))
	if fields := wire.UnknownFields(msg); fields != nil {
		t.Errorf("unknown fields %q", fields)
	}
}

// fill puts text in the place of % in a frame.
func fill(frame, text string) string { return strings.Replace(frame, "%", text, 1) }

// Agents sent the content under message and directly on the frame, as a string and as a list.
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

// The flat shape is also written flat again when its raw bytes are gone.
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
