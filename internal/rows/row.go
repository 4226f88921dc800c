// Package rows turns a transcript into a flat list of rows that viewers show, folded or not. Rows
// are prompts, texts, calls and notices, with a subagent's rows below the call that started
// it, and a branch's rows below a mark.
//
// The package is pure. Rows point into the transcript and copy no texts.
//
// When chunks change, only the rows from the first changed chunk on are made again.
package rows

import (
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// An ID identifies a row of a session. It does not change when the transcript grows, nor when a
// rewind moves the row to a branch. It is made of the line of the entry and the number of the item
// within it, as in "12" for a prompt and "12.0" for an item. Rows of a subagent start with its ID,
// as in "a0618b08/34.2". If lines are not known, the numbers of chunk and item take their place, as
// in "c3.2".
type ID string

// A Kind is the kind of a row.
type Kind uint8

// The kinds of rows.
const (
	// Prompt is a message of the user. [transcript.Chunk.Queued] reports whether the agent was
	// working.
	Prompt Kind = iota
	// Answer is a text of the model.
	Answer
	// Thinking is the thinking of the model. Its text is "" if the API left it out.
	Thinking
	// Call is a tool call, with its result.
	Call
	// Subagent is a call that starts subagents. AgentRef is the subagent if it is known and the only
	// one. Its rows are below.
	Subagent
	// Agent is one of several subagents of the call above.
	Agent
	// Unlinked is a subagent whose starting call is not known. Its place is the time of its start.
	Unlinked
	// Result is the result of a missing call.
	Result
	// Teammate is the message of a teammate.
	Teammate
	// Notice is the output of a command, or a message of the agent such as an API error.
	Notice
	// Interruption is the place where the user stopped the agent.
	Interruption
	// Compaction is the place where the context was made smaller.
	Compaction
	// Branch marks the place of a part of the conversation that a rewind removed. Its rows are
	// below.
	Branch
	// Invalid stands for all lines of the transcript that are not entries, where the first one is.
	Invalid
)

var kinds = [...]string{
	"prompt", "answer", "thinking", "call", "subagent", "agent", "unlinked", "result", "teammate", "notice",
	"interruption", "compaction", "branch", "invalid",
}

// String returns a word, such as "prompt".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// A State is the state of a row's work.
type State uint8

// The states of rows.
const (
	// Done is also the state of rows that do no work.
	Done State = iota
	// Running is the state of a call that has no result yet, and of an unfinished subagent, in a session
	// that an agent has open.
	Running
	// Failed is the state of a call whose result is an error, and of a notice of an error.
	Failed
	// NoResult is the state of a call whose result is missing, and of a subagent without an end.
	NoResult
	// Interrupted is the state of a call that the user stopped.
	Interrupted
)

var states = [...]string{"done", "running", "failed", "no result", "interrupted"}

// String returns words, such as "no result".
func (s State) String() string {
	if int(s) < len(states) {
		return states[s]
	}
	return "unknown"
}

// A Row is one row of a session. It is one line when it is folded.
type Row struct {
	// ID is unique in the list.
	ID ID
	// Kind is the kind of the row, which decides which of the following fields are set.
	Kind Kind
	// State is the state of its work.
	State State
	// Depth is 0 in the session, and one more than the parent's for rows below another one.
	Depth int
	// Agent is the ID of the subagent whose transcript has the row, or "" for the session itself.
	Agent string
	// Turn is the number of the prompt that it belongs to, from 1, or 0 before the first one. A row
	// below another one belongs to the same prompt.
	Turn int
	// Parent is the index of the row that it is below, or -1.
	Parent int
	// Below is the number of rows below it, at any depth. They follow the row.
	Below int
	// Chunk is the chunk of the row, or of its item. A branch has its first chunk. It is nil for
	// Agent, Unlinked and Invalid.
	Chunk *transcript.Chunk
	// Item is the item that the row shows. It is nil for rows that are not one of an answer.
	Item *transcript.DisplayItem
	// AgentRef is the subagent of a row of kind Subagent, Agent or Unlinked.
	AgentRef *transcript.Agent
	// Work is the work and the cost of such a row's subagents, or nil.
	Work *Work
	// Transcript is the transcript with the lines of a row of kind Invalid.
	Transcript *transcript.Transcript
	// Time is the time of the message or the start, or the zero time.
	Time time.Time
	// Duration is the duration, or 0 if it is not known.
	Duration time.Duration
	// Text is the text of a prompt, answer, thinking, message or notice, or the summary of a
	// compaction. It is untrusted. It is "" for calls.
	Text string
}

// Work is the work of subagents.
type Work struct {
	// Calls counts their tool calls, including those by subagents below them.
	Calls int
	// Tokens counts the tokens of their model calls, cached or not.
	Tokens int
	// Cost is the cost of these, without the calls of models whose prices are not known.
	Cost usage.Money
	// UnknownCost reports that Cost is incomplete.
	UnknownCost bool
}

// At returns the position of the entry that the row comes from; for a call, the entry of the call.
// It is the zero value if the position is not known.
func (r *Row) At() wire.Position {
	switch {
	case r.Item != nil:
		return r.Item.At
	case r.Chunk != nil && r.Kind != Branch:
		return r.Chunk.At
	}
	return wire.Position{}
}

// ResultAt returns the position of the entry with a call's result, or the zero value.
func (r *Row) ResultAt() wire.Position {
	if r.Item == nil {
		return wire.Position{}
	}
	return r.Item.ResultAt
}

// IsCall reports whether the row is a tool call.
func (r *Row) IsCall() bool { return r.Item != nil && (r.Kind == Call || r.Kind == Subagent) }

// InputTokens returns the part of the tokens of a call that its input has; the result has the others.
func InputTokens(i *transcript.DisplayItem) int { return entrylex.EstimateTokens(i.ToolInput) }

// Failed reports whether something failed: a call, or the subject of a notice.
func (r *Row) Failed() bool { return r.State == Failed }
