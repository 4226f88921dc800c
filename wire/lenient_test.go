package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// The pointer names the field, also when an earlier one has the same text.
func TestPointersAmongEqualValues(t *testing.T) {
	for frame, want := range map[string]string{
		`{"a":5,"type":5}`:                              "/type",
		`{"a":"","type":""}`:                            "/type",
		`{"a":{"type":5},"type":5}`:                     "/type",
		`{"x":{},"message":{},"type":"user"}`:           "/message/content",
		`{"x":{"a":1},"type":"user","message":{"a":1}}`: "/message/content",
	} {
		var field *wire.FieldError
		if msg := invalid(t, frame); !errors.As(msg, &field) || field.Pointer != want {
			t.Errorf("%s: %v, want %s", frame, msg, want)
		}
	}
}

// A type that is there, but no string, is not missing.
func TestTypesOfAnotherKind(t *testing.T) {
	for frame, want := range map[string]string{
		`{"type":"stream_event","event":{"type":5},"uuid":"u","session_id":"s"}`: "/event/type",
	} {
		var field *wire.FieldError
		if msg := invalid(t, frame); !errors.As(msg, &field) || field.Pointer != want || field.Missing {
			t.Errorf("%s: %v, want %s", frame, msg, want)
		}
	}
	block := blockOf[*wire.InvalidBlock](t, `{"type":5}`)
	var field *wire.FieldError
	if !errors.As(block.Err(), &field) || field.Pointer != "/message/content/0/type" {
		t.Errorf("%v", block.Err())
	}
}

// Garbage behind a frame with a bad field is a syntax error, as inside of it.
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
