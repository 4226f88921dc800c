package transcript

import (
	"time"

	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A ClassifiedMsg is what an entry means to a person. Its variants are [*UserMsg], [*AIMsg],
// [*SystemMsg], [*TeammateMsg] and [*CompactMsg].
type ClassifiedMsg interface {
	// Time returns the time of the message, or the zero time.
	Time() time.Time
	classifiedMsg()
}

// A UserMsg is a prompt of the user.
type UserMsg struct {
	Timestamp time.Time
	// Text is what to show: without what the agent added for the model, and a command as it was
	// typed. Where there are only pictures or documents it says so, as in "[2 images]".
	Text           string
	PermissionMode string
	// Images and Documents are the numbers of pictures and of other files in the prompt.
	Images    int
	Documents int
	// Queued reports whether the user typed it while the agent worked.
	Queued bool
}

// An AIMsg is an answer of the model, or, if IsMeta is set, something that went back to it: results
// of tools, the text of a skill.
//
// Text and ToolCalls are those of an answer. Content that went back to the model is only in Blocks,
// so that it is not taken for a part of the answer.
type AIMsg struct {
	Timestamp time.Time
	// MessageID is shared by the entries of one answer.
	MessageID string
	// RequestID is the ID of the request to the API, and Model the model that answered, such as
	// claude-opus-4-5.
	RequestID string
	Model     string
	// Text has the texts of the text blocks, each on a new line.
	Text string
	// ThinkingCount is the number of thinking blocks, including redacted ones.
	ThinkingCount int
	// ToolCalls are the calls in Blocks that have an ID and a name, including those of tools that
	// run at the API.
	ToolCalls  []ToolCall
	Blocks     wire.Content
	Usage      usage.Usage
	StopReason string
	IsMeta     bool
	// ToolUseResult is the structured result of the tool whose result is among the blocks, or ""
	// where it is longer than [ReadOptions.MaxResultBytes].
	ToolUseResult wire.JSON
	// Patch, AgentID, ResultStatus and PersistedOutputPath are members of the structured result,
	// however long it is: what changed in a file, the subagent that was started, how its work
	// stands, and the file that has the whole output.
	Patch               wire.JSON
	AgentID             string
	ResultStatus        string
	PersistedOutputPath string
	// SourceToolUseID is the call that this belongs to, such as the one of the skill whose text it
	// is.
	SourceToolUseID string
}

// A ToolCall names a call of a tool.
type ToolCall struct{ ID, Name string }

// A SystemMsg is the output of a command, or a notice of the agent.
type SystemMsg struct {
	Timestamp time.Time
	// Output is the text to show. For a command it is its standard output, or its standard error if
	// that is empty.
	Output string
	// Stderr is the standard error of a command that also has standard output.
	Stderr  string
	IsError bool
}

// A TeammateMsg is a message of another agent of the team.
type TeammateMsg struct {
	Timestamp  time.Time
	Text       string
	TeammateID string
	Color      string
	// Summary is the subject of the message, in the teammate's words.
	Summary string
}

// A CompactMsg is the place where the conversation was compacted, or the summary that takes the
// place of what was said before: the two come one after the other, and make one chunk.
type CompactMsg struct {
	Timestamp time.Time
	Text      string
	// Summary reports whether Text is the summary.
	Summary bool
	// Trigger is auto or manual.
	Trigger    string
	PreTokens  int
	PostTokens int
	Duration   time.Duration
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

func (*UserMsg) classifiedMsg()     {}
func (*AIMsg) classifiedMsg()       {}
func (*SystemMsg) classifiedMsg()   {}
func (*TeammateMsg) classifiedMsg() {}
func (*CompactMsg) classifiedMsg()  {}
