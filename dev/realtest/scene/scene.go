// Package scene has the helpers that the tests with the real agent share. They make options for an
// agent over a scripted model, sessions that end with their test, and wait for events.
package scene

import (
	"cmp"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// patience is the time that an agent may take to start. A busy machine needs some minutes.
const patience = 10 * time.Minute

// Options returns a copy of opts for Claude Code over a model: in an empty directory unless opts
// has one, without the caller's environment, and with time for a busy machine. opts may be nil.
func Options(t *testing.T, model *clewtest.Model, opts *clew.Options) *clew.Options {
	t.Helper()
	var o clew.Options
	if opts != nil {
		o = *opts
	}
	o.AgentPath, o.InheritEnv = clewtest.RealAgent(t), []string{}
	BePatient(&o)
	o.Env = append(model.Env(), o.Env...)
	if o.Dir == "" {
		o.Dir = Dir(t)
	}
	return &o
}

// BePatient gives an agent the time that it needs on a busy machine, unless opts say how long it has.
func BePatient(opts *clew.Options) {
	l := &opts.Limits
	l.InitializeTimeout = cmp.Or(l.InitializeTimeout, patience)
	l.ControlTimeout = cmp.Or(l.ControlTimeout, 3*time.Minute)
	l.CloseTimeout = cmp.Or(l.CloseTimeout, patience)
}

// Dir returns a new directory. Its path has no symbolic links, since the agent knows it by that
// name.
func Dir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Connect opens a session that ends with the test.
func Connect(t *testing.T, opts *clew.Options) *clew.Session {
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

// Read reads messages to their end, and passes each to act, which may be nil. It returns the
// messages, and the error if that was the last pair.
func Read(messages iter.Seq2[wire.Message, error], act func(wire.Message)) ([]wire.Message, error) {
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

// Ask runs a turn that has to succeed.
func Ask(t *testing.T, s *clew.Session, prompt string) []wire.Message {
	t.Helper()
	all, err := Read(s.Turn(t.Context(), clew.Text(prompt)), nil)
	if err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	return all
}

// Of returns the messages of one type.
func Of[M wire.Message](messages []wire.Message) []M {
	var found []M
	for _, msg := range messages {
		if msg, ok := msg.(M); ok {
			found = append(found, msg)
		}
	}
	return found
}

// Said returns the texts of the user and of the model in a request, without texts that the agent
// added.
func Said(r *clewtest.Request) []string {
	var said []string
	for _, msg := range r.Messages {
		for _, block := range msg.Content {
			text, ok := block.(*wire.TextBlock)
			if ok && msg.Role != "system" && !strings.HasPrefix(text.Text, "<system-reminder>") {
				said = append(said, strings.TrimSpace(text.Text))
			}
		}
	}
	return said
}

// Newest returns the last request that the model received, or an empty one.
func Newest(model *clewtest.Model) *clewtest.Request {
	all := model.Requests()
	if len(all) == 0 {
		return new(clewtest.Request)
	}
	return all[len(all)-1]
}

// Eventually waits until done returns true, and fails the test after minutes. Use it for changes
// that nothing reports, such as a file that another process writes.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: ", what)
		}
	}
}

// Bash returns a tool call that runs a command.
func Bash(command string) wire.Block {
	return clewtest.ToolUse("Bash", map[string]string{"command": command, "description": "Run a command"})
}
