package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/tools"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b,omitempty" jsonschema:"is added to a"`
}

func add(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }

// echo returns its input.
func echo[T any](_ context.Context, in T) (T, error) { return in, nil }

func limit(s *jsonschema.Schema) { s.MaxProperties = new(1) }

func TestDefinition(t *testing.T) {
	const schema = `{"type":"object","required":["a"],"additionalProperties":false,` +
		`"properties":{"a":{"type":"integer"},"b":{"type":"integer","description":"is added to a"}}}`
	for name, test := range map[string]struct {
		tool *tools.Tool
		want string
	}{
		"plain":                {tools.New("add", "Adds", add), `{"name":"add","description":"Adds","inputSchema":` + schema + `}`},
		"pointer":              {tools.New("add", "", echo[*sum]), `{"name":"add","inputSchema":` + schema + `}`},
		"pointer to a pointer": {tools.New("add", "", echo[**sum]), `{"name":"add","inputSchema":` + schema + `}`},
		"any":                  {tools.New("a.b-c_D", "", echo[any]), `{"name":"a.b-c_D","inputSchema":{"type":"object"}}`},
		"map": {tools.New("m", "", echo[map[string]int]),
			`{"name":"m","inputSchema":{"type":"object","additionalProperties":{"type":"integer"}}}`},
		"own schema": {tools.New("m", "", echo[clew.JSON]).Schema(&jsonschema.Schema{Type: "object", MinProperties: new(1)}),
			`{"name":"m","inputSchema":{"type":"object","minProperties":1}}`},
		"refined": {tools.New("m", "", echo[map[string]string]).Refine(limit),
			`{"name":"m","inputSchema":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":1}}`},
		"refined schema": {tools.New("m", "", echo[any]).Schema(&jsonschema.Schema{Type: "object"}).Refine(limit),
			`{"name":"m","inputSchema":{"type":"object","maxProperties":1}}`},
		"everything": {
			tools.New("m", "", echo[any]).Title("M").ReadOnly().Destructive(false).Idempotent().OpenWorld(false).
				MaxResultChars(500_000).AlwaysLoad().SearchHint("letters"),
			`{"name":"m","title":"M","inputSchema":{"type":"object"},
			"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},
			"_meta":{"anthropic/maxResultSizeChars":500000,"anthropic/alwaysLoad":true,"anthropic/searchHint":"letters"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reply := connect(t, tools.Server(test.tool)).say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				list := decoded(t, reply).(map[string]any)["result"].(map[string]any)["tools"]
				if diff := cmp.Diff([]any{decoded(t, test.want)}, list); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Types that can't be an input.
type (
	node struct {
		Next *node `json:"next"`
	}
	badlyEmbedded struct {
		sum `json:"sum"` // is an object in JSON, which a schema would not show
	}
	quoted struct {
		N int `json:"n,string"`
	}
	name string
)

// Mistakes in tools are reported when a session starts, by name, and nothing panics.
func TestBadDefinitions(t *testing.T) {
	t.Parallel()
	wrong := &jsonschema.Schema{Type: "object", Ref: "#/no"}
	for name, test := range map[string]struct {
		server *clew.MCPInProcessServer
		want   []string
	}{
		"nothing":     {tools.Server(), nil},
		"nil":         {tools.Server(nil), []string{"a tool is nil"}},
		"no name":     {tools.Server(tools.New("", "", add)), []string{`""`, "is empty"}},
		"bad name":    {tools.Server(tools.New("a b", "", add)), []string{`"a b"`, "letters, digits"}},
		"long name":   {tools.Server(tools.New(strings.Repeat("a", 129), "", add)), []string{"longer than 128"}},
		"no function": {tools.Server(tools.New[sum, int]("add", "", nil)), []string{`"add"`, "no function"}},
		"twice":       {tools.Server(tools.New("add", "", add), tools.New("add", "", add)), []string{`two tools have the name "add"`}},
		"string":      {tools.Server(tools.New("s", "", echo[string])), []string{`"s"`, "string is neither", "Tool.Schema"}},
		"no object":   {tools.Server(tools.New("s", "", echo[any]).Schema(&jsonschema.Schema{})), []string{`type "object"`}},
		"recursive":   {tools.Server(tools.New("r", "", echo[node])), []string{`"r"`, "cycle", "tools_test.node", "Tool.Schema"}},
		"embedded":    {tools.Server(tools.New("e", "", echo[badlyEmbedded])), []string{`"e"`, "sum can't be embedded"}},
		"deep": {tools.Server(tools.New("d", "", echo[struct{ In []badlyEmbedded }])),
			[]string{"its input: tools_test.badlyEmbedded: the field sum can't"}},
		"no struct":    {tools.Server(tools.New("e", "", echo[struct{ name }])), []string{`"e"`, "name can't be embedded"}},
		"json string":  {tools.Server(tools.New("j", "", echo[quoted])), []string{`"j"`, "N can't have the json option string"}},
		"no schema":    {tools.Server(tools.New("c", "", echo[struct{ C chan int }])), []string{`"c"`, "chan int"}},
		"nil schema":   {tools.Server(tools.New("n", "", echo[any]).Schema(nil)), []string{`"n"`, "the schema is nil"}},
		"wrong schema": {tools.Server(tools.New("w", "", echo[any]).Schema(wrong)), []string{`"w"`}},
		"several":      {tools.Server(nil, tools.New("a b", "", add)), []string{"nil", `"a b"`}},
		"no server":    {tools.Mount(nil), []string{"the server is nil"}},
	} {
		opts := &clew.Options{AgentPath: "/nowhere", MCPServers: map[string]clew.MCPServer{"own": test.server}}
		_, err := clew.Connect(t.Context(), opts)
		if test.want == nil {
			test.want = []string{"/nowhere"} // nothing but the agent is missing
		}
		for _, words := range test.want {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: error %v, want %s", name, err, words)
			}
		}
	}
	if err := tools.Add(nil); err == nil {
		t.Error("no error about a server that is nil")
	}
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ server, tool, want string }{
		{"calc", "add", "mcp__calc__add"},
		{"my calc.2", "add.two-x_y", "mcp__my_calc_2__add_two-x_y"},
		{"größe", "A1", "mcp__gr__e__A1"},
	} {
		if got := tools.New(test.tool, "", add).Name(test.server); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.tool, test.server, got, test.want)
		}
	}
}

// A letter is read from text.
type letter int

func (l *letter) UnmarshalText(text []byte) error { *l = letter(text[0]); return nil }
func (l letter) MarshalText() ([]byte, error)     { return []byte{byte(l)}, nil }

// A sealed value has its own decoder.
type sealed struct{ text json.RawMessage }

func (s *sealed) UnmarshalJSON(data []byte) error { s.text = data; return nil }
func (s sealed) MarshalJSON() ([]byte, error)     { return s.text, nil }

// A strict value has its own decoder, which follows its fields.
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
		"large number":    {field[*big.Int](), `{"type":["null","integer"]}`, `12`},
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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

// Whatever comes, the connection answers with JSON or with an error, and keeps working.
func FuzzHandleMCP(f *testing.F) {
	for _, seed := range []string{
		hello, callOf(1, "add", `{"a":1}`), callOf(1, "echo", `{"a":[{}]}`), callOf(1, "no", `7`), ``, `[]`, `{"id":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"completion/complete"}`,
	} {
		f.Add(seed)
	}
	c := connect(f, tools.Server(tools.New("add", "", add), tools.New("echo", "", echo[any])))
	f.Fuzz(func(t *testing.T, message string) {
		ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
		defer cancel()
		reply, err := c.HandleMCP(ctx, clew.JSON(message))
		if ctx.Err() != nil {
			t.Fatalf("no reply to %s", message)
		}
		if err == nil && reply != "" && !json.Valid([]byte(reply)) {
			t.Errorf("reply %s", reply)
		}
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" {
			t.Errorf("the next call: %s", got)
		}
	})
}
