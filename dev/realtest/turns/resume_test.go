package turns_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// A past is a session that has ended, to be resumed.
type past struct {
	model   *clewtest.Model
	dir, id string
	prompts []string // their UUIDs, and those of the answers
	answers []string
}

// newPast runs a session of three turns.
func newPast(t *testing.T) *past {
	t.Helper()
	model := clewtest.NewModel(t)
	model.Reply("Yes.")
	opts := options(t, model)
	s := scene.Connect(t, opts)
	past := &past{model: model, dir: opts.Dir}
	for _, prompt := range []string{"First", "Second", "Third"} {
		answer := scene.Of[*wire.AssistantMessage](ask(t, s, prompt).messages)[0]
		past.prompts = append(past.prompts, answer.UserMessageUUID)
		past.answers = append(past.answers, answer.UUID)
	}
	past.id = s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return past
}

// options returns options for a new process in the same directory.
func (p *past) options(t *testing.T) *clew.Options {
	opts := options(t, p.model)
	opts.Dir = p.dir
	return opts
}

// ask runs one more turn in a new process, and returns the session's ID and the conversation that
// the model got.
func (p *past) ask(t *testing.T, opts *clew.Options, prompt string) (id string, said []string) {
	t.Helper()
	s := scene.Connect(t, opts)
	ask(t, s, prompt).wantText(t, "Yes.")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range p.model.Requests() {
		if strings.HasSuffix(r.Prompt(), prompt) {
			return s.ID(), scene.Said(r)
		}
	}
	t.Fatal("the model was not asked")
	return "", nil
}

var wholePast = []string{"First", "Yes.", "Second", "Yes.", "Third", "Yes."}

// The subtests share one past. The first two do not change it.
func TestRealResume(t *testing.T) {
	t.Parallel()
	past := newPast(t)
	t.Run("refused", past.testRefused)
	t.Run("forked", past.testForked)
	t.Run("resumed", past.testResumed)
}

func (p *past) testResumed(t *testing.T) {
	tests := []struct {
		prompt string
		choose func(*clew.Options)
		before []string
	}{
		{"Resumed", func(o *clew.Options) { o.Session.Resume = p.id }, wholePast},
		{"Continued", func(o *clew.Options) { o.Session.Continue = true }, append(wholePast[:6:6], "Resumed", "Yes.")},
	}
	for _, test := range tests {
		opts := p.options(t)
		test.choose(opts)
		transcript := readTranscript(t, p.model, p.id)
		id, said := p.ask(t, opts, test.prompt)
		if id != p.id {
			t.Errorf("%s: the session is %q, want %q", test.prompt, id, p.id)
		}
		if diff := cmp.Diff(slices.Concat(test.before, []string{test.prompt}), said); diff != "" {
			t.Errorf("%s: the conversation (-want +got):\n%s", test.prompt, diff)
		}
		if !strings.HasPrefix(readTranscript(t, p.model, p.id), transcript) {
			t.Errorf("%s: the transcript does not go on where it ended", test.prompt)
		}
	}
}

func (p *past) testForked(t *testing.T) {
	transcript := readTranscript(t, p.model, p.id)
	const own = "0b7f3c9e-4a52-4a6b-9d0e-5f1f6c2e8a11"
	tests := []struct {
		prompt string
		choose func(*clew.Options)
		before []string
		id     string // empty means a new one
	}{
		{"forked", func(*clew.Options) {}, wholePast, ""},
		{"with an id", func(o *clew.Options) { o.Session.ID = own }, wholePast, own},
		{"at a message", func(o *clew.Options) { o.Session.ResumeAt = p.answers[0] }, wholePast[:2], ""},
		{"without a turn", func(o *clew.Options) {
			o.Session.ResumeAt, o.Session.ResumeDropsTurn = p.answers[1], &p.prompts[2]
		}, wholePast[:4], ""},
	}
	for _, test := range tests {
		opts := p.options(t)
		opts.Session.Resume, opts.Session.Fork = p.id, true
		test.choose(opts)
		id, said := p.ask(t, opts, test.prompt)
		if id == p.id || test.id != "" && id != test.id {
			t.Errorf("%s: the session is %q", test.prompt, id)
		}
		if diff := cmp.Diff(slices.Concat(test.before, []string{test.prompt}), said); diff != "" {
			t.Errorf("%s: the conversation (-want +got):\n%s", test.prompt, diff)
		}
	}
	if readTranscript(t, p.model, p.id) != transcript {
		t.Error("the old transcript has changed")
	}
}

// If the agent can't resume a session, the error has its message.
func (p *past) testRefused(t *testing.T) {
	const nobody = "7cb18dcc-06c9-4dfa-bd34-35be9a182d60"
	tests := []struct {
		name   string
		choose func(*clew.Options)
		words  string
	}{
		{"no such session", func(o *clew.Options) { o.Session.Resume = nobody }, "No conversation found with session ID: " + nobody},
		{"no such message", func(o *clew.Options) { o.Session.Resume, o.Session.ResumeAt = p.id, nobody }, "No message found"},
		{"another turn", func(o *clew.Options) {
			o.Session.Resume, o.Session.ResumeAt, o.Session.ResumeDropsTurn = p.id, p.answers[1], &p.prompts[0]
		}, "Resume rejected by --resume-drops-turn"},
		{"an id that is taken", func(o *clew.Options) { o.Session.ID = p.id }, "is already in use"},
	}
	for _, test := range tests {
		opts := p.options(t)
		test.choose(opts)
		_, err := clew.Connect(t.Context(), opts)
		exit, ok := errors.AsType[*clew.ExitError](err)
		if !ok || exit.Code != 1 || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.words)
		}
	}
}

func TestRealSessionID(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.Reply("Yes.")
	opts := options(t, model)
	opts.Session.ID = "0b7f3c9e-4a52-4a6b-9d0e-5f1f6c2e8a12"
	s := scene.Connect(t, opts)
	if s.ID() != opts.Session.ID {
		t.Errorf("before the first turn the id is %q", s.ID())
	}
	if got := ask(t, s, "Hello").result(t).SessionID; got != opts.Session.ID || s.ID() != opts.Session.ID {
		t.Errorf("the session is %q, the result says %q", s.ID(), got)
	}
	readTranscript(t, model, opts.Session.ID)
}
