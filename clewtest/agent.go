package clewtest

import (
	"sync"
	"testing"

	"github.com/clewdev/clew/internal/simagent"
)

// An Agent is a simulated agent: it plays a [Scenario] to a host, the program under test, in place
// of the agent binary. There are two ways to start it, each as often as you like; each start plays
// the scenario from its beginning:
//
//   - [Agent.Conn] runs it in memory. It works within testing/synctest.
//   - [Agent.Command], or [Agent.Path] with [Agent.Env], runs it as a process.
//
// A host that does not keep to the scenario fails the test: with a frame that does not fit, with a
// frame that is not expected, or with a frame that has not come when the agent or the test ends.
// The last one also fails the test if no agent was started. The report names the step, the expected
// and the actual frame, each difference by its JSON pointer, and the dialogue so far. The agent
// then writes the same to its standard error and exits with 70. When a test fails for another
// reason, the dialogue is logged.
//
// Everything that an Agent started ends with the test. Its methods may be called from several
// goroutines.
type Agent struct {
	t        testing.TB
	scenario *simagent.Scenario

	mu   sync.Mutex
	runs []*simagent.Run
	hub  *hub
}

// NewAgent returns an agent that plays a copy of s; nil is a scenario without steps. It ends the
// test if s could not be built. It starts nothing: that is up to [Agent.Conn] and [Agent.Command].
func NewAgent(t testing.TB, s *Scenario) *Agent {
	t.Helper()
	if s == nil {
		s = new(Scenario)
	}
	if s.err != nil {
		t.Fatalf("clewtest: %v", s.err)
	}
	a := &Agent{t: t, scenario: s.engine.Clone()}
	t.Cleanup(a.conclude)
	return a
}

// Args returns the arguments that the agent was started with, the newest if it was started more
// than once. It returns nil before the process connects to its test, which it has when the host
// gets the first frame. An agent in memory has no arguments.
func (a *Agent) Args() []string {
	if r := a.newest(); r != nil {
		return r.Args()
	}
	return nil
}

// Dialogue returns what the host and the agent, the newest if it was started more than once, said
// so far. It is a dialogue file, with the frames and ids as they went over the wire: [ReadDialogue]
// makes a scenario of it. It has everything that the host read, and it is "" before an agent was
// started.
func (a *Agent) Dialogue() string {
	if r := a.newest(); r != nil {
		return r.Dialogue()
	}
	return ""
}

// newest returns the record of the agent that was started last, or nil.
func (a *Agent) newest() *simagent.Run {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.runs) == 0 {
		return nil
	}
	return a.runs[len(a.runs)-1]
}

// start starts the record of one more agent. Its failures fail the test. They come from whatever
// goroutine finds them, and none comes after the test: the cleanups of Conn and of the hub wait for
// these goroutines.
func (a *Agent) start(args []string) *simagent.Run {
	r := simagent.NewRun(a.scenario, args, func(text string) { a.t.Errorf("clewtest: %s", text) })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs = append(a.runs, r)
	return r
}

// conclude is the last cleanup, when all agents end. It logs the dialogue of a test that failed for
// another reason, and fails a test in which the host did not start an agent that expects something
// of it.
func (a *Agent) conclude() {
	a.t.Helper()
	if r := a.newest(); r != nil {
		if !r.Reported() && a.t.Failed() {
			a.t.Logf("clewtest: the dialogue with the agent:\n%s", simagent.Abridge(r.Dialogue()))
		}
		return
	}
	if want := a.scenario.Missing(); want != "" && !a.t.Failed() && !a.t.Skipped() {
		a.t.Errorf("clewtest: no agent was started, or it ended too early, and the scenario expects more frames from the host\n%s",
			want)
	}
}
