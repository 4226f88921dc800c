package clew

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

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
		return encode(rpcFailure(head.ID, rpcInvalidRequest, fmt.Sprintf("a request with the id %s is under way", head.ID)))
	}
	defer l.end(head.ID, call)
	reply, err := l.conn.HandleMCP(ctx, message)
	if err != nil && (ctx.Err() != nil || l.ctx.Err() != nil) {
		return encode(rpcFailure(head.ID, rpcCancelled, "the request was cancelled"))
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
	if notification.Decode(&message) != nil || absent(message.Params.RequestID) {
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
			log.Error("panic while an MCP connection was closed", "panic", mask(fmt.Sprint(p)))
		}
	}()
	if err := l.conn.Close(); err != nil {
		log.Warn("closing an MCP connection", "error", mask(err.Error()))
	}
}
