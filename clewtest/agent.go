package clewtest

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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

// A run is what the test knows of one agent that was started. It reports to the test, from whatever goroutine learns of
// it: the agent's cleanup waits for them all, so that none reports to a test that is over.
type run struct {
	t        testing.TB
	scenario *Scenario
	args     []string

	mu       sync.Mutex
	step     int
	awaited  string // what is left of a step that has come in part, or ""
	dialogue []byte
	over     bool // it ended as the scenario has it, or was reported
	reported bool
}

func newRun(t testing.TB, s *Scenario, args []string) *run {
	r := &run{t: t, scenario: s, args: args}
	if len(args) > 0 {
		r.dialogue = appendDirective(nil, "args", args...)
	}
	return r
}

func (r *run) begin(step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.awaited = step, ""
}

func (r *run) await(want string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = want
}

func (r *run) record(lines []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialogue = append(r.dialogue, lines...)
}

func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

func (r *run) fail(text string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report(text)
}

// report fails the test. The caller holds the lock.
func (r *run) report(text string) {
	r.t.Helper()
	r.over, r.reported = true, true
	r.t.Errorf("clewtest: %s: %s\nthe dialogue so far:\n%s", r.place(), text, abridge(string(r.dialogue)))
}

func (r *run) place() string {
	if places := r.scenario.places; r.step < len(places) {
		return fmt.Sprintf("step %d (%s)", r.step+1, places[r.step])
	}
	return "after the last step"
}

// end says that the agent is no more. It fails the test if the host has not sent all that the scenario expects.
func (r *run) end(reason string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	r.dialogue = append(r.dialogue, "# "+reason+"\n"...)
	want := r.awaited
	if want == "" {
		want = missing(r.scenario.steps[min(r.step, len(r.scenario.steps)):])
	}
	if want != "" {
		r.report(reason + ", and the scenario expects more of the host\n" + want)
	}
}

// logUnreported prints the dialogue of a test that failed for another reason.
func (r *run) logUnreported() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reported && r.t.Failed() {
		r.t.Logf("clewtest: the dialogue with the agent:\n%s", abridge(string(r.dialogue)))
	}
}

func (r *run) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.dialogue)
}

func (r *run) arguments() []string {
	return slices.Clone(r.args)
}

// abridge shortens the lines of a dialogue, and leaves out its middle when it is long.
func abridge(dialogue string) string {
	const most = 60
	lines := strings.Split(strings.TrimSuffix(dialogue, "\n"), "\n")
	for i, line := range lines {
		lines[i] = shorten(line)
	}
	if cut := len(lines) - most; cut > 0 {
		note := fmt.Sprintf("# … %d lines left out …", cut)
		lines = slices.Concat(lines[:most/2], []string{note}, lines[len(lines)-most/2:])
	}
	return strings.Join(lines, "\n")
}

// closeTimeout is how long an agent in memory may take to end, once its input has ended and again after SIGTERM.
const closeTimeout = 5 * time.Second

// Read reads the agent's output. With Write, CloseWrite and Close it makes the connection one that a session of package
// clew can run over: return it from a transport there. What the agent writes to Stderr is dropped then.
func (c *Conn) Read(p []byte) (int, error) {
	c.drain.Do(func() { go io.Copy(io.Discard, c.Stderr) }) //nolint:errcheck // it ends with the agent
	n, err := c.Stdout.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// Write writes to the agent's input.
func (c *Conn) Write(p []byte) (int, error) { return c.Stdin.Write(p) }

// CloseWrite ends the agent's input.
func (c *Conn) CloseWrite() error { return c.Stdin.Close() }

// Close ends the agent as a host should: it ends the input, waits, sends SIGTERM, waits, and kills it. It returns what
// Wait does.
func (c *Conn) Close() error {
	_ = c.Stdin.Close() // it may be closed already
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Kill} {
		if c.endsWithin(closeTimeout) {
			break
		}
		_ = c.Signal(sig) // it may have ended just now
	}
	err := c.Wait()
	c.m.stdout.closeWrite()
	return err
}

func (c *Conn) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.m.done:
		return true
	case <-timer.C:
		return false
	}
}

// ExitCode returns e.Code.
func (e *ExitError) ExitCode() int { return e.Code }
