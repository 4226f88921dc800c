package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/tools"
)

// library returns a server of the SDK with a resource, a prompt and tools.
func library() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "2"}, nil)
	server.AddResource(&mcp.Resource{URI: "book:one", Name: "one"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "book:one", Text: "Once upon a time"}}}, nil
		})
	server.AddResource(&mcp.Resource{URI: "book:two", Name: "two"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			contents := []*mcp.ResourceContents{{URI: "book:two", Meta: mcp.Meta{"pages": make(chan int)}}}
			return &mcp.ReadResourceResult{Contents: contents}, nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "read"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { panic("no light") })
	for name, result := range map[string]*mcp.CallToolResult{
		"lend":   {StructuredContent: make(chan int)},
		"return": {Content: []mcp.Content{(*mcp.TextContent)(nil)}},
		"burn":   nil,
	} {
		plain := &mcp.Tool{Name: name, InputSchema: map[string]string{"type": "object"}}
		server.AddTool(plain, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	return server
}

// A server of the SDK answers by itself. Mounting it keeps its mistakes from the program.
func TestMount(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := connect(t, tools.Mount(library()))
		for message, want := range map[string]string{
			`"resources/read","params":{"uri":"book:one"}`: `"contents":[{"uri":"book:one","text":"Once upon a time"}]`,
			`"prompts/list"`:                               `"prompts":[{"name":"read"}]`,
			`"prompts/get","params":{"name":"read"}`:       `"error":{"code":-32603,"message":"panic in prompts/get: no light"}`,
			`"tools/call","params":{"name":"unknown"}`:     `"error":{"code":-32602,"message":"unknown tool \"unknown\""}`,
			`"resources/read","params":{"uri":"book:two"}`: `"error":{"code":-32603,"message":"the result has no JSON form`,
			`"tools/call","params":{"name":"return"}`:      `"error":{"code":-32603,"message":"the result's block 0 is nil"`,
			`"tools/call","params":{"name":"burn"}`:        `"error":{"code":-32603,"message":"the tool has returned no result"`,
			`"tools/call","params":{"name":"lend"}`: `"error":{"code":-32603,` +
				`"message":"the structured content has no JSON form: json: unsupported type: chan int"}`,
		} {
			if reply := c.say(t, `{"jsonrpc":"2.0","id":1,"method":`+message+`}`); !strings.Contains(reply, want) {
				t.Errorf("reply to %s: %s, want %s", message, reply, want)
			}
		}
	})
}

// A server that looks whether the agent is still there finds it, without asking.
func TestKeepAlive(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Second})
		if err := tools.Add(server, tools.New("add", "", add)); err != nil {
			t.Fatal(err)
		}
		c := connect(t, tools.Mount(server))
		time.Sleep(time.Minute)
		if got := decodedText(t, c.call(t, "add", `{"a":1}`)); got != "1" || len(c.messages()) > 0 {
			t.Errorf("result %s, messages %q", got, c.messages())
		}
	})
}

// A session that the server ends says so to whoever uses it.
func TestServerEndsSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := library()
		c := connect(t, tools.Mount(server))
		for session := range server.Sessions() {
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
		reply, err := c.HandleMCP(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if !errors.Is(err, clew.ErrMCPClosed) {
			t.Errorf("reply %s, error %v", reply, err)
		}
	})
}
