package clew_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// mcpHello is what a server says of itself.
const mcpHello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
	`"serverInfo":{"name":"own","version":"1"}}`

// An mcpServer is an MCP server with connections. It answers handshakes by itself, and counts what comes and goes.
type mcpServer struct {
	hello, tools string // "" for the usual
	// handle handles all other messages. Nil replies with the name of the method.
	handle func(ctx context.Context, peer *clew.MCPPeer, m *mcpMessage) (string, error)
	close  func()

	mu             sync.Mutex
	opened, closed int
	methods        []string
}

// An mcpMessage is a message to an MCP server.
type mcpMessage struct {
	ID             clew.JSON
	Method         string
	Params, Result clew.JSON
	Error          clew.JSON
}

func (s *mcpServer) OpenMCP(peer *clew.MCPPeer) (clew.MCPConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	return &mcpServerConn{s, peer}, nil
}

// counts returns how many connections were opened and closed.
func (s *mcpServer) counts() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [2]int{s.opened, s.closed}
}

// heard returns the methods of the messages that came.
func (s *mcpServer) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.methods
}

type mcpServerConn struct {
	*mcpServer
	peer *clew.MCPPeer
}

func (c *mcpServerConn) HandleMCP(ctx context.Context, message clew.JSON) (clew.JSON, error) {
	var m mcpMessage
	if err := message.Decode(&m); err != nil {
		return "", err
	}
	c.mu.Lock()
	c.methods = append(c.methods, m.Method)
	c.mu.Unlock()
	result, err := c.result(ctx, &m)
	if err != nil || m.ID == "" || m.Method == "" {
		return "", err
	}
	return clew.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)), nil
}

func (c *mcpServerConn) result(ctx context.Context, m *mcpMessage) (string, error) {
	switch {
	case m.Method == "initialize" && c.hello != "":
		return c.hello, nil
	case m.Method == "initialize":
		return mcpHello, nil
	case m.Method == "tools/list" && c.tools != "":
		return c.tools, nil
	case m.Method == "tools/list":
		return `{"tools":[]}`, nil
	case c.handle != nil && m.Method != "notifications/initialized":
		return c.handle(ctx, c.peer, m)
	}
	return fmt.Sprintf(`{"did":%q}`, m.Method), nil
}

func (c *mcpServerConn) Close() error {
	if c.close != nil {
		c.close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

// ownServers are options with servers of this process.
func ownServers(servers map[string]clew.MCPOpener) *clew.Options {
	opts := &clew.Options{MCPServers: make(map[string]clew.MCPServer)}
	for name, server := range servers {
		opts.MCPServers[name] = &clew.MCPInProcessServer{Opener: server}
	}
	return opts
}

// serving connects to an agent in memory that has the one server "own".
func serving(t *testing.T, scenario *clewtest.Scenario, server *mcpServer) (*clew.Session, *clewtest.Agent) {
	t.Helper()
	return simulate(t, scenario, ownServers(map[string]clew.MCPOpener{"own": server}))
}

// toOwn is a message of the agent to the server "own".
func toOwn(request, message string) string {
	return controlRequest(request, fmt.Sprintf(`{"subtype":"mcp_message","server_name":"own","message":%s}`, message))
}

// ofOwn is a message of the server "own" to the agent.
func ofOwn(request, message string) string { return toOwn(request, message) }

// toolCall is a message that calls a tool.
func toolCall(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"t"}}`, id)
}

// mcpResult is the host's answer with the result of a server.
func mcpResult(request, id, result string) string {
	return controlSuccess(request, fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%s,"result":%s}}`, id, result))
}

// mcpFailure is the host's answer with the error of a server.
func mcpFailure(request, id string, code int) string {
	return controlSuccess(request, fmt.Sprintf(`{"mcp_response":{"id":%s,"error":{"code":%d}}}`, id, code))
}
