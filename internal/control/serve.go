package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// asked serves a request of the agent. A repeated request that is still being served is ignored.
func (c *Conn) asked(req *wire.ControlRequestMessage) {
	id := req.RequestID
	if id == "" {
		c.Log.Warn("control request without an id, which can't be answered", "subtype", req.Request.Subtype)
		return
	}
	if req.Request.Subtype == "" {
		c.answer(id, nil, errors.New("the control request has no subtype"))
		return
	}
	svc, err := c.begin(id)
	if err != nil {
		c.answer(id, nil, err)
		return
	}
	if svc != nil {
		go c.run(svc, req)
	}
}

// A service is a request of the agent that is being served. The agent may use its id again after it
// has withdrawn the request.
type service struct {
	ctx    context.Context //nolint:containedctx // it belongs to the request
	cancel context.CancelFunc
}

// begin registers a request. It returns nil for a request that must not be served.
func (c *Conn) begin(id string) (*service, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil || c.serving[id] != nil:
		return nil, nil
	case len(c.serving) >= maxServing:
		return nil, fmt.Errorf("more than %d control requests are pending", maxServing)
	}
	svc := new(service)
	svc.ctx, svc.cancel = context.WithCancel(context.Background())
	c.serving[id] = svc
	c.running++
	return svc, nil
}

// errNoReturn is the answer for a server that ended its goroutine, as t.Fatal does.
var errNoReturn = errors.New("the callback did not return")

// run serves a request and answers it, unless the agent has withdrawn it.
func (c *Conn) run(svc *service, req *wire.ControlRequestMessage) {
	var value any
	err := errNoReturn
	defer func() {
		c.reply(svc, req.RequestID, answerTo(req.RequestID, value, err))
		c.returned()
	}()
	value, err = c.Serve(svc.ctx, req)
}

// returned counts a server that returned.
func (c *Conn) returned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.running == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// cancel removes a request of the agent and ends its context.
func (c *Conn) cancel(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if svc := c.serving[id]; svc != nil {
		delete(c.serving, id)
		svc.cancel()
	}
}

// reply answers the request of a service, unless the agent has withdrawn it or is gone.
func (c *Conn) reply(svc *service, id string, frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving[id] == svc {
		delete(c.serving, id)
		svc.cancel()
		c.write(id, frame)
	}
}

// answer writes the answer to a request.
func (c *Conn) answer(id string, value any, err error) { c.write(id, answerTo(id, value, err)) }

func (c *Conn) write(id string, frame []byte) {
	if frame == nil {
		return
	}
	if _, err := c.out.Put(frame); err != nil {
		c.Log.Debug("answering a control request", "id", id, "error", err)
	}
}

// answerTo returns the answer to a request as a line, or nil if there must be none.
func answerTo(id string, value any, err error) []byte {
	if errors.Is(err, ErrNoAnswer) {
		return nil
	}
	var body []byte
	if err == nil {
		body, err = marshal(value)
	}
	if err != nil {
		return refusalFrame(id, err)
	}
	return answerFrame(id, body)
}
