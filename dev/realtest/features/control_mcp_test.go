package features_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/wire"
)

// greeterReplies are the replies of the MCP server of the tests, by method.
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
	ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
	defer cancel()
	result := must(s.CallMCP(ctx, &clew.MCPCall{Tool: "mcp__greeter__greet"}))(t)
	if result.Content == "" || result.Staging == nil {
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
	if err := s.SetMCPEnabled(t.Context(), "greeter", false); err != nil {
		t.Error(err)
	}
	if got := s.greeter(t); got.State != clew.MCPStateDisabled {
		t.Errorf("turned off: %+v", got)
	}
	if err := s.SetMCPEnabled(t.Context(), "greeter", true); err != nil {
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

// serveLocked starts an MCP server that nobody gets in to without the token that its own login
// gives.
func serveLocked(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	reply := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, strings.ReplaceAll(text, "$URL", server.URL))
		})
	}
	reply("/.well-known/oauth-protected-resource", `{"resource":"$URL/mcp","authorization_servers":["$URL"]}`)
	reply("/.well-known/oauth-authorization-server", `{"issuer":"$URL","authorization_endpoint":"$URL/authorize",`+
		`"token_endpoint":"$URL/token","registration_endpoint":"$URL/register","response_types_supported":["code"],`+
		`"code_challenge_methods_supported":["S256"],"token_endpoint_auth_methods_supported":["none"]}`)
	reply("/register", `{"client_id":"me","redirect_uris":["http://localhost/callback"]}`)
	reply("/token", `{"access_token":"opensesame","token_type":"Bearer","expires_in":3600}`)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer opensesame" {
			greet(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate",
			`Bearer resource_metadata="`+server.URL+`/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	return server.URL + "/mcp"
}

func TestRealMCPAuth(t *testing.T) {
	t.Parallel()
	s := connect(t, clewtest.NewModel(t), &clew.Options{MCPServers: map[string]clew.MCPServer{
		"locked": &clew.MCPHTTPServer{URL: serveLocked(t)},
	}})
	_, err := s.AuthenticateMCP(t.Context(), "nobody", "")
	wantRefused(t, err, "not found")
	wantRefused(t, s.FinishMCPAuth(t.Context(), "locked", "http://localhost/"), "No active OAuth flow")

	auth := must(s.AuthenticateMCP(t.Context(), "locked", "app://back"))(t)
	page := must(url.Parse(auth.URL))(t)
	if page.Query().Get("redirect_uri") != "app://back" || auth.RedirectScheme != "custom" || !auth.RequiresUserAction {
		t.Errorf("login with a redirect %+v", auth)
	}
	auth = must(s.AuthenticateMCP(t.Context(), "locked", ""))(t)
	if auth.CallbackPort == 0 || auth.State == "" || !auth.CallbackExpected {
		t.Errorf("login %+v", auth)
	}
	wantRefused(t, s.FinishMCPAuth(t.Context(), "locked", "http://localhost/"), "missing authorization code")
	back := fmt.Sprintf("http://localhost:%d/callback?code=c&state=%s", auth.CallbackPort, auth.State)
	if err := s.FinishMCPAuth(t.Context(), "locked", back); err != nil {
		t.Fatal(err)
	}
	if err := s.ReconnectMCP(t.Context(), "locked"); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, "locked", clew.MCPStateConnected)
	if err := s.ClearMCPAuth(t.Context(), "locked"); err != nil {
		t.Error(err)
	}
	wantState(t, s, "locked", clew.MCPStateNeedsAuth)
}

func wantState(t *testing.T, s *clew.Session, server string, want clew.MCPState) {
	t.Helper()
	states := map[string]clew.MCPState{}
	for _, status := range must(s.MCPStatus(t.Context()))(t) {
		states[status.Name] = status.State
	}
	if states[server] != want {
		t.Errorf("server %s is %q, want %q", server, states[server], want)
	}
}

// Logging in a user starts with the addresses of pages, so that no server has to be reached.
func TestRealClaudeAuth(t *testing.T) {
	t.Parallel()
	s := connect(t, clewtest.NewModel(t), nil)
	const wait, finish = "claude_oauth_wait_for_completion", "claude_oauth_callback"
	wantRefused(t, s.Control(t.Context(), wait, nil, nil), "No active")
	code := map[string]string{"authorizationCode": "code", "state": "state"}
	wantRefused(t, s.Control(t.Context(), finish, code, nil), "No active")
	for account, page := range map[clew.ClaudeAccount]string{
		"": "https://claude.com/", clew.ClaudeConsole: "https://platform.claude.com/",
	} {
		auth := must(s.AuthenticateClaude(t.Context(), account))(t)
		if !strings.HasPrefix(auth.ManualURL, page) || !strings.Contains(auth.AutomaticURL, "localhost") {
			t.Errorf("account %q: %+v", account, auth)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Control(ctx, wait, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody has logged in: %v", err)
	}
}

// A server of this process that comes late is connected, and the model can call its tool.
func TestRealMCPLate(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.OnToolResult("").Reply(clewtest.Text("I see."))
	model.On("").Reply(clewtest.ToolUse("mcp__late__add", map[string]int{"a": 1, "b": 2}))
	s := connect(t, model, &clew.Options{AllowedTools: []string{"mcp__late__add"}})
	change := must(s.SetMCPServers(t.Context(), map[string]clew.MCPServer{
		"late": &clew.MCPInProcessServer{Handler: adder{}},
	}))(t)
	want := &clew.MCPServersChange{Added: []string{"late"}, Removed: []string{}, Errors: map[string]string{}}
	if diff := cmp.Diff(want, change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	if result := only(t, ask(t, s, "Add").toolResults()); result.Failed() || result.Text() != "3" {
		t.Errorf("result %s", result.Raw())
	}
	wantState(t, s, "late", clew.MCPStateConnected)
}

// An agent whose token is refused asks its host for another one, continues with it, and leaves no
// trace of it.
func TestRealFreshToken(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"account": {"CLAUDE_CODE_OAUTH_TOKEN=stale"},
		"gateway": {"ANTHROPIC_AUTH_TOKEN=stale", "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t).Reply("Hi.")
			model.When(func(r *clewtest.Request) bool {
				return r.Header.Get("Authorization") != "Bearer fresh"
			}).Fail(http.StatusUnauthorized)
			var record logbook
			s := connect(t, model, &clew.Options{
				Env:   append(env, "ANTHROPIC_API_KEY=", "CLAUDE_CODE_ENTRYPOINT=local-agent"),
				Debug: clew.DebugOptions{Record: &record},
				OnOAuthToken: func(_ context.Context, req *clew.OAuthTokenRequest) (*clew.OAuthTokenResult, error) {
					if req.TokenState != "refused" || req.RefusedCall != "model" {
						t.Errorf("request %s", req.Raw())
					}
					return &clew.OAuthTokenResult{AccessToken: "fresh"}, nil
				},
				OnHostAuthToken: func(_ context.Context, req *clew.HostAuthTokenRequest) (*clew.HostAuthTokenResult, error) {
					if req.Status != http.StatusUnauthorized {
						t.Errorf("request %s", req.Raw())
					}
					return &clew.HostAuthTokenResult{AuthToken: "fresh"}, nil
				},
			})
			ask(t, s, "Hello")
			if text := record.String(); strings.Contains(text, `Token":"fresh`) || !strings.Contains(text, `Token":"***"`) {
				t.Errorf("recorded %s", text)
			}
		})
	}
}
