// Package mcphost connects the in-process MCP servers of a session with its agent. Each server has
// at most one connection at a time, opened by the agent's initialize message, by a handshake in
// place of the agent, or by the first message after a connection was lost.
//
// A [Host] has the servers by name, a server has its connection, and a connection has the requests
// that are in progress on it. Each of the three has its own lock, and locks are taken in this
// order.
//
// The session does the handshake with the servers before its own with the agent, within 250 ms, and
// sends the outcome along ([Manifest]), so that the agent has nothing to ask. When servers are
// replaced, new ones are added first and the old connections closed last: the caller may be a tool
// of one of them.
package mcphost

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// ErrClosed is the error for a closed connection.
var ErrClosed = errors.New("clew: the connection of the MCP server is closed")

// A Server is an in-process MCP server as configured by its user.
type Server interface {
	// Open opens a connection. It does not block.
	Open(peer *Peer) (Conn, error)
	// Stateful reports whether a connection needs a handshake before it can be used.
	Stateful() bool
	// Same reports whether other is the same server, whose connection can stay.
	Same(other Server) bool
}

// A Conn is the server's end of a connection. If it ended by itself, HandleMCP returns [ErrClosed].
type Conn interface {
	// HandleMCP answers one JSON-RPC message, with "" if there is no reply.
	HandleMCP(ctx context.Context, message wire.JSON) (wire.JSON, error)
	// Close ends the connection and everything that runs for it.
	Close() error
}

// A Peer is the agent as a connection sees it.
type Peer struct {
	// Send sends a message of the server to the agent. Before [Host.Ready], it waits.
	Send func(ctx context.Context, message wire.JSON) error
	// Logger is the session's logger.
	Logger *slog.Logger
}

// Config configures a [Host]. All fields must be set.
type Config struct {
	// Log gets failures of servers.
	Log *slog.Logger
	// Send sends a message of a server to the agent.
	Send func(ctx context.Context, server string, message wire.JSON) error
	// Guard runs a function that calls a server and encodes its result. It turns panics into errors
	// and logs errors.
	Guard func(ctx context.Context, name string, run func() (any, error)) (wire.JSON, error)
}

// A Host has the in-process servers of one session, by name, and their connections.
type Host struct {
	config Config

	// setting holds one value, which the goroutine that sets the servers takes.
	setting chan struct{}

	mu      sync.Mutex
	byName  map[string]*server
	removed []*server     // no longer by name, but still connected
	ready   chan struct{} // closed when the agent is initialized
	closed  bool

	running sync.WaitGroup // connections that are being closed, and handshakes
	busy    atomic.Int32   // how many of them
}

// New returns a host with these servers.
func New(config Config, servers map[string]Server) *Host {
	h := &Host{
		config: config, setting: make(chan struct{}, 1),
		byName: make(map[string]*server), ready: make(chan struct{}),
	}
	h.setting <- struct{}{}
	h.Add(servers)
	return h
}

// find returns the server with a name, or nil.
func (h *Host) find(name string) *server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byName[name]
}

func (h *Host) all() []*server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.byName))
}

// Servers returns the servers by name.
func (h *Host) Servers() map[string]Server {
	servers := make(map[string]Server)
	for _, s := range h.all() {
		servers[s.name] = s.config
	}
	return servers
}

