package fleettest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/clewdev/clew/fleet"
)

// Evidence is the data for a check after a test in which machines and engines fail: the records,
// and the ledger of the agents, which neither the engine nor the workers could change.
type Evidence struct {
	// Submitted has the IDs of the jobs whose submit returned without an error.
	Submitted []string
	// Histories has the histories of all jobs, by ID. [Histories] reads them.
	Histories map[string]History
	// Ledger has the lines of all agents, in the order in which they were written.
	Ledger []Line
	// Alive are the IDs of the workers that run at the end.
	Alive []string
	// Strict means that no time passes between the leave to act and the line about it, as in a
	// simulation. Then an agent that acts while its attempt is over in the record breaks a promise.
	// A process can be stopped in between.
	Strict bool
}

// A History has the records of a job, the oldest first.
type History []Change

// A Change is the record of a job from a time on.
type Change struct {
	Time time.Time // by the clock of the engine
	Job  *fleet.Job
}

// A Line is an agent's note of something that it does.
type Line struct {
	Time    time.Time // by a clock in step with the engine's
	Kind    Kind
	Job     string
	Attempt int
	Session string
	Text    string // of the result, in the line of an end
}

// A Kind is the kind of an agent's action.
type Kind string

// The kinds of lines.
const (
	Prompted Kind = "prompted" // it got the prompt
	Acted    Kind = "acted"    // it started a tool
	Finished Kind = "finished" // it finished its turn
)

func (l Line) String() string {
	return fmt.Sprintf("%s: attempt %d of job %s, session %s, %s", l.Time.Format("15:04:05.000"), l.Attempt, l.Job, l.Session, l.Kind)
}

// Histories reads the histories of all jobs.
func Histories(ctx context.Context, e fleet.Engine) (map[string]History, error) {
	all := map[string]History{}
	for r, err := range e.List(ctx, fleet.Jobs, "", func(string) bool { return false }) {
		if err != nil {
			return nil, err
		}
		all[r.Key] = nil
	}
	for id := range all {
		for r, err := range e.History(ctx, fleet.Jobs, id) {
			if err != nil {
				return nil, err
			}
			j := new(fleet.Job)
			if err := json.Unmarshal(r.Data, j); err != nil {
				return nil, fmt.Errorf("job %s, revision %d: %w", id, r.Revision, err)
			}
			all[id] = append(all[id], Change{r.Time, j})
		}
	}
	return all, nil
}

// A checker collects what is wrong.
type checker struct {
	*Evidence
	found []string
}

