package web

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// maxConnections is how many connections are open at a time.
const maxConnections = 256

// connections are those that are open. Anyone on the machine can open one, so a new connection never
// waits: if there are too many, the oldest one that has not sent the token is closed.
type connections struct {
	mu        sync.Mutex
	open      int
	strangers list.List // of *connection that have not sent the token, the oldest first
}

// A connection is one of a browser, or of anyone else.
type connection struct {
	net.Conn

	of      *connections
	release func()
	place   *list.Element // among the strangers; nil after it has sent the token
}

// add counts a connection, and returns it with the one that has to be closed for it, or nil. It
// returns nil if all that are open have sent the token.
func (c *connections) add(conn net.Conn) (added, oldest *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= maxConnections {
		if c.strangers.Len() == 0 {
			return nil, nil
		}
		oldest, _ = c.strangers.Front().Value.(*connection)
	}
	c.open++
	added = &connection{Conn: conn, of: c}
	added.place = c.strangers.PushBack(added)
	added.release = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		added.leaveStrangers()
	})
	return added, oldest
}

// leaveStrangers takes the connection out of those that may be closed for others. The lock is held.
func (c *connection) leaveStrangers() {
	if c.place != nil {
		c.of.strangers.Remove(c.place)
		c.place = nil
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

// keepConnection says that a request has the token: its connection is not closed for others.
func keepConnection(r *http.Request) {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok { // of a test
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.leaveStrangers()
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
		_ = conn.Close() // nobody has used it
	}
}
