package render

import (
	"github.com/clewdev/clew/internal/rows"
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
	// Interrupted means that the user stopped the agent, so that there may be no result.
	Interrupted bool
}

// maxRow is the maximum width of a running call's row: its outcome is not far from its summary.
const maxRow = 100

// Begun returns the row of a call that started, without an outcome.
func (o Options) Begun(c *RunningCall) string {
	o = o.running(c)
	line := o.CallLine(nil, &c.DisplayItem, nil)
	return o.row(line.Name, line.Summary, nil)
}

// Ended returns the row of a call that ended, with its outcome, and below it the cause of a
// failure. If it was announced, the row is one of its subagent's.
func (o Options) Ended(c *RunningCall) string {
	o = o.running(c)
	line := o.CallLine(&transcript.Chunk{Interrupted: c.Interrupted}, &c.DisplayItem, c.Diffs())
	outcome := line.outcome()
	if c.Denied {
		outcome = []Note{{tty.Failure, "denied"}}
	}
	if c.Announced {
		o, line.Name = o.in(2), "done"
	}
	return o.row(line.Name, line.Summary, o.notes(outcome, &rows.Work{Calls: c.Calls}, c.DurationMs)) +
		o.in(nameColumns).problem(c)
}

// running returns the options of a call's row.
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
	if !c.ToolError || c.Denied {
		return o.dimLines(c.Reason)
	}
	text, more := firstLines(c.ShownResult(), shortLines)
	text = o.dimLines(text)
	if more > 0 {
		text += o.styled(tty.Dim, o.fit("… "+wording.Count(more, "more line"))) + "\n"
	}
	return text
}
