package features_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// An mcpMessage is a message of a client to an MCP server.
type mcpMessage struct {
	ID     wire.JSON `json:"id"`
	Method string    `json:"method"`
	Params struct {
		Arguments struct{ A, B int } `json:"arguments"`
	} `json:"params"`
	Result wire.JSON `json:"result"`
}

// mcpReply answers a message.
func mcpReply(id wire.JSON, result string) wire.JSON {
	return wire.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// mcpText is the result of a tool.
func mcpText(text string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text) }

// mcpStart are the results with which a server with one tool introduces itself, by method.
func mcpStart(tool string) map[string]string {
	return map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"` + tool + `","inputSchema":{"type":"object"}}]}`,
	}
}

// An adder is an MCP server with a tool that adds two numbers, if they are small.
type adder struct{}

func (adder) HandleMCP(_ context.Context, message wire.JSON) (wire.JSON, error) {
	var m mcpMessage
	if err := message.Decode(&m); err != nil || m.ID == "" {
		return "", err
	}
	if m.Method != "tools/call" {
		return mcpReply(m.ID, mcpStart("add")[m.Method]), nil
	}
	if m.Params.Arguments.A > 10 {
		return "", errors.New("out of fingers")
	}
	return mcpReply(m.ID, mcpText(strconv.Itoa(m.Params.Arguments.A+m.Params.Arguments.B))), nil
}

func TestRealMCPInProcess(t *testing.T) {
	t.Parallel()
	model, door := clewtest.NewModel(t), new(permissionCalls).say(clew.Allow(), nil)
	model.On("small").Reply(clewtest.ToolUse("mcp__calc__add", map[string]int{"a": 1, "b": 2}))
	model.On("big").Reply(clewtest.ToolUse("mcp__calc__add", map[string]int{"a": 100, "b": 2}))
	model.OnToolResult("").Reply(clewtest.Text("I see."))
	s := connect(t, model, &clew.Options{
		CanUseTool: door.call,
		MCPServers: map[string]clew.MCPServer{"calc": &clew.MCPInProcessServer{Handler: adder{}}},
	})
	if result := only(t, ask(t, s, "Add small numbers").toolResults()); result.Failed() || result.Text() != "3" {
		t.Errorf("result %s", result.Raw())
	}
	if request := only(t, door.calls()); request.MCPServer == nil || request.MCPServer.Name != "calc" {
		t.Errorf("request %s", request.Raw())
	}
	result := only(t, ask(t, s, "Add big numbers").toolResults())
	if !result.Failed() {
		t.Errorf("result %s", result.Raw())
	}
	wantText(t, "the result", result.Text(), "out of fingers")
}

// A registry is an MCP server over HTTP with a tool that asks the user for a name before it answers.
type registry struct{ names chan wire.JSON }

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m mcpMessage
	switch {
	case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Method == "":
		s.names <- m.Result
		w.WriteHeader(http.StatusAccepted)
	case m.ID == "":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call":
		w.Header().Set("Content-Type", "text/event-stream")
		s.call(r.Context(), w, m.ID)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, mcpReply(m.ID, mcpStart("register")[m.Method]))
	}
}

// call asks the client, as an event of the answer, and gives back what it hears.
func (s *registry) call(ctx context.Context, w http.ResponseWriter, id wire.JSON) {
	_, _ = fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Your name?",`+
		`"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`+"\n\n")
	w.(http.Flusher).Flush()
	select {
	case name := <-s.names:
		_, _ = fmt.Fprintf(w, "data: %s\n\n", mcpReply(id, mcpText(string(name))))
	case <-ctx.Done():
	}
}

func TestRealElicitation(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&registry{names: make(chan wire.JSON, 1)})
	t.Cleanup(server.Close)
	model := clewtest.NewModel(t)
	model.OnToolResult("").Reply(clewtest.Text("I see."))
	model.On("").Reply(clewtest.ToolUse("mcp__registry__register", nil))
	user := new(elicitationCalls)
	s := connect(t, model, &clew.Options{
		AllowedTools:  []string{"mcp__registry__register"},
		MCPServers:    map[string]clew.MCPServer{"registry": &clew.MCPHTTPServer{URL: server.URL}},
		OnElicitation: user.call,
	})
	for _, tt := range []struct {
		answer *clew.ElicitationResult
		want   string
	}{
		{&clew.ElicitationResult{Action: clew.ElicitationAccept, Content: map[string]string{"name": "Ada"}},
			`{"action":"accept","content":{"name":"Ada"}}`},
		{&clew.ElicitationResult{Action: clew.ElicitationDecline}, `{"action":"decline"}`},
	} {
		user.say(tt.answer, nil)
		result := only(t, ask(t, s, "Register me").toolResults())
		request := only(t, user.calls())
		if request.MCPServerName != "registry" || request.Message != "Your name?" || request.RequestedSchema == "" {
			t.Errorf("request %s", request.Raw())
		}
		if result.Text() != tt.want {
			t.Errorf("the server heard %s, want %s", result.Text(), tt.want)
		}
	}
}
