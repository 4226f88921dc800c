package natsfleet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
)

// A refusingServer refuses messages as a server of a cluster may, although their record is
// unchanged, or although it stores them. It has one record.
type refusingServer struct {
	refuse  int                 // how many messages it refuses
	code    jetstream.ErrorCode // with which error; 0 means the error for a changed record
	store   bool                // whether it stores refused messages
	leading int                 // how many times it is asked for a record before there is a leader

	mu     sync.Mutex
	last   *nats.Msg
	number uint64
}

// refusal returns the answer with an error code.
func refusal(code jetstream.ErrorCode) []byte {
	return fmt.Appendf(nil, `{"error":{"code":400,"err_code":%d,"description":"refused"}}`, code)
}

func (s *refusingServer) publish(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m.Header.Get(batchHeader) != "" && m.Header.Get(commitHeader) == "" {
		if s.number++; m.Reply != "" { // it has room for the batch
			_ = m.Respond(nil)
		}
		return
	}
	refused := s.refuse > 0
	if s.refuse--; !refused || s.store {
		s.last, s.number = m, s.number+1
	}
	if refused {
		_ = m.Respond(refusal(cmp.Or(s.code, jetstream.JSErrCodeStreamWrongLastSequence)))
		return
	}
	text, _ := json.Marshal(map[string]any{"seq": s.number})
	_ = m.Respond(text)
}

func (s *refusingServer) get(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leading--; s.leading >= 0 {
		_ = m.Respond(refusal(noLeader))
		return
	}
	if s.last == nil {
		_ = m.Respond([]byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`))
		return
	}
	header := []byte("NATS/1.0\r\n")
	for name := range s.last.Header {
		header = append(header, name+": "+s.last.Header.Get(name)+"\r\n"...)
	}
	text, _ := json.Marshal(map[string]any{"message": map[string]any{
		"subject": s.last.Subject, "seq": s.number, "hdrs": append(header, "\r\n"...), "data": s.last.Data,
	}})
	_ = m.Respond(text)
}

// start returns an engine that has this server.
func (s *refusingServer) start(t *testing.T) *Engine {
	t.Helper()
	e := dialOnly(t, startPlain(t))
	for subject, handle := range map[string]nats.MsgHandler{"CLEW_JOBS.*": s.publish, "$JS.API.STREAM.MSG.GET.CLEW_JOBS": s.get} {
		if _, err := e.conn.Subscribe(subject, handle); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// startPlain starts a server without JetStream, and returns its URL.
func startPlain(t *testing.T) string {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	return srv.ClientURL()
}

// dialOnly returns an engine that is connected, without streams.
func dialOnly(t *testing.T, url string) *Engine {
	t.Helper()
	e := &Engine{name: DefaultName, client: &Options{URL: url}}
	if err := e.dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, e) })
	return e
}

// TestNoLeader reads a record and writes a batch while a cluster has no leader, or has just got
// another one.
func TestNoLeader(t *testing.T) {
	t.Parallel()
	s := &refusingServer{leading: 2, last: recordMessage("CLEW_JOBS.a", fleet.Record{Key: "a", Data: []byte("data")}), number: 1}
	e := s.start(t)
	if r, err := e.Get(t.Context(), fleet.Jobs, "a"); err != nil || string(r.Data) != "data" {
		t.Errorf("got %q, %v", r.Data, err)
	}
	for _, code := range []jetstream.ErrorCode{tooManyBatches, incompleteBatch} {
		s.mu.Lock()
		s.refuse, s.code = 2, code
		s.mu.Unlock()
		got, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "b"}, fleet.Record{Key: "c"}, fleet.Record{Key: "d"})
		s.mu.Lock()
		left := s.refuse
		s.mu.Unlock()
		if err != nil || len(got) != 3 || left >= 0 {
			t.Errorf("error code %d: got %v, %v", code, got, err)
		}
	}
}

// TestLeave leaves a server that does not answer for another one, but not again and again.
func TestLeave(t *testing.T) {
	t.Parallel()
	alone := dialOnly(t, startPlain(t))
	alone.link.leave(alone.conn)
	if !alone.link.left.IsZero() {
		t.Error("the only server was left")
	}
	e := dialOnly(t, startPlain(t)+","+startPlain(t))
	before := e.URL()
	e.link.leave(e.conn)
	polltest.Until(t, "the engine has another server", func() bool { return e.URL() != "" && e.URL() != before })
	left := e.link.left
	e.link.leave(e.conn)
	if e.link.left != left {
		t.Error("the next server was left at once")
	}
}

// TestReplicas creates streams with as many replicas as the options say.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int]int{0: 1, 3: 3} {
		e := Engine{name: DefaultName, opts: Options{Replicas: replicas}}
		for _, config := range e.streams() {
			if config.Replicas != want {
				t.Errorf("%s has %d replicas, want %d", config.Name, config.Replicas, want)
			}
		}
	}
}

// TestDiskWhileDisconnected loses the connection while it asks for the disk: that does not count as
// a server which does not answer.
func TestDiskWhileDisconnected(t *testing.T) {
	t.Parallel()
	e := dialOnly(t, startPlain(t))
	if _, err := e.conn.Subscribe(e.diskSubject(), func(*nats.Msg) { _ = e.conn.ForceReconnect() }); err != nil {
		t.Fatal(err)
	}
	if d := e.askDisk(t.Context()); d != nil || e.link.isSilent() {
		t.Errorf("got %+v, silent: %t", d, e.link.isSilent())
	}
}

// TestRefused writes records that the server refuses.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse  int
		store   bool
		other   bool // somebody else wrote the same
		want    uint64
		wantErr error
	}{
		"nothing has changed":   {refuse: 3, want: 1},
		"it was stored":         {refuse: 1, store: true, want: 1},
		"somebody has the same": {refuse: 1, other: true, wantErr: fleet.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &refusingServer{refuse: test.refuse, store: test.store}
			r := fleet.Record{Key: "a", Label: "label", Data: []byte("data")}
			if test.other {
				s.last, s.number = recordMessage("CLEW_JOBS.a", r), 1
			}
			got, err := s.start(t).Set(t.Context(), fleet.Jobs, r)
			if test.wantErr != nil {
				if !errors.Is(err, test.wantErr) {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err != nil || len(got) != 1 || got[0] != test.want {
				t.Errorf("got %v, %v; want %d", got, err, test.want)
			}
		})
	}
}
