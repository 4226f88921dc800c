package tools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew"
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
			inBubble(t, func(t *testing.T) {
				reply := connect(t, tools.Server(test.tool)).say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
				list := decoded(t, reply).(map[string]any)["result"].(map[string]any)["tools"]
				if diff := cmp.Diff([]any{decoded(t, test.want)}, list); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Types that are no input.
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

// What is wrong with tools is said when a session begins, by name, and nothing panics.
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
		"twice":       {tools.Server(tools.New("add", "", add), tools.New("add", "", add)), []string{`two tools "add"`}},
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
