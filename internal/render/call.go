package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A CallLine has the words of a tool call in one line: on a terminal, on a page and in Markdown. Its
// texts are clean.
type CallLine struct {
	// Name is the name of the tool, or "MCP" if Summary names a server and its tool.
	Name string
	// Summary describes the call. It is "" if it says no more than the name.
	Summary string
	// State is the state of the call in a session that no agent has open.
	State rows.State
	// Added and Removed are the numbers of changed lines.
	Added, Removed int
}

// CallLine returns the words of a call, with the changes that it made. c is the chunk of the call,
// or nil if it is not known.
func (o Options) CallLine(c *transcript.Chunk, i *transcript.DisplayItem, diffs []transcript.FileDiff) CallLine {
	line := CallLine{Name: callName(i), Summary: o.callSummary(i, diffs), State: rows.StateOf(c, i)}
	if line.Summary == line.Name {
		line.Summary = ""
	}
	for k := range diffs {
		line.Added, line.Removed = line.Added+diffs[k].Added, line.Removed+diffs[k].Removed
	}
	return line
}

// callName returns the clean name of the called tool. The summary names a server and its tool.
func callName(i *transcript.DisplayItem) string {
	if rest, ok := strings.CutPrefix(i.ToolName, "mcp__"); ok && strings.Contains(rest, "__") && i.ToolSummary != "" {
		return "MCP"
	}
	return cmp.Or(tty.Line(i.ToolName), "tool")
}

// callSummary describes a call in one clean line, without the size of its changes. It does not decode
// a long input again.
func (o Options) callSummary(i *transcript.DisplayItem, diffs []transcript.FileDiff) string {
	switch {
	case len(i.ToolInput) > maxRowDiff:
	case len(diffs) == 1 && !i.IsCommand():
		return tty.Line(RelativePath(o.Dir, diffs[0].Path))
	case o.Dir != "" && i.ToolInput != "" && i.ToolSummary != "":
		return tty.Line(transcript.ToolSummaryIn(o.Dir, i.ToolName, i.ToolInput))
	}
	return tty.Line(cmp.Or(i.ToolSummary, i.SubagentDesc))
}

// A Note is a part of a line in its style, such as how a call went.
type Note struct {
	Style tty.Style
	Text  string // clean
}

// outcome returns how a call went, and how much it changed.
func (l *CallLine) outcome() []Note { return append([]Note{stateNote(l.State)}, l.changes()...) }

// changes returns how many lines a call added and removed.
func (l *CallLine) changes() (notes []Note) {
	if l.Added > 0 {
		notes = append(notes, Note{tty.Addition, fmt.Sprintf("+%d", l.Added)})
	}
	if l.Removed > 0 {
		notes = append(notes, Note{tty.Removal, fmt.Sprintf("-%d", l.Removed)})
	}
	return notes
}

// stateNote returns the word for a state, which is "" for work that is done.
func stateNote(s rows.State) Note {
	switch s {
	case rows.Running:
		return Note{tty.Waiting, s.String()}
	case rows.Failed, rows.Interrupted:
		return Note{tty.Failure, s.String()}
	case rows.NoResult:
		return Note{tty.Dim, s.String()}
	}
	return Note{}
}

// notes adds to the outcome of a row how much its subagents did, what that cost, and how long it
// took.
func (o Options) notes(outcome []Note, work *rows.Work, ms int64) []Note {
	if work != nil {
		if work.Calls > 0 {
			outcome = append(outcome, Note{tty.Dim, wording.Count(work.Calls, "call")})
		}
		outcome = append(outcome, Note{tty.Cost, workCost(work).Note()})
	}
	outcome = append(outcome, Note{tty.Dim, o.took(ms)})
	return slices.DeleteFunc(outcome, func(n Note) bool { return n.Text == "" })
}
