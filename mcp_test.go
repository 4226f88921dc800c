package clew

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestMCPServersRequest(t *testing.T) {
	t.Parallel()
	inside := &MCPInProcessServer{Handler: nopHandler{}, Timeout: time.Second}
	header := map[string]string{"H": "v"}
	policy := []MCPToolPolicy{{Name: "t", Permission: MCPAlwaysDeny, OrgMax: "ask"}}
	tests := []struct {
		name    string
		servers map[string]MCPServer
		want    string
	}{
		{"none", nil, `null`},
		{"of this process alone", map[string]MCPServer{"p": inside}, `null`},
		{"stdio", map[string]MCPServer{"s": &MCPStdioServer{Command: "c"}},
			`{"servers":{"s":{"type":"stdio","command":"c","args":[]}}}`},
		{"all", map[string]MCPServer{
			"a": &MCPStdioServer{Command: "c", Args: []string{"x"}, Env: map[string]string{"K": "v"}, Timeout: 2 * time.Second,
				AlwaysLoad: true},
			"b": &MCPSSEServer{URL: "http://b", Headers: header, Tools: policy, Timeout: time.Minute, AlwaysLoad: true},
			"c": &MCPHTTPServer{URL: "http://c", Headers: header, Tools: policy, Timeout: time.Minute, AlwaysLoad: true},
			"d": inside,
		}, `{"servers": {
			"a": {"type": "stdio", "command": "c", "args": ["x"], "env": {"K": "v"}, "timeout": 2000, "alwaysLoad": true},
			"b": {"type": "sse", "url": "http://b", "headers": {"H": "v"},
				"tools": [{"name": "t", "permission_policy": "always_deny", "org_max_permission": "ask"}],
				"timeout": 60000, "alwaysLoad": true},
			"c": {"type": "http", "url": "http://c", "headers": {"H": "v"},
				"tools": [{"name": "t", "permission_policy": "always_deny", "org_max_permission": "ask"}],
				"timeout": 60000, "alwaysLoad": true},
			"d": {"type": "sdk", "timeout": 1000}
		}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(newServersRequest(tt.servers))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(compactJSON(t, tt.want), string(got)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// A badOpener is a server that reports its own defect.
type badOpener struct{}

func (badOpener) OpenMCP(*MCPPeer) (MCPConn, error) { return nil, errors.New("never") }

func (badOpener) CheckMCP() error { return errors.New("it has no tools") }

func TestInProcessServerIsChecked(t *testing.T) {
	t.Parallel()
	for want, server := range map[string]*MCPInProcessServer{
		`"s" has no Handler`:                   {},
		`"s" has both a Handler and an Opener`: {Handler: nopHandler{}, Opener: badOpener{}},
		`"s" can't be used: it has no tools`:   {Opener: badOpener{}},
	} {
		err := checkMCPServers(map[string]MCPServer{"s": server})
		if diff := cmp.Diff(&OptionsError{Option: "MCPServers", Reason: want}, err); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
	}
}

// A handlerFunc is a function as an MCP server.
type handlerFunc func(ctx context.Context, message wire.JSON) (wire.JSON, error)

func (f handlerFunc) HandleMCP(ctx context.Context, message wire.JSON) (wire.JSON, error) {
	return f(ctx, message)
}

// calc is a host whose server calc replies as given.
func calc(reply wire.JSON, err error) *Options {
	return &Options{MCPServers: map[string]MCPServer{"calc": &MCPInProcessServer{Handler: handlerFunc(
		func(context.Context, wire.JSON) (wire.JSON, error) { return reply, err },
	)}}}
}

func TestMCPMessage(t *testing.T) {
	t.Parallel()
	const initialized = `{"subtype":"mcp_message","server_name":"calc",
		"message":{"jsonrpc":"2.0","method":"notifications/initialized"}}`
	for name, test := range map[string]struct {
		host       *Options
		body, want string
	}{
		"reply": {
			calc(`{"jsonrpc":"2.0","id":3,"result":{"n":1.0}}`, nil), pingRequest,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"result":{"n":1.0}}}`,
		},
		"notification": {calc("", nil), initialized, `{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}}`},
		"response to the server": {
			calc("", nil), `{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":3,"result":{}}}`,
			`{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}}`,
		},
		"request without a reply": {
			calc("", nil), pingRequest,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"clew: no reply to ping"}}}`,
		},
		"error of the server": {
			calc("", errors.New("out of order")), pingRequest,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"out of order"}}}`,
		},
		"panic of the server": {
			&Options{MCPServers: map[string]MCPServer{"calc": &MCPInProcessServer{Handler: handlerFunc(nil)}}}, pingRequest,
			`{"mcp_response":{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":` +
				`"clew: panic in MCP server calc: runtime error: invalid memory address or nil pointer dereference"}}}`,
		},
		"unknown server": {
			calc("", nil), `{"subtype":"mcp_message","server_name":"x","message":{"id":"a7","method":"tools/list"}}`,
			`{"mcp_response":{"jsonrpc":"2.0","id":"a7","error":{"code":-32601,"message":"Server 'x' not found"}}}`,
		},
		"server without a handler": {
			&Options{MCPServers: map[string]MCPServer{"calc": new(MCPInProcessServer)}}, initialized,
			`{"mcp_response":{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Server 'calc' not found"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, test.host, test.body, test.want)
		})
	}
}

// The handler gets the message as the agent wrote it.
func TestMCPMessageUnchanged(t *testing.T) {
	t.Parallel()
	const message = `{"id":12345678901234567890,"method":"tools/call","params":{"x":1.0}}`
	var got wire.JSON
	echo := handlerFunc(func(_ context.Context, m wire.JSON) (wire.JSON, error) { got = m; return m, nil })
	o := &Options{MCPServers: map[string]MCPServer{"calc": &MCPInProcessServer{Handler: echo}}}
	answer, err := newCallbacks(o).serve(t.Context(),
		request(t, `{"subtype":"mcp_message","server_name":"calc","message":`+message+`}`))
	if err != nil || answer != wire.JSON(`{"mcp_response":`+message+`}`) || got != message {
		t.Errorf("message %s, answer %s, %v", got, answer, err)
	}
}

func TestMCPMessageErrors(t *testing.T) {
	t.Parallel()
	const missing = "clew: the mcp_message request has no server_name or no message"
	for fields, want := range map[string]string{
		`"id":1`:                              missing,
		`"server_name":"calc"`:                missing,
		`"server_name":"calc","message":null`: missing,
		`"message":{"id":1}`:                  missing,
		`"server_name":1`:                     "clew: mcp_message: field server_name has the wrong type: number",
		`"server_name":"calc","message":"x"`:  "clew: the message of mcp_message has the wrong type: string",
	} {
		wantError(t, calc("{}", nil), `{"subtype":"mcp_message",`+fields+`}`, want)
	}
}
