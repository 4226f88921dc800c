package features_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// greeterReplies are what the MCP server of the tests answers, by method.
var greeterReplies = map[string]string{
	"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},` +
		`"serverInfo":{"name":"greeter","version":"1.2.3"}}`,
	"tools/list":     `{"tools":[{"name":"greet","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`,
	"tools/call":     `{"content":[{"type":"text","text":"Hello."}],"structuredContent":{"greeting":"Hello."}}`,
	"resources/list": `{"resources":[{"uri":"ui://greeter/page","name":"page"}]}`,
	"resources/read": `{"contents":[{"uri":"ui://greeter/page","mimeType":"text/html","text":"<p>Hello.</p>"}]}`,
}

// serveGreeter starts an MCP server over HTTP, and returns its URL.
func serveGreeter(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(greet))
	t.Cleanup(server.Close)
	return server.URL
}

// greet is the server that greets.
func greet(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if call.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	reply, ok := greeterReplies[call.Method]
	if !ok {
		reply = "{}"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, reply)
}

func (s *controlled) testServers(t *testing.T) {
	change := must(s.SetMCPServers(t.Context(), map[string]clew.MCPServer{
		"greeter": &clew.MCPHTTPServer{URL: serveGreeter(t)},
	}))(t)
	want := &clew.MCPServersChange{Added: []string{"greeter"}, Removed: []string{}, Errors: map[string]string{}}
	if diff := cmp.Diff(want, change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	s.testServerTool(t)
	s.testServerState(t)
	change = must(s.SetMCPServers(t.Context(), nil))(t)
	want = &clew.MCPServersChange{Added: []string{}, Removed: []string{"greeter"}, Errors: map[string]string{}}
	if diff := cmp.Diff(want, change); diff != "" {
		t.Errorf("change back (-want +got):\n%s", diff)
	}
}

func (s *controlled) testServerTool(t *testing.T) {
	for name, call := range map[string]*clew.MCPCall{
		"for the model": {Tool: "mcp__greeter__greet", Arguments: map[string]string{"name": "you"}},
		"for a program": {Tool: "mcp__greeter__greet", NotForModel: true},
	} {
		result := must(s.CallMCP(t.Context(), call))(t)
		if result.Content == "" || result.StructuredContent != `{"greeting":"Hello."}` {
			t.Errorf("%s: result %+v", name, result)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result := must(s.CallMCP(ctx, &clew.MCPCall{Tool: "mcp__greeter__greet"}))(t)
	if result.Content == "" || result.Staging == nil || !result.Staging.OK {
		t.Errorf("with a deadline: result %+v", result)
	}
	_, err := s.CallMCP(t.Context(), &clew.MCPCall{Tool: "mcp__greeter__greet", ExpiresAt: time.Unix(0, 0)})
	wantRefused(t, err, "expired")
	_, err = s.CallMCP(t.Context(), &clew.MCPCall{Tool: "mcp__nobody__greet"})
	wantRefused(t, err, "not connected")
	_, err = s.CallMCP(t.Context(), nil)
	wantRefused(t, err, "fully-qualified")

	contents := must(s.ReadMCPResource(t.Context(), "greeter", "ui://greeter/page"))(t)
	want := []clew.MCPResourceContent{{URI: "ui://greeter/page", MIMEType: "text/html", Text: "<p>Hello.</p>"}}
	if diff := cmp.Diff(want, contents); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	_, err = s.ReadMCPResource(t.Context(), "greeter", "file:///etc/hosts")
	wantRefused(t, err, "ui://")
}

func (s *controlled) testServerState(t *testing.T) {
	if err := s.ToggleMCP(t.Context(), "greeter", false); err != nil {
		t.Error(err)
	}
	if got := s.greeter(t); got.State != clew.MCPStateDisabled {
		t.Errorf("turned off: %+v", got)
	}
	if err := s.ToggleMCP(t.Context(), "greeter", true); err != nil {
		t.Error(err)
	}
	if err := s.ReconnectMCP(t.Context(), "greeter"); err != nil {
		t.Error(err)
	}
	wantRefused(t, s.ReconnectMCP(t.Context(), "nobody"), "not found")
	got := s.greeter(t)
	if got.State != clew.MCPStateConnected || got.Transport != "http" || got.Source != "dynamic" || len(got.Tools) != 1 ||
		got.Tools[0].Annotations.ReadOnly == nil || got.ServerInfo == nil || got.ServerInfo.Version != "1.2.3" {
		t.Errorf("connected: %+v", got)
	}

	if got := must(s.SetMCPPermissionMode(t.Context(), "greeter", wire.PermissionModeDefault))(t); got != "" {
		t.Errorf("warning %q", got)
	}
	if got := must(s.SetMCPPermissionMode(t.Context(), "nobody", ""))(t); got == "" {
		t.Error("no warning about a server that is not there")
	}
	_, err := s.SetMCPPermissionMode(t.Context(), "greeter", wire.PermissionModePlan)
	wantRefused(t, err, "tighten-only")
	err = s.SendMCPMessage(t.Context(), "greeter", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	if err != nil {
		t.Error(err)
	}
}

// greeter returns the status of the only server.
func (s *controlled) greeter(t *testing.T) clew.MCPServerStatus {
	t.Helper()
	list := must(s.MCPStatus(t.Context()))(t)
	if len(list) != 1 || list[0].Name != "greeter" {
		t.Fatalf("servers %+v", list)
	}
	return list[0]
}
