package transcript

import (
	"time"

	"github.com/clewdev/clew/wire"
)

// A ChunkType says what a chunk is.
type ChunkType int

// The types of chunks.
const (
	UserChunk ChunkType = iota
	AIChunk
	SystemChunk
	CompactChunk
)

// A Chunk is one visible unit of a conversation.
type Chunk struct {
	Type      ChunkType
	Timestamp time.Time
	// Text is what the user wrote, what the agent answered, what a command printed, or the summary of a compaction.
	Text string

	// PermissionMode, Images, Documents and Queued are those of a user chunk's [UserMsg].
	PermissionMode string
	Images         int
	Documents      int
	Queued         bool

	// What follows is set for AI chunks.

	Model         string
	ThinkingCount int
	ToolCalls     []ToolCall
	Items         []DisplayItem
	// Usage is that of the last answer that has one: it tells how full the context was. It is no sum.
	Usage      Usage
	StopReason string
	// DurationMs is the time from the first to the last message that tells one.
	DurationMs int64

	// Stderr and IsError are those of a system chunk's [SystemMsg].
	Stderr  string
	IsError bool
	// Compaction is set for compaction chunks.
	Compaction *Compaction

	// Interrupted says that the user stopped the agent here. What it had said until then is in the chunk.
	Interrupted bool
	// Injected are texts that the agent put into the conversation for the model, such as that of a skill which the user
	// called. Those that belong to a call are in its item.
	Injected []string

	// Lines are the numbers of the lines that the chunk is made of, as far as they are known. Each line that means
	// something is in one chunk.
	Lines []int
}

// A Compaction tells how a context was made smaller.
type Compaction struct {
	// Trigger is auto or manual.
	Trigger    string
	PreTokens  int
	PostTokens int
	Duration   time.Duration
}

// A DisplayItemType says what an item is.
type DisplayItemType int

// The types of items.
const (
	ItemThinking DisplayItemType = iota
	ItemOutput
	ItemToolCall
	ItemSubagent
	ItemTeammateMessage
)

// A DisplayItem is one element of an AI chunk. A result whose call is not there is an output, with the call's ToolID.
type DisplayItem struct {
	Type      DisplayItemType
	Timestamp time.Time
	// Text is that of thinking, output and a teammate's message.
	Text string

	// What follows is set for calls of tools, and for those that start subagents.

	ToolName    string
	ToolID      string
	ToolInput   wire.JSON
	ToolSummary string
	// ToolResult is the text of the result, once HasResult is set.
	ToolResult string
	HasResult  bool
	ToolError  bool
	// ResultImages counts the pictures in the result.
	ResultImages int
	// Structured is the structured result, or "" where it is longer than [ReadOptions.MaxResultBytes]: then it is in the
	// entry at ResultAt. Patch is the part of it that tells what changed in a file, and is always there.
	Structured wire.JSON
	Patch      wire.JSON
	// Status is what the structured result says of how far it is, such as completed or async_launched.
	Status string
	// SpillPath is the file with the whole output, if the structured result names one: see [SpillPath].
	SpillPath string
	// Injected are texts that the call put into the conversation for the model, such as that of a skill.
	Injected []string
	// CallAt and ResultAt are where the entries of the call and of its result are.
	CallAt   wire.Position
	ResultAt wire.Position

	// DurationMs is the time from the call to its result. Where a subagent ran in the same turn it is 0 for other calls
	// of more than a minute: their results are written late.
	DurationMs int64
	// TokenCount is an estimate from the length of the text.
	TokenCount int

	SubagentType string
	SubagentDesc string
	// AgentID is that of the subagent that the call started, if the result tells.
	AgentID string
	// Agents are the subagents that the call started, once they were linked: see [Link].
	Agents []*Agent

	TeammateID    string
	TeammateColor string
	// TeammateSummary is what the message is about, in a few words.
	TeammateSummary string
}
