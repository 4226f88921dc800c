package features_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
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

// mcpText is a tool result.
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
	model, door := clewtest.NewModel(t), new(permissionCalls).say(permission.Allow(), nil)
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

// A registry is an MCP server over HTTP with a tool that asks the user for a name before it
// answers.
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
		{&clew.ElicitationResult{Action: wire.ElicitationAccept, Content: map[string]string{"name": "Ada"}},
			`{"action":"accept","content":{"name":"Ada"}}`},
		{&clew.ElicitationResult{Action: wire.ElicitationDecline}, `{"action":"decline"}`},
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

func TestRealTool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Run it").Reply(clewtest.Text("Running."), bash("echo one; echo two >&2"))
	model.OnToolResult("one").Reply(clewtest.Text("It ran."))
	k := query(t, model, "Run it", &clew.Options{AllowedTools: []string{"Bash"}})
	use, result := only(t, k.answer().ToolUses()), only(t, k.toolResults())
	if use.Name != "Bash" || use.ID != result.ToolUseID {
		t.Errorf("use %s, result %s", use.Raw(), result.Raw())
	}
	if result.Failed() || result.Text() != "one\ntwo" {
		t.Errorf("result %s", result.Raw())
	}
	if k.result.Result != "It ran." || k.result.NumTurns != 2 {
		t.Errorf("result %s", k.result.Raw())
	}
}

// No tool runs before the hooks of all three wait at once.
func TestRealParallelTools(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Run them").Reply(bash("echo one"), bash("echo two"), bash("echo three"))
	model.OnToolResult("").Reply(clewtest.Text("All ran."))
	var waiting atomic.Int32
	all := make(chan struct{})
	meet := func(ctx context.Context, _ hook.Input) (*hook.Output, error) {
		if waiting.Add(1) == 3 {
			close(all)
		}
		select {
		case <-all:
			return nil, nil
		case <-ctx.Done():
			return nil, errors.New("the others did not come")
		}
	}
	k := query(t, model, "Run them", &clew.Options{
		AllowedTools: []string{"Bash"},
		Hooks: map[hook.Event][]hook.Matcher{
			hook.PreToolUse: {{Hooks: []hook.Func{meet}, Timeout: 10 * time.Minute, OnFailure: hook.FailureBlock}},
		},
	})
	var got []string
	for _, result := range newest(model).ToolResults() {
		got = append(got, result.Text())
	}
	slices.Sort(got) // the first to end comes first
	if diff := cmp.Diff([]string{"one", "three", "two"}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if n := len(k.toolResults()); n != 3 {
		t.Errorf("%d results", n)
	}
}

// A gate stands before an MCP server over HTTP and notes the credentials of its callers.
type gate struct {
	server http.Handler

	mu      sync.Mutex
	callers []string
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.callers = append(g.callers, r.Header.Get("Authorization"))
	g.mu.Unlock()
	g.server.ServeHTTP(w, r)
}

// seen returns the callers, each once if they take no turns.
func (g *gate) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Compact(slices.Clone(g.callers))
}

// Servers of every kind are there in the first turn, and an unusable server is reported.
func TestRealOptionsMCPServers(t *testing.T) {
	t.Parallel()
	greeter, err := url.Parse(serveGreeter(t))
	if err != nil {
		t.Fatal(err)
	}
	remote := &gate{server: httputil.NewSingleHostReverseProxy(greeter)}
	server := httptest.NewServer(remote)
	defer server.Close()
	var log strings.Builder
	r := runWith(t, clewtest.NewModel(t).Reply("Done."), &clew.Options{
		StrictMCPConfig: true,
		Logger:          slog.New(slog.NewTextHandler(&log, nil)),
		MCPServers: map[string]clew.MCPServer{
			"remote": &clew.MCPHTTPServer{URL: server.URL, Headers: map[string]string{"Authorization": "Bearer hidden"}},
			"inside": &clew.MCPInProcessServer{Handler: adder{}, Timeout: time.Minute},
			"broken": &clew.MCPStdioServer{Command: filepath.Join(t.TempDir(), "missing")},
		},
	})
	for _, name := range []string{"mcp__remote__greet", "mcp__inside__add"} {
		if !slices.Contains(r.init.Tools, name) {
			t.Errorf("no %s in %q", name, r.init.Tools)
		}
	}
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "server=broken") {
		t.Errorf("log %s", log.String())
	}
	if diff := cmp.Diff([]string{"Bearer hidden"}, remote.seen()); diff != "" {
		t.Errorf("callers (-want +got):\n%s", diff)
	}
	if strings.Contains(r.record, "hidden") || len(r.request(t, "mcp_set_servers")) == 0 {
		t.Errorf("recorded:\n%s", r.record)
	}
}

// The agent takes a list of rules apart as it was put together.
func TestRealOptionsRules(t *testing.T) {
	t.Parallel()
	rules := []string{"Bash(git log:*,x y)", "Read", "--evil", "mcp__a__*", "Edit(docs/ü.md)"}
	s := connect(t, clewtest.NewModel(t), &clew.Options{AllowedTools: rules, Skills: []string{"my skill"}})
	var got []string
	for _, rule := range must(screens.PermissionRules(t.Context(), s))(t).Rules {
		if rule.Source == "cliArg" {
			got = append(got, rule.Rule)
		}
	}
	if diff := cmp.Diff(append(rules, "Skill(my skill)"), got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
