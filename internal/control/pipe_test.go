package control_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// A sink is the agent's input in a test.
type sink struct {
	mu     sync.Mutex
	wrote  strings.Builder
	writes int
	closed bool
	block  chan struct{} // writing waits for it, if it is set
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.block != nil {
		<-s.block
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.writes++
	return s.wrote.Write(p)
}

func (s *sink) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// frames returns what was written, line by line.
func (s *sink) frames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSuffix(s.wrote.String(), "\n"), "\n")
}

// requests returns the control requests that were written, oldest first.
func (s *sink) requests(t *testing.T) []*wire.ControlRequestMessage {
	t.Helper()
	var all []*wire.ControlRequestMessage
	for _, frame := range s.frames() {
		if req, ok := decode(t, frame).(*wire.ControlRequestMessage); ok {
			all = append(all, req)
		}
	}
	return all
}

func decode(t *testing.T, frame string) wire.Message {
	t.Helper()
	msg := wire.NewDecoder(nil).Decode([]byte(frame))
	if bad, ok := msg.(*wire.InvalidFrame); ok {
		t.Fatalf("frame %s: %v", frame, bad.Err)
	}
	return msg
}

// open returns a connection over s with that server, which may be nil.
func open(s *sink, serve control.Server) *control.Conn {
	if serve == nil {
		serve = func(context.Context, *wire.ControlRequestMessage) (any, error) {
			return nil, errors.New("nobody serves")
		}
	}
	out := control.NewOutbox(s, func(error) {})
	return control.New(out, control.Config{Serve: serve, Urgent: func() {}, Log: slog.New(slog.DiscardHandler)})
}

// bubble runs a test in a bubble of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}
