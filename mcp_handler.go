package clew

import (
	"context"
	"log/slog"

	"github.com/clewdev/clew/wire"
)

// An MCPHandler is an MCP server without its transport.
type MCPHandler interface {
	// HandleMCP answers one JSON-RPC message. The reply is one as well, or empty when there is none, as for a
	// notification. It is called from several goroutines at once. The context ends when the agent withdraws the message
	// or cancels the request, and with the session; HandleMCP should return then.
	HandleMCP(ctx context.Context, message wire.JSON) (wire.JSON, error)
}

// An MCPOpener is an MCP server that has a connection for each session.
//
// If it has a method CheckMCP() error as well, that is called before an agent is started or told of the server, and its
// error is the reason of an [*OptionsError].
type MCPOpener interface {
	// OpenMCP opens a connection for the session of the peer, and does not block. It is called when a session begins,
	// or at the first message for the server, and again at each further initialize, which replaces the connection.
	OpenMCP(peer *MCPPeer) (MCPConn, error)
}

// An MCPConn is the server's end of the connection of one session. If it has ended by itself, HandleMCP returns
// [ErrMCPClosed], and the next message opens another connection.
type MCPConn interface {
	MCPHandler
	// Close ends the connection and all that runs for it, and waits for that. It is called once, also while messages are
	// being handled. [Session.Close] waits for it, at most for [Options.CloseTimeout].
	Close() error
}

// An MCPPeer is the agent as a connection of an MCP server sees it.
type MCPPeer struct {
	// Send sends a JSON-RPC message of the server to the agent, and waits until the agent has it. While a session
	// begins it waits for that first. The response to a request comes as a message to the connection. Send may be
	// called from several goroutines; its error is [ErrMCPClosed] or that of the session.
	Send func(ctx context.Context, message wire.JSON) error
	// Logger is that of the session. It is not nil.
	Logger *slog.Logger
}

// A statelessConn makes a connection of a server that needs none.
type statelessConn struct{ MCPHandler }

// Close has nothing to close.
func (statelessConn) Close() error { return nil }
