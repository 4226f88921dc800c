package natsfleet

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/fleet"
)

// A refusingServer refuses messages as a server of a cluster may, although their record has not changed, or although
// it stores them.
type refusingServer struct {
	refuse int  // how many messages it refuses
	store  bool // whether it stores those that it refuses

	mu     sync.Mutex
	last   *nats.Msg
	number uint64
}

const refusal = `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}`

func (s *refusingServer) publish(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()

	refused := s.refuse > 0
	if s.refuse--; !refused || s.store {
		s.last, s.number = m, s.number+1
	}
	if refused {
		_ = m.Respond([]byte(refusal))
		return
	}
	text, _ := json.Marshal(map[string]any{"seq": s.number})
	_ = m.Respond(text)
}

func (s *refusingServer) get(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	e := &Engine{name: DefaultName, client: &Options{URL: srv.ClientURL()}}
	if err := e.dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	for subject, handle := range map[string]nats.MsgHandler{"CLEW_JOBS.*": s.publish, "$JS.API.STREAM.MSG.GET.CLEW_JOBS": s.get} {
		if _, err := e.conn.Subscribe(subject, handle); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// TestRefused writes records that the server refuses.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse  int
		store   bool
		other   bool // somebody else has written the same
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
