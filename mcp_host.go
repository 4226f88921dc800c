package clew

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/internal/redact"
	"github.com/clewdev/clew/wire"
)

// ErrMCPClosed is the error about a connection of an in-process MCP server that has ended. See [MCPPeer] and [MCPConn].
var ErrMCPClosed = errors.New("clew: the connection of the MCP server is closed")

// An mcpLink is a connection of an in-process server, and the requests of the agent that are under way on it.
type mcpLink struct {
	server *mcpServer
	conn   MCPConn
	ctx    context.Context //nolint:containedctx // it is the connection's own
	cancel context.CancelFunc

	// greeting says hello to a server that the agent believes to know already. Nil if the agent does so itself.
	greeting func() error

	mu    sync.Mutex
	calls map[wire.JSON]*mcpCall
	early map[wire.JSON]time.Time // cancellations that have come before their requests
	past  [pastIDs]wire.JSON      // the ids of requests that were answered last, in a ring
	ended int                     // how many were answered
}

// pastIDs is how many requests that were answered are remembered: a cancellation may still come for them.
const pastIDs = 64

// An mcpCall is a request of the agent. Its id is free again once it is answered or its context has ended.
type mcpCall struct {
	ctx    context.Context //nolint:containedctx // it is the request's own
	cancel context.CancelFunc
}

func newMCPLink(s *mcpServer) (*mcpLink, error) {
	l := &mcpLink{server: s, calls: make(map[wire.JSON]*mcpCall), early: make(map[wire.JSON]time.Time)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if s.config.Opener == nil {
		l.conn = statelessConn{s.config.Handler}
		return l, nil
	}
	conn, err := s.config.Opener.OpenMCP(&MCPPeer{Send: l.send, Logger: s.all.log})
	switch {
	case err != nil:
		l.cancel()
		return nil, err
	case conn == nil:
		l.cancel()
		return nil, errors.New("clew: OpenMCP returned no connection")
	}
	l.conn = conn
	return l, nil
}

// call has the server answer a request.
func (l *mcpLink) call(ctx context.Context, head *rpcHead, message wire.JSON) (wire.JSON, error) {
	ctx, call := l.begin(ctx, head.ID)
	if call == nil {
		return rawjson.Encode(rpcFailure(head.ID, rpcInvalidRequest, fmt.Sprintf("a request with the id %s is under way", head.ID)))
	}
	defer l.end(head.ID, call)
	reply, err := l.conn.HandleMCP(ctx, message)
	if err != nil && (ctx.Err() != nil || l.ctx.Err() != nil) {
		return rawjson.Encode(rpcFailure(head.ID, rpcCancelled, "the request was cancelled"))
	}
	return reply, err
}

// begin notes that a request is under way, and returns its context. It returns no call if another one of that id is.
func (l *mcpLink) begin(ctx context.Context, id wire.JSON) (context.Context, *mcpCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.calls[id]; before != nil && before.ctx.Err() == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	call := &mcpCall{ctx, func() { stop(); cancel() }}
	l.calls[id] = call
	if since, ok := l.early[id]; ok && time.Since(since) < earlyLimit {
		cancel()
	}
	delete(l.early, id)
	return ctx, call
}

func (l *mcpLink) end(id wire.JSON, call *mcpCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call.cancel()
	if l.calls[id] == call {
		delete(l.calls, id)
		l.past[l.ended%pastIDs] = id
		l.ended++
	}
}

// earlyLimit is how long the cancellation of an unknown request is kept. Messages are served at the same time, so that
// it can overtake its request.
const earlyLimit = time.Second

// cancelled ends the context of the request that a notification names.
func (l *mcpLink) cancelled(notification wire.JSON) {
	var message struct {
		Params struct {
			RequestID wire.JSON `json:"requestId"`
		} `json:"params"`
	}
	if notification.Decode(&message) != nil || rawjson.Absent(message.Params.RequestID) {
		return // the server may make more of it
	}
	id := message.Params.RequestID
	l.mu.Lock()
	defer l.mu.Unlock()
	if call := l.calls[id]; call != nil {
		call.cancel()
		return
	}
	if slices.Contains(l.past[:], id) {
		return // it is too late, and must not hit the next request of that id
	}
	maps.DeleteFunc(l.early, func(_ wire.JSON, since time.Time) bool { return time.Since(since) >= earlyLimit })
	l.early[id] = time.Now()
}

// send passes a message of the server on to the agent.
func (l *mcpLink) send(ctx context.Context, message wire.JSON) error {
	select {
	case <-l.server.all.greeted:
	case <-l.ctx.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(ErrMCPClosed) })() //nolint:contextcheck // it ends with either one
	if l.ctx.Err() != nil {
		return ErrMCPClosed
	}
	return l.server.all.send(ctx, l.server.name, message)
}

