package simagent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Run is the record of one agent that was started. It is a [Recorder] that keeps the dialogue,
// and it reports a host that does not keep to the scenario. Its methods may be called from several
// goroutines.
type Run struct {
	scenario *Scenario
	args     []string
	report   func(text string)

	mu       sync.Mutex
	step     int
	awaited  string // the frames of the current step that have not come, or "" if none has come
	dialogue []byte
	over     bool // the agent ended as the scenario has it, or a failure was reported
	reported bool
}

// NewRun returns the record of an agent that plays s, started with args. It calls report, at most
// once, with a text that names the step, describes the failure, and ends with the dialogue so far.
func NewRun(s *Scenario, args []string, report func(text string)) *Run {
	r := &Run{scenario: s, args: args, report: report}
	if len(args) > 0 {
		r.dialogue = appendDirective(nil, "args", args...)
	}
	return r
}

// Args returns the arguments that the agent was started with.
func (r *Run) Args() []string { return slices.Clone(r.args) }

// Dialogue returns what the host and the agent have said so far, as a dialogue file.
func (r *Run) Dialogue() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.dialogue)
}

// Reported reports whether report was called.
func (r *Run) Reported() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reported
}

// Begin implements [Recorder].
func (r *Run) Begin(step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.awaited = step, ""
}

// Await implements [Recorder].
func (r *Run) Await(want string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = want
}

// Record implements [Recorder].
func (r *Run) Record(lines []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialogue = append(r.dialogue, lines...)
}

// Finish implements [Recorder].
func (r *Run) Finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// Fail implements [Recorder].
func (r *Run) Fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(text)
}

// fail reports a failure. The caller holds the lock.
func (r *Run) fail(text string) {
	r.over, r.reported = true, true
	r.report(fmt.Sprintf("%s: %s\nthe dialogue so far:\n%s", r.position(), text, Abridge(string(r.dialogue))))
}

// position names the current step.
func (r *Run) position() string {
	if sources := r.scenario.sources; r.step < len(sources) {
		return fmt.Sprintf("step %d (%s)", r.step+1, sources[r.step])
	}
	return "after the last step"
}

// End records the end of the agent and its reason. It is a failure if the agent did not end as the
// scenario has it, and the scenario expects more of the host.
func (r *Run) End(reason string) {
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
		r.fail(reason + ", and the scenario expects more of the host\n" + want)
	}
}

// Abridge shortens the lines of a dialogue, and leaves out the middle of a long one.
func Abridge(dialogue string) string {
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
