package render

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A RunningCall is a tool call in a running session.
type RunningCall struct {
	transcript.DisplayItem
	// Nested means that a subagent made the call.
	Nested bool
	// Announced means that the call already has a row, above the rows of its subagent.
	Announced bool
	// Calls is the number of tool calls by its subagent.
	Calls int
	// Denied means that the call was not allowed. Reason has the reason, unless the user denied it.
	Denied bool
	Reason string
}

// maxRow is the maximum width of a running call's row: its outcome is not far from its summary.
const maxRow = 100

// maxProblem is the maximum number of bytes of a line that are read to show the cause of a failed
// call.
const maxProblem = 4096

// Begun returns the row of a call that started, without an outcome.
func (o Options) Begun(c *RunningCall) string {
	o = o.running(c)
	return o.row(callName(&c.DisplayItem), o.summary(&c.DisplayItem, nil), nil)
}

// Ended returns the row of a call that ended, with its outcome, and below it the cause of a
// failure. If it was announced, the row is one of its subagent's.
func (o Options) Ended(c *RunningCall) string {
	o = o.running(c)
	name := callName(&c.DisplayItem)
	if c.Announced {
		o, name = o.in(2), "done"
	}
	diffs := c.Diffs()
	return o.row(name, o.summary(&c.DisplayItem, diffs), o.runningOutcome(c, diffs)) + o.in(nameColumns).problem(c)
}

// runningOutcome is like outcome, and knows whether the call was denied, and the number of calls by
// its subagent.
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

// problem returns the first lines of the reason why a call failed or was denied.
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