// close waits until the server has closed its end.
func (l *mcpLink) close() {
	log := l.server.all.log.With("server", l.server.name)
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic while an MCP connection was closed", "panic", redact.Mask(fmt.Sprint(p)))
		}
	}()
	if err := l.conn.Close(); err != nil {
		log.Warn("closing an MCP connection", "error", redact.Mask(err.Error()))
	}
}

const (
	// mcpVersion is the version of MCP that the agent speaks with in-process servers, and that manifests are for.
	mcpVersion = "2025-11-25"
	// manifestBudget is how long the servers may take, all at once, before the agent is greeted without what is missing.
	manifestBudget = 250 * time.Millisecond
)

// The handshake is the one of the agent itself, in whose place it is done.
const (
	mcpHello wire.JSON = `{"protocolVersion":"` + mcpVersion + `","capabilities":{},` +
		`"clientInfo":{"name":"claude-code","title":"Claude Code","version":"unknown"}}`
	mcpInitialized  wire.JSON = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	mcpToolsChanged wire.JSON = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// An mcpManifest is what an in-process server has said in its handshake. An agent that has it asks no more.
type mcpManifest struct {
	InitializeResult wire.JSON `json:"initializeResult"`
	ToolsListResult  wire.JSON `json:"toolsListResult,omitempty"`
}

// manifests shakes hands with all in-process servers at once and returns what they say, by name. A server that fails or
// takes too long is left out: the agent shakes hands with it later.
func (c *callbacks) manifests(ctx context.Context) map[string]*mcpManifest {
	servers := c.mcp.all()
	if len(servers) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	budget := time.AfterFunc(manifestBudget, cancel)
	defer budget.Stop()
	type outcome struct {
		name     string
		manifest *mcpManifest
	}
	outcomes := make(chan outcome, len(servers))
	for _, server := range servers {
		c.mcp.run(func() { outcomes <- outcome{server.name, c.manifest(ctx, server)} })
	}
	manifests := make(map[string]*mcpManifest)
	for range servers {
		select {
		case o := <-outcomes:
			if o.manifest != nil {
				manifests[o.name] = o.manifest
			}
		case <-ctx.Done():
			return manifests
		}
	}
	return manifests
}

// manifest shakes hands with a server, over a connection that stays. It returns nil if that fails.
func (c *callbacks) manifest(ctx context.Context, server *mcpServer) *mcpManifest {
	var manifest *mcpManifest
	_, _ = c.guard(ctx, "MCP server "+server.name, func() (any, error) { // which logs what goes wrong
		link, err := server.open(ctx)
		if err != nil {
			return nil, err
		}
		defer func() {
			if manifest == nil {
				server.drop(link)
			}
		}()
		found, err := link.introduce(ctx)
		if err == nil && ctx.Err() == nil {
			manifest = found
		}
		return nil, err
	})
	return manifest
}

// introduce shakes hands and takes down what the server says. It returns nil for a server that can't have a manifest.
func (l *mcpLink) introduce(ctx context.Context) (*mcpManifest, error) {
	hello, err := l.ask(ctx, "initialize", mcpHello)
	if err != nil {
		return nil, err
	}
	var about struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    struct {
			Tools wire.JSON `json:"tools"`
		} `json:"capabilities"`
	}
	err = rawjson.Decode("the reply to initialize", hello, &about)
	if err != nil || about.ProtocolVersion != mcpVersion {
		return nil, err
	}
	if err := l.confirm(ctx); err != nil {
		return nil, err
	}
	manifest := &mcpManifest{InitializeResult: hello}
	if !rawjson.Absent(about.Capabilities.Tools) {
		manifest.ToolsListResult, err = l.tools(ctx)
	}
	return manifest, err
}

