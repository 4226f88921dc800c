package mcphost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// A connection is an open connection of a server, with the requests of the agent that are in
// progress on it.
type connection struct {
	server *server
	end    Conn            // the server's end
	ctx    context.Context //nolint:containedctx // it is the connection's own
	cancel context.CancelFunc

	// handshake initializes a server that the agent initialized over an earlier connection. It is
	// nil if the agent does so itself.
	handshake func() error

	mu        sync.Mutex
	calls     map[wire.JSON]*call
	cancelled map[wire.JSON]time.Time // cancellations that came before their requests
	answered  [answeredIDs]wire.JSON  // the ids of the last requests that were answered, in a ring
	count     int                     // how many were answered
}

// answeredIDs is the number of answered requests that are remembered: a cancellation may still come
// for them.
const answeredIDs = 64

// A call is a request of the agent. Its id is free again once it is answered or its context ends.
type call struct {
	ctx    context.Context //nolint:containedctx // it is the request's own
	cancel context.CancelFunc
}

func newConnection(s *server) (*connection, error) {
	c := &connection{server: s, calls: make(map[wire.JSON]*call), cancelled: make(map[wire.JSON]time.Time)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	end, err := s.config.Open(&Peer{Send: c.send, Logger: s.host.config.Log})
	switch {
	case err != nil:
		c.cancel()
		return nil, err
	case end == nil:
		c.cancel()
		return nil, errors.New("clew: OpenMCP returned no connection")
	}
	c.end = end
	return c, nil
}

// call passes a request on to the server and returns the reply.
func (c *connection) call(ctx context.Context, head *rpcHead, message wire.JSON) (wire.JSON, error) {
	ctx, call := c.begin(ctx, head.ID)
	if call == nil {
		text := fmt.Sprintf("a request with the id %s is under way", head.ID)
		return rawjson.Encode(rpcFailure(head.ID, rpcInvalidRequest, text))
	}
	defer c.finish(head.ID, call)
	reply, err := c.end.HandleMCP(ctx, message)
	if err != nil && (ctx.Err() != nil || c.ctx.Err() != nil) {
		return rawjson.Encode(rpcFailure(head.ID, rpcCanceled, "the request was cancelled"))
	}
	return reply, err
}

// begin registers a request and returns its context. It returns no call if a request with this id
// is in progress.
func (c *connection) begin(ctx context.Context, id wire.JSON) (context.Context, *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.calls[id]; before != nil && before.ctx.Err() == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	call := &call{ctx, func() { stop(); cancel() }}
	c.calls[id] = call
	if since, ok := c.cancelled[id]; ok && time.Since(since) < earlyLimit {
		cancel()
	}
	delete(c.cancelled, id)
	return ctx, call
}

func (c *connection) finish(id wire.JSON, call *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.cancel()
	if c.calls[id] == call {
		delete(c.calls, id)
		c.answered[c.count%answeredIDs] = id
		c.count++
	}
}

// earlyLimit is the time for which the cancellation of an unknown request is kept. Messages are
// served concurrently, so that a cancellation can overtake its request.
const earlyLimit = time.Second

// cancelRequest ends the context of the request that a notification names.
func (c *connection) cancelRequest(notification wire.JSON) {
	var message struct {
		Params struct {
			RequestID wire.JSON `json:"requestId"`
		} `json:"params"`
	}
	if notification.Decode(&message) != nil || rawjson.Absent(message.Params.RequestID) {
		return // the server may understand it
	}
	id := message.Params.RequestID
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.calls[id]; call != nil {
		call.cancel()
		return
	}
	if slices.Contains(c.answered[:], id) {
		return // it is too late, and must not affect the next request with this id
	}
	maps.DeleteFunc(c.cancelled, func(_ wire.JSON, since time.Time) bool { return time.Since(since) >= earlyLimit })
	c.cancelled[id] = time.Now()
}

// send sends a message of the server to the agent.
func (c *connection) send(ctx context.Context, message wire.JSON) error {
	host := c.server.host
	select {
	case <-host.ready:
	case <-c.ctx.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })() //nolint:contextcheck // it ends with either one
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	return host.config.Send(ctx, c.server.name, message)
}

// close waits until the server closes its end.
func (c *connection) close() {
	log := c.server.host.config.Log.With("server", c.server.name)
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic while an MCP connection was closed", "panic", redact.Mask(fmt.Sprint(p)))
		}
	}()
	if err := c.end.Close(); err != nil {
		log.Warn("closing an MCP connection", "error", redact.Mask(err.Error()))
	}
}
