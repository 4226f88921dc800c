package clewtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

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
