package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// A changed field shows, one set to its zero value is left out, and everything
// else stays what it was.
func TestChangedResults(t *testing.T) {
	const head = `{"type":"result","subtype":"success","new":1,`
	for _, tt := range []struct {
		name, read string
		change     func(*wire.ResultMessage)
		want       string
	}{
		{"string", `"result":"a"`, func(m *wire.ResultMessage) { m.Result = "b" }, `"result":"b"`},
		{"string to zero", `"result":"a"`, func(m *wire.ResultMessage) { m.Result = "" }, ``},
		{"string from null", `"result":null`, func(m *wire.ResultMessage) { m.Result = "b" }, `"result":"b"`},
		{"string from nothing", ``, func(m *wire.ResultMessage) { m.Result = "b" }, `"result":"b"`},
		{"bool", `"is_error":false`, func(m *wire.ResultMessage) { m.IsError = true }, `"is_error":true`},
		{"bool to zero", `"is_error":true`, func(m *wire.ResultMessage) { m.IsError = false }, ``},
		{"int", `"num_turns":1`, func(m *wire.ResultMessage) { m.NumTurns = -2 }, `"num_turns":-2`},
		{"int to zero", `"num_turns":1`, func(m *wire.ResultMessage) { m.NumTurns = 0 }, ``},
		{"float", `"total_cost_usd":1.50`, func(m *wire.ResultMessage) { m.TotalCostUSD = 0.25 }, `"total_cost_usd":0.25`},
		{"float to zero", `"total_cost_usd":1.5`, func(m *wire.ResultMessage) { m.TotalCostUSD = 0 }, ``},
		{"duration", `"duration_ms":1`, func(m *wire.ResultMessage) { m.Duration = 1e21 }, `"duration_ms":1e+21`},
		{"enum", `"stop_reason":null`, func(m *wire.ResultMessage) { m.StopReason = wire.StopReasonEndTurn }, `"stop_reason":"end_turn"`},
		{"strings", `"user_message_uuids":["a","b"]`, func(m *wire.ResultMessage) { m.UserMessageUUIDs[1] = "c" },
			`"user_message_uuids":["a","c"]`},
		{"strings to nil", `"user_message_uuids":["a"]`, func(m *wire.ResultMessage) { m.UserMessageUUIDs = nil }, ``},
		{"strings to empty", `"user_message_uuids":["a"]`, func(m *wire.ResultMessage) { m.UserMessageUUIDs = []string{} },
			`"user_message_uuids":[]`},
		{"objects", `"permission_denials":[{"tool_name":"a","x":1}]`,
			func(m *wire.ResultMessage) {
				m.PermissionDenials[0].ToolName = "b"
				m.PermissionDenials = append(m.PermissionDenials, wire.PermissionDenial{ToolUseID: "1"})
			}, `"permission_denials":[{"tool_name":"b","x":1},{"tool_use_id":"1"}]`},
		{"objects to nil", `"permission_denials":[{}]`, func(m *wire.ResultMessage) { m.PermissionDenials = nil }, ``},
		{"null object", `"permission_denials":[null]`, func(m *wire.ResultMessage) { m.PermissionDenials[0].ToolName = "a" },
			`"permission_denials":[{"tool_name":"a"}]`},
		{"map", `"modelUsage":{"a":{"inputTokens":1,"x":1},"b":{}}`,
			func(m *wire.ResultMessage) {
				m.ModelUsage["c"] = wire.ModelUsage{OutputTokens: 2}
				delete(m.ModelUsage, "b")
			}, `"modelUsage":{"a":{"inputTokens":1,"x":1},"c":{"outputTokens":2}}`},
		{"map to nil", `"modelUsage":{"a":{}}`, func(m *wire.ResultMessage) { m.ModelUsage = nil }, ``},
		{"map to empty", `"modelUsage":{"a":{}}`, func(m *wire.ResultMessage) { clear(m.ModelUsage) }, `"modelUsage":{}`},
		{"empty map", ``, func(m *wire.ResultMessage) { m.ModelUsage = map[string]wire.ModelUsage{} }, `"modelUsage":{}`},
		{"object", `"usage":{"input_tokens":1,"x":1}`, func(m *wire.ResultMessage) { m.Usage.InputTokens = 2 },
			`"usage":{"input_tokens":2,"x":1}`},
		{"object to nil", `"usage":{"input_tokens":1}`, func(m *wire.ResultMessage) { m.Usage = nil }, ``},
		{"empty object to nil", `"usage":{}`, func(m *wire.ResultMessage) { m.Usage = nil }, ``},
		{"new object", `"usage":null`, func(m *wire.ResultMessage) { m.Usage = &wire.Usage{} }, `"usage":{}`},
		{"replaced object", `"usage":{"input_tokens":1,"x":1}`, func(m *wire.ResultMessage) { m.Usage = &wire.Usage{OutputTokens: 2} },
			`"usage":{"output_tokens":2}`},
		{"raw", `"structured_output":{"a":1}`, func(m *wire.ResultMessage) { m.StructuredOutput = `[2]` },
			`"structured_output":[2]`},
		{"raw to nil", `"structured_output":{"a":1}`, func(m *wire.ResultMessage) { m.StructuredOutput = "" }, ``},
		{"empty raw to nil", `"structured_output":{}`, func(m *wire.ResultMessage) { m.StructuredOutput = "" }, ``},
		{"false raw to nil", `"structured_output":false`, func(m *wire.ResultMessage) { m.StructuredOutput = "" }, ``},
		{"raw null", ``, func(m *wire.ResultMessage) { m.StructuredOutput = `null` }, `"structured_output":null`},
		{"two members", `"result":"a","result":"b"`, func(m *wire.ResultMessage) { m.Result = "c" }, `"result":"c"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg := decodeAs[*wire.ResultMessage](t, head+tt.read+tail(tt.read))
			tt.change(msg)
			want := head + tt.want + tail(tt.want)
			if diff := cmp.Diff(value(t, []byte(want)), value(t, encoded(t, msg))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// tail closes a frame behind members, which may be none.
func tail(members string) string {
	if members == "" {
		return `"z":0}`
	}
	return `,"z":0}`
}

// nil, false and true of is_error can each be turned into the others.
func TestChangedPointers(t *testing.T) {
	states := map[string]*bool{``: nil, `,"is_error":false`: new(false), `,"is_error":true`: new(true)}
	for from := range states {
		for to, v := range states {
			block := blockOf[*wire.ToolResultBlock](t, `{"type":"tool_result","tool_use_id":"1"`+from+`}`)
			block.IsError = v
			want := `{"type":"tool_result","tool_use_id":"1"` + to + `}`
			if got, err := block.MarshalJSON(); err != nil || string(got) != want {
				t.Errorf("%q to %q: %s, %v", from, to, got, err)
			}
		}
	}
	hook := decodeAs[*wire.HookResponseMessage](t, `{"type":"system","subtype":"hook_response","exit_code":null}`)
	hook.ExitCode = new(0)
	if want := `{"type":"system","subtype":"hook_response","exit_code":0}`; string(encoded(t, hook)) != want {
		t.Errorf("encoded %s", encoded(t, hook))
	}
	hook = decodeAs[*wire.HookResponseMessage](t, `{"type":"system","subtype":"hook_response","exit_code":0}`)
	hook.ExitCode = nil
	if want := `{"type":"system","subtype":"hook_response"}`; string(encoded(t, hook)) != want {
		t.Errorf("encoded %s", encoded(t, hook))
	}
}

func TestChangedContent(t *testing.T) {
	for _, tt := range []struct {
		name, read string
		change     func(*wire.UserMessage)
		want       string
	}{
		{"text of a string", `"a"`, func(m *wire.UserMessage) { m.Content[0].(*wire.TextBlock).Text = "b" }, `"b"`},
		{"string to empty", `"a"`, func(m *wire.UserMessage) { m.Content[0].(*wire.TextBlock).Text = "" }, `""`},
		{"string grows a block", `"a"`,
			func(m *wire.UserMessage) { m.Content = append(m.Content, &wire.TextBlock{Text: "b"}) },
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"string with cache control", `"a"`,
			func(m *wire.UserMessage) {
				m.Content[0].(*wire.TextBlock).CacheControl = &wire.CacheControl{Type: "ephemeral"}
			},
			`[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]`},
		{"list loses a block", `[{"type":"text","text":"a"},{"type":"new"}]`,
			func(m *wire.UserMessage) { m.Content = m.Content[1:] }, `[{"type":"new"}]`},
		{"list stays a list", `[{"type":"text","text":"a"}]`,
			func(m *wire.UserMessage) { m.Content[0].(*wire.TextBlock).Text = "b" }, `[{"type":"text","text":"b"}]`},
		{"list to empty", `[{"type":"text","text":"a"}]`, func(m *wire.UserMessage) { m.Content = wire.Content{} }, `[]`},
		{"empty block to empty", `[{}]`, func(m *wire.UserMessage) { m.Content = wire.Content{} }, `[]`},
	} {
		for _, shape := range []string{`{"type":"user","message":{"role":"user","content":%},"x":1}`, `{"type":"user","content":%,"x":1}`} {
			t.Run(tt.name, func(t *testing.T) {
				msg := decodeAs[*wire.UserMessage](t, fill(shape, tt.read))
				tt.change(msg)
				if diff := cmp.Diff(value(t, []byte(fill(shape, tt.want))), value(t, encoded(t, msg))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestUnmarshalJSON(t *testing.T) {
	var usage wire.Usage
	if err := json.Unmarshal([]byte(`{"input_tokens":3,"new":1}`), &usage); err != nil || usage.InputTokens != 3 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	if text, err := json.Marshal(&usage); err != nil || string(text) != `{"input_tokens":3,"new":1}` {
		t.Errorf("marshalled %s, %v", text, err)
	}
	var delta wire.TextDeltaEvent
	const event = `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a"}}`
	if err := json.Unmarshal([]byte(event), &delta); err != nil || delta.Text != "a" || delta.Index != 2 {
		t.Errorf("delta %+v, %v", delta, err)
	}
	if err := json.Unmarshal([]byte(event), new(wire.ThinkingDeltaEvent)); err == nil {
		t.Error("a text delta is no thinking delta")
	}
	if err := delta.UnmarshalJSON([]byte(`null`)); err != nil || delta.Text != "a" {
		t.Errorf("delta %+v, %v", delta, err)
	}
	if err := json.Unmarshal([]byte(`{"input_tokens":"3"}`), &usage); err == nil {
		t.Error("a string is no count")
	}
	if err := usage.UnmarshalJSON([]byte(`{"input_tokens":3`)); err == nil {
		t.Error("half an object is none")
	}
	var outer struct {
		Usage  wire.Usage
		Result wire.ResultMessage
	}
	if err := json.Unmarshal([]byte(`{"Usage":null,"Result":{"subtype":"success"}}`), &outer); err != nil {
		t.Errorf("null: %v", err)
	}
}

func TestJSON(t *testing.T) {
	var read struct{ A, B, C wire.JSON }
	if err := json.Unmarshal([]byte(`{"A":{"n":[1]},"B":null}`), &read); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(read)
	if want := `{"A":{"n":[1]},"B":null,"C":null}`; err != nil || string(text) != want {
		t.Errorf("marshalled %s, %v, want %s", text, err, want)
	}
	var got struct{ N []int }
	if err := read.A.Decode(&got); err != nil || len(got.N) != 1 {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if err := read.C.Decode(&got); err == nil {
		t.Error("no value decodes")
	}
}
