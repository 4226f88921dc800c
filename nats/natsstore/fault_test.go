package natsstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/wire"
)

func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, &server.Options{StoreDir: dir})
	p := newProxy(t, srv)
	back := make(chan struct{}, 1)
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: p.url(), Connect: []nats.Option{
		nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} }),
	}})
	appendTo(t, s, main, numbered(0, 2)...)

	stop(srv)
	var appendErr error
	for appendErr == nil { // the proxy may still have to hang up
		appendErr = s.Append(t.Context(), main, numbered(0, 2))
	}
	_, listErr := s.Sessions(t.Context(), main.Project)
	_, loadErr := tryLoad(t.Context(), s, main)
	_, projectsErr := s.Projects(t.Context())
	for method, err := range map[string]error{
		"Append": appendErr, "Load": loadErr, "Sessions": listErr, "Projects": projectsErr,
		"Delete": s.Delete(t.Context(), main),
	} {
		if err == nil || !strings.Contains(err.Error(), "connection lost") {
			t.Errorf("%s: got %v", method, err)
		}
	}

	p.lead(start(t, &server.Options{StoreDir: dir}))
	<-back
	appendTo(t, s, main, numbered(1, 4)...)
	checkLoad(t, s, main, numbered(0, 4))
}

// The connection is lost while the store waits.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	srv := start(t, &server.Options{})
	p := newProxy(t, srv)
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: p.url()})
	p.mute.Store(true)
	done := make(chan error)
	go func() { done <- s.Append(t.Context(), main, numbered(0, 1)) }()
	direct := open(t, &natsstore.Options{AllowUnsynced: true, URL: srv.ClientURL()})
	polltest.Until(t, "the entry is stored", func() bool { return len(load(t, direct, main)) > 0 })
	stop(srv)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("got %v", err)
	}
}

// A proxy is between a store and a server.
type proxy struct {
	listener net.Listener
	server   atomic.Pointer[string]
	mute     atomic.Bool // drop what the server sends

	// published, if set, is called before the n-th message with headers of a client passes.
	published atomic.Pointer[func(n int)]
}

func newProxy(t *testing.T, srv *server.Server) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local listener
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &proxy{listener: listener}
	p.lead(srv)
	go p.run(t.Context())
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// lead connects later clients to a server.
func (p *proxy) lead(srv *server.Server) {
	address := srv.Addr().String()
	p.server.Store(&address)
}

func (p *proxy) run(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		backend, err := new(net.Dialer).DialContext(ctx, "tcp", *p.server.Load())
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() { _, _ = io.Copy(&counter{Writer: backend, proxy: p}, client); _ = backend.Close() }()
		go func() { _, _ = io.Copy(muteable{client, &p.mute}, backend); _ = client.Close() }()
	}
}

// A counter counts the messages with headers that a client publishes.
type counter struct {
	io.Writer
	proxy  *proxy
	n      int
	before []byte // the end of what was written
}

func (c *counter) Write(data []byte) (int, error) {
	const verb = "HPUB "
	published := c.proxy.published.Load()
	if published == nil {
		return c.Writer.Write(data)
	}
	text := append(c.before, data...) //nolint:gocritic // it replaces c.before below
	for range bytes.Count(text, []byte(verb)) {
		c.n++
		(*published)(c.n)
	}
	c.before = bytes.Clone(text[max(0, len(text)-len(verb)+1):])
	return c.Writer.Write(data)
}

type muteable struct {
	io.Writer
	mute *atomic.Bool
}

func (m muteable) Write(data []byte) (int, error) {
	if m.mute.Load() {
		return len(data), nil
	}
	return m.Writer.Write(data)
}

