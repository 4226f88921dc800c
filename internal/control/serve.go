package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// asked runs a request of the agent. One that comes again while it is under way is the same one.
func (c *Conn) asked(req *wire.ControlRequestMessage) {
	id := req.RequestID
	if id == "" {
		c.Log.Warn("control request without an id, which nobody can answer", "subtype", req.Request.Subtype)
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

// A service is a request of the agent that is being served. The agent may use its id again once it has withdrawn it.
type service struct {
	ctx    context.Context //nolint:containedctx // it is the request's own
	cancel context.CancelFunc
}

// begin notes that a request is under way. It returns no service for one that must not be run.
func (c *Conn) begin(id string) (*service, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil || c.serving[id] != nil:
		return nil, nil
	case len(c.serving) >= maxServing:
		return nil, fmt.Errorf("more than %d control requests are under way", maxServing)
	}
	svc := new(service)
	svc.ctx, svc.cancel = context.WithCancel(context.Background())
	c.serving[id] = svc
	c.running++
	return svc, nil
}

// errNoReturn is the answer for a server that ended its goroutine, as the Fatal of a test does.
var errNoReturn = errors.New("the callback did not return")

// run serves a request and answers it, unless it was withdrawn meanwhile.
func (c *Conn) run(svc *service, req *wire.ControlRequestMessage) {
	var value any
	err := errNoReturn
	defer func() {
		if c.cancel(req.RequestID, svc) {
			c.answer(req.RequestID, value, err)
		}
		c.returned()
	}()
	value, err = c.Serve(svc.ctx, req)
}

// returned notes that what served a request has returned.
func (c *Conn) returned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.running == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// cancel ends the context of a request of the agent and forgets it. It reports whether the request was under way, by
// that service if one is given.
func (c *Conn) cancel(id string, by *service) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	svc := c.serving[id]
	if svc == nil || by != nil && by != svc {
		return false
	}
	delete(c.serving, id)
	svc.cancel()
	return true
}

// answer writes the answer to a request.
func (c *Conn) answer(id string, value any, err error) {
	if errors.Is(err, ErrNoAnswer) {
		return
	}
	var body []byte
	if err == nil {
		body, err = marshal(value)
	}
	frame := answerFrame(id, body)
	if err != nil {
		frame = refusalFrame(id, err)
	}
	if _, err := c.out.Put(frame); err != nil {
		c.Log.Debug("answering a control request", "id", id, "error", err)
	}
}
