package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeOptions describe a server to its clients.
type ServeOptions struct {
	// Name and Version identify the program.
	Name, Version string
	// Instructions tell the model what the tools are for. Empty means none.
	Instructions string
}

// Serve serves tools to one client that started this program, as the stdio transport of MCP
// describes it: one message a line, requests from in and responses to out. The client may be any
// program that knows MCP, such as Claude Code with the program in its .mcp.json.
//
//	err := tools.Serve(ctx, os.Stdin, os.Stdout, &tools.ServeOptions{Name: "calc", Version: "1"}, add)
//
// It blocks until the input ends, which is how a client ends the program, and then returns nil.
// Calls that still run have another second, then they are cancelled, and Serve waits for them. It
// returns the error of the context if that ends first; a read from in may then still be waiting.
// Other errors come from reading and writing, or from a tool that can't be used. A line that is not
// a message, or that is longer than 4 MiB, is answered with an error, and costs nothing else.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts *ServeOptions, tools ...*Tool) error {
	if opts == nil {
		opts = new(ServeOptions)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: opts.Name, Version: opts.Version}, &mcp.ServerOptions{
		Instructions: opts.Instructions,
	})
	server.AddReceivingMiddleware(failUnknownTools)
	if err := Add(server, tools...); err != nil {
		return err
	}
	c := &lineConn{out: out, messages: make(chan jsonrpc.Message), closed: make(chan struct{})}
	session, err := server.Connect(ctx, c, nil)
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	ended := make(chan error, 1)
	go c.readAll(in, ended)
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	_ = session.Wait() // what ended it is known better here
	select {
	case err := <-ended:
		return errors.Join(err, c.failed())
	default:
		return errors.Join(ctx.Err(), c.failed())
	}
}

// maxServedLine is the length of the longest line that is read.
const maxServedLine = 4 << 20

// A lineConn is a connection of the SDK with one message a line. Unlike the SDK's own, it continues
// after a line that is not a message.
type lineConn struct {
	messages chan jsonrpc.Message
	closed   chan struct{}
	once     sync.Once

	mu       sync.Mutex // guards what follows
	out      io.Writer
	writeErr error
	waiting  int           // requests without a response
	answered chan struct{} // closed when there are none, after the end of the input; nil before
}

// serveGrace is the time that requests are answered after the end of the input.
const serveGrace = time.Second

// drain waits until all requests are answered, or some time passed.
func (c *lineConn) drain() {
	c.mu.Lock()
	if c.waiting == 0 {
		c.mu.Unlock()
		return
	}
	answered := make(chan struct{})
	c.answered = answered
	c.mu.Unlock()
	select {
	case <-answered:
	case <-c.closed:
	case <-time.After(serveGrace):
	}
}

// count notes that a request came, or that one was answered.
func (c *lineConn) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting += n; c.waiting == 0 && c.answered != nil {
		close(c.answered)
		c.answered = nil
	}
}

// readAll reads lines until the input ends, and then ends the connection.
func (c *lineConn) readAll(in io.Reader, ended chan<- error) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		switch {
		case errors.Is(err, errLongLine):
			c.refuse(fmt.Sprintf("the line is longer than %d bytes", maxServedLine))
		case len(bytes.TrimSpace(line)) > 0:
			c.take(line)
		}
		if err != nil && !errors.Is(err, errLongLine) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			c.drain()
			ended <- err
			c.end()
			return
		}
	}
}

// take passes a message on to the server.
func (c *lineConn) take(line []byte) {
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.refuse(err.Error())
		return
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		c.count(1)
	}
	select {
	case c.messages <- msg:
	case <-c.closed:
	}
}

var errLongLine = errors.New("the line is too long")

// readLine reads a line. It reads a line that is too long to its end, and returns errLongLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(line)+len(piece) > maxServedLine; !long {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, errLongLine
		default:
			return line, err
		}
	}
}

// refuse answers a line that is not a message.
func (c *lineConn) refuse(reason string) {
	data, err := encode(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: reason},
	})
	if err == nil {
		_ = c.write(data) // Serve returns the error
	}
}

// Connect makes the connection a transport of the SDK.
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// Read returns the next message for the server.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.messages:
		return msg, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write writes a message of the server.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer c.count(-1)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.write(data)
}

// write writes a line. A client that no longer reads ends the connection.
func (c *lineConn) write(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeErr == nil {
		if _, c.writeErr = c.out.Write(append(line, '\n')); c.writeErr != nil {
			c.end()
		}
	}
	return c.writeErr
}

func (c *lineConn) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeErr
}

// Close is for the server, when it reads the end.
func (c *lineConn) Close() error {
	c.end()
	return nil
}

// end ends what the server reads.
func (c *lineConn) end() { c.once.Do(func() { close(c.closed) }) }

// SessionID returns no ID: the connection has just one session.
func (c *lineConn) SessionID() string { return "" }
