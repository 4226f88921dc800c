package tools_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// A letter is read from text.
type letter int

func (l *letter) UnmarshalText(text []byte) error { *l = letter(text[0]); return nil }
func (l letter) MarshalText() ([]byte, error)     { return []byte{byte(l)}, nil }

// A sealed value is read in a way of its own.
type sealed struct{ text json.RawMessage }

func (s *sealed) UnmarshalJSON(data []byte) error { s.text = data; return nil }
func (s sealed) MarshalJSON() ([]byte, error)     { return s.text, nil }

// A strict value is read in a way of its own, but as its fields say.
type strict struct {
	N int `json:"n"`
}

func (s *strict) UnmarshalJSON(data []byte) error {
	type plain strict
	return json.Unmarshal(data, (*plain)(s))
}

// A schema allows what a type reads, and a function gets it.
func TestSchemaOfTypes(t *testing.T) {
	const anything = `{"type":["null","boolean","number","string","array","object"]}`
	for name, test := range map[string]struct {
		tool         *tools.Tool
		schema, sent string // of the field V
	}{
		"time":            {field[time.Time](), `{"type":"string","format":"date-time"}`, `"2026-01-02T03:04:05Z"`},
		"no time":         {field[*time.Time](), `{"type":["null","string"],"format":"date-time"}`, `null`},
		"bytes":           {field[[]byte](), `{"type":["null","string"],"contentEncoding":"base64"}`, `"aGk="`},
		"JSON":            {field[clew.JSON](), anything, `{"a":[1]}`},
		"raw JSON":        {field[json.RawMessage](), anything, `"a"`},
		"pointer to JSON": {field[*json.RawMessage](), anything, `[1]`},
		"text":            {field[letter](), `{"type":"string"}`, `"x"`},
		"list of texts":   {field[[]letter](), `{"type":["null","array"],"items":{"type":"string"}}`, `["x","y"]`},
		"address":         {field[netip.Addr](), `{"type":"string"}`, `"127.0.0.1"`},
		"large number":    {field[*big.Int](), `{"type":["null","string"]}`, `null`},
		"number":          {field[json.Number](), `{"type":"number"}`, `1.50`},
		"unmarshaler":     {field[sealed](), anything, `[true]`},
		"unmarshaler with fields": {field[strict](),
			`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`, `{"n":1}`},
		"map of maps": {field[map[string]map[string]clew.JSON](),
			`{"type":"object","additionalProperties":{"type":"object","additionalProperties":` + anything + `}}`, `{"a":{"b":1}}`},
		"embedded": {field[struct{ sum }](),
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","description":"is added to a"}},
			"required":["a"],"additionalProperties":false}`, `{"a":1}`},
		"hidden fields": {field[struct {
			hidden func()
			Left   chan int `json:"-"`
		}](), `{"type":"object","properties":{},"additionalProperties":false}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c := connect(t, tools.Server(test.tool))
				var list struct {
					Result struct {
						Tools []struct {
							InputSchema struct{ Properties map[string]any }
						}
					}
				}
				reply := c.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				if err := json.Unmarshal([]byte(reply), &list); err != nil {
					t.Fatal(err)
				}
				got := list.Result.Tools[0].InputSchema.Properties["V"]
				if diff := cmp.Diff(decoded(t, test.schema), got); diff != "" {
					t.Errorf("schema (-want +got):\n%s", diff)
				}
				input := fmt.Sprintf(`{"V":%s}`, test.sent)
				if got := decodedText(t, c.call(t, "echo", input)); got != input {
					t.Errorf("the function got %s, want %s", got, input)
				}
			})
		})
	}
}

// field is a tool whose input has the one field V, and that returns its input.
func field[T any]() *tools.Tool {
	return tools.New("echo", "", echo[struct{ V T }])
}
