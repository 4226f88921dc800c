package wire_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// events has an example of each event, with every field.
var events = []struct {
	want wire.Event
	json string
}{
	{new(wire.MessageStartEvent), `{
		"type": "message_start",
		"message": {
			"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": [],
			"stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1}
		}
	}`},
	{new(wire.ContentBlockStartEvent), `{
		"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}
	}`},
	{new(wire.TextDeltaEvent), `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}`},
	{new(wire.ThinkingDeltaEvent), `{
		"type": "content_block_delta", "index": 1,
		"delta": {"type": "thinking_delta", "thinking": "So", "estimated_tokens": 7}
	}`},
	{new(wire.SignatureDeltaEvent), `{
		"type": "content_block_delta", "index": 1, "delta": {"type": "signature_delta", "signature": "c2ln"}
	}`},
	{new(wire.InputJSONDeltaEvent), `{
		"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a"}
	}`},
	{new(wire.CitationsDeltaEvent), `{
		"type": "content_block_delta", "index": 1,
		"delta": {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "words"}}
	}`},
	{new(wire.CompactionDeltaEvent), `{
		"type": "content_block_delta", "index": 1,
		"delta": {"type": "compaction_delta", "content": "summary", "encrypted_content": "eA=="}
	}`},
	{new(wire.ContentBlockStopEvent), `{"type": "content_block_stop", "index": 1}`},
	{new(wire.MessageDeltaEvent), `{
		"type": "message_delta",
		"delta": {
			"stop_reason": "end_turn", "stop_sequence": "END", "stop_details": {"type": "refusal"},
			"container": {"id": "container_1"}
		},
		"usage": {"output_tokens": 9}, "context_management": {"applied_edits": []}
	}`},
	{new(wire.MessageStopEvent), `{"type": "message_stop"}`},
	{new(wire.PingEvent), `{"type": "ping"}`},
	{new(wire.ErrorEvent), `{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}`},
}

// eventExamples wraps each event in a frame.
func eventExamples() []example {
	list := []example{{"stream_event", new(wire.StreamEventMessage), `{
		"type": "stream_event", "event": {"type": "ping"}, "parent_tool_use_id": "toolu_0", "api_message_id": "msg_1",
		"ttft_ms": 700.5, "user_message_uuid": "u1", "user_message_uuids": ["u1"], "resume_reason": "interrupted_turn",
		"thinking_display": "summarized", "abandoned_blocks": {"api_message_id": "msg_0", "from_block_index": 2},
		"owed_rows": [1], "uuid": "e1", "session_id": "s1"
	}`}}
	for _, ev := range events {
		frame := `{"type":"stream_event","event":` + ev.json + `,"uuid":"e1","session_id":"s1"}`
		list = append(list, example{"stream_event", new(wire.StreamEventMessage), frame})
	}
	return list
}

func TestEveryEventHasAnExample(t *testing.T) {
	shown := map[string]bool{typeName(new(wire.UnknownEvent)): true}
	for _, ev := range events {
		shown[typeName(ev.want)] = true
	}
	for _, name := range variants(t, "event.go", "Event") {
		if !shown[name] {
			t.Errorf("no example of %s", name)
		}
	}
}

func TestEventTypes(t *testing.T) {
	for _, ev := range events {
		frame := `{"type":"stream_event","event":` + ev.json + `,"uuid":"e1","session_id":"s1"}`
		got := decodeAs[*wire.StreamEventMessage](t, frame).Event
		if reflect.TypeOf(got) != reflect.TypeOf(ev.want) {
			t.Errorf("%T, want %T for %s", got, ev.want, ev.json)
			continue
		}
		if want := value(t, []byte(ev.json)).(map[string]any)["type"]; got.EventType() != want {
			t.Errorf("%T has type %s, want %s", got, got.EventType(), want)
		}
		if got.Raw() != ev.json {
			t.Errorf("%T has raw %s", got, got.Raw())
		}
	}
}

// An event on a line by itself, without the frame of the agent around it.
func TestBareEvents(t *testing.T) {
	for _, ev := range events {
		msg := decodeAs[*wire.StreamEventMessage](t, ev.json)
		if reflect.TypeOf(msg.Event) != reflect.TypeOf(ev.want) {
			t.Errorf("%T, want %T for %s", msg.Event, ev.want, ev.json)
		}
		if msg.Kind().String() != "stream_event" || msg.UUID != "" || msg.Raw() != ev.json {
			t.Errorf("kind %s, id %q, raw %s", msg.Kind(), msg.UUID, msg.Raw())
		}
		if diff := cmp.Diff(value(t, []byte(ev.json)), value(t, encoded(t, msg))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ev.json, diff)
		}
	}
}

