package render

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A RunningCall is a call of a tool in a session that runs.
type RunningCall struct {
	transcript.DisplayItem
	// Nested means that a subagent has made the call.
	Nested bool
	// Announced means that there is a row of the call already, above those of its subagent.
	Announced bool
	// Calls is how many tools its subagent has called.
	Calls int
	// Denied means that the call was not allowed. Reason says why, unless the user has said so.
	Denied bool
	Reason string
}

// maxRow is the most columns of the row of a running call: its outcome is not far from what it does.
const maxRow = 100

// maxProblem is the most bytes of a line that are looked at to show why a call has failed.
const maxProblem = 4096

// Begun returns the row of a call that has begun, without an outcome.
func (o Options) Begun(c *RunningCall) string {
	o = o.running(c)
	return o.row(callName(&c.DisplayItem), o.summary(&c.DisplayItem, nil), nil)
}

// Ended returns the row of a call that has ended, with its outcome, and below it why the call has
// failed. If it was announced, the row is one of those of its subagent.
func (o Options) Ended(c *RunningCall) string {
	o = o.running(c)
	name := callName(&c.DisplayItem)
	if c.Announced {
		o, name = o.in(2), "done"
	}
	diffs := c.Diffs()
	return o.row(name, o.summary(&c.DisplayItem, diffs), o.runningOutcome(c, diffs)) + o.in(nameColumns).problem(c)
}

// runningOutcome is like outcome, and knows whether the call was denied, and how many calls its
// subagent has made.
func (o Options) runningOutcome(c *RunningCall, diffs []transcript.FileDiff) []Note {
	item := c.DisplayItem
	item.DurationMs = 0 // it comes last
	notes := o.outcome(&item, diffs)
	if c.Denied {
		notes = []Note{{tty.Failure, "denied"}}
	}
	if c.Calls > 0 {
		notes = append(notes, Note{tty.Dim, wording.Count(c.Calls, "call")})
	}
	if took := o.took(c.DurationMs); took != "" {
		notes = append(notes, Note{tty.Dim, took})
	}
	return notes
}

// running returns the options of the row of a call.
func (o Options) running(c *RunningCall) Options {
	if o.Width > maxRow {
		o.Width = maxRow
	}
	if c.Nested {
		return o.in(2).in(2)
	}
	return o.in(2)
}

// problem returns the first lines of why a call has failed or was denied.
func (o Options) problem(c *RunningCall) string {
	text, more := c.Reason, 0
	if c.ToolError && !c.Denied {
		text, more = firstLines(report(&c.DisplayItem), shortLines)
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(tty.Clean(line[:min(len(line), maxProblem)]), " "); line != "" {
			b.WriteString(o.styled(tty.Dim, o.fit(line)) + "\n")
		}
	}
	if more > 0 {
		b.WriteString(o.styled(tty.Dim, o.fit(fmt.Sprintf("… %s", wording.Count(more, "more line")))) + "\n")
	}
	return b.String()
}
