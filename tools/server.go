package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
)

// Server returns a server with these tools, for [clew.Options.MCPServers] and
// [clew.Session.SetMCPServers]. A tool that can't be used makes them fail, with a
// [*clew.OptionsError] that names it.
func Server(tools ...*Tool) *clew.MCPInProcessServer {
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	server.AddReceivingMiddleware(passValues, failUnknownTools)
	return &clew.MCPInProcessServer{Opener: &mounted{server, Add(server, tools...)}}
}

// Add adds tools to a server, and replaces tools of the same name. It adds none if one of them
// can't be used, and its error names all of these. Sessions that use the server learn of the
// change.
func Add(server *mcp.Server, tools ...*Tool) error {
	if server == nil {
		return errors.New("tools: the server is nil")
	}
	var adds []func()
	var problems []error
	var names []string
	for _, tool := range tools {
		about, call, err := tool.build()
		switch {
		case err != nil:
			problems = append(problems, err)
		case slices.Contains(names, about.Name):
			problems = append(problems, fmt.Errorf("tools: two tools have the name %q", about.Name))
		default:
			names = append(names, about.Name)
			adds = append(adds, func() { server.AddTool(about, call) })
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for _, add := range adds {
		add()
	}
	return nil
}

// Mount returns a server of the MCP Go SDK for [clew.Options.MCPServers] and
// [clew.Session.SetMCPServers]. The results of its handlers reach the agent unchanged. A panic in
// one of them becomes an error of the request; for that Mount adds a middleware to the server.
// Mount a server once, and use what Mount returns for all sessions.
func Mount(server *mcp.Server) *clew.MCPInProcessServer {
	if server == nil {
		return &clew.MCPInProcessServer{Opener: &mounted{err: errors.New("tools: the server is nil")}}
	}
	server.AddReceivingMiddleware(passValues, catchPanics)
	return &clew.MCPInProcessServer{Opener: &mounted{server: server}}
}

// A mounted server opens connections of a server of the SDK.
type mounted struct {
	server *mcp.Server
	err    error // what is wrong with it
}

// CheckMCP returns the server's error, if any.
func (m *mounted) CheckMCP() error { return m.err }

// OpenMCP connects the server to a session.
func (m *mounted) OpenMCP(peer *clew.MCPPeer) (clew.MCPConn, error) {
	if m.err != nil {
		return nil, m.err
	}
	c := newConn(peer)
	ctx := context.WithValue(context.Background(), loggerKey{}, peer.Logger)
	ctx = context.WithValue(ctx, pipeKey{}, c.pipe)
	session, err := m.server.Connect(ctx, c.pipe, nil)
	if err != nil {
		return nil, fmt.Errorf("tools: connecting the server: %w", err)
	}
	c.session = session
	return c, nil
}

// failUnknownTools makes a result, which the model reads, of the error about a tool that is not
// there.
func failUnknownTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok && method == "tools/call" {
			return Failure(refusal.Message), nil
		}
		return result, err
	}
}

// passValues gives the handler of a tool the values of the context of the session's request: see
// [clew.Trace].
func passValues(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return next(withCallValues(ctx, req), method, req)
	}
}

// catchPanics makes an error of a panic, and of a result that could not be sent.
func catchPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return protect(ctx, method, func() (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if result == nil || err != nil {
				return result, err
			}
			return sendable(result)
		})
	}
}

// sendable returns a result that can be sent for certain.
func sendable(result mcp.Result) (mcp.Result, error) {
	call, ok := result.(*Result)
	switch {
	case !ok:
		if _, err := encode(result); err != nil {
			return nil, fmt.Errorf("encoding the result: %w", err)
		}
		return result, nil
	case call == nil:
		return nil, errors.New("the tool has returned no result")
	}
	sent, err := settled(call)
	if err != nil {
		return nil, err
	}
	return sent, nil
}
