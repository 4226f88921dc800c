package wire_test

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// Frames whose values have several spellings, or say nothing: all of it is kept.
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
