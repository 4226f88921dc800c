package clew

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			got, err := json.Marshal((&Options{MCPServers: tt.servers}).mcpServersRequest())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(compactJSON(t, tt.want), string(got)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// A badOpener is a server that says what is wrong with it.
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
		err := (&Options{MCPServers: map[string]MCPServer{"s": server}}).checkMCPServers()
		if diff := cmp.Diff(&OptionsError{Option: "MCPServers", Reason: want}, err); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
	}
}
