package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// Values with several spellings, and values without meaning, are kept as they were read.
func TestUnchangedFramesAreTheSame(t *testing.T) {
	for name, frame := range map[string]string{
		"null fields": `{"type":"result","subtype":"success","is_error":null,"result":null,"errors":null,"duration_ms":null,
			"num_turns":null,"usage":null,"modelUsage":null,"permission_denials":null,"structured_output":null,
			"origin":null,"subagent_stats":{"by_type":null,"killed":null},"uuid":null}`,
		"zero fields": `{"type":"result","subtype":"success","is_error":false,"result":"","errors":[],"duration_ms":0,
			"num_turns":0,"usage":{},"modelUsage":{},"permission_denials":[],"structured_output":{},
			"origin":{},"subagent_stats":{"by_type":{},"killed":{}},"uuid":""}`,
		"spellings of zero": `{"type":"result","subtype":"success","num_turns":-0,"duration_ms":0.0,
			"duration_api_ms":-0e5,"total_cost_usd":1e-400}`,
		"spellings of numbers": `{"type":"result","subtype":"success","duration_ms":1.50,"duration_api_ms":1E3,
			"total_cost_usd":0.1000000000000000055511151231257827,"ttft_ms":12345678901234567890}`,
		"big numbers": `{"type":"result","subtype":"success","structured_output":[1e400,0.1e-400,123456789012345678901234567890]}`,
		"escapes": `{"type":"result","subtype":"success","result":"\u0041\/\ud83d\ude00\u2028","errors":["\u0041"],
			"user_message_uuids":["\/"],"modelUsage":{"\u0061":{"provider":"\u0062"}},"n\u0065w":"\u0063"}`,
		"null elements": `{"type":"result","subtype":"success","errors":["a",null],"user_message_uuids":[null],
			"permission_denials":[null,{}],"modelUsage":{"a":null,"b":{}},"usage":{"iterations":[null]},
			"subagent_stats":{"by_type":{"a":null,"b":0}}}`,
		"null object":         `{"type":"system","subtype":"compact_boundary","compact_metadata":null}`,
		"empty object":        `{"type":"system","subtype":"compact_boundary","compact_metadata":{}}`,
		"null content":        `{"type":"assistant","message":{"content":null}}`,
		"no content":          `{"type":"assistant","message":{}}`,
		"empty content":       `{"type":"user","message":{"content":[]}}`,
		"string content":      `{"type":"user","message":{"content":"\u0061"}}`,
		"empty string":        `{"type":"user","message":{"content":""}}`,
		"null event fields":   `{"type":"content_block_delta","index":null,"delta":{"type":"text_delta","text":null}}`,
		"delta without index": `{"type":"content_block_delta","delta":{"type":"text_delta"}}`,
		"null block":          `{"type":"content_block_start","index":0,"content_block":null}`,
		"null requests": `{"type":"control_response","response":{"subtype":"success","request_id":"q",
			"pending_permission_requests":[null]}}`,
		"unknown type":    `{"type":"new","a":[1,2,{"b":null}]}`,
		"unknown subtype": `{"type":"system","subtype":"new","uuid":5,"session_id":null,"a":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := encoded(t, wire.Decode([]byte(frame)))
			if diff := cmp.Diff(value(t, []byte(frame)), value(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := encoded(t, wire.Decode(got)); !bytes.Equal(got, again) {
				t.Errorf("a second time it is %s, not %s", again, got)
			}
			if bytes.ContainsAny(got, "\r\n") {
				t.Errorf("more than a line: %s", got)
			}
		})
	}
}

// Strings keep the spelling that they were read with, wherever they stand.
func TestEscapesAreVerbatim(t *testing.T) {
	const frame = `{"type":"result","subtype":"success","result":"\u0041\/","errors":["\u0041"],"n":"\u0063"}`
	if got := encoded(t, wire.Decode([]byte(frame))); string(got) != frame {
		t.Errorf("encoded %s", got)
	}
}

func TestUnknownFieldsSurviveAtAllDepths(t *testing.T) {
	const frame = `{"type":"assistant","x1":1,"message":{"x2":2,"content":[{"type":"text","text":"a","x3":3,
		"citations":[{"type":"char_location","x4":4}]},{"type":"tool_use","id":"1","name":"n","caller":{"x5":5}}],
		"usage":{"x6":6,"iterations":[{"x7":7}]}},"usage_report":{"session":{"model_usage":{"m":{"x8":8}}}}}`
	msg := decodeAs[*wire.AssistantMessage](t, frame)
	msg.Content[0].(*wire.TextBlock).Text = "b"
	msg.Usage.InputTokens = 5
	want := []string{
		"message.content[].caller.x5", "message.content[].citations[].x4", "message.content[].x3",
		"message.usage.iterations[].x7", "message.usage.x6", "message.x2", "usage_report.session.model_usage.m.x8", "x1",
	}
	if diff := cmp.Diff(want, wire.UnknownFields(msg)); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
	again := decodeAs[*wire.AssistantMessage](t, string(encoded(t, msg)))
	if diff := cmp.Diff(want, wire.UnknownFields(again)); diff != "" {
		t.Errorf("unknown fields after encoding (-want +got):\n%s", diff)
	}
	if again.Content.Text() != "b" || again.Usage.InputTokens != 5 {
		t.Errorf("text %q, tokens %d", again.Content.Text(), again.Usage.InputTokens)
	}
}

// Unknown members with one name all stay, even if only their decoded names are the same. Of known
// ones, the last one counts.
func TestRepeatedFieldsSurvive(t *testing.T) {
	const unknown = `"\ud800":1,"\ud801":2,"x":3,"x":4,"\u0078":5`
	for frame, want := range map[string]string{
		`{"type":"result","subtype":"success",` + unknown + `,"result":"a"}`:               `{"type":"result","subtype":"success",` + unknown + `,"result":"b"}`,
		`{"type":"result","subtype":"success","result":"z", "x" : 3 , "result":"a","x":4}`: `{"type":"result","subtype":"success","result":"b","x":3,"x":4}`,
	} {
		msg := decodeAs[*wire.ResultMessage](t, frame)
		if strings.Count(frame, `"result":`) == 1 {
			if got := string(encoded(t, msg)); got != frame {
				t.Errorf("unchanged: %s", got)
			}
		}
		msg.Result = "b"
		if got := string(encoded(t, msg)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The same in an event, whose members lie at two depths.
func TestRepeatedFieldsOfEventsSurvive(t *testing.T) {
	const frame = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"x":1,"x":2,` +
		`"delta":{"type":"text_delta","\ud800":1,"\udfff":2,"text":"a"}},"session_id":"s","y":1,"y":2}`
	msg := decodeAs[*wire.StreamEventMessage](t, frame)
	msg.Event.(*wire.TextDeltaEvent).Text = "b"
	if got, want := string(encoded(t, msg)), strings.Replace(frame, `"text":"a"`, `"text":"b"`, 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUnknownFieldsOfOtherMessages(t *testing.T) {
	for frame, want := range map[string][]string{
		`{"type":"stream_event","event":{"type":"content_block_delta","x":1,"delta":{"type":"text_delta","y":2}},
			"uuid":"u","session_id":"s"}`: {"event.delta.y", "event.x"},
		`{"type":"system","subtype":"new","x":1}`: nil,
		`{"type":"new","x":1}`:                    nil,
		`{"x":1}`:                                 nil,
	} {
		if diff := cmp.Diff(want, wire.UnknownFields(wire.Decode([]byte(frame)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", frame, diff)
		}
	}
}

// Each variant, made by hand with nothing in it, encodes to a frame of its kind.
func TestEmptyMessagesMadeByHand(t *testing.T) {
	for _, ex := range examples() {
		msg := reflect.New(reflect.TypeOf(ex.want).Elem()).Interface().(wire.Message)
		if msg, ok := msg.(*wire.StreamEventMessage); ok {
			msg.Event = new(wire.PingEvent)
		}
		frame := encoded(t, msg)
		again := wire.Decode(frame)
		if reflect.TypeOf(again) != reflect.TypeOf(msg) {
			t.Errorf("%T becomes %s, %T: %v", msg, frame, again, again)
			continue
		}
		if again.Kind() != msg.Kind() {
			t.Errorf("kind %s becomes %s", msg.Kind(), again.Kind())
		}
	}
}

func TestEmptyBlocksAndEventsMadeByHand(t *testing.T) {
	for _, b := range blocks {
		block := reflect.New(reflect.TypeOf(b.want).Elem()).Interface().(wire.Block)
		msg := &wire.UserMessage{APIMessage: wire.APIMessage{Content: wire.Content{block}}}
		again := decodeAs[*wire.UserMessage](t, string(encoded(t, msg)))
		if got := again.Content[0]; reflect.TypeOf(got) != reflect.TypeOf(block) {
			t.Errorf("%T becomes %T", block, got)
		}
	}
	for _, ev := range events {
		event := reflect.New(reflect.TypeOf(ev.want).Elem()).Interface().(wire.Event)
		again := decodeAs[*wire.StreamEventMessage](t, string(encoded(t, &wire.StreamEventMessage{Event: event})))
		if reflect.TypeOf(again.Event) != reflect.TypeOf(event) {
			t.Errorf("%T becomes %T", event, again.Event)
		}
	}
}

func TestMessageMadeByHand(t *testing.T) {
	msg := &wire.UserMessage{SessionID: "s"}
	msg.Role = wire.RoleUser
	msg.Content = wire.Content{&wire.TextBlock{Text: "a \"b\" <c> \x01 é\n"}}
	const want = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":` +
		`"a \"b\" <c> \u0001 é\n"}]},"session_id":"s"}`
	if diff := cmp.Diff(value(t, []byte(want)), value(t, encoded(t, msg))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessagesWithoutAFrame(t *testing.T) {
	for name, msg := range map[string]wire.Message{
		"text line":       textLine(t),
		"invalid frame":   wire.Decode([]byte(`{`)),
		"nothing":         nil,
		"unknown by hand": new(wire.UnknownMessage),
		"custom by hand":  &wire.CustomMessage{Value: 1},
		"no event":        &wire.StreamEventMessage{UUID: "u", SessionID: "s"},
		"nil block":       &wire.UserMessage{APIMessage: wire.APIMessage{Content: wire.Content{nil}}},
		"raw value":       &wire.ResultMessage{StructuredOutput: `{"a":`},
		"two raw values":  &wire.ResultMessage{StructuredOutput: `1,"is_error":true`},
		"raw values": &wire.TranscriptMirrorMessage{
			Entries: []wire.JSON{`{}`, `{]`}},
		"nested raw value": &wire.AssistantMessage{APIMessage: wire.APIMessage{
			Content: wire.Content{&wire.ToolUseBlock{Input: `nope`}}}},
		"not a number": &wire.ResultMessage{TotalCostUSD: math.NaN()},
		"infinite":     &wire.ResultMessage{Duration: wire.Millis(math.Inf(1))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.Append([]byte("kept"), msg)
			if err == nil || string(got) != "kept" {
				t.Errorf("appended %s, %v", got, err)
			}
		})
	}
}

func TestAppendAppends(t *testing.T) {
	line, err := wire.Append([]byte("before "), &wire.KeepAliveMessage{})
	if want := `before {"type":"keep_alive"}`; err != nil || string(line) != want {
		t.Errorf("%s, %v, want %s", line, err, want)
	}
	line, err = wire.Append([]byte("before "), wire.Decode([]byte("{\"type\":\"new\",\n\"a\":[\r\n1]}")))
	if want := `before {"type":"new", "a":[  1]}`; err != nil || string(line) != want {
		t.Errorf("%s, %v, want %s", line, err, want)
	}
}

// A changed field is written, a field set to its zero value is left out, and everything else stays
// the same.
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

// tail closes a frame after the given members, which may be empty.
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
	var message wire.APIMessage
	const text = `{"role":"user","content":"a","new":1}`
	if err := json.Unmarshal([]byte(text), &message); err != nil || message.Content.Text() != "a" {
		t.Errorf("message %+v, %v", message, err)
	}
	if got, err := json.Marshal(&message); err != nil || string(got) != text || message.Raw() != text {
		t.Errorf("marshalled %s, %v", got, err)
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
	if err := json.Unmarshal([]byte(`{"content":3}`), &message); err == nil {
		t.Error("a number is content")
	}
	if err := message.UnmarshalJSON([]byte(`{"content":"a"`)); err == nil {
		t.Error("half an object is a message")
	}
	var outer struct {
		Usage  wire.Usage
		Result wire.ResultMessage
	}
	if err := json.Unmarshal([]byte(`{"Usage":null,"Result":{"subtype":"success"}}`), &outer); err != nil {
		t.Errorf("null: %v", err)
	}
}

// Nested values have no methods for JSON: encoding/json writes and reads all of their fields.
func TestNestedValuesArePlain(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, ex := range examples() {
		nestedValues(reflect.ValueOf(wire.Decode([]byte(ex.frame))), func(v reflect.Value) {
			seen[v.Type()] = true
			text, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatalf("%s: %v", v.Type(), err)
			}
			agree(t, v.Type().String(), v, value(t, text))
			again := reflect.New(v.Type())
			if err := json.Unmarshal(text, again.Interface()); err != nil {
				t.Fatalf("%s: %s: %v", v.Type(), text, err)
			}
			agree(t, v.Type().String(), again.Elem(), value(t, text))
		})
	}
	if len(seen) < 60 {
		t.Errorf("the examples have %d types of nested values", len(seen))
	}
	for nested := range seen {
		if _, ok := reflect.New(nested).Interface().(interface{ Raw() string }); ok {
			t.Errorf("%s has a method Raw", nested)
		}
	}
}

// An empty field of a nested value is left out, unless the agent requires it.
func TestNestedValuesLeaveOutZero(t *testing.T) {
	for want, v := range map[string]any{
		`{}`:                                   wire.Usage{},
		`{"input_tokens":3}`:                   &wire.Usage{InputTokens: 3},
		`{"status":""}`:                        wire.RateLimitInfo{},
		`{"applied_edits":[]}`:                 wire.ContextManagement{AppliedEdits: []wire.AppliedEdit{}},
		`{"type":"base64","media_type":"a/b"}`: wire.Source{Type: "base64", MediaType: "a/b"},
		`{"subtype":"success","request_id":"q1"}`: wire.ControlResponse{Subtype: "success", RequestID: "q1"},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%T is written as %s, %v, want %s", v, got, err, want)
		}
	}
}

// nestedValues calls do with each struct below v that does not write itself.
func nestedValues(v reflect.Value, do func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			nestedValues(v.Elem(), do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			nestedValues(v.Index(i), do)
		}
	case reflect.Map:
		for _, elem := range v.Seq2() {
			nestedValues(elem, do)
		}
	case reflect.Struct:
		if _, ok := reflect.New(v.Type()).Interface().(json.Marshaler); !ok {
			do(v)
		}
		for field, f := range v.Fields() {
			if field.IsExported() {
				nestedValues(f, do)
			}
		}
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
