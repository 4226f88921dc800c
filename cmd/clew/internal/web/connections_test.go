package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/view"
)

// A client is one connection to a server.
type client struct {
	*testing.T
	net.Conn
	host string
	in   *bufio.Reader
}

// dial connects, until the test ends.
func dial(t *testing.T, address string) *client {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	return &client{t, conn, address, bufio.NewReader(conn)}
}

// expect ends a test that waits for the server from now on and hangs.
func (c *client) expect() {
	c.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		c.Fatal(err)
	}
}

// isClosed reports whether the server closes the connection.
func (c *client) isClosed() bool {
	c.Helper()
	c.expect()
	_, err := c.in.ReadByte()
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// get sends a request on the connection, and returns the status of the answer.
func (c *client) get(path, token string) int {
	c.Helper()
	c.expect()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, c.host, token); err != nil {
		c.Fatal(err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		c.Fatal(err)
	}
	return resp.StatusCode
}

// Connections of strangers keep nobody out, and end nothing of a page that is logged in.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	source := view.New(view.Options{Dir: t.TempDir()})
	l := listen(t, Address{Port: "0"})
	s, err := New(Options{Source: source, Origins: l.Origins})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, s.Close(), source.Close()); err != nil {
			t.Error(err)
		}
	})
	address := l.listeners[0].Addr().String()
	page := dial(t, address)
	if got := page.get(api+"me", s.Token()); got != http.StatusOK {
		t.Fatalf("the page got %d", got)
	}
	var idle []*client
	for range 2 * maxConnections {
		c := dial(t, address)
		if got := c.get("/", ""); got != http.StatusOK {
			t.Fatalf("a stranger got %d", got)
		}
		idle = append(idle, c)
	}
	if got := dial(t, address).get(api+"me", s.Token()); got != http.StatusOK {
		t.Errorf("another page got %d", got)
	}
	if !idle[0].isClosed() {
		t.Error("the oldest idle connection was not closed")
	}
	if got := page.get(api+"me", s.Token()); got != http.StatusOK {
		t.Errorf("the page got %d afterwards", got)
	}
	s.rotate()
	for range maxConnections {
		if got := dial(t, address).get("/", ""); got != http.StatusOK {
			t.Fatalf("a stranger got %d after the token was replaced", got)
		}
	}
	if !page.isClosed() {
		t.Error("the connection of a token that was replaced is not closed for others")
	}
}
