package clew

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/mcphost"
	"github.com/clewdev/clew/wire"
)

// An MCPServer is a server whose tools the agent can use. The variants are [*MCPStdioServer],
// [*MCPSSEServer], [*MCPHTTPServer] and [*MCPInProcessServer]. The name of a tool for the model is
// mcp__SERVER__TOOL.
type MCPServer interface {
	json.Marshaler
	mcpServer()
}

// An MCPStdioServer is a process that the agent starts and talks to over its standard input and
// output.
type MCPStdioServer struct {
	// Command is the program.
	Command string
	// Args are its arguments.
	Args []string
	// Env are variables in addition to the agent's.
	Env map[string]string
	// Timeout limits each tool call. It is at least a second; 0 leaves it to the agent.
	Timeout time.Duration
	// AlwaysLoad puts the tools into the model's context from the start. By default the model may
	// have to look them up.
	AlwaysLoad bool
}

// An MCPSSEServer is a server that the agent reaches over the network, with server-sent events.
type MCPSSEServer struct {
	// URL is the address of the server.
	URL string
	// Headers are sent with each request.
	Headers map[string]string
	// Tools decide about single tools. Rules and the permission mode decide about the others.
	Tools []MCPToolPolicy
	// Timeout limits each tool call. It is at least a second; 0 leaves it to the agent.
	Timeout time.Duration
	// AlwaysLoad puts the tools into the model's context from the start. By default the model may
	// have to look them up.
	AlwaysLoad bool
}

// An MCPHTTPServer is a server that the agent reaches over the network, with streamable HTTP.
type MCPHTTPServer struct {
	// URL is the address of the server.
	URL string
	// Headers are sent with each request.
	Headers map[string]string
	// Tools decide about single tools. Rules and the permission mode decide about the others.
	Tools []MCPToolPolicy
	// Timeout limits each tool call. It is at least a second; 0 leaves it to the agent.
	Timeout time.Duration
	// AlwaysLoad puts the tools into the model's context from the start. By default the model may
	// have to look them up.
	AlwaysLoad bool
}

// An MCPInProcessServer is a server in this process: the agent sends its messages through the
// session. It has either a Handler or an Opener. One server may serve several sessions at once.
// Package tools makes such servers from Go functions.
type MCPInProcessServer struct {
	// Handler answers each message separately.
	Handler MCPHandler
	// Opener opens a connection for each session. It is for a server that keeps state, or that
	// sends messages by itself.
	Opener MCPOpener
	// Tools decide about single tools. [MCPAlwaysAllow] has no effect here.
	Tools []MCPToolPolicy
	// Timeout limits each tool call. It is at least a second; 0 leaves it to the agent.
	Timeout time.Duration
}

// An MCPToolPolicy specifies whether a tool of an MCP server may run.
type MCPToolPolicy struct {
	// Name is the name of the tool, without the server.
	Name string `json:"name"`
	// Permission decides about the tool. Empty leaves it to rules and the permission mode.
	Permission MCPPermission `json:"permission_policy,omitempty"`
	// OrgMax is the most that the organization permits: "allow", "ask" or "blocked". Empty means no
	// limit.
	OrgMax string `json:"org_max_permission,omitempty"`
}

// An MCPPermission decides about a tool.
type MCPPermission string

// The decisions that the agent knows.
const (
	// MCPAlwaysAllow runs the tool without a question.
	MCPAlwaysAllow MCPPermission = "always_allow"
	// MCPAlwaysAsk asks before each call.
	MCPAlwaysAsk MCPPermission = "always_ask"
	// MCPAlwaysDeny never runs the tool.
	MCPAlwaysDeny MCPPermission = "always_deny"
)

func (*MCPStdioServer) mcpServer()     {}
func (*MCPSSEServer) mcpServer()       {}
func (*MCPHTTPServer) mcpServer()      {}
func (*MCPInProcessServer) mcpServer() {}

