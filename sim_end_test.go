package clew_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// Frames of the simulated agents in the tests of how sessions end.
const (
	aPrompt    = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Hi"}]}}`
	aWord      = `{"type":"assistant","message":{"content":[{"type":"text","text":"Well"}]},"session_id":"s","uuid":"w"}`
	aResult    = `{"type":"result","subtype":"success","result":"Hello","session_id":"s","uuid":"r"}`
	aInterrupt = `{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt","cancel_queued":true}}`
)

// answering returns a scenario whose agent answers initialize with these fields.
func answering(fields string) *clewtest.Scenario {
	return new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"request_id":"hello",` + fields + `}}`)
}

// greeted returns a scenario whose agent has come up.
func greeted() *clewtest.Scenario { return answering(`"subtype":"success","response":{}`) }

// asked returns a scenario whose agent has come up and got a prompt.
func asked() *clewtest.Scenario { return greeted().Expect(aPrompt) }

// overConn returns options with which one session runs over conn.
func overConn(conn clew.Connection) *clew.Options {
	return &clew.Options{
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return conn, nil }),
	}
}

// overMemory returns options with which one session runs over the agent in memory.
func overMemory(agent *clewtest.Agent) *clew.Options { return overConn(agent.Conn()) }

// asProcess returns options with which the agent is a process.
func asProcess(agent *clewtest.Agent) *clew.Options {
	return &clew.Options{AgentPath: agent.Path(), Env: agent.Env()}
}

// connectTo opens a session that ends with the test at the latest.
func connectTo(t *testing.T, opts *clew.Options) *clew.Session {
	t.Helper()
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// wantClosed closes a session whose agent ends by itself.
func wantClosed(t *testing.T, s *clew.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// hearOut reads a sequence to its end. It checks that an error is the last pair.
func hearOut(t *testing.T, seq iter.Seq2[wire.Message, error]) (msgs []wire.Message, last error) {
	t.Helper()
	for msg, err := range seq {
		switch {
		case last != nil:
			t.Errorf("%v, %v behind an error", msg, err)
		case (msg == nil) == (err == nil):
			t.Errorf("a pair of %v, %v", msg, err)
		}
		if last = err; err == nil {
			msgs = append(msgs, msg)
		}
	}
	return msgs, last
}

// wantExit returns the [clew.ExitError] in err.
func wantExit(t *testing.T, err error) *clew.ExitError {
	t.Helper()
	exit, ok := errors.AsType[*clew.ExitError](err)
	if !ok {
		t.Fatalf("error %v, want an ExitError", err)
	}
	return exit
}
