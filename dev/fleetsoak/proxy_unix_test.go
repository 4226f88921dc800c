//go:build unix

package fleetsoak

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy is between workers and the server. It can cut the connections, and hold up what they
// carry.
type proxy struct {
	listener net.Listener
	target   string
	hold     atomic.Pointer[func()] // holds up each piece; nil for none
	accepted atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newProxy starts a proxy to an address.
func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() { p.accept(&running) })
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		running.Wait()
	})
	return p
}

func (p *proxy) accept(running *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // it is closed
		}
		p.accepted.Add(1)
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			_ = client.Close() // the server is not there
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		running.Go(func() { p.copy(client, server) })
		running.Go(func() { p.copy(server, client) })
	}
}

// copy passes on what comes, and closes both connections at the end.
func (p *proxy) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if hold := p.hold.Load(); hold != nil {
			(*hold)()
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	p.close(to, from)
}

func (p *proxy) close(all ...io.Closer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
		if conn, ok := c.(net.Conn); ok {
			delete(p.conns, conn)
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}