// The server stored the append, but its answer is lost. The caller can't know, and repeats it.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	srv := start(t, &server.Options{})
	p := newProxy(t, srv)
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: p.url()})
	appendTo(t, s, main, numbered(0, 1)...)

	p.mute.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, sessionsErr := s.Sessions(ctx, main.Project)
	_, subpathsErr := s.Subpaths(ctx, main)
	_, loadErr := tryLoad(ctx, s, main)
	for method, err := range map[string]error{
		"Append": s.Append(ctx, main, numbered(1, 3)), "Delete": s.Delete(ctx, other),
		"Sessions": sessionsErr, "Subpaths": subpathsErr, "Load": loadErr,
	} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", method, err)
		}
	}
	p.mute.Store(false)

	direct := open(t, &natsstore.Options{AllowUnsynced: true, URL: srv.ClientURL()})
	for range 2 {
		appendTo(t, direct, main, numbered(1, 3)...)
		checkLoad(t, direct, main, numbered(0, 3))
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	large := func(id string, size int) wire.JSON {
		return wire.JSON(fmt.Sprintf(`{"uuid":%q,"text":%q}`, id, strings.Repeat("x", size)))
	}
	for name, size := range map[string]int{"one message": smallPayload / 2, "a batch": 2 * smallPayload} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, &server.Options{MaxPayload: smallPayload})
			s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url, MaxBytes: 8 * smallPayload})
			appendTo(t, s, main, numbered(0, 2)...)
			written := numbered(0, 2)
			var full error
			for i := range 100 {
				entry := large(fmt.Sprint(i), size)
				if full = s.Append(t.Context(), main, []wire.JSON{entry}); full != nil {
					break
				}
				written = append(written, entry)
			}
			if full == nil || !strings.Contains(full.Error(), "maximum bytes exceeded") {
				t.Fatalf("Append to a full stream: got %v", full)
			}
			checkLoad(t, s, main, written)

			appendTo(t, s, main, written...) // already stored: needs no space
			if err := s.Delete(t.Context(), main); err != nil {
				t.Fatal(err)
			}
			appendTo(t, s, main, large("again", size))
			checkLoad(t, s, main, []wire.JSON{large("again", size)})
		})
	}
}

// The stream is gone, and another subscriber answers.
func TestAnswerOfAnother(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	conn, _ := rawStream(t, url)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), main, numbered(0, 1)); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("nobody: got %v", err)
	}
	for _, answer := range []string{"", "{}", "garbage"} {
		sub, err := conn.Subscribe(stream+".>", func(m *nats.Msg) { _ = m.Respond([]byte(answer)) })
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), main, numbered(0, 1)); err == nil {
			t.Errorf("%q: no error", answer)
		}
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}

// An unfinished append, whose writer died, is not visible, and does not delay others.
func TestCutBatch(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	appendTo(t, s, main, numbered(0, 1)...)
	conn, _ := rawStream(t, url)
	for part, body := range []string{"", `{"uuid":"a"}`, "\n" + `{"uuid":"b"}`} {
		if part == 0 {
			continue
		}
		m := nats.NewMsg(subject)
		m.Data = []byte(body)
		m.Header.Set("Nats-Batch-Id", "cut")
		m.Header.Set("Nats-Batch-Sequence", fmt.Sprint(part))
		if part == 1 {
			m.Header.Set("Nats-Expected-Last-Subject-Sequence", "1")
		}
		if answer, err := conn.RequestMsgWithContext(t.Context(), m); err != nil || len(answer.Data) > 0 {
			t.Fatalf("part %d: got %v, %v", part, answer, err)
		}
	}
	checkLoad(t, s, main, numbered(0, 1))
	appendTo(t, s, main, numbered(1, 2)...)
	checkLoad(t, s, main, numbered(0, 2))
}

// The context ends while the store sends a part of a batch, whose answer gets lost. The append is
// there if that was the last part, and not there otherwise.
func TestCanceledBatch(t *testing.T) {
	t.Parallel()
	const parts = 6
	entries := []wire.JSON{wire.JSON(`{"uuid":"u","text":"` + strings.Repeat("x", 4*smallPayload) + `"}`), `{"uuid":"v"}`}
	srv := start(t, &server.Options{MaxPayload: smallPayload})
	direct := open(t, &natsstore.Options{AllowUnsynced: true, URL: srv.ClientURL()})
	for part := 1; part <= parts; part++ {
		key := wire.SessionKey{Project: "p", SessionID: fmt.Sprint(part)}
		ctx, cancel := context.WithCancel(t.Context())
		p := newProxy(t, srv)
		published := func(n int) {
			if n == part {
				p.mute.Store(true)
				cancel()
			}
		}
		p.published.Store(&published)
		s := open(t, &natsstore.Options{AllowUnsynced: true, URL: p.url()})
		if err := s.Append(ctx, key, entries); !errors.Is(err, context.Canceled) {
			t.Errorf("part %d: got %v", part, err)
		}
		if part == parts {
			polltest.Until(t, "the append is there", func() bool { return len(load(t, direct, key)) > 0 })
			checkLoad(t, direct, key, entries)
		} else {
			checkLoad(t, direct, key, nil)
		}
		appendTo(t, direct, key, entries...)
		checkLoad(t, direct, key, entries)
	}
}
