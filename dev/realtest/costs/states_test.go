package costs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A chain is a series of processes that continue each other's sessions. Each turn costs four
// thousandths of a dollar.
type chain struct {
	model *clewtest.Model
	opts  *clew.Options
}

func newChain(t *testing.T) *chain {
	model := clewtest.NewModel(t)
	model.On("").Reply(clewtest.Text("Yes.")).Usage(1000, 0, 0, 0)
	return &chain{model, options(t, model)}
}

// run runs turns in a new process, which exits normally, and returns the ID of its session. If it
// gets an ID, it resumes that session.
func (c *chain) run(t *testing.T, resume string, prompts ...string) string {
	t.Helper()
	opts := *c.opts
	opts.Session.Resume = resume
	return c.with(t, &opts, prompts...)
}

func (c *chain) with(t *testing.T, opts *clew.Options, prompts ...string) string {
	t.Helper()
	s := scene.Connect(t, opts)
	for _, prompt := range prompts {
		ask(t, s, prompt)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.ID()
}

// all returns the calls of all sessions, each once, and all accounts.
func (c *chain) all(t *testing.T) record {
	t.Helper()
	var r record
	var tally usage.Tally
	for _, session := range read(t, c.model) {
		for _, call := range session.calls {
			tally.Add(call)
		}
		r.states = append(r.states, session.states...)
	}
	r.calls = tally.Calls()
	return r
}

// want checks the totals of calls and accounts, in turns.
func (r record) want(t *testing.T, computed, agent int) {
	t.Helper()
	got := usage.Reconcile(r.calls, r.states, usage.DefaultPrices())
	const turn = 4 * usage.Dollar / 1000
	if got.Computed != turn*usage.Money(computed) || got.Agent != turn*usage.Money(agent) {
		t.Errorf("%s, and %s to the agent, want %d and %d turns", got.Computed, got.Agent, computed, agent)
	}
}

// A process that resumes a session continues from the last account, and writes another one.
func TestRealAccountGoesOn(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	id := c.run(t, "", "One", "Two")
	c.run(t, id, "Three")
	c.run(t, id)
	r := sole(t, c.model)
	if len(r.states) != 3 {
		t.Errorf("%d accounts", len(r.states))
	}
	for _, s := range r.states {
		if !s.Start.Equal(r.states[0].Start) {
			t.Errorf("an account begins at %v, and the first at %v", s.Start, r.states[0].Start)
		}
	}
	r.want(t, 3, 3)
}

// A process that is killed writes no account. The next one continues from the account before.
func TestRealAccountIsLostWithTheProcess(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	id := c.run(t, "", "One")
	opts := *c.opts
	opts.Session.Resume = id
	s := scene.Connect(t, &opts)
	ask(t, s, "Two")
	waitForCalls(t, c.model, 2)
	agent, err := os.FindProcess(s.Info().PID)
	if err == nil {
		err = agent.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	c.run(t, id, "Three")
	r := sole(t, c.model)
	r.want(t, 3, 2)
	if got := usage.Reconcile(r.calls, r.states, usage.DefaultPrices()); got.Models[0].Reason !=
		usage.ReasonUncounted {
		t.Errorf("got %+v", got)
	}
}

// A fork continues from the account of the session that it was forked from, and so does that
// session.
func TestRealAccountOfFork(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	id := c.run(t, "", "One", "Two")
	opts := *c.opts
	opts.Session.Resume, opts.Session.Fork = id, true
	fork := c.with(t, &opts, "Three")
	c.run(t, id, "Four", "Five")
	read(t, c.model)[fork].want(t, 3, 3)
	read(t, c.model)[id].want(t, 4, 4)
	c.all(t).want(t, 5, 5)
}

// A fork that a program has made has a separate account, without what was copied.
func TestRealAccountOfCopy(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	id := c.run(t, "", "One", "Two")
	store := sessions.NewFolder(filepath.Join(c.model.ConfigDir(), "projects"))
	copied, err := sessions.Fork(t.Context(), id, &sessions.ForkOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	c.run(t, copied, "Three")
	r := read(t, c.model)[copied]
	r.want(t, 3, 1)
	r.calls = slices.DeleteFunc(r.calls, func(call usage.Call) bool { return call.Forked })
	r.want(t, 1, 1)
	c.all(t).want(t, 3, 3)
}

// A session that was cleared has a separate account.
func TestRealAccountAfterClear(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.run(t, "", "One", "/clear", "Two", "Three")
	records := read(t, c.model)
	if len(records) != 2 {
		t.Errorf("%d sessions", len(records))
	}
	for _, r := range records {
		r.want(t, len(r.calls), len(r.calls))
	}
	c.all(t).want(t, 3, 3)
}