func TestUnknownEvents(t *testing.T) {
	for name, tt := range map[string]struct{ event, want string }{
		"unknown event":    {`{"type":"message_rewind","to":3}`, "message_rewind"},
		"unknown delta":    {`{"type":"content_block_delta","index":0,"delta":{"type":"audio_delta","pcm":"AA"}}`, "content_block_delta"},
		"no delta":         {`{"type":"content_block_delta","index":0}`, "content_block_delta"},
		"null delta":       {`{"type":"content_block_delta","index":0,"delta":null}`, "content_block_delta"},
		"delta not object": {`{"type":"content_block_delta","index":0,"delta":"text"}`, "content_block_delta"},
		"untyped delta":    {`{"type":"content_block_delta","index":0,"delta":{"text":"a"}}`, "content_block_delta"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := `{"type":"stream_event","event":` + tt.event + `,"uuid":"e1","session_id":"s1"}`
			msg := decodeAs[*wire.StreamEventMessage](t, frame)
			event, ok := msg.Event.(*wire.UnknownEvent)
			if !ok {
				t.Fatalf("%T", msg.Event)
			}
			if event.EventType() != tt.want || event.Raw() != tt.event {
				t.Errorf("type %s, raw %s", event.EventType(), event.Raw())
			}
			if diff := cmp.Diff(value(t, []byte(frame)), value(t, encoded(t, msg))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A text delta without its text is an empty piece, not a bad frame.
func TestTextDeltaWithoutText(t *testing.T) {
	const frame = `{"type":"content_block_delta","delta":{"type":"text_delta"}}`
	event, ok := decodeAs[*wire.StreamEventMessage](t, frame).Event.(*wire.TextDeltaEvent)
	if !ok || event.Text != "" || event.Index != 0 {
		t.Errorf("event %+v", event)
	}
}

// The member type may come last, and the index after the delta.
func TestEventMembersInAnyOrder(t *testing.T) {
	const frame = `{"session_id":"s","uuid":"e","event":{"delta":{"text":"a","type":"text_delta"},"index":3,` +
		`"type":"content_block_delta"},"type":"stream_event"}`
	event, ok := decodeAs[*wire.StreamEventMessage](t, frame).Event.(*wire.TextDeltaEvent)
	if !ok || event.Text != "a" || event.Index != 3 {
		t.Errorf("event %+v", event)
	}
}

// A frame that starts as usual takes a faster path than one with a space in it, and gives the same
// message.
func TestUsualFramesAreReadAlike(t *testing.T) {
	const head = `{"type":"stream_event","event":{"type":"content_block_delta","index":`
	for _, frame := range []string{
		head + `0,"delta":{"type":"text_delta","text":"a"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"m"}`,
		head + `12,"delta":{"type":"text_delta","text":"é\n\"🚀"}},"session_id":"s","parent_tool_use_id":"t","uuid":"u\u0041","ttft_ms":5}`,
		head + `1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}},"uuid":"u","session_id":"s"}`,
		head + `1,"delta":{"type":"thinking_delta","thinking":"a","estimated_tokens":7}},"session_id":"s","uuid":"u"}`,
		head + `1,"delta":{"type":"thinking_delta","thinking":"a","estimated_tokens":null}},"session_id":"s","uuid":"u","x":1}`,
		head + `1,"delta":{"type":"text_delta","text":"a","x":1}},"session_id":"s","uuid":"u"}`,
		head + `1,"delta":{"type":"text_delta","text":"a"},"x":1},"session_id":"s","uuid":"u"}`,
		head + `1,"delta":{"type":"text_delta","text":"a"}},"session_id":null,"uuid":"u"}`,
		head + `1,"delta":{"type":"text_delta","text":"a"}},"session_id":"s"}`,
		head + `1,"delta":{"type":"text_delta","text":"a"}},"session_id":"s","uuid":"u","event":{"type":"ping"}}`,
		head + `1,"delta":{"type":"text_delta","text":"a"}},"session_id":"s","parent_tool_use_id":nullx,"uuid":"u"}`,
		head + `1.5,"delta":{"type":"text_delta","text":"a"}},"session_id":"s","uuid":"u"}`,
		head + `1,"delta":{"type":"text_delta","text":"a` + "\x01" + `"}},"session_id":"s","uuid":"u"}`,
		head + `1,"delta":{"type":"text_delta","text":"a"}},"session_id":"s","uuid":5}`,
		head + `1,"delta":{"type":"text_delta","text":"a"}},"session_id":"s","uuid":"u"`,
	} {
		quick, slow := wire.Decode([]byte(frame)), wire.Decode([]byte("{ "+frame[1:]))
		if diff := cmp.Diff(fmt.Sprintf("%T", slow), fmt.Sprintf("%T", quick)); diff != "" {
			t.Errorf("%s (-slow +quick):\n%s", frame, diff)
		}
		if bad, ok := quick.(*wire.InvalidFrame); ok {
			if _, ok := slow.(*wire.InvalidFrame); !ok {
				t.Errorf("%s: %v", frame, bad)
			}
			continue
		}
		if diff := cmp.Diff(slow, quick, exported); diff != "" {
			t.Errorf("%s (-slow +quick):\n%s", frame, diff)
		}
	}
}
