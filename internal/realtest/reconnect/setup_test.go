package reconnect_test

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// over returns opts, which may be nil, for a session over the model whose agent is replaced when it dies.
func over(t *testing.T, model *clewtest.Model, opts *clew.Options) *clew.Options {
	t.Helper()
	if opts == nil {
		opts = new(clew.Options)
	}
	opts.AgentPath, opts.Env, opts.InheritEnv, opts.Dir = clewtest.RealAgent(t), model.Env(), []string{}, folder(t)
	if opts.Reconnect == nil {
		opts.Reconnect = new(clew.ReconnectOptions)
	}
	return opts
}

// folder returns a new folder, with symbolic links followed: the agent knows it by that name.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// connect opens a session that ends with the test.
func connect(t *testing.T, opts *clew.Options) *clew.Session {
	t.Helper()
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// kill ends the agent of the session as nothing can withstand.
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

// replace ends the agent and waits for the next one. A prompt that comes before the death is noticed is lost.
func replace(t *testing.T, s *clew.Session) {
	t.Helper()
	old := s.Info().PID
	kill(t, s)
	eventually(t, "there is another agent", func() bool { return s.Info().PID != old })
}

// eventually waits for something that nobody tells.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to this: ", what)
		}
	}
}

// hear reads messages to their end, and shows each to act, which may be nil.
func hear(messages iter.Seq2[wire.Message, error], act func(wire.Message)) ([]wire.Message, error) {
	var all []wire.Message
	for msg, err := range messages {
		if err != nil {
			return all, err
		}
		all = append(all, msg)
		if act != nil {
			act(msg)
		}
	}
	return all, nil
}

// ask runs a turn that has to succeed.
func ask(t *testing.T, s *clew.Session, prompt string) []wire.Message {
	t.Helper()
	msgs, err := hear(s.Turn(t.Context(), clew.Text(prompt)), nil)
	if err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	return msgs
}

// wantCut checks that a turn was lost with an agent, and returns the message about the next one, its last.
func wantCut(t *testing.T, msgs []wire.Message, err error) *wire.SessionReconnectedMessage {
	t.Helper()
	if _, ok := errors.AsType[*clew.LostError](err); !ok {
		t.Fatalf("error %v, want a LostError", err)
	}
	return reconnected(t, msgs[len(msgs)-1:])
}

// reconnected returns the one message about a new agent.
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
		t.Fatalf("none of %d messages tells of a new agent", len(msgs))
	}
	return found
}

// said returns what user and model have said in the newest request, without what the agent has added.
func said(model *clewtest.Model) []string {
	var said []string
	requests := model.Requests()
	for _, msg := range requests[len(requests)-1].Messages {
		for _, block := range msg.Content {
			text, ok := block.(*wire.TextBlock)
			if ok && msg.Role != "system" && !strings.HasPrefix(text.Text, "<system-reminder>") {
				said = append(said, strings.TrimSpace(text.Text))
			}
		}
	}
	return said
}

// waitForTranscript waits until a text is in the transcript of the session: the agent writes with a delay.
func waitForTranscript(t *testing.T, model *clewtest.Model, s *clew.Session, text string) string {
	t.Helper()
	var path string
	eventually(t, text+" is written down", func() bool {
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

// bash is a call of the tool that runs a command.
func bash(command string) wire.Block {
	return clewtest.ToolUse("Bash", map[string]string{"command": command, "description": "Run a command"})
}