// An mcpConfig is a server in the form that the agent reads.
type mcpConfig struct {
	Type       string            `json:"type,omitempty"`
	Command    string            `json:"command,omitempty"`
	Args       []string          `json:"args,omitzero"`
	Env        map[string]string `json:"env,omitempty"`
	URL        string            `json:"url,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Tools      []MCPToolPolicy   `json:"tools,omitempty"`
	Timeout    int64             `json:"timeout,omitempty"`
	AlwaysLoad bool              `json:"alwaysLoad,omitempty"`
}

// MarshalJSON encodes the server in the form that the agent reads.
func (s *MCPStdioServer) MarshalJSON() ([]byte, error) {
	// The agent fails if a server has no list of arguments.
	args := append([]string{}, s.Args...)
	return json.Marshal(mcpConfig{Type: "stdio", Command: s.Command, Args: args, Env: s.Env,
		Timeout: s.Timeout.Milliseconds(), AlwaysLoad: s.AlwaysLoad})
}

// MarshalJSON encodes the server in the form that the agent reads.
func (s *MCPSSEServer) MarshalJSON() ([]byte, error) {
	return json.Marshal(mcpConfig{Type: "sse", URL: s.URL, Headers: s.Headers, Tools: s.Tools,
		Timeout: s.Timeout.Milliseconds(), AlwaysLoad: s.AlwaysLoad})
}

// MarshalJSON encodes the server in the form that the agent reads.
func (s *MCPHTTPServer) MarshalJSON() ([]byte, error) {
	return json.Marshal(mcpConfig{Type: "http", URL: s.URL, Headers: s.Headers, Tools: s.Tools,
		Timeout: s.Timeout.Milliseconds(), AlwaysLoad: s.AlwaysLoad})
}

// MarshalJSON encodes the server in the form that the agent reads. The agent only needs its name.
func (s *MCPInProcessServer) MarshalJSON() ([]byte, error) {
	return json.Marshal(mcpConfig{Type: "sdk", Tools: s.Tools, Timeout: s.Timeout.Milliseconds()})
}

// inProcessServers returns the servers of this process, by name.
func inProcessServers(servers map[string]MCPServer) map[string]*MCPInProcessServer {
	inside := map[string]*MCPInProcessServer{}
	for name, server := range servers {
		if s, ok := server.(*MCPInProcessServer); ok {
			inside[name] = s
		}
	}
	return inside
}

// newServersRequest returns the body of the mcp_set_servers request that follows initialize. It is
// nil if all servers are in this process, because initialize names those. The agent removes servers
// that are not in it.
func newServersRequest(servers map[string]MCPServer) any {
	if len(servers) == len(inProcessServers(servers)) {
		return nil
	}
	return setMCPServersRequest{servers}
}

// checkMCPServers returns the first error in the servers, in the order of their names.
func checkMCPServers(servers map[string]MCPServer) error {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if name == "" {
			return badOption("MCPServers", "a server has no name")
		}
		if reason := checkMCPServer(servers[name]); reason != "" {
			return badOption("MCPServers", "%q %s", name, reason)
		}
	}
	return nil
}

// checkMCPServer returns the error in a server, or "". A nil pointer is nil in the clone.
func checkMCPServer(server MCPServer) string {
	switch s := cloneServer(server).(type) {
	case *MCPStdioServer:
		return checkMCPFields("Command", s.Command == "", s.Timeout)
	case *MCPSSEServer:
		return checkMCPFields("URL", s.URL == "", s.Timeout)
	case *MCPHTTPServer:
		return checkMCPFields("URL", s.URL == "", s.Timeout)
	case *MCPInProcessServer:
		if reason := s.check(); reason != "" {
			return reason
		}
		return checkMCPFields("Handler", s.Handler == nil && s.Opener == nil, s.Timeout)
	}
	return "is nil"
}

// check returns why the server can't be used, according to itself, or "".
func (s *MCPInProcessServer) check() string {
	if s.Handler != nil && s.Opener != nil {
		return "has both a Handler and an Opener"
	}
	if checker, ok := s.Opener.(MCPChecker); ok {
		if err := checker.CheckMCP(); err != nil {
			return "can't be used: " + err.Error()
		}
	}
	return ""
}

// checkMCPFields checks the field that a server must have, and its time-out: the agent would ignore
// a shorter one.
func checkMCPFields(field string, missing bool, timeout time.Duration) string {
	switch {
	case missing:
		return "has no " + field
	case timeout != 0 && timeout < time.Second:
		return "has a Timeout of less than a second"
	}
	return ""
}

// An MCPHandler is an MCP server without its transport.
type MCPHandler interface {
	// HandleMCP answers one JSON-RPC message. The reply is a JSON-RPC message as well, or empty for
	// a notification. It is called from several goroutines at once. The context ends when the agent
	// withdraws the message or cancels the request, and when the session ends. HandleMCP should
	// return then.
	HandleMCP(ctx context.Context, message wire.JSON) (wire.JSON, error)
}

// An MCPOpener is an MCP server that has a connection for each session. It may also be an
// [MCPChecker].
type MCPOpener interface {
	// OpenMCP opens a connection for the session of the peer. It must not block. It is called when
	// a session starts, or at the first message for the server, and again at each further
	// initialize, which replaces the connection.
	OpenMCP(peer *MCPPeer) (MCPConn, error)
}

// An MCPChecker is an [MCPOpener] that can report, before a session uses it, that it can't be used.
type MCPChecker interface {
	// CheckMCP is called before an agent is started with the server, and by
	// [Session.SetMCPServers]. Its error becomes the reason of an [*OptionsError].
	CheckMCP() error
}

// An MCPConn is the server's end of a connection with one session. If it ended by itself, HandleMCP
// returns [ErrMCPClosed], and the next message opens another connection.
type MCPConn interface {
	MCPHandler
	// Close ends the connection and everything that runs for it, and waits for that. It is called
	// once, and possibly while messages are being handled. [Session.Close] waits for it, at most
	// for [Limits.CloseTimeout].
	Close() error
}

// An MCPPeer is the agent from the view of an MCP server.
type MCPPeer struct {
	// Send sends a JSON-RPC message of the server to the agent and waits until the agent has it. It
	// first waits until the session starts. The response to a request comes as a message to the
	// connection. Send may be called from several goroutines. Its error is [ErrMCPClosed] or the
	// error of the session.
	Send func(ctx context.Context, message wire.JSON) error
	// Logger is the logger of the session. It is not nil.
	Logger *slog.Logger
}

// ErrMCPClosed is the error about a connection of an in-process MCP server that ended: see
// [MCPPeer] and [MCPConn].
var ErrMCPClosed = mcphost.ErrClosed

// A hostedServer is an in-process server in the form that package mcphost needs.
type hostedServer struct{ *MCPInProcessServer }

// hosted returns the in-process servers that can be used, by name.
func hosted(servers map[string]*MCPInProcessServer) map[string]mcphost.Server {
	usable := make(map[string]mcphost.Server)
	for name, s := range servers {
		if s.Handler != nil || s.Opener != nil {
			usable[name] = hostedServer{s}
		}
	}
	return usable
}

// Open opens a connection for a session.
func (s hostedServer) Open(peer *mcphost.Peer) (mcphost.Conn, error) {
	if s.Opener == nil {
		return statelessConn{s.Handler}, nil
	}
	conn, err := s.Opener.OpenMCP(&MCPPeer{Send: peer.Send, Logger: peer.Logger})
	if err != nil || conn == nil {
		return nil, err
	}
	return conn, nil
}

// Stateful reports whether the server has a connection for each session.
func (s hostedServer) Stateful() bool { return s.Opener != nil }

// Same reports whether other stands for the same server.
func (s hostedServer) Same(other mcphost.Server) bool {
	o, ok := other.(hostedServer)
	return ok && same(s.Handler, o.Handler) && same(s.Opener, o.Opener)
}

// same reports whether two values are equal. Values that can't be compared are not.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// A statelessConn is a connection of a server that has only a handler.
type statelessConn struct{ MCPHandler }

// Close does nothing.
func (statelessConn) Close() error { return nil }
