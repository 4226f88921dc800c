package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// invalid decodes a frame that does not decode.
func invalid(t testing.TB, frame string) *wire.InvalidFrame {
	t.Helper()
	msg := decodeAs[*wire.InvalidFrame](t, frame)
	if msg.Raw() != frame {
		t.Errorf("raw is %.200s, want %.200s", msg.Raw(), frame)
	}
	return msg
}

func TestFramesThatAreNotJSON(t *testing.T) {
	for _, tt := range []struct {
		name, frame string
		want        wire.SyntaxError
	}{
		{"empty", ``, wire.SyntaxError{Truncated: true}},
		{"white space", " \t\n", wire.SyntaxError{Offset: 3, Truncated: true}},
		{"word", `hello`, wire.SyntaxError{}},
		{"cut after the brace", `{`, wire.SyntaxError{Offset: 1, Truncated: true}},
		{"cut inside a string", `{"type":"us`, wire.SyntaxError{Offset: 11, Truncated: true}},
		{"cut before the end", `{"type":"user","message":{"content":"x"}`, wire.SyntaxError{Offset: 40, Truncated: true}},
		{"no colon", `{"type" "user"}`, wire.SyntaxError{Offset: 8}},
		{"no comma", `{"type":"user" "a":1}`, wire.SyntaxError{Offset: 15}},
		{"comma before the brace", `{"type":"user",}`, wire.SyntaxError{Offset: 15}},
		{"key without quotes", `{type:"user"}`, wire.SyntaxError{Offset: 1}},
		{"single quotes", `{'type':'user'}`, wire.SyntaxError{Offset: 1}},
		{"wrong bracket", `{"type":"x","a":[1}`, wire.SyntaxError{Offset: 18}},
		{"number with a leading zero", `{"type":"x","a":01}`, wire.SyntaxError{Offset: 17}},
		{"NaN", `{"type":"x","a":NaN}`, wire.SyntaxError{Offset: 16}},
		{"unknown escape", `{"type":"x","a":"\q"}`, wire.SyntaxError{Offset: 18}},
		{"control character in a string", "{\"type\":\"x\",\"a\":\"\x01\"}", wire.SyntaxError{Offset: 17}},
		{"words behind the frame", `{"type":"keep_alive"} done`, wire.SyntaxError{Offset: 22}},
		{"brace behind the frame", `{"type":"keep_alive"}}`, wire.SyntaxError{Offset: 21}},
		{"another frame behind the frame", `{"type":"keep_alive"}{"type":"keep_alive"}`, wire.SyntaxError{Offset: 21}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got *wire.SyntaxError
			if msg := invalid(t, tt.frame); !errors.As(msg, &got) {
				t.Fatalf("error %T: %v", msg.Err, msg)
			}
			if got.Offset != tt.want.Offset || got.Truncated != tt.want.Truncated || got.Reason == "" {
				t.Errorf("error %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestFramesWithBadFields(t *testing.T) {
	for _, tt := range []struct {
		name, frame, pointer string
		missing              bool
	}{
		{"array", `[{"type":"user"}]`, "", false},
		{"string", `"user"`, "", false},
		{"number", `5`, "", false},
		{"null", `null`, "", false},
		{"no type", `{"subtype":"init"}`, "/type", true},
		{"empty object", `{}`, "/type", true},
		{"null type", `{"type":null}`, "/type", true},
		{"empty type", `{"type":""}`, "/type", false},
		{"type is a number", `{"type":5}`, "/type", false},
		{"type is an object", `{"type":{"type":"user"}}`, "/type", false},
		{"system without subtype", `{"type":"system"}`, "/subtype", true},
		{"subtype is null", `{"type":"system","subtype":null}`, "/subtype", true},
		{"subtype is a number", `{"type":"system","subtype":1}`, "/subtype", false},
		{"result without subtype", `{"type":"result"}`, "/subtype", true},
		{"assistant without message", `{"type":"assistant"}`, "/message", true},
		{"user with null message", `{"type":"user","message":null}`, "/message", true},
		{"message is a list", `{"type":"user","message":[]}`, "/message", false},
		{"user without content", `{"type":"user","message":{"role":"user"}}`, "/message/content", true},
		{"user with null content", `{"type":"user","message":{"content":null}}`, "/message/content", true},
		{"content is a number", `{"type":"user","message":{"content":5}}`, "/message/content", false},
		{"content is an object", `{"type":"assistant","message":{"content":{}}}`, "/message/content", false},
		{"uuid is a number", `{"type":"keep_alive","startup_mark":5}`, "/startup_mark", false},
		{"nested counter", `{"type":"assistant","message":{"content":[],"usage":{"input_tokens":"3"}}}`,
			"/message/usage/input_tokens", false},
		{"element of a list", `{"type":"assistant","message":{"content":[]},"supersedes":["a",1]}`, "/supersedes/1", false},
		{"element of a list of objects", `{"type":"result","subtype":"success","permission_denials":[{},{"tool_name":1}]}`,
			"/permission_denials/1/tool_name", false},
		{"value of a map", `{"type":"result","subtype":"success","modelUsage":{"a/b~c":{"costUSD":true}}}`,
			"/modelUsage/a~1b~0c/costUSD", false},
		{"response without id", `{"type":"control_response","response":{"subtype":"success"}}`, "/response/request_id", true},
		{"response is a string", `{"type":"control_response","response":"ok"}`, "/response", false},
		{"no response", `{"type":"control_response"}`, "/response", true},
		{"cancel without id", `{"type":"control_cancel_request"}`, "/request_id", true},
		{"stream event without event", `{"type":"stream_event","uuid":"u","session_id":"s"}`, "/event", true},
		{"stream event without uuid", `{"type":"stream_event","event":{"type":"ping"},"session_id":"s"}`, "/uuid", true},
		{"stream event without session", `{"type":"stream_event","event":{"type":"ping"},"uuid":"u"}`, "/session_id", true},
		{"event without type", `{"type":"stream_event","event":{},"uuid":"u","session_id":"s"}`, "/event/type", true},
		{"event is a string", `{"type":"stream_event","event":"ping","uuid":"u","session_id":"s"}`, "/event", false},
		{"text of a delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":1}}`, "/delta/text", false},
		{"limit without status", `{"type":"rate_limit_event","rate_limit_info":{}}`, "/rate_limit_info/status", true},
		{"limit is null", `{"type":"rate_limit_event","rate_limit_info":null}`, "/rate_limit_info", true},
		{"out of range", `{"type":"result","subtype":"success","num_turns":1e19}`, "/num_turns", false},
		{"delta is a string", `{"type":"content_block_delta","delta":"x"}`, "/delta", false},
		{"type of a delta", `{"type":"content_block_delta","delta":{"type":5}}`, "/delta/type", false},
		{"flag of a block", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":"no"}]}}`,
			"/message/content/0/is_error", false},
		{"flat message", `{"type":"assistant","content":"x","usage":{"input_tokens":"3"}}`, "/usage/input_tokens", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := badField(t, tt.frame)
			if got.Pointer != tt.pointer || got.Missing != tt.missing || got.Reason == "" {
				t.Errorf("error %+v, want %q, missing %t", got, tt.pointer, tt.missing)
			}
		})
	}
}

// badField decodes a frame with a bad field, which is invalid only if that is its type.
func badField(t *testing.T, frame string) *wire.FieldError {
	t.Helper()
	msg, ok := wire.Decode([]byte(frame)).(*wire.InvalidFrame)
	if !ok {
		return misfit[wire.Message](t, frame)
	}
	var field *wire.FieldError
	if !errors.As(msg, &field) || msg.Kind().Type != "" {
		t.Fatalf("error %T: %v", msg.Err, msg)
	}
	return field
}

// A number that its field cannot hold does not fit; it never becomes another number. A number in a
// part that stays JSON is kept.
func TestNumbersThatDoNotFit(t *testing.T) {
	for _, number := range []string{"1.5", "1e19", "1e400", "-1e400", "9223372036854775808", "1e-7", "12345678901234567890123"} {
		got := misfit[*wire.ResultMessage](t, `{"type":"result","subtype":"success","num_turns":`+number+`}`)
		if got.Pointer != "/num_turns" {
			t.Errorf("%s as a count: %v", number, got)
		}
		frame := `{"type":"result","subtype":"success","structured_output":{"n":` + number + `},"new":` + number + `}`
		if got := encoded(t, decodeAs[*wire.ResultMessage](t, frame)); string(got) != frame {
			t.Errorf("encoded %s, want %s", got, frame)
		}
	}
	for _, number := range []string{"1e400", "-1e400"} {
		got := misfit[*wire.ResultMessage](t, `{"type":"result","subtype":"success","total_cost_usd":`+number+`}`)
		if got.Pointer != "/total_cost_usd" {
			t.Errorf("%s as a cost: %v", number, got)
		}
	}
}

func TestNumbersAtTheirLimits(t *testing.T) {
	msg := decodeAs[*wire.ActiveGoalMessage](t, `{"type":"active_goal","value":{"set_at":9223372036854775807}}`)
	if msg.Value.SetAt != 1<<63-1 {
		t.Errorf("set at %d", msg.Value.SetAt)
	}
	msg = decodeAs[*wire.ActiveGoalMessage](t, `{"type":"active_goal","value":{"set_at":-9223372036854775808}}`)
	if msg.Value.SetAt != -1<<63 {
		t.Errorf("set at %d", msg.Value.SetAt)
	}
}

func TestDepth(t *testing.T) {
	nested := func(levels int, prefix, suffix string) string {
		return prefix + strings.Repeat("[", levels) + strings.Repeat("]", levels) + suffix
	}
	for name, shape := range map[string]struct {
		prefix, suffix string
		open           int
	}{
		"unknown frame": {`{"type":"new","a":`, `}`, 1},
		"unknown field": {`{"type":"keep_alive","a":`, `}`, 1},
		"raw field":     {`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"x","input":`, `}]}}`, 4},
		"unknown block": {`{"type":"assistant","message":{"content":[{"type":"new","a":`, `}]}}`, 4},
	} {
		if msg, bad := wire.Decode([]byte(nested(10_000-shape.open, shape.prefix, shape.suffix))).(*wire.InvalidFrame); bad {
			t.Errorf("%s, 10,000 levels: %v", name, msg)
		}
		var got *wire.SyntaxError
		msg := invalid(t, nested(10_001-shape.open, shape.prefix, shape.suffix))
		if !errors.As(msg, &got) || !strings.Contains(got.Reason, "10,000") || got.Truncated {
			t.Errorf("%s, 10,001 levels: %v", name, msg)
		}
	}
}

// A frame that is not JSON is reported as that, even if a field before the fault is bad as well.
func TestSyntaxErrorsComeFirst(t *testing.T) {
	for _, frame := range []string{
		`{"type":"result","subtype":5,"a":nil}`,
		`{"type":"result","a":nil}`,
		`{"type":5,"a":nil}`,
		`{"a":nil}`,
		`{"type":"user","message":{"content":["x"]},"a":nil}`,
		`{"type":"user","message":{"content":[{"type":"text","text":5}]},"a":nil}`,
		`{"type":"user","message":{"content":[nil]}}`,
		`{"type":"result","subtype":5`,
		`[nil]`,
	} {
		var got *wire.SyntaxError
		if msg := invalid(t, frame); !errors.As(msg, &got) {
			t.Errorf("%s: %T: %v", frame, msg.Err, msg)
		}
	}
}

// An invalid frame has the kind that its text claims.
func TestInvalidFrameKind(t *testing.T) {
	for frame, want := range map[string]string{
		`{"type":"result"`: "result",
		`{"type":"system","subtype":"task_started","task_id":`: "system/task_started",
		`{"type":"user","message":`:                            "user",
		`{"duration_api_ms":243,"stop_reason":"end_tu`:         "result",
		`{"a":1}`: "",
		`hello`:   "",
	} {
		if got := invalid(t, frame).Kind().String(); got != want {
			t.Errorf("%s: kind %q, want %q", frame, got, want)
		}
	}
}

func TestInvalidFrameText(t *testing.T) {
	for want, err := range map[string]error{
		`wire: invalid frame: /type: required field is missing`: invalid(t, `{"typ":"result"}`),
		`wire: invalid frame: expected object, found array`:     invalid(t, `[]`),
		`wire: invalid frame: unexpected end of JSON at byte 1`: invalid(t, `{`),
		`wire: invalid frame at line 3, offset 70: frame too large: 9 bytes, the limit is 8`: &wire.InvalidFrame{
			Line: 3, Offset: 70, Err: &wire.TooLargeError{Size: 9, Limit: 8},
		},
	} {
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if err := fmt.Errorf("reading: %w", &wire.InvalidFrame{Err: &wire.TooLargeError{}}); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Errorf("%v is not %v", err, wire.ErrFrameTooLarge)
	}
}
