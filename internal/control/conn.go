// Package control implements the control protocol of an agent. It matches answers with requests,
// serves the agent's requests, and fails all waiting calls when the agent is gone.
//
// One agent can replace another that is gone: see [Conn.Break].
//
// A [Conn] holds all pending requests, in both directions, under one lock. It handles frames and
// knows no process: the caller passes it the messages that were read, and it writes to an [Outbox].
package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// A Server answers a request of the agent. Its value is marshaled as the answer, and its error is
// sent as the error. It runs in a separate goroutine. The context ends when the agent withdraws the
// request or is gone.
type Server func(ctx context.Context, req *wire.ControlRequestMessage) (any, error)

// ErrNoAnswer is a Server's error for a request that must not be answered.
var ErrNoAnswer = errors.New("control: no answer")

// maxServing limits how many requests of the agent are served at once. A working agent never comes
// near it.
const maxServing = 1000

// A Conn is the host's end of the control protocol. Its methods may be called from several
// goroutines.
type Conn struct {
	out *Outbox
	Config

	mu      sync.Mutex
	prefix  string
	made    int
	calls   map[string]*call    // our requests, until answered
	serving map[string]*service // the agent's requests, until answered
	gate    chan struct{}       // closed when there is an agent again; nil while there is one
	err     error               // why the connection ended
	running int                 // number of servers that are still running, answered or not
	quiet   chan struct{}       // closed when no server runs; nil unless Wait waits for that
}

// A call is a request of ours that waits for its answer.
type call struct {
	id     string
	answer wire.ControlResponse
	err    error
	done   chan struct{}
}

// A Config connects a Conn to its owner.
type Config struct {
	// Serve answers the requests of the agent.
	Serve Server
	// Urgent is called when a call waits for the agent's next answer.
	Urgent func()
	Log    *slog.Logger
	// Keep makes the Conn withdraw no request: the agent does not know how.
	Keep bool
}

// New returns a Conn that writes to out.
func New(out *Outbox, config Config) *Conn {
	return &Conn{
		out: out, Config: config,
		prefix:  rand.Text()[:8],
		calls:   make(map[string]*call),
		serving: make(map[string]*service),
	}
}

// Call sends a request with that body, a JSON object, and waits for the answer. Without an agent,
// it waits for one first. If the agent refuses the request, the error is a [*Refusal]. When ctx
// ends first, the request is withdrawn.
func (c *Conn) Call(ctx context.Context, body []byte) (*wire.ControlResponse, error) {
	for ctx.Err() == nil {
		pending, gate, err := c.send(body, false)
		if gate == nil {
			return c.await(ctx, pending, err)
		}
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	return nil, ContextError(ctx)
}

// Start sends a request like Call, and returns a function that waits for the answer. It fails
// without an agent.
func (c *Conn) Start(body []byte) (wait func(context.Context) (*wire.ControlResponse, error), err error) {
	pending, gate, err := c.send(body, false)
	if err == nil && gate != nil {
		err = errNoAgent
	}
	return func(ctx context.Context) (*wire.ControlResponse, error) { return c.await(ctx, pending, err) }, err
}

var errNoAgent = errors.New("control: there is no agent")

// CallEarly is like Call for an agent that is not ready yet: see [Conn.Attach].
func (c *Conn) CallEarly(ctx context.Context, body []byte) (*wire.ControlResponse, error) {
	if ctx.Err() != nil {
		return nil, ContextError(ctx)
	}
	pending, _, err := c.send(body, true)
	return c.await(ctx, pending, err)
}

// await waits for the answer to a request, unless sending it failed.
func (c *Conn) await(ctx context.Context, pending *call, err error) (*wire.ControlResponse, error) {
	if err != nil {
		return nil, err
	}
	select {
	case <-pending.done:
		return pending.result()
	case <-ctx.Done():
		return c.withdraw(ctx, pending)
	}
}

// Notify sends a request without waiting for its answer. It fails without an agent.
func (c *Conn) Notify(body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Put(requestFrame(c.nextID(), body))
	return err
}

// send registers a call and queues its request. If there is no agent, and the call is not early, it
// returns a channel to wait for.
func (c *Conn) send(body []byte, early bool) (*call, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, nil, c.err
	}
	if c.gate != nil && !early {
		return nil, c.gate, nil
	}
	pending := &call{id: c.nextID(), done: make(chan struct{})}
	if _, err := c.out.Put(requestFrame(pending.id, body)); err != nil {
		return nil, nil, err
	}
	c.calls[pending.id] = pending
	c.Urgent()
	return pending, nil, nil
}

func (c *Conn) nextID() string {
	c.made++
	return "req_" + strconv.Itoa(c.made) + "_" + c.prefix
}

// withdraw gives up a call, unless its answer has just come.
func (c *Conn) withdraw(ctx context.Context, pending *call) (*wire.ControlResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[pending.id] == nil {
		return pending.result()
	}
	delete(c.calls, pending.id)
	if c.Keep {
		return nil, ContextError(ctx)
	}
	if _, err := c.out.Put(cancelFrame(pending.id)); err != nil {
		c.Log.Debug("withdrawing a control request", "id", pending.id, "error", err)
	}
	return nil, ContextError(ctx)
}

