package reconnect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// over returns options for a session over the model whose agent is replaced when it dies. opts may
// be nil.
func over(t *testing.T, model *clewtest.Model, opts *clew.Options) *clew.Options {
	t.Helper()
	opts = scene.Options(t, model, opts)
	if opts.Reconnect == nil {
		opts.Reconnect = new(clew.ReconnectOptions)
	}
	return opts
}

// said returns the texts of the user and of the model in the newest request.
func said(model *clewtest.Model) []string { return scene.Said(scene.Newest(model)) }

// kill kills the agent of the session.
func kill(t *testing.T, s *clew.Session) {
	t.Helper()
	agent, err := os.FindProcess(s.Info().PID)
	if err == nil {
		err = agent.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replace kills the agent and waits for the next one. A prompt sent before the session notices
// would be lost.
func replace(t *testing.T, s *clew.Session) {
	t.Helper()
	old := s.Info().PID
	kill(t, s)
	scene.Eventually(t, "there is another agent", func() bool { return s.Info().PID != old })
}

// wantCut checks that a turn was lost with its agent, and returns its last message, which is about
// the next agent.
func wantCut(t *testing.T, msgs []wire.Message, err error) *wire.SessionReconnectedMessage {
	t.Helper()
	if _, ok := errors.AsType[*clew.LostError](err); !ok {
		t.Fatalf("error %v, want a LostError", err)
	}
	return reconnected(t, msgs[len(msgs)-1:])
}

// reconnected returns the only message about a new agent.
func reconnected(t *testing.T, msgs []wire.Message) *wire.SessionReconnectedMessage {
	t.Helper()
	var found *wire.SessionReconnectedMessage
	for _, msg := range msgs {
		if m, ok := msg.(*wire.SessionReconnectedMessage); ok && found == nil {
			found = m
		} else if ok {
			t.Errorf("one more: %+v", m)
		}
	}
	if found == nil {
		t.Fatalf("none of %d messages is about a new agent", len(msgs))
	}
	return found
}

// waitForTranscript waits until a text is in the transcript of the session. The agent writes with a
// delay.
func waitForTranscript(t *testing.T, model *clewtest.Model, s *clew.Session, text string) string {
	t.Helper()
	var path string
	scene.Eventually(t, text+" is written down", func() bool {
		paths, err := filepath.Glob(filepath.Join(model.ConfigDir(), "projects", "*", s.ID()+".jsonl"))
		if err != nil || len(paths) != 1 {
			return false
		}
		path = paths[0]
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), text)
	})
	return path
}
