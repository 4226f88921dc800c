package mcphost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A fakeServer is a server whose connections handle messages with a function.
type fakeServer struct {
	handle   func(ctx context.Context, message wire.JSON) (wire.JSON, error)
	stateful bool
	opened   atomic.Int32
	closed   atomic.Int32
	peer     *Peer
}

func (s *fakeServer) Open(peer *Peer) (Conn, error) {
	s.opened.Add(1)
	s.peer = peer
	return fakeConn{s}, nil
}

func (s *fakeServer) Stateful() bool         { return s.stateful }
func (s *fakeServer) Same(other Server) bool { return s == other }

type fakeConn struct{ *fakeServer }

func (c fakeConn) HandleMCP(ctx context.Context, message wire.JSON) (wire.JSON, error) {
	return c.handle(ctx, message)
}

func (c fakeConn) Close() error {
	c.closed.Add(1)
	return nil
}

// replies is a server that always replies the same.
func replies(reply wire.JSON, err error) *fakeServer {
	return &fakeServer{handle: func(context.Context, wire.JSON) (wire.JSON, error) { return reply, err }}
}

// newHost returns a host that sends to nobody.
func newHost(servers map[string]Server) *Host {
	return New(Config{
		Log:  slog.New(slog.DiscardHandler),
		Send: func(context.Context, string, wire.JSON) error { return nil },
		Guard: func(_ context.Context, _ string, run func() (any, error)) (wire.JSON, error) {
			value, err := run()
			if err != nil {
				return "", err
			}
			return rawjson.Encode(value)
		},
	}, servers)
}

const ping wire.JSON = `{"server_name":"calc","message":{"jsonrpc":"2.0","id":3,"method":"ping"}}`

// A reply that is not JSON must not spoil the stream to the agent.
func TestReplyNotJSON(t *testing.T) {
	t.Parallel()
	got, err := newHost(map[string]Server{"calc": replies(`{"jsonrpc":`, nil)}).Serve(t.Context(), ping)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Response rpcResponse `json:"mcp_response"`
	}
	if err := got.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if failure := answer.Response.Error; failure == nil || failure.Code != rpcInternalError {
		t.Errorf("answer %s", got)
	}
}

// A handshake that is too late does not replace the connection of the agent's own handshake.
func TestServerOpenedTooLate(t *testing.T) {
	t.Parallel()
	server := newHost(map[string]Server{"calc": replies("", nil)}).find("calc")
	conn, err := server.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.open(late); err == nil || server.conn != conn {
		t.Errorf("error %v, another connection: %v", err, server.conn != conn)
	}
}

// A connection that ended is replaced at the next message, with a handshake if the server is
// stateful.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	for _, stateful := range []bool{false, true} {
		var methods []string
		fail := true
		server := &fakeServer{stateful: stateful}
		server.handle = func(_ context.Context, message wire.JSON) (wire.JSON, error) {
			var head rpcHead
			if err := message.Decode(&head); err != nil {
				return "", err
			}
			methods = append(methods, head.Method)
			if head.Method == "ping" && fail {
				fail = false
				return "", ErrClosed
			}
			return wire.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, head.ID)), nil
		}
		host := newHost(map[string]Server{"calc": server})
		for range 2 {
			if _, err := host.Serve(t.Context(), ping); err != nil {
				t.Fatal(err)
			}
		}
		host.Close()
		if !host.Wait(time.Minute) || server.opened.Load() != 2 || server.closed.Load() != 2 {
			t.Errorf("stateful %t: %d opened, %d closed", stateful, server.opened.Load(), server.closed.Load())
		}
		want := []string{"ping", "ping"}
		if stateful {
			want = []string{
				"initialize", "notifications/initialized", "ping", "initialize", "notifications/initialized", "ping",
			}
		}
		if diff := cmp.Diff(want, methods); diff != "" {
			t.Errorf("stateful %t: methods (-want +got):\n%s", stateful, diff)
		}
	}
}

// Only servers that change lose their connections, and only when the caller asks for it.
func TestReplace(t *testing.T) {
	t.Parallel()
	kept, old, gone, fresh := replies("{}", nil), replies("{}", nil), replies("{}", nil), replies("{}", nil)
	host := newHost(map[string]Server{"kept": kept, "new": old, "gone": gone})
	for _, server := range host.all() {
		if _, err := server.open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"new"}, host.Replace(map[string]Server{"kept": kept, "new": fresh})); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if kept.closed.Load()+old.closed.Load()+gone.closed.Load() != 0 {
		t.Error("a connection was closed too early")
	}
	host.CloseRemoved()
	if !host.Wait(time.Minute) || kept.closed.Load() != 0 || old.closed.Load() != 1 || gone.closed.Load() != 1 {
		t.Errorf("closed: kept %d, replaced %d, removed %d", kept.closed.Load(), old.closed.Load(), gone.closed.Load())
	}
	if servers := host.Servers(); len(servers) != 2 || servers["new"] != Server(fresh) {
		t.Errorf("servers %v", servers)
	}
	host.Close()
	host.Add(map[string]Server{"late": replies("", nil)})
	if len(host.Servers()) != 0 {
		t.Error("a closed host takes servers")
	}
}

// A server can send once the agent is ready, and not after its connection ends.
func TestSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := replies("{}", nil)
		host := newHost(map[string]Server{"calc": server})
		if _, err := host.Serve(t.Context(), ping); err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() { sent <- server.peer.Send(t.Context(), `{}`) }()
		synctest.Wait()
		select {
		case err := <-sent:
			t.Errorf("sent before the agent was ready: %v", err)
		default:
		}
		host.Ready()
		if err := <-sent; err != nil {
			t.Error(err)
		}
		host.Close()
		host.Wait(time.Minute)
		if err := server.peer.Send(t.Context(), `{}`); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v after the end", err)
		}
	})
}

// Only one goroutine sets the servers at a time.
func TestLock(t *testing.T) {
	t.Parallel()
	host := newHost(nil)
	if err := host.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := host.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	host.Unlock()
	if err := host.Lock(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whatever the agent sends to a server, it gets an answer that is JSON, or a refusal.
func FuzzServe(f *testing.F) {
	for _, message := range []string{
		`{"id":1,"method":"initialize"}`, `{"id":1,"method":"tools/call"}`, `{"id":"a","result":{}}`,
		`{"id":null,"method":""}`, `7`, `[{}]`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`, `{"method":"notifications/cancelled","params":[]}`,
	} {
		f.Add("calc", message)
	}
	host := newHost(map[string]Server{"calc": replies(`{"jsonrpc":"2.0","id":1,"result":{}}`, nil)})
	f.Fuzz(func(t *testing.T, server, message string) {
		name, err := rawjson.Encode(server)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := host.Serve(t.Context(), `{"server_name":`+name+`,"message":`+wire.JSON(message)+`}`)
		if err == nil && !json.Valid([]byte(answer)) {
			t.Errorf("answer %s", answer)
		}
	})
}