// tools returns the tools of a server, or nothing if they don't come at once: the agent asks for them then.
func (l *mcpLink) tools(ctx context.Context) (wire.JSON, error) {
	result, err := l.ask(ctx, "tools/list", "")
	if err != nil {
		return "", err
	}
	var list struct {
		NextCursor string `json:"nextCursor"`
	}
	if err := rawjson.Decode("the reply to tools/list", result, &list); err != nil || list.NextCursor != "" {
		return "", err
	}
	return result, nil
}

// greet shakes hands with a server in place of the agent, which believes to have done so.
func (l *mcpLink) greet(ctx context.Context) error {
	if _, err := l.ask(ctx, "initialize", mcpHello); err != nil {
		return err
	}
	return l.confirm(ctx)
}

// confirm ends a handshake.
func (l *mcpLink) confirm(ctx context.Context) error {
	_, err := l.conn.HandleMCP(ctx, mcpInitialized)
	return err
}

// ask sends a request of our own, and returns its result.
func (l *mcpLink) ask(ctx context.Context, method string, params wire.JSON) (wire.JSON, error) {
	head := &rpcHead{ID: wire.JSON(fmt.Sprintf("%q", "clew "+method)), Method: method}
	message, err := rawjson.Encode(rpcRequest{"2.0", head.ID, method, params})
	if err != nil {
		return "", err
	}
	reply, err := l.call(ctx, head, message)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	}
	return rpcResult(method, reply)
}

// An rpcHead is what a JSON-RPC message says about itself.
type rpcHead struct {
	ID     wire.JSON `json:"id"`
	Method string    `json:"method"`
}

// wantsReply tells a request from a notification and from a response.
func (h *rpcHead) wantsReply() bool { return h.Method != "" && !rawjson.Absent(h.ID) }

// An rpcRequest is a JSON-RPC request, or a notification if it has no id.
type rpcRequest struct {
	Version string    `json:"jsonrpc"`
	ID      wire.JSON `json:"id,omitempty"`
	Method  string    `json:"method"`
	Params  wire.JSON `json:"params,omitempty"`
}