// Waiting reports whether a request of ours waits for its answer.
func (c *Conn) Waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls) > 0
}

// Serving reports whether a request of the agent waits for its answer.
func (c *Conn) Serving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.serving) > 0
}

// Handle handles msg if it is a frame of the control protocol, and reports whether it is. It does
// not block.
func (c *Conn) Handle(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.ControlResponseMessage:
		if m.Response.RequestID == "" || m.Response.Subtype == "" {
			c.lost(m.Raw(), misfit(m))
		} else {
			c.answered(&m.Response)
		}
	case *wire.ControlRequestMessage:
		c.asked(m)
	case *wire.ControlCancelRequestMessage:
		c.cancel(m.RequestID)
	case *wire.KeepAliveMessage:
	default:
		return false
	}
	return true
}

// answered passes an answer to its call. An answer without a call, such as a late or a repeated
// one, is ignored.
func (c *Conn) answered(answer *wire.ControlResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending, ok := c.calls[answer.RequestID]
	if !ok {
		c.Log.Debug("control response without a request", "id", answer.RequestID)
		return
	}
	delete(c.calls, answer.RequestID)
	pending.answer = *answer
	close(pending.done)
}

func (p *call) result() (*wire.ControlResponse, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.answer.Subtype == "error" {
		return nil, &Refusal{Message: p.answer.Error, Code: p.answer.ErrorCode}
	}
	return &p.answer, nil
}

// Fail ends the connection with err: our calls return it, and the contexts of the agent's requests
// end. Only the first error counts.
func (c *Conn) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	c.drop(err)
	c.openGate()
}

// drop fails our calls with err, and ends the contexts of the agent's requests.
func (c *Conn) drop(err error) {
	for id, pending := range c.calls {
		delete(c.calls, id)
		pending.err = err
		close(pending.done)
	}
	for id, svc := range c.serving {
		delete(c.serving, id)
		svc.cancel()
	}
}

// Wait waits until all servers return, but not longer than limit. It reports whether they did. Call
// it after Fail.
func (c *Conn) Wait(limit time.Duration) bool {
	c.mu.Lock()
	if c.running > 0 && c.quiet == nil {
		c.quiet = make(chan struct{})
	}
	running, quiet := c.running, c.quiet
	c.mu.Unlock()
	if running == 0 {
		return true
	}
	return pause.Until(quiet, limit)
}

// A Refusal is an error that the agent returned for a request.
type Refusal struct {
	Message string
	Code    string
}

func (e *Refusal) Error() string { return e.Message }

// requestID finds the id of a request in a frame that could not be decoded.
var requestID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"request_id"\s*:\s*"([^"\\]{1,100})"`)
})

// ErrBroken is the error of a call whose answer could not be read.
var ErrBroken = errors.New("control: the answer could not be read")

// HandleInvalid handles a frame that could not be decoded. If it was an answer, its call fails. If
// it was a request of the agent, the agent gets an error. Otherwise either side would wait for
// ever.
func (c *Conn) HandleInvalid(frame *wire.InvalidFrame) {
	switch frame.Kind().Type {
	case "control_response":
		c.lost(frame.Raw(), frame.Err)
	case "control_request":
		if id := requestID().FindStringSubmatch(frame.Raw()); id != nil {
			c.answer(id[1], nil, fmt.Errorf("the control request could not be read: %w", frame.Err))
		}
	}
}

// lost fails the call whose answer is in the frame, which could not be read because of err. Ids are
// too long to be there by accident.
func (c *Conn) lost(frame string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, pending := range c.calls {
		if strings.Contains(frame, id) {
			delete(c.calls, id)
			pending.err = fmt.Errorf("%w: %w", ErrBroken, err)
			close(pending.done)
			return
		}
	}
	c.Log.Warn("control response that could not be read", "error", err)
}

// misfit returns what is wrong with an answer that lacks its id or its subtype.
func misfit(m *wire.ControlResponseMessage) error {
	for _, field := range wire.Misfits(m) {
		return field
	}
	return errors.New("its id or its subtype is empty")
}

// Break removes an agent that is gone: our calls return err, and the contexts of the agent's
// requests end. Unwritten prompts wait for another agent, and so do further calls. Break returns
// the ids of these prompts. It may be called again before there is another agent.
func (c *Conn) Break(err error) (kept []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(err)
	if c.gate == nil && c.err == nil {
		c.gate = make(chan struct{})
	}
	return c.out.detach(err)
}

// Attach adds another agent. It gets only the requests of CallEarly, and answers to its own
// requests, until open is called. Then it also gets prompts and calls. open reports whether the
// agent is still attached.
func (c *Conn) Attach(dst WriteCloser) (open func() bool) {
	w := c.out.attach(dst)
	return func() bool { return c.open(w) }
}

func (c *Conn) open(w *writer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.out.release(w) {
		return false
	}
	c.openGate()
	return true
}

// Ready reports whether there is an agent that is ready for prompts and calls.
func (c *Conn) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gate == nil
}

func (c *Conn) openGate() {
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}
