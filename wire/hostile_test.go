package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

// The time grows with the input, not with its square. Each of these inputs is small, and would take
// minutes if every part of it were searched for from the start.
func TestCostIsLinear(t *testing.T) {
	many := func(n int, part string) string { return strings.Repeat(part, soak.Size(n/4, n)) }
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range soak.Size(n/4, n) {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, frame := range map[string]string{
		"invalid blocks":  `{"type":"assistant","message":{"content":[1` + many(200_000, ",1") + `]}}`,
		"unknown fields":  `{"type":"keep_alive"` + numbered(100_000, `,"k%d":1`) + `}`,
		"unknown, flat":   `{"type":"user","content":"a"` + numbered(100_000, `,"k%d":1`) + `}`,
		"keys of a map":   `{"type":"result","subtype":"success","modelUsage":{"m":{}` + numbered(50_000, `,"k%d":{}`) + `}}`,
		"nulls in a list": `{"type":"system","subtype":"init","mcp_servers":[null` + many(100_000, ",null") + `]}`,
		"nested blocks":   `{"type":"user","message":{"content":` + many(4000, `[{"type":"search_result","content":`) + `""` + many(4000, `}]`) + `}}`,
		"a deep error":    `{"type":"result","subtype":"success","usage":{"input_tokens":` + many(9000, "[") + many(9000, "]") + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := wire.Decode([]byte(frame))
			wire.UnknownFields(msg)
			if msg, ok := msg.(*wire.AssistantMessage); ok {
				explain(t, msg.Content)
			}
			if _, ok := msg.(*wire.InvalidFrame); ok {
				return
			}
			if _, err := wire.Append(nil, msg); err != nil {
				t.Error(err)
			}
		})
	}
}

// explain asks up to 20 invalid blocks for their errors, not all of them, because each answer takes
// a walk through the frame.
func explain(t *testing.T, content wire.Content) {
	t.Helper()
	for _, b := range content[:min(20, len(content))] {
		if bad, ok := b.(*wire.InvalidBlock); ok && bad.Err() == nil {
			t.Errorf("%s is invalid without an error", bad.Raw())
		}
	}
}

func TestJoiningIsLinear(t *testing.T) {
	n := soak.Size(10_000, 50_000)
	list := `{"type":"x","a":[1` + strings.Repeat("\n,1", n) + "\n]} \n"
	for name, stream := range map[string]string{
		"objects that end inside of a batch": strings.Repeat(list, 5),
		"text behind a cut string":           `{"type":"x","a":"` + strings.Repeat("\nok", 4*n) + "\n\"\n!\n",
		"small objects":                      strings.Repeat("{\n\"type\":\n\"x\"\n} \n", n),
		"lines that are frames":              `{"type":"x","a":[` + strings.Repeat("\n{\"type\":\"y\"}\n,", n),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := wire.NewFeeder(nil)
			if n := len(f.Feed([]byte(stream))) + len(f.Drain()); n == 0 {
				t.Error("no message")
			}
		})
	}
}

// DiscardRaw keeps the raw text of values that no field holds.
func TestDiscardRawKeepsWhatNothingElseHas(t *testing.T) {
	d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
	for _, frame := range []string{
		`{"type":"system","subtype":"new","x":1}`, `{"type":"autocompact_state","x":1}`, `{"type":"new","x":1}`,
	} {
		if raw := d.Decode([]byte(frame)).Raw(); raw != frame {
			t.Errorf("%s: raw %q", frame, raw)
		}
	}
	request := d.Decode([]byte(`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","input":{}}}`))
	if raw := request.(*wire.ControlRequestMessage).Request.Raw(); raw != `{"subtype":"can_use_tool","input":{}}` {
		t.Errorf("request %q", raw)
	}
	message := d.Decode([]byte(`{"type":"user","message":{"content":["x"]}}`)).(*wire.UserMessage)
	block := message.Content[0].(*wire.InvalidBlock)
	var field *wire.FieldError
	if !errors.As(block.Err(), &field) || field.Pointer != "" || block.Raw() != `"x"` {
		t.Errorf("block %q: %v", block.Raw(), block.Err())
	}
}

func TestDurationSaturates(t *testing.T) {
	for m, want := range map[wire.Millis]int64{1e300: math.MaxInt64, -1e300: math.MinInt64, 1.5: 1_500_000} {
		if got := m.Duration(); int64(got) != want {
			t.Errorf("%v is %v", float64(m), got)
		}
	}
}

// An integer may be written with a point or an exponent.
func TestIntegersWrittenAsFractions(t *testing.T) {
	msg := wire.Decode([]byte(`{"type":"result","subtype":"success","num_turns":3.0,"queued_turn_count":1e2}`))
	result, ok := msg.(*wire.ResultMessage)
	if !ok || result.NumTurns != 3 || result.QueuedTurnCount != 100 {
		t.Errorf("%T: %+v", msg, msg)
	}
}

// Values marshal like pointers to them.
func TestMarshalValues(t *testing.T) {
	const frame = `{"type":"result","subtype":"success","new":1}`
	msg := wire.Decode([]byte(frame)).(*wire.ResultMessage)
	if got, err := json.Marshal(*msg); err != nil || string(got) != frame {
		t.Errorf("%s, %v", got, err)
	}
}

func TestUnmarshalRefusesAnotherType(t *testing.T) {
	if err := json.Unmarshal([]byte(`{"type":"assistant","message":{"content":"a"}}`), new(wire.UserMessage)); err == nil {
		t.Error("an assistant frame is a user message")
	}
	if err := json.Unmarshal([]byte(`{"type":"system","subtype":"status"}`), new(wire.InitMessage)); err == nil {
		t.Error("a status is an init message")
	}
	if err := json.Unmarshal([]byte(`{"type":"image"}`), new(wire.TextBlock)); err == nil {
		t.Error("an image is a text block")
	}
}

// A decoder of a registry is called once for each frame, even when it fails.
func TestRegistryDecodesOnce(t *testing.T) {
	calls := 0
	var registry wire.Registry
	err := registry.Add(wire.Kind{Type: "mine"}, func(json.RawMessage) (any, error) {
		calls++
		return nil, errors.New("no")
	})
	if err != nil {
		t.Fatal(err)
	}
	f := wire.NewFeeder(&wire.ReaderOptions{Registry: &registry})
	f.Feed([]byte("{\"type\":\"mine\"}\n"))
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	calls = 0
	f.Feed([]byte("{\"type\":\"user\",\"message\":\n"))
	if msgs := f.Feed([]byte("{\"type\":\"mine\"}\n")); len(msgs) != 2 {
		t.Errorf("%d messages behind a cut frame: a registered kind has to wait", len(msgs))
	}
}

// A frame that was cut off or is too large still has its kind.
func TestKindOfCutFrames(t *testing.T) {
	f := wire.NewFeeder(&wire.ReaderOptions{MaxFrameBytes: 60})
	f.Feed([]byte(`{"type":"system","subtype":"init","cwd":"/x`))
	for _, msg := range f.Drain() {
		if msg.Kind() != (wire.Kind{Type: "system", Subtype: "init"}) {
			t.Errorf("cut: %v", msg.Kind())
		}
	}
	msgs := f.Feed(bytes.Repeat([]byte(`{"type":"assistant","message":{"content":"`), 10))
	msgs = append(msgs, f.Drain()...)
	if len(msgs) != 1 || msgs[0].Kind().Type != "assistant" {
		t.Errorf("too large: %v", msgs)
	}
}