// Check returns one sentence for each promise of package fleet that was broken.
func Check(e *Evidence) []string {
	c := &checker{Evidence: e}
	for _, id := range e.Submitted {
		if len(e.Histories[id]) == 0 {
			c.report("job %s was submitted, and is not there", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.Histories)) {
		if h := e.Histories[id]; len(h) > 0 {
			c.history(h)
			c.end(h[len(h)-1].Job)
		}
	}
	c.sessions()
	c.ledger()
	return c.found
}

func (c *checker) report(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// history checks each step of a history.
func (c *checker) history(h History) {
	first := h[0].Job
	if first.State != fleet.Queued && first.State != fleet.Blocked || len(first.Attempts) > 0 {
		c.report("job %s begins as %s with %d attempts", first.ID, first.State, len(first.Attempts))
	}
	for i, next := range h[1:] {
		before := h[i]
		if next.Time.Before(before.Time) {
			c.report("job %s: change %d was written before the one that it follows", first.ID, i+2)
		}
		c.step(before.Job, next.Job, i+2)
	}
}

// step checks a change of a job. Beside what [fleet.Job.Apply] allows, it checks the promises themselves:
// so it also finds what is wrong with Apply.
func (c *checker) step(before, next *fleet.Job, number int) {
	what := fmt.Sprintf("job %s, change %d, from %s to %s", before.ID, number, before.State, next.State)
	if eventOf(before, next) == nil {
		c.report("%s: no event does that", what)
	}
	switch added := len(next.Attempts) - len(before.Attempts); {
	case added < 0 || added > 1:
		c.report("%s: there are %d attempts after %d", what, len(next.Attempts), len(before.Attempts))
	case added == 1 && before.State != fleet.Queued:
		c.report("%s: an attempt was claimed while the job was not queued", what)
	}
	for i := range min(len(before.Attempts), len(next.Attempts)) {
		c.attempt(what, &before.Attempts[i], &next.Attempts[i])
	}
	for i := range next.Attempts {
		if next.Attempts[i].Number != i+1 {
			c.report("%s: attempt %d has the number %d", what, i+1, next.Attempts[i].Number)
		}
	}
	c.reopened(what, before, next)
	c.queuedAgain(what, before, next)
}

// attempt checks what becomes of an attempt: what was written of it stays.
func (c *checker) attempt(what string, before, next *fleet.Attempt) {
	if before.Worker != next.Worker || before.Start != next.Start || !before.Claimed.Equal(next.Claimed) {
		c.report("%s: attempt %d has another worker or beginning", what, before.Number)
	}
	if !before.Started.IsZero() && (before.Session != next.Session || before.Prompt != next.Prompt || !before.Started.Equal(next.Started)) {
		c.report("%s: attempt %d has another session or prompt", what, before.Number)
	}
	if before.Ended.IsZero() {
		return
	}
	if !before.Ended.Equal(next.Ended) || before.Cause != next.Cause {
		c.report("%s: attempt %d had ended by %q, and has ended by %q", what, before.Number, before.Cause, next.Cause)
	}
	if before.Result != nil && next.Result != nil && before.Result.Text != next.Result.Text {
		c.report("%s: attempt %d had a result, and has another one", what, before.Number)
	}
}

// reopened checks that an ended job stays so, unless a person reopened it.
func (c *checker) reopened(what string, before, next *fleet.Job) {
	if !before.State.Ended() {
		return
	}
	switch {
	case next.State == before.State:
		if before.Cause != next.Cause {
			c.report("%s: the job had ended by %q, and has ended by %q", what, before.Cause, next.Cause)
		}
	case next.State.Ended():
		c.report("%s: the job ends a second time", what)
	case !decided(next):
		c.report("%s: nobody has opened the job again", what)
	}
}

// decided reports whether a change is a person's decision: its last note is new, and neither of a
// policy nor about a late result.
func decided(next *fleet.Job) bool {
	if len(next.Notes) == 0 {
		return false
	}
	last := next.Notes[len(next.Notes)-1]
	return last.By != "" && last.By != "policy" && last.Result == nil && last.At.Equal(next.Changed)
}

// queuedAgain checks that a job whose prompt may have been sent starts again only by its policy, or
// because a person wants it.
func (c *checker) queuedAgain(what string, before, next *fleet.Job) {
	a := before.Attempt()
	if a == nil || a.Started.IsZero() || next.State != fleet.Queued && next.State != fleet.Waiting || before.State == next.State {
		return
	}
	policy := next.Spec.OnLost
	switch {
	case before.State == fleet.Lost || before.State.Ended():
		if !decided(next) {
			c.report("%s: the job goes on, and nobody has decided that", what)
		}
	case before.State == fleet.Running && next.State == fleet.Queued && policy != fleet.Resume && policy != fleet.Restart:
		c.report("%s: the job goes on, and its policy is %q", what, policy)
	case before.State == fleet.Running && next.Next == fleet.Fresh && policy != fleet.Restart:
		c.report("%s: the job begins from the beginning, and its policy is %q", what, policy)
	case before.State != fleet.Running && next.Next != before.Next:
		c.report("%s: the next attempt was to begin by %q, and begins by %q", what, before.Next, next.Next)
	}
}

// end checks the last record of a job.
func (c *checker) end(j *fleet.Job) {
	if j.State.Held() && !slices.Contains(c.Alive, j.Worker()) {
		c.report("job %s is %s at the end, by the worker %s, which does not run", j.ID, j.State, j.Worker())
	}
	if !slices.Contains(fleet.States, j.State) {
		c.report("job %s is %q at the end", j.ID, j.State)
	}
}

// sessions checks that each session and each prompt belongs to one attempt.
func (c *checker) sessions() {
	used := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(c.Histories)) {
		h := c.Histories[id]
		if len(h) == 0 {
			continue
		}
		for _, a := range h[len(h)-1].Job.Attempts {
			for _, name := range []string{a.Session, a.Prompt} {
				owner := fmt.Sprintf("attempt %d of job %s", a.Number, id)
				if other, twice := used[name]; name != "" && twice {
					c.report("%s has the ID %s of %s", owner, name, other)
				}
				used[name] = owner
			}
		}
	}
}

// ledger compares the agents' ledger with the records.
func (c *checker) ledger() {
	type key struct {
		job     string
		attempt int
	}
	prompts, ends := map[key]int{}, map[key]Line{}
	latest := map[string]int{} // the last started attempt of a job
	for _, l := range c.Ledger {
		k := key{l.Job, l.Attempt}
		if latest[l.Job] > l.Attempt {
			c.report("%s: attempt %d has begun before", l, latest[l.Job])
		}
		switch l.Kind {
		case Prompted:
			if prompts[k]++; prompts[k] > 1 {
				c.report("%s: for the second time", l)
			}
			c.begun(l)
			c.freshAgain(l, func(attempt int) bool { return prompts[key{l.Job, attempt}] > 0 })
			latest[l.Job] = max(latest[l.Job], l.Attempt)
		case Finished:
			ends[k] = l
			fallthrough
		default:
			if prompts[k] == 0 {
				c.report("%s: it has no prompt", l)
			}
		}
		if c.Strict && l.Kind != Finished {
			c.open(l)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Histories)) {
		for _, a := range ended(c.Histories[id]) {
			if l, ok := ends[key{id, a.Number}]; !ok {
				c.report("attempt %d of job %s has a result, and its agent has not finished", a.Number, id)
			} else if l.Text != a.Result.Text {
				c.report("attempt %d of job %s has the result %q, and its agent said %q", a.Number, id, a.Result.Text, l.Text)
			}
		}
	}
}

// ended returns the attempts whose results made a job done.
func ended(h History) (all []fleet.Attempt) {
	for i, change := range h {
		if change.Job.State == fleet.Done && (i == 0 || h[i-1].Job.State != fleet.Done) && change.Job.Result() != nil {
			all = append(all, *change.Job.Attempt())
		}
	}
	return all
}

// begun checks that the record had the attempt as running before its agent got the prompt.
func (c *checker) begun(l Line) {
	for _, change := range c.Histories[l.Job] {
		a := change.Job.Attempt()
		if change.Time.After(l.Time) {
			break
		}
		if change.Job.State == fleet.Running && a.Number == l.Attempt && a.Session == l.Session {
			return
		}
	}
	c.report("%s: the record did not say before that it runs", l)
}

// open checks that the attempt is not yet over in the record when its agent does something. An
// agent that finishes just then does no harm.
func (c *checker) open(l Line) {
	for _, change := range c.Histories[l.Job] {
		j := change.Job
		if !change.Time.Before(l.Time) || len(j.Attempts) < l.Attempt || j.State.Held() && len(j.Attempts) == l.Attempt {
			continue
		}
		c.report("%s: the record says since %s that the job is %s", l, change.Time.Format("15:04:05.000"), j.State)
		return
	}
}

// freshAgain checks that a prompt is not sent to a fresh session a second time, unless the policy
// or a person wants it.
func (c *checker) freshAgain(l Line, hasPrompt func(attempt int) bool) {
	h := c.Histories[l.Job]
	if len(h) == 0 {
		return
	}
	last := h[len(h)-1].Job
	if l.Attempt > len(last.Attempts) || last.Attempts[l.Attempt-1].Start != fleet.Fresh || last.Spec.OnLost == fleet.Restart {
		return
	}
	before := 0
	for _, a := range last.Attempts[:l.Attempt-1] {
		if hasPrompt(a.Number) {
			before = a.Number
		}
	}
	if before > 0 && !decidedBetween(h, before, l.Attempt) {
		c.report("%s: attempt %d got the prompt before, and neither the policy nor a person wants it again", l, before)
	}
}

// decidedBetween reports whether a person decided about a job between two of its attempts.
func decidedBetween(h History, from, to int) bool {
	return slices.ContainsFunc(h, func(change Change) bool {
		n := len(change.Job.Attempts)
		return n >= from && n < to && decided(change.Job)
	})
}