// Lock waits until no other goroutine sets the servers. Call Unlock after it.
func (h *Host) Lock(ctx context.Context) error {
	select {
	case <-h.setting:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unlock lets another goroutine set the servers.
func (h *Host) Unlock() { h.setting <- struct{}{} }

// Add adds servers whose names are not in use.
func (h *Host) Add(servers map[string]Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, config := range servers {
		if h.byName[name] == nil {
			h.put(name, config)
		}
	}
}

// Replace removes and replaces servers, so that only these are left. It returns the names of the
// replaced servers. Removed servers keep their connections until [Host.CloseRemoved].
func (h *Host) Replace(servers map[string]Server) (replaced []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, old := range h.byName {
		config := servers[name]
		if config != nil && old.config.Same(config) {
			continue
		}
		h.removed = append(h.removed, old)
		delete(h.byName, name)
		if config != nil {
			h.put(name, config)
			replaced = append(replaced, name)
		}
	}
	return replaced
}

func (h *Host) put(name string, config Server) {
	if !h.closed {
		h.byName[name] = &server{name: name, config: config, host: h}
	}
}

// CloseRemoved closes the connections of servers that were removed, and does not wait for that.
func (h *Host) CloseRemoved() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeRemoved()
}

func (h *Host) closeRemoved() {
	for _, s := range h.removed {
		h.run(s.end)
	}
	h.removed = nil
}

// Ready lets servers send messages to the agent. It may be called again.
func (h *Host) Ready() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.ready:
	default:
		close(h.ready)
	}
}

// Close closes all connections, and does not wait for that: see [Host.Wait]. It may be called
// again.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.removed = slices.AppendSeq(h.removed, maps.Values(h.byName))
	clear(h.byName)
	h.closeRemoved()
}

// run runs a function that Wait waits for.
func (h *Host) run(f func()) {
	h.busy.Add(1)
	h.running.Go(func() {
		defer h.busy.Add(-1)
		f()
	})
}

// Wait waits until everything is closed, at most for limit, and reports whether it is. Call it
// after Close.
func (h *Host) Wait(limit time.Duration) bool {
	if h.busy.Load() == 0 {
		return true
	}
	closed := make(chan struct{})
	go func() {
		h.running.Wait()
		close(closed)
	}()
	return pause.Until(closed, limit)
}

// A server is a [Server] of a session, with its connection.
type server struct {
	name   string
	config Server
	host   *Host

	mu    sync.Mutex
	conn  *connection // nil if there is none
	ended bool
}

// serve passes a message on to the server. An initialize message opens a new connection.
func (s *server) serve(ctx context.Context, head *rpcHead, message wire.JSON) (wire.JSON, error) {
	var conn *connection
	var err error
	if head.Method == "initialize" {
		conn, err = s.open(ctx)
	} else {
		conn, err = s.current()
	}
	if err != nil {
		return "", err
	}
	switch {
	case head.wantsReply():
		reply, err := conn.call(ctx, head, message)
		if errors.Is(err, ErrClosed) {
			s.drop(conn)
		}
		return reply, err
	case head.Method == "notifications/cancelled":
		conn.cancelRequest(message)
	}
	return conn.end.HandleMCP(ctx, message)
}

// open opens a connection, which replaces the current one, without a handshake. If the context is
// over, the current connection stays.
func (s *server) open(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.reopen()
}

// current returns the connection. If there is none, it opens one and does the handshake.
func (s *server) current() (*connection, error) {
	conn, err := s.existing()
	if err != nil || conn.handshake == nil {
		return conn, err
	}
	if err := conn.handshake(); err != nil {
		s.drop(conn)
		return nil, err
	}
	return conn, nil
}

func (s *server) existing() (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.conn, nil
	}
	conn, err := s.reopen()
	if err == nil && s.config.Stateful() {
		conn.handshake = sync.OnceValue(func() error { return conn.initialize(conn.ctx) })
	}
	return conn, err
}

func (s *server) reopen() (*connection, error) {
	if s.ended {
		return nil, ErrClosed
	}
	conn, err := newConnection(s)
	if err != nil {
		return nil, err
	}
	s.close(s.conn)
	s.conn = conn
	return conn, nil
}

// drop closes a connection. The next message opens another one.
func (s *server) drop(conn *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == conn {
		s.close(conn)
		s.conn = nil
	}
}

// end closes the connection. There won't be another one.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.close(s.conn)
	s.conn = nil
}

// close closes a connection, which may be nil, and does not wait for that.
func (s *server) close(conn *connection) {
	if conn != nil {
		conn.cancel()
		s.host.run(conn.close)
	}
}