// An rpcResponse is a JSON-RPC response.
type rpcResponse struct {
	Version string    `json:"jsonrpc"`
	ID      wire.JSON `json:"id"`
	Result  wire.JSON `json:"result,omitempty"`
	Error   *rpcError `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Codes of JSON-RPC, and one that is in common use for a cancelled request.
const (
	rpcInvalidRequest = -32600
	rpcMethodNotFound = -32601
	rpcInternalError  = -32603
	rpcCancelled      = -32800
)

func rpcFailure(id wire.JSON, code int, message string) *rpcResponse {
	return &rpcResponse{Version: "2.0", ID: id, Error: &rpcError{code, message}}
}

// rpcResult returns the result in a reply to a method.
func rpcResult(method string, reply wire.JSON) (wire.JSON, error) {
	var response rpcResponse
	if err := rawjson.Decode("the reply to "+method, reply, &response); err != nil {
		return "", err
	}
	switch {
	case response.Error != nil:
		return "", fmt.Errorf("clew: %s: %s", method, response.Error.Message)
	case rawjson.Absent(response.Result):
		return "", errors.New("clew: the reply to " + method + " has no result")
	}
	return response.Result, nil
}

// An mcpRequest is the body of an mcp_message, in either direction.
type mcpRequest struct {
	ServerName string    `json:"server_name"`
	Message    wire.JSON `json:"message"`
}

// An mcpAnswer is the answer to an mcp_message.
type mcpAnswer struct {
	Response any `json:"mcp_response"`
}

func (c *callbacks) mcpMessage(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	var req mcpRequest
	if err := rawjson.Decode("mcp_message", body, &req); err != nil {
		return "", err
	}
	if req.ServerName == "" || rawjson.Absent(req.Message) {
		return "", errors.New("clew: mcp_message without server_name or message")
	}
	var head rpcHead
	if err := rawjson.Decode("the message of mcp_message", req.Message, &head); err != nil {
		return "", err
	}
	server := c.mcp.of(req.ServerName)
	if server == nil {
		text := fmt.Sprintf("Server '%s' not found", req.ServerName)
		return rawjson.Encode(mcpAnswer{rpcFailure(head.ID, rpcMethodNotFound, text)})
	}
	answer, err := c.guard(ctx, "MCP server "+req.ServerName, func() (any, error) {
		reply, err := server.serve(ctx, &head, req.Message)
		if err != nil {
			return nil, err
		}
		return mcpReply(&head, reply)
	})
	if err != nil {
		return rawjson.Encode(mcpAnswer{rpcFailure(head.ID, rpcInternalError, err.Error())})
	}
	return answer, nil
}

// mcpReply returns the answer for what a server returned. Also a notification, which JSON-RPC does not answer, needs
// one, since it came in a control request.
func mcpReply(head *rpcHead, reply wire.JSON) (any, error) {
	switch {
	case reply != "":
		return mcpAnswer{reply}, nil
	case head.wantsReply():
		return nil, fmt.Errorf("clew: no reply to %s", head.Method)
	}
	return mcpAnswer{&rpcResponse{Version: "2.0", ID: "0", Result: "{}"}}, nil
}

// An mcpServer is an in-process server of one session.
type mcpServer struct {
	name   string
	config *MCPInProcessServer
	all    *mcpServers

	mu    sync.Mutex
	link  *mcpLink // nil if there is no connection
	ended bool
}

// is reports whether config has the same handler or opener.
func (s *mcpServer) is(config *MCPInProcessServer) bool {
	return same(s.config.Handler, config.Handler) && same(s.config.Opener, config.Opener)
}

// same reports whether two values are the same one. Those that can't be compared never are.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// serve passes a message on to the server, over a fresh connection if it begins one.
func (s *mcpServer) serve(ctx context.Context, head *rpcHead, message wire.JSON) (wire.JSON, error) {
	var link *mcpLink
	var err error
	if head.Method == "initialize" {
		link, err = s.open(ctx)
	} else {
		link, err = s.current()
	}
	if err != nil {
		return "", err
	}
	switch {
	case head.wantsReply():
		reply, err := link.call(ctx, head, message)
		if errors.Is(err, ErrMCPClosed) {
			s.drop(link)
		}
		return reply, err
	case head.Method == "notifications/cancelled":
		link.cancelled(message)
	}
	return link.conn.HandleMCP(ctx, message)
}

// open opens a connection in place of the one there is. The server is not greeted. When the context has ended, the
// connection there is stays.
func (s *mcpServer) open(ctx context.Context) (*mcpLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.reopen()
}

// current returns the connection, and makes one that is ready to be used if there is none.
func (s *mcpServer) current() (*mcpLink, error) {
	link, err := s.existing()
	if err != nil || link.greeting == nil {
		return link, err
	}
	if err := link.greeting(); err != nil {
		s.drop(link)
		return nil, err
	}
	return link, nil
}

func (s *mcpServer) existing() (*mcpLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		return s.link, nil
	}
	link, err := s.reopen()
	if err == nil && s.config.Opener != nil {
		link.greeting = sync.OnceValue(func() error { return link.greet(link.ctx) })
	}
	return link, err
}

func (s *mcpServer) reopen() (*mcpLink, error) {
	if s.ended {
		return nil, ErrMCPClosed
	}
	link, err := newMCPLink(s)
	if err != nil {
		return nil, err
	}
	s.close(s.link)
	s.link = link
	return link, nil
}

// drop closes a connection. The next message opens another one.
func (s *mcpServer) drop(link *mcpLink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == link {
		s.close(link)
		s.link = nil
	}
}

// end closes the connection, for good.
func (s *mcpServer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.close(s.link)
	s.link = nil
}

// close closes a connection, if there is one, and does not wait for that.
func (s *mcpServer) close(link *mcpLink) {
	if link != nil {
		link.cancel()
		s.all.run(link.close)
	}
}

// mcpServers are the in-process servers of a session, by name, and their connections.
type mcpServers struct {
	log *slog.Logger
	// send passes a message of a server on to the agent. It is called once the agent is greeted.
	send func(ctx context.Context, server string, message wire.JSON) error

	// turn has one value, for who may set the servers.
	turn chan struct{}

	mu      sync.Mutex
	byName  map[string]*mcpServer
	leaving []*mcpServer  // not by name any more, but still connected
	greeted chan struct{} // closed when the agent has been initialized
	ended   bool

	running sync.WaitGroup // connections that are being closed, and handshakes
	busy    atomic.Int32   // how many of them
}

func newMCPServers(o *Options, log *slog.Logger) *mcpServers {
	m := &mcpServers{
		log: log, turn: make(chan struct{}, 1), byName: make(map[string]*mcpServer), greeted: make(chan struct{}),
	}
	m.turn <- struct{}{}
	m.add(inProcessServers(o.MCPServers))
	return m
}

// of returns the server of a name, or nil.
func (m *mcpServers) of(name string) *mcpServer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName[name]
}

func (m *mcpServers) all() []*mcpServer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.byName))
}

// configs returns what the servers are, by name.
func (m *mcpServers) configs() map[string]*MCPInProcessServer {
	configs := make(map[string]*MCPInProcessServer)
	for _, server := range m.all() {
		configs[server.name] = server.config
	}
	return configs
}

// take waits until nobody else sets the servers. Call release then.
func (m *mcpServers) take(ctx context.Context) error {
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *mcpServers) release() { m.turn <- struct{}{} }

// add adds servers of names that are not there yet.
func (m *mcpServers) add(servers map[string]*MCPInProcessServer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, config := range servers {
		if m.byName[name] == nil {
			m.put(name, config)
		}
	}
}

// set makes these the servers that there are. It returns the names of those that have taken the place of another.
// Servers that are not there any more keep their connections until they are dismissed.
func (m *mcpServers) set(servers map[string]*MCPInProcessServer) (replaced []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, old := range m.byName {
		config := servers[name]
		if config != nil && old.is(config) {
			continue
		}
		m.leaving = append(m.leaving, old)
		delete(m.byName, name)
		if config != nil {
			m.put(name, config)
			replaced = append(replaced, name)
		}
	}
	return replaced
}

func (m *mcpServers) put(name string, config *MCPInProcessServer) {
	if !m.ended && (config.Handler != nil || config.Opener != nil) {
		m.byName[name] = &mcpServer{name: name, config: config, all: m}
	}
}

// dismiss closes the connections of servers that are not there any more, and does not wait for that.
func (m *mcpServers) dismiss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endLeaving()
}

func (m *mcpServers) endLeaving() {
	for _, server := range m.leaving {
		m.run(server.end)
	}
	m.leaving = nil
}

// greet lets servers send. It may be called again.
func (m *mcpServers) greet() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.greeted:
	default:
		close(m.greeted)
	}
}

// end closes all connections, for good, and does not wait for that.
func (m *mcpServers) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.leaving = slices.AppendSeq(m.leaving, maps.Values(m.byName))
	clear(m.byName)
	m.endLeaving()
}

// run runs something that wait waits for.
func (m *mcpServers) run(f func()) {
	m.busy.Add(1)
	m.running.Go(func() {
		defer m.busy.Add(-1)
		f()
	})
}

// wait waits until everything is closed, at most for limit, and reports whether it is. Call it after end.
func (m *mcpServers) wait(limit time.Duration) bool {
	if m.busy.Load() == 0 {
		return true
	}
	closed := make(chan struct{})
	go func() {
		m.running.Wait()
		close(closed)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}
