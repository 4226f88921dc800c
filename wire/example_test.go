package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/clewdev/clew/wire"
)

// The frames of a short turn, as the agent writes them.
const turn = `{"type":"system","subtype":"init","session_id":"5f2c","model":"opus","tools":["Bash"]}
{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"Let me look."}]},"session_id":"5f2c"}
{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},"session_id":"5f2c"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"go.mod"}]},"session_id":"5f2c"}
{"type":"result","subtype":"success","result":"It is a Go module.","duration_ms":2400,"total_cost_usd":0.0125,"session_id":"5f2c"}
`

func ExampleReader() {
	r := wire.NewReader(strings.NewReader(turn), nil)
	for msg, err := range r.Messages() {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch msg := msg.(type) {
		case *wire.AssistantMessage:
			fmt.Print(msg.Content.Text())
			for _, call := range msg.Content.ToolUses() {
				fmt.Println(" ->", call.Name, call.Input)
			}
		case *wire.UserMessage:
			for _, result := range msg.Content.ToolResults() {
				fmt.Println("<-", result.Text())
			}
		case *wire.ResultMessage:
			fmt.Println(msg.Result)
		}
	}
	// Output:
	// Let me look. -> Bash {"command":"ls"}
	// <- go.mod
	// It is a Go module.
}

// Bad data comes as messages and does not end the stream.
func ExampleReader_badData() {
	stream := "warning: disk is full\n" + `{"type":"assist` + "\n" + `{"type":"keep_alive"}` + "\n" + `{"type":"hologram"}` + "\n"
	for msg, err := range wire.NewReader(strings.NewReader(stream), nil).Messages() {
		switch msg := msg.(type) {
		case *wire.TextLine:
			fmt.Println("text:", msg.Text)
		case *wire.InvalidFrame:
			fmt.Println("invalid:", msg)
		case *wire.UnknownMessage:
			fmt.Println("unknown:", msg.Kind())
		default:
			fmt.Println(msg.Kind(), err)
		}
	}
	// Output:
	// text: warning: disk is full
	// invalid: wire: invalid frame at line 2, offset 22: unexpected end of JSON at byte 15
	// keep_alive <nil>
	// unknown: hologram
}

func ExampleReaderOptions() {
	opts := &wire.ReaderOptions{MaxFrameBytes: 64, HideText: true}
	for msg := range wire.NewReader(strings.NewReader("a warning\n"+turn), opts).Messages() {
		var large *wire.TooLargeError
		if invalid, ok := msg.(*wire.InvalidFrame); ok && errors.As(invalid, &large) {
			fmt.Println("line", invalid.Line, "has", large.Size, "bytes")
		}
	}
	// Output:
	// line 2 has 86 bytes
	// line 3 has 115 bytes
	// line 4 has 151 bytes
	// line 5 has 125 bytes
	// line 6 has 130 bytes
}

func ExampleFeeder() {
	f := wire.NewFeeder(nil)
	for _, chunk := range []string{`{"type":"keep_`, `alive"}` + "\n" + `{"type":`, `"keep_alive"}`} {
		fmt.Println(len(f.Feed([]byte(chunk))))
	}
	fmt.Println(len(f.Drain()))
	// Output:
	// 0
	// 1
	// 0
	// 1
}

func ExampleCollector() {
	var c wire.Collector
	for msg, err := range wire.NewReader(strings.NewReader(turn), nil).Messages() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if text := c.Add(msg); text != "" {
			fmt.Printf("new: %s\n", text)
		}
	}
	fmt.Println(c.Text())
	fmt.Println(c.ToolUses()[0].Name, c.SessionID(), c.Duration(), c.CostUSD(), c.IsError())
	// Output:
	// new: Let me look.
	// It is a Go module.
	// Bash 5f2c 2.4s 0.0125 false
}

func ExampleDecode() {
	for _, frame := range []string{
		`{"type":"result","subtype":"success","result":"Done.","num_turns":3}`,
		`{"type":"result","subtype":"success","result":"Done.","num_turns":"three"}`,
		`{"type":"result"`,
	} {
		switch msg := wire.Decode([]byte(frame)).(type) {
		case *wire.ResultMessage:
			fmt.Println(msg.Result, msg.NumTurns, wire.Misfits(msg))
		case *wire.InvalidFrame:
			fmt.Println(msg)
		}
	}
	// Output:
	// Done. 3 []
	// Done. 0 [/num_turns: expected number, found string]
	// wire: invalid frame: unexpected end of JSON at byte 16
}

// Append writes unchanged fields as they were read, including the fields that this package does not
// know.
func ExampleAppend() {
	msg := wire.Decode([]byte(`{"type":"user","message":{"content":"hello","mood":"good"}}`)).(*wire.UserMessage)
	msg.SessionID = "5f2c"
	line, err := wire.Append(nil, msg)
	fmt.Println(string(line), err)
	// Output: {"type":"user","message":{"content":"hello","mood":"good"},"session_id":"5f2c"} <nil>
}

func ExampleRegistry() {
	type hologram struct{ Color string }
	registry := new(wire.Registry)
	err := registry.Add(wire.Kind{Type: "hologram"}, func(raw json.RawMessage) (any, error) {
		var h hologram
		err := json.Unmarshal(raw, &h)
		return h, err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := wire.NewDecoder(&wire.ReaderOptions{Registry: registry})
	msg := d.Decode([]byte(`{"type":"hologram","color":"blue"}`)).(*wire.CustomMessage)
	fmt.Println(msg.Value.(hologram).Color)
	// Output: blue
}
