package clewtest

import (
	"sync"
	"testing"
)

// An Agent is a simulated agent: it plays a [Scenario] to a host, the program under test, in place of the agent binary.
// There are two ways to start it, each as often as you like; each start plays the scenario from its beginning:
//
//   - [Agent.Conn] runs it in memory. It works within testing/synctest.
//   - [Agent.Command], or [Agent.Path] with [Agent.Env], runs it as a process.
//
// A host that does not keep to the scenario fails the test: with a frame that does not fit, a frame that is not expected,
// or one that has not come when the agent or the test ends, also if no agent was started. The report names the step, what was wanted and what came, each
// difference by its JSON pointer, and the dialogue so far. The agent then writes the same to its standard error and exits
// with 70. When a test fails for another reason, the dialogue is logged.
//
// All that an Agent has started ends with the test. Its methods may be called from several goroutines.
type Agent struct {
	t        testing.TB
	scenario *Scenario

	mu   sync.Mutex
	runs []*run
	hub  *hub
}

// NewAgent returns an agent that plays a copy of s; nil is a scenario without steps. It ends the test if s could not be
// built, and starts nothing.
func NewAgent(t testing.TB, s *Scenario) *Agent {
	t.Helper()
	if s == nil {
		s = new(Scenario)
	}
	if s.err != nil {
		t.Fatalf("%v", s.err)
	}
	a := &Agent{t: t, scenario: s.clone()}
	t.Cleanup(a.conclude)
	return a
}

// Args returns the arguments that the agent was started with, the newest if it was started more than once. It returns nil
// before a process has come up: it has when the host gets its first frame. In memory there are no arguments.
func (a *Agent) Args() []string {
	if r := a.newest(); r != nil {
		return r.arguments()
	}
	return nil
}

// Dialogue returns what the host and the agent, the newest if it was started more than once, have said so far. It is a
// dialogue file, with the frames and ids as they went over the wire: [ReadDialogue] makes a scenario of it. All that the
// host has read is in it.
func (a *Agent) Dialogue() string {
	if r := a.newest(); r != nil {
		return r.text()
	}
	return ""
}

func (a *Agent) newest() *run {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.runs) == 0 {
		return nil
	}
	return a.runs[len(a.runs)-1]
}

// start begins the record of one more run.
func (a *Agent) start(args []string) *run {
	r := newRun(a.t, a.scenario, args)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs = append(a.runs, r)
	return r
}

// conclude is the last thing that happens to the agent, when all its runs are over.
func (a *Agent) conclude() {
	a.t.Helper()
	if r := a.newest(); r != nil {
		r.logUnreported()
		return
	}
	if want := missing(a.scenario.steps); want != "" && !a.t.Failed() && !a.t.Skipped() {
		a.t.Errorf("clewtest: no agent has come up (it was not started, or ended too early), and the scenario expects more of the host\n%s",
			want)
	}
}
