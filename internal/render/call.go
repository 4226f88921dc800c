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
	// Outcome is the word for the state. It is "" for a call that is done, and "denied" for a call
	// that was not allowed to run.
	Outcome string
	// Added and Removed are the numbers of changed lines.
	Added, Removed int
}

// CallLine returns a call's words, with the changes that it made. c is the chunk of the call,
// or nil if it is not known.
func (o Options) CallLine(c *transcript.Chunk, i *transcript.DisplayItem, diffs []transcript.FileDiff) CallLine {
	line := CallLine{Name: callName(i), Summary: o.callSummary(i, diffs), State: rows.StateOf(c, i)}
	line.Outcome = callNote(line.State, i).Text
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
func (l *CallLine) outcome() []Note {
	return append([]Note{{stateNote(l.State).Style, l.Outcome}}, l.changes()...)
}

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

// callNote returns the word for the state of a call. A call that was denied did not fail.
func callNote(s rows.State, i *transcript.DisplayItem) Note {
	note := stateNote(s)
	if s == rows.Failed && i != nil && i.Permission.Rejected() {
		note.Text = "denied"
	}
	return note
}

// Permission returns who allowed or denied a call and whether it ran in the sandbox, as in "allowed
// by the user, in the sandbox", or "". Rules and the mode allow most calls, which is only said if all
// is set.
func Permission(i *transcript.DisplayItem, all bool) string {
	text := ""
	if p := i.Permission; p != nil {
		by := decider(p)
		routine := !p.Rejected() && (p.ReasonType == "rule" || p.ReasonType == "mode")
		switch {
		case by == "" || routine && !all:
		case p.Rejected():
			text = "denied by " + by
		case p.Decision == "accept":
			text = "allowed by " + by
		}
	}
	if i.Sandboxed == nil || !*i.Sandboxed {
		return text
	}
	if text != "" {
		return text + ", in the sandbox"
	}
	return "ran in the sandbox"
}

// decider names who made a decision, or returns "". The reason comes first: a rule that the user
// once made has the user as its source.
func decider(p *transcript.PermissionDecision) string {
	switch p.ReasonType {
	case "rule":
		return "a rule" + ruleOrigins[p.RuleSource]
	case "mode":
		return "the permission mode"
	case "hook", "classifier":
		return deciders[p.ReasonType]
	case "safetyCheck":
		return "a safety check"
	}
	by := deciders[p.Source]
	if by != "" && p.GrantScope == "session" {
		by += " for the session"
	}
	return by
}

var deciders = map[string]string{
	"user_temporary": "the user", "user_permanent": "the user, for good", "user_reject": "the user", "user_abort": "the user",
	"hook": "a hook", "classifier": "the classifier",
}

var ruleOrigins = map[string]string{
	"cliArg": " of the command line", "session": " of the session", "policySettings": " of the organization",
	"userSettings": " of the user's settings", "projectSettings": " of the project's settings",
	"localSettings": " of the local settings",
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
