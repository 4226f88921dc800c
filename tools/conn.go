package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// A conn is the connection of a server of the SDK to one session. The session deals in requests and
// replies, and the server reads and writes messages of a pipe: a conn has one goroutine wait for
// each reply.
type conn struct {
	*pipe
	session *mcp.ServerSession
}

func newConn(peer *clew.MCPPeer) *conn {
	return &conn{pipe: &pipe{
		peer:    peer,
		in:      make(chan jsonrpc.Message),
		closed:  make(chan struct{}),
		waiting: make(map[int64]chan *jsonrpc.Response),
		calls:   make(map[string]context.Context),
	}}
}

// HandleMCP has the server handle a message. For a request it waits for the reply, or for the end
// of the context, which ends the tool's context as well.
func (c *conn) HandleMCP(ctx context.Context, message wire.JSON) (wire.JSON, error) {
	msg, err := jsonrpc.DecodeMessage([]byte(message))
	if err != nil {
		return "", fmt.Errorf("tools: %w", err)
	}
	req, isRequest := msg.(*jsonrpc.Request)
	switch {
	case isRequest && req.IsCall():
		return c.call(ctx, req, message)
	case isRequest && req.Method == "notifications/cancelled":
		return "", nil // the context of the request says so, too, and the id is not the one that the server knows
	}
	return "", c.put(ctx, msg)
}

// Close lets the server read the end of its input, on which it ends the contexts of calls, and
// waits for them.
func (c *conn) Close() error {
	c.end()
	return c.session.Close()
}

// call passes a request on and waits for the reply. The server knows it by an id that was never
// used before: the agent may use its own again while a tool that it gave up still runs.
func (c *conn) call(ctx context.Context, req *jsonrpc.Request, message wire.JSON) (wire.JSON, error) {
	var head struct {
		ID wire.JSON `json:"id"`
	}
	if err := message.Decode(&head); err != nil {
		return "", err
	}
	id, reply := c.expect()
	defer c.forget(id)
	defer c.keepContext(ctx, req)()
	var err error
	if req.ID, err = jsonrpc.MakeID(float64(id)); err != nil {
		return "", err
	}
	if err := c.put(ctx, req); err != nil {
		return "", err
	}
	select {
	case response := <-reply:
		return encodeResponse(head.ID, response)
	case <-ctx.Done():
		c.cancel(id)
		return "", ctx.Err()
	case <-c.closed:
		return "", clew.ErrMCPClosed
	}
}

// cancel notifies the server that nobody waits for a reply any more.
func (c *conn) cancel(id int64) {
	params := json.RawMessage(fmt.Sprintf(`{"requestId":%d}`, id))
	select {
	case c.in <- &jsonrpc.Request{Method: "notifications/cancelled", Params: params}:
	case <-c.closed:
	}
}

// encodeResponse writes a response with the id that the agent knows.
func encodeResponse(id wire.JSON, response *jsonrpc.Response) (wire.JSON, error) {
	head := `{"jsonrpc":"2.0","id":` + string(id)
	if response.Error == nil {
		return wire.JSON(head + `,"result":` + string(response.Result) + `}`), nil
	}
	failure, ok := errors.AsType[*jsonrpc.Error](response.Error)
	if !ok {
		failure = &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
	}
	data, err := encode(&jsonrpc.Error{Code: failure.Code, Message: response.Error.Error(), Data: failure.Data})
	return wire.JSON(head + `,"error":` + string(data) + `}`), err
}

// A pipe is the end of a conn that the server reads and writes.
type pipe struct {
	peer   *clew.MCPPeer
	in     chan jsonrpc.Message
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *jsonrpc.Response
	calls   map[string]context.Context // of the calls of tools, by the agent's ID of the call
}

// metaToolUseID is the agent's ID of a call in the _meta of its parameters.
const metaToolUseID = "claudecode/toolUseId"

// keepContext keeps the context of a call for its tool, which the server gives its own context.
// Older agents don't identify the call. The result forgets it.
func (p *pipe) keepContext(ctx context.Context, req *jsonrpc.Request) (forget func()) {
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	if req.Method != "tools/call" || json.Unmarshal(req.Params, &params) != nil {
		return func() {}
	}
	id, _ := params.Meta[metaToolUseID].(string)
	if id == "" {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[id] = ctx //nolint:fatcontext // each call has its own
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.calls, id)
	}
}

type pipeKey struct{}

// withCallValues returns a context that has the values of the call that a request of the agent is
// for, too.
func withCallValues(ctx context.Context, req mcp.Request) context.Context {
	call, ok := req.(*mcp.CallToolRequest)
	p, connected := ctx.Value(pipeKey{}).(*pipe)
	if !ok || !connected {
		return ctx
	}
	id, _ := call.Params.GetMeta()[metaToolUseID].(string)
	p.mu.Lock()
	defer p.mu.Unlock()
	if values := p.calls[id]; values != nil {
		return callContext{ctx, context.WithoutCancel(values)}
	}
	return ctx
}

// A callContext has the values of two contexts, and ends with the first one.
type callContext struct {
	context.Context
	values context.Context
}

// Value returns the value of the first context that has one.
func (c callContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.values.Value(key)
}

// expect makes room for a reply.
func (p *pipe) expect() (int64, <-chan *jsonrpc.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	reply := make(chan *jsonrpc.Response, 1)
	p.waiting[p.last] = reply
	return p.last, reply
}

func (p *pipe) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

// put gives the server a message to read.
func (p *pipe) put(ctx context.Context, msg jsonrpc.Message) error {
	select {
	case p.in <- msg:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return clew.ErrMCPClosed
	}
}

// Connect makes the pipe a transport of the SDK.
func (p *pipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// Read returns the next message for the server.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-p.in:
		return msg, nil
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write takes a message of the server: a reply for the call that waits for it, or a message for the
// agent. A reply that comes too late concerns nobody.
func (p *pipe) Write(ctx context.Context, msg jsonrpc.Message) error {
	if response, ok := msg.(*jsonrpc.Response); ok {
		p.reply(response)
		return nil
	}
	if err := p.send(ctx, msg); err != nil {
		return &jsonrpc.Error{Code: codeRejected, Message: err.Error()}
	}
	return nil
}

// send sends a message to the agent. A ping is answered at once: a server that gets no answer
// closes the connection, and here the agent is there for as long as that is open.
func (p *pipe) send(ctx context.Context, msg jsonrpc.Message) error {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method == "ping" {
		return p.put(ctx, &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")})
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return p.peer.Send(ctx, wire.JSON(data))
}

// codeRejected reports that a message could not be sent, and that the connection is good for
// others.
const codeRejected = -32005

func (p *pipe) reply(response *jsonrpc.Response) {
	id, _ := response.ID.Raw().(int64)
	p.mu.Lock()
	defer p.mu.Unlock()
	if reply := p.waiting[id]; reply != nil {
		reply <- response
		delete(p.waiting, id)
	}
}

// Close is for the server, when it reads the end.
func (p *pipe) Close() error {
	p.end()
	return nil
}

// end ends what the server reads.
func (p *pipe) end() { p.once.Do(func() { close(p.closed) }) }

// SessionID returns no id: the pipe has just one session.
func (p *pipe) SessionID() string { return "" }
