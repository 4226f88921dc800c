package web

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// maxConnections is the maximum number of open connections.
const maxConnections = 256

// connections tracks the open connections. Anyone on the machine can open one, so a new connection
// never waits: if there are too many, the oldest one without the token is closed.
type connections struct {
	mu        sync.Mutex
	open      int
	strangers list.List // of *connection without the token, the oldest first
	known     list.List // of *connection that have
}

// A connection is one of a browser, or of anyone else.
type connection struct {
	net.Conn

	of      *connections
	release func()
	in      *list.List    // the strangers or the known ones; nil when it is being closed
	place   *list.Element // there
}

// add counts a connection, and returns it with the connection that has to be closed for it, or nil.
// It returns nil if all open connections sent the token.
func (c *connections) add(conn net.Conn) (added, oldest *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= maxConnections {
		if c.strangers.Len() == 0 {
			return nil, nil
		}
		oldest, _ = c.strangers.Front().Value.(*connection)
		oldest.moveTo(nil) // the next one must close another
	}
	c.open++
	added = &connection{Conn: conn, of: c}
	added.moveTo(&c.strangers)
	added.release = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		added.moveTo(nil)
	})
	return added, oldest
}

// moveTo puts the connection at the end of a list, or into none. The lock is held.
func (c *connection) moveTo(l *list.List) {
	if c.in != nil {
		c.in.Remove(c.place)
	}
	if c.in, c.place = l, nil; l != nil {
		c.place = l.PushBack(c)
	}
}

// Close closes the connection.
func (c *connection) Close() error {
	c.release()
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection puts the connection of requests into their context. TLS wraps it.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// keepConnection notes that a request has the token: its connection is not closed for others.
func keepConnection(r *http.Request) {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok { // of a test
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.in == &c.of.strangers { // otherwise it is known, or is being closed
		c.moveTo(&c.of.known)
	}
}

// forget puts all connections back among the strangers, because the token is another one.
func (c *connections) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.known.Front(); e != nil; e = c.known.Front() {
		known, _ := e.Value.(*connection)
		known.moveTo(&c.strangers)
	}
}

// A limitedListener accepts connections that count.
type limitedListener struct {
	net.Listener

	connections *connections
}

// Accept waits for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		added, oldest := l.connections.add(conn)
		if oldest != nil {
			_ = oldest.Close() // it may be closed
		}
		if added != nil {
			return added, nil
		}
		_ = conn.Close() // nobody used it
	}
}
