package transcript

import (
	"time"

	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A ClassifiedMsg is the meaning of an entry to a person. Its variants are [*UserMsg], [*AIMsg],
// [*SystemMsg], [*TeammateMsg] and [*CompactMsg]. The type is sealed: a type switch over these five
// is complete.
//
//	switch m := msg.(type) {
//	case *transcript.UserMsg:
//		fmt.Println("user:", m.Text)
//	case *transcript.AIMsg:
//		fmt.Println("model:", m.Text)
//	}
type ClassifiedMsg interface {
	// Time returns the time of the message, or the zero time.
	Time() time.Time
	classifiedMsg()
}

// A UserMsg is a prompt of the user.
type UserMsg struct {
	// Timestamp is the time the prompt was sent, or the zero time if the entry has none.
	Timestamp time.Time
	// Text is the text to show: without what the agent added for the model, and a command as it was
	// typed, such as "/review main.go". Where there are only pictures or documents it counts them,
	// as in "[2 images]".
	Text string
	// PermissionMode is the mode in which the prompt was sent, such as "plan", or "" if the entry
	// does not record it.
	PermissionMode string
	// Images is the number of pictures in the prompt.
	Images int
	// Documents is the number of other files in the prompt, such as PDF files.
	Documents int
	// Queued reports whether the user typed it while the agent worked. It then belongs to the turn
	// that was running.
	Queued bool
	// Sender is the sender of the prompt, if the agent recorded that it was not the user: "peer"
	// and "coordinator" for other agents, "channel" and "plugin" for services that the user
	// connected, "system" and other words for the agent itself. It is "" for the user, and if
	// nothing is recorded. Pasted or piped text is a part of the user's text.
	Sender string
}

// An AIMsg is an answer of the model, or, if IsMeta is set, something that went back to it: tool
// results, the text of a skill.
//
// Text and ToolCalls belong to an answer. Content that went back to the model is only in Blocks, so
// that it is not taken for a part of the answer.
type AIMsg struct {
	// Timestamp is the time of the entry, or the zero time if it has none.
	Timestamp time.Time
	// MessageID is the ID that the API gave to the answer. The entries of one answer share it. It
	// is "" if IsMeta is set.
	MessageID string
	// RequestID is the ID of the request to the API. It is "" if a gateway gave none, and if IsMeta
	// is set.
	RequestID string
	// Model is the model that answered, such as "claude-opus-5-5". It is "" if IsMeta is set.
	Model string
	// Text has the texts of the text blocks, each on a new line. It is "" if there are none, and if
	// IsMeta is set.
	Text string
	// ThinkingCount is the number of thinking blocks, including redacted ones.
	ThinkingCount int
	// ToolCalls are the calls in Blocks that have an ID and a name, including calls of tools that
	// run at the API. The blocks have their inputs.
	ToolCalls []ToolCall
	// Blocks are the decoded blocks of the entry, in their order. Usually an entry of an answer has
	// one.
	Blocks wire.Content
	// Block is the number of the first of Blocks in the answer, from 1, or 0 if the entry does not
	// have it.
	Block int
	// Complete reports whether the blocks are complete, as in every known version of the agent.
	// Otherwise the next entry of the answer may repeat the last block with more text.
	Complete bool
	// Usage counts the tokens of the whole answer. Each of its entries repeats it, so don't add it
	// up: see [usage.Tally]. It is the zero value if the entry has none.
	Usage usage.Usage
	// StopReason is the reason the answer ended, such as "end_turn", or "" if the entry has none.
	StopReason string
	// IsMeta reports whether the message went to the model instead of coming from it: tool results,
	// or text that the agent added.
	IsMeta bool
	// ToolUseResult is the structured result of the tool whose result is among the blocks, or ""
	// where it is longer than [ReadOptions.MaxResultBytes].
	ToolUseResult wire.JSON
	// Patch is the list of hunks in the structured result that shows what changed in a file,
	// however long the result is. It is "" if nothing changed. Two spaces stand for each tab at the
	// beginning of a line, unless ToolUseResult is not kept and had the whole file.
	Patch wire.JSON
	// AgentID is the ID of the subagent that the call started, from the structured result. It is ""
	// for other tools, and "name@team" for a teammate.
	AgentID string
	// ResultStatus is the status in the structured result, such as "completed", "async_launched" or
	// "teammate_spawned", or "".
	ResultStatus string
	// PersistedOutputPath is the path of the file that has the whole output, if it was too long for
	// the conversation, or "". The path is not checked: see [SpillPath].
	PersistedOutputPath string
	// Permission is the decision about the call whose result is among the blocks: see
	// [Entry.Permission].
	Permission PermissionDecision
	// Sandboxed reports whether the command whose result is among the blocks ran in the sandbox. It
	// is nil if that is not recorded.
	Sandboxed *bool
	// SourceToolUseID is the call that this belongs to, such as the one of the skill whose text it
	// is.
	SourceToolUseID string
}

// A ToolCall names a tool call.
type ToolCall struct {
	// ID is the ID of the call, which its result repeats.
	ID string
	// Name is the name of the tool, such as "Bash".
	Name string
}

// A SystemMsg is the output of a command, or a notice of the agent.
type SystemMsg struct {
	// Timestamp is the time of the entry, or the zero time if it has none.
	Timestamp time.Time
	// Output is the text to show, and never empty. For a command it is its standard output, or its
	// standard error if that is empty.
	Output string
	// Stderr is the standard error of a command that also has standard output. Otherwise it is "".
	Stderr string
	// IsError reports whether the message is about something that failed. A command with any
	// standard error counts as failed.
	IsError bool
	// Tasks are the reports of tasks in the background that the message has, or nil. Output has the
	// same in words.
	Tasks []TaskReport
}

// A TaskReport is the agent's report that a task in the background ended, such as a subagent.
type TaskReport struct {
	// TaskID is the ID of the task. For a subagent it is the ID of the subagent.
	TaskID string `json:"-"`
	// ToolUseID is the ID of the call that started the task, or "" in older versions.
	ToolUseID string `json:"-"`
	// Time is the time of the report, or the zero time.
	Time time.Time `json:"time,omitzero"`
	// Status is the end of the task: "completed", "failed", "killed" or "stopped".
	Status string `json:"status"`
	// Summary describes the end in a sentence.
	Summary string `json:"summary,omitempty"`
	// Result is the answer of a subagent, or "".
	Result string `json:"result,omitempty"`
	// DurationMs is the time that the task took, in milliseconds, or 0 if the report does not say.
	DurationMs int64 `json:"duration_ms,omitempty"`
}

// A TeammateMsg is a message of another agent of the team.
type TeammateMsg struct {
	// Timestamp is the time of the entry, or the zero time if it has none.
	Timestamp time.Time
	// Text is the message without the tags around it. Several messages in one entry are joined, and
	// messages of other teammates start with their names.
	Text string
	// TeammateID is the name of the teammate that wrote the message, or the first one. It is copied
	// from the attribute teammate_id and never empty.
	TeammateID string
	// Color is the color in which the agent shows the teammate, such as "blue", or "".
	Color string
	// Summary is the subject of the message, in the teammate's words. It is "" if the message has
	// none.
	Summary string
}

// A CompactMsg is the place where the conversation was compacted, or the summary that replaces the
// conversation before: the two come one after the other, and make one chunk.
type CompactMsg struct {
	// Timestamp is the time of the entry, or the zero time if it has none.
	Timestamp time.Time
	// Text is the summary, or at the boundary the notice of the agent, such as "Conversation
	// compacted".
	Text string
	// Summary reports whether Text is the summary. Otherwise the message is the boundary, and only
	// that has the following fields.
	Summary bool
	// Trigger is "auto" if the agent decided to compact, and "manual" if the user asked for it.
	Trigger string
	// PreTokens is the size of the context before the compaction in tokens, or 0 if it is not
	// known.
	PreTokens int
	// PostTokens is the size of the context after it in tokens, or 0 if it is not known.
	PostTokens int
	// Duration is the time the compaction took, or 0 if it is not known.
	Duration time.Duration
}

// Time returns the time of the message.
func (m *UserMsg) Time() time.Time { return m.Timestamp }

// Time returns the time of the message.
func (m *AIMsg) Time() time.Time { return m.Timestamp }

// Time returns the time of the message.
func (m *SystemMsg) Time() time.Time { return m.Timestamp }

// Time returns the time of the message.
func (m *TeammateMsg) Time() time.Time { return m.Timestamp }

// Time returns the time of the message.
func (m *CompactMsg) Time() time.Time { return m.Timestamp }

// The variants of ClassifiedMsg.
func (*UserMsg) classifiedMsg()     {}
func (*AIMsg) classifiedMsg()       {}
func (*SystemMsg) classifiedMsg()   {}
func (*TeammateMsg) classifiedMsg() {}
func (*CompactMsg) classifiedMsg()  {}
