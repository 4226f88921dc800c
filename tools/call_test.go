package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// returns is a tool that returns a value.
func returns[T any](value T) *tools.Tool {
	return tools.New("get", "", func(context.Context, any) (T, error) { return value, nil })
}

// failure is the JSON of a result that reports that a tool failed.
func failure(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":true}`, text)
}

func TestResults(t *testing.T) {
	type pair struct {
		Key string `json:"key"`
	}
	structured := tools.NewResult(tools.Text("see below"))
	structured.StructuredContent, structured.Meta = pair{"<k>"}, map[string]any{"m": 1}
	badContent := &tools.Result{StructuredContent: make(chan int)}
	for name, test := range map[string]struct {
		tool *tools.Tool
		want string
	}{
		"string": {returns("a <b> & c"), `{"content":[{"type":"text","text":"a <b> & c"}]}`},
		"number": {returns(7), `{"content":[{"type":"text","text":"7"}]}`},
		"list":   {returns([]string{"<a>"}), `{"content":[{"type":"text","text":"[\"<a>\"]"}]}`},
		"struct": {returns(pair{"<k>"}),
			`{"content":[{"type":"text","text":"{\"key\":\"<k>\"}"}],"structuredContent":{"key":"<k>"}}`},
		"JSON": {returns(clew.JSON(`{"n":1}`)),
			`{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`},
		"string of a type": {returns(name("a")), `{"content":[{"type":"text","text":"a"}]}`},
		"text of a type":   {returns(letter('a')), `{"content":[{"type":"text","text":"\"a\""}]}`},
		"error":            {returns(errors.New("no")), failure("no")},
		"block":            {returns(tools.Text("t")), `{"content":[{"type":"text","text":"t"}]}`},
		"list of blocks":   {returns([]tools.Content{tools.Text("t")}), `{"content":[{"type":"text","text":"t"}]}`},
		"result":           {returns(*tools.NewResult(tools.Text("t"))), `{"content":[{"type":"text","text":"t"}]}`},
		"nothing":          {returns[any](nil), `{"content":[]}`},
		"no result":        {returns[*tools.Result](nil), `{"content":[]}`},
		"no content":       {returns(new(tools.Result)), `{"content":[]}`},
		"blocks": {returns(tools.NewResult(
			tools.Text("t"), tools.Image("image/png", []byte("i")), tools.Audio("audio/wav", nil), tools.Link("file:///l", "l"),
			tools.TextResource("file:///t", "text/plain", "r"), tools.BlobResource("file:///b", "", []byte("b")),
		)),
			`{"content":[{"type":"text","text":"t"},{"type":"image","mimeType":"image/png","data":"aQ=="},
			{"type":"audio","mimeType":"audio/wav","data":""},{"type":"resource_link","uri":"file:///l","name":"l"},
			{"type":"resource","resource":{"uri":"file:///t","mimeType":"text/plain","text":"r"}},
			{"type":"resource","resource":{"uri":"file:///b","blob":"Yg=="}}]}`},
		"structured content": {returns(structured),
			`{"content":[{"type":"text","text":"see below"}],"structuredContent":{"key":"<k>"},"_meta":{"m":1}}`},
		"failure": {returns(tools.Failure("no")), failure("no")},
		"no JSON": {returns(func() {}), failure("encoding the result: json: unsupported type: func()")},
		"bad structured content": {returns(badContent),
			failure("encoding the structured content: json: unsupported type: chan int")},
		"no structured content": {returns(&tools.Result{StructuredContent: (*pair)(nil)}), `{"content":[]}`},
		"structured list": {returns(&tools.Result{StructuredContent: []int{1}}),
			failure("the structured content is not a JSON object")},
		"nil block": {returns(tools.NewResult(nil)), failure("the result's block 0 is nil")},
		"nil text":  {returns(tools.NewResult((*mcp.TextContent)(nil))), failure("the result's block 0 is nil")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := connect(t, tools.Server(test.tool)).call(t, "get", `{}`)
				if diff := cmp.Diff(decoded(t, test.want), decoded(t, got)); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A failure in a call is a result, and the next call works.
func TestCallsThatFail(t *testing.T) {
	fails := func(f func()) *tools.Tool {
		return tools.New("get", "", func(context.Context, any) (any, error) { f(); return "", errors.New("out of order") })
	}
	badMeta := &tools.Result{Meta: mcp.Meta{"c": make(chan int)}}
	badBlock := &mcp.TextContent{Meta: mcp.Meta{"c": make(chan int)}}
	badPart := &mcp.ResourceContents{Meta: mcp.Meta{"b": bomb{}}}
	for name, test := range map[string]struct {
		tool *tools.Tool
		call string
		want string
	}{
		"error":         {fails(func() {}), "get", "out of order"},
		"panic":         {fails(func() { panic("oh") }), "get", "panic in tool get: oh"},
		"bad index":     {fails(func() { _ = strings.Fields("")[0] }), "get", "panic in tool get: runtime error: index"},
		"end of a test": {fails(runtime.Goexit), "get", "the function did not return"},
		"bad metadata":  {returns(badMeta), "get", "encoding the result"},
		"bad block":     {returns(tools.NewResult(badBlock)), "get", "encoding the result"},
		"bad resource":  {returns(tools.NewResult(&mcp.EmbeddedResource{Resource: badPart})), "get", "panic in tool get: oh"},
		"broken result": {returns(broken{}), "get", "encoding the result"},
		"unknown tool":  {fails(func() {}), "got", `unknown tool "got"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, tools.Server(test.tool, tools.New("add", "", add)))
				got := c.call(t, test.call, `{}`)
				if !strings.Contains(got, `"isError":true`) || !strings.Contains(decodedText(t, got), test.want) {
					t.Errorf("result %s, want %s", got, test.want)
				}
				if strings.HasPrefix(test.want, "panic") && !strings.Contains(c.log.String(), "call_test.go") {
					t.Errorf("the log has no stack: %q", c.log.String())
				}
				if got := decodedText(t, c.call(t, "add", `{"a":1,"b":2}`)); got != "3" {
					t.Errorf("the next result: %s", got)
				}
			})
		})
	}
}

// A broken value can't be written.
type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("broken") }

// A bomb goes off when it is written.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("oh") }

// decodedText returns the first text of a result.
func decodedText(t testing.TB, result string) string {
	t.Helper()
	blocks := decoded(t, result).(map[string]any)["content"].([]any)
	text, _ := blocks[0].(map[string]any)["text"].(string)
	return text
}

// Input that does not fit never reaches the function.
func TestInputIsChecked(t *testing.T) {
	for name, test := range map[string]struct{ input, want string }{
		"fits":           {`{"a":1,"b":2}`, "3"},
		"optional field": {`{"a":1}`, "1"},
		"large number":   {`{"a":9007199254740993}`, "9007199254740993"},
		"missing field":  {`{"b":2}`, `missing properties: ["a"]`},
		"wrong type":     {`{"a":"1"}`, `want "integer"`},
		"unknown field":  {`{"a":1,"c":2}`, `unexpected additional properties ["c"]`},
		"nothing":        {`null`, `missing properties: ["a"]`},
		"no object":      {`[1]`, "the input is not an object"},
		"too large":      {`{"a":1e300}`, "the input can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				tool := tools.New("add", "", func(ctx context.Context, in sum) (int, error) { calls++; return add(ctx, in) })
				result := connect(t, tools.Server(tool)).call(t, "add", test.input)
				failed := strings.Contains(result, `"isError":true`)
				if !strings.Contains(decodedText(t, result), test.want) || failed != (calls == 0) {
					t.Errorf("result %s after %d calls, want %s", result, calls, test.want)
				}
			})
		})
	}
}

// A client is an agent as a server sees it.
type client struct {
	clew.MCPConn
	log strings.Builder

	mu    sync.Mutex
	heard []string // what the server has sent
}

// hello is the first message of a client.
const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// connect opens a connection to a server that the end of the test closes, and shakes hands.
func connect(t testing.TB, server *clew.MCPInProcessServer) *client {
	t.Helper()
	c := new(client)
	var err error
	peer := &clew.MCPPeer{Send: c.hear, Logger: slog.New(slog.NewTextHandler(&c.log, nil))}
	c.MCPConn, err = server.Opener.OpenMCP(peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	c.say(t, hello)
	c.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *client) hear(_ context.Context, message clew.JSON) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, string(message))
	return nil
}

// messages returns what the server sent.
func (c *client) messages() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// say sends a message and returns the reply.
func (c *client) say(t testing.TB, message string) string {
	t.Helper()
	reply, err := c.HandleMCP(context.Background(), clew.JSON(message))
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	return string(reply)
}

// callOf is a message that calls a tool. Its progress token is its id.
func callOf(id int, tool, input string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`, id, tool, input, id)
}

// call calls a tool, and returns its result as JSON.
func (c *client) call(t testing.TB, tool, input string) string {
	t.Helper()
	reply := c.say(t, callOf(1, tool, input))
	var response struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(reply), &response); err != nil || response.Result == nil {
		t.Fatalf("reply %s: %v", reply, err)
	}
	return string(response.Result)
}

// decoded returns what a JSON text says.
func decoded(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}
