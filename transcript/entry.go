package transcript

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// An Entry is one line of a transcript. Members that are not of the type that the agent gives them
// count as absent.
//
// Raw members, which are of type []byte or [json.RawMessage], share the memory of the line that was
// decoded. docs/transcript-format.md in the repository lists the members that the agent writes.
type Entry struct {
	// Type is "user", "assistant", "system", "attachment" or "progress" for entries of the
	// conversation's tree, and another word for records that the agent keeps beside it, such as
	// "ai-title" or "cost-state". It is "" if the line has no type.
	Type string
	// Subtype is the kind of a system entry, such as "compact_boundary" or "turn_duration". The
	// oldest system entries have none.
	Subtype string

	// UUID identifies the entry within the transcript. Entries beside the conversation have none.
	UUID string
	// ParentUUID is the UUID of the entry before this one in the conversation. It is "" for the
	// first entry, and for a compact_boundary.
	ParentUUID string
	// Root reports whether the agent wrote null for the parent, which distinguishes the first entry
	// of a tree from an entry without the member.
	Root bool
	// LogicalParentUUID is the UUID of the last entry before a compaction. A compact_boundary has
	// one.
	LogicalParentUUID string
	// LeafUUID is the UUID of the entry at the end of the conversation that a summary or
	// last-prompt is about.
	LeafUUID string

	// Timestamp is the time of the entry, or the zero time if it has no valid one. The agent writes
	// UTC with milliseconds.
	Timestamp time.Time
	// SessionID is the ID of the session, a UUID. In the file of a subagent it is the ID of the
	// session that started it. In a fork it is the fork's ID.
	SessionID string
	// AgentID is the ID of the subagent that the entry belongs to, or "" for the session itself.
	AgentID string
	// CWD is the working directory when the entry was written, such as "/home/me/code".
	CWD string
	// GitBranch is the git branch when the entry was written, such as "main". Outside of a
	// repository the agent writes "HEAD".
	GitBranch string
	// Version is the version of the agent that wrote the entry, such as "2.1.325". A session that
	// was continued after an update has several.
	Version string
	// PermissionMode is the permission mode, such as "default", "acceptEdits", "plan" or
	// "bypassPermissions". Prompts and permission-mode entries have it.
	PermissionMode string
	// PromptID is shared by the entries of a turn, from its prompt on. It is "" if the entry has
	// none.
	PromptID string
	// RequestID is the ID of the request to the API that an answer came from, such as "req_011C…".
	// Some gateways give none.
	RequestID string
	// RequestSessionID is the ID of the session that paid for the answer, if that is not SessionID:
	// the entry was copied into a fork. It is "" on other entries, and up to Claude Code 2.1.325.
	RequestSessionID string
	// TeamName is the name of the team whose member wrote the entry, or "".
	TeamName string
	// AgentName is the name of that member. The agent of a session without a team may also have a
	// name.
	AgentName string

	// IsSidechain reports whether the entry belongs to a subagent. AgentID names the subagent,
	// except in older transcripts.
	IsSidechain bool
	// IsMeta reports whether the agent, and not the user, wrote a message in the user's role. Such
	// a message is for the model, not for a person.
	IsMeta bool
	// IsCompactSummary reports whether the message is the summary of a compaction. Some versions
	// don't mark it; [Classify] also knows the sentence that such a message starts with.
	IsCompactSummary bool
	// IsAPIErrorMessage reports whether the message is an API error in the form of an
	// answer. The agent wrote it, not the model.
	IsAPIErrorMessage bool
	// Forked reports whether the line was copied from another session. Its answer is in that
	// session as well and must not be paid for twice: see [usage.Call.Forked].
	Forked bool

	// Block is the number of the entry's block in its answer, from 1. It is 0 where the agent did
	// not record it: before 2.1.261, and on entries that are not part of an answer.
	Block int

	// CostUSD is the cost of the answer in dollars. Only older agents wrote it. It is 0 in newer
	// transcripts: use [usage.Cost].
	CostUSD float64

	// SourceToolUseID is the ID of the call that the entry comes from, such as the call of the
	// skill whose text the message is. It is "" for other entries.
	SourceToolUseID string
	// ParentToolUseID is the ID of the call that a progress entry is about, such as the call that
	// started a subagent. It is "" for other entries.
	ParentToolUseID string
	// Supersedes are the UUIDs of entries that this one retracts or replaces.
	Supersedes []string

	// Message is the message to or from the model. It is nil unless the entry has one: user and
	// assistant entries do.
	Message *Message
	// ToolUseResult is the structured tool result: an object, a list or a string. It is nil if
	// the entry has none. Package tooluse decodes it.
	ToolUseResult json.RawMessage
	// MCPMeta is an object with the members that an MCP server sent beside the content of its
	// result, such as _meta and structuredContent. It is nil if the entry has none.
	MCPMeta json.RawMessage
	// Permission is the decision about the call whose result the entry has. It is the zero value if
	// none is recorded.
	Permission PermissionDecision
	// Sandboxed reports whether the command whose result the entry has ran in the sandbox. It is nil
	// for other tools, and if nothing is recorded.
	Sandboxed *bool
	// Attachment is the object that an entry of type attachment adds for the model.
	Attachment json.RawMessage
	// AttachmentType is the type in Attachment, such as "queued_command", "file" or "hook_success".
	AttachmentType string
	// Content is the content of a system entry or a queue-operation: usually a JSON string.
	Content json.RawMessage
	// Data is the object of a progress entry.
	Data json.RawMessage
	// DataType is the type in Data, such as "bash_progress" or "agent_progress".
	DataType string
	// CompactMetadata is the object with the numbers of a compact_boundary: its trigger, the tokens
	// before and after, and the messages that it has kept.
	CompactMetadata json.RawMessage

	// Unknown are the names in the entry that this package does not know, up to 1,000.
	Unknown []Unknown

	facts resultFacts // read from ToolUseResult

	// Raw is the whole line. Members that this type does not have can be decoded from it.
	Raw []byte
	// Position is the position of the line in the file, if the caller has set it: see
	// [LineSplitter].
	Position wire.Position
}

// A Message is the message of an entry, to or from the model. Prompts and tool results have only a
// role and a content.
type Message struct {
	// ID is the ID that the API gave to the answer, such as "msg_01B…". All entries of one answer
	// have the same. It is "" for prompts.
	ID string
	// Role is "user" or "assistant". Results of tools and texts that the agent added also have the
	// role "user".
	Role string
	// Model is the model that answered, such as "claude-opus-5-5", or "<synthetic>" for a text that
	// the agent made up. It is "" for prompts.
	Model string
	// StopReason is the reason the answer ended, such as "end_turn" or "tool_use". It is "" where
	// the agent wrote null: the answer was interrupted, or, in older versions, it continues in the
	// next entry.
	StopReason string
	// Content is a JSON string or a list of blocks: see [wire.DecodeContent].
	Content json.RawMessage
	// Usage counts the tokens of the answer, or is nil if the message has none. Each entry of an
	// answer repeats it, so add up calls, see [CallOf] and [usage.Tally], and not entries.
	Usage *usage.Usage
}

// Usage counts the tokens of one answer of the model. It is the type of package usage under the
// name that messages and chunks know it by.
type Usage = usage.Usage

// Chained reports whether the entry is part of the conversation's tree. It returns false for
// records beside the conversation, which have no UUID or another type.
func (e *Entry) Chained() bool {
	return e.UUID != "" && entryfacts.Chained(e.Type)
}

// ParseEntry decodes a line of the conversation. It returns false if the line is not a JSON object,
// or has neither a UUID nor a leaf UUID. [DecodeEntry] accepts lines without these, and returns an
// error for an invalid line.
func ParseEntry(line []byte) (Entry, bool) {
	e, err := DecodeEntry(line)
	if err != nil || e.UUID == "" && e.LeafUUID == "" {
		return Entry{}, false
	}
	return e, true
}

// An identity stands for the UUID of an entry in 16 bytes, so that a long transcript can be held in
// memory.
type identity [16]byte

// identify returns the identity of a UUID. A text of another form gets one from its hash.
func identify(uuid string) identity {
	var id identity
	if len(uuid) == 36 && uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-' {
		var digits [32]byte
		at := copy(digits[:], uuid[:8])
		at += copy(digits[at:], uuid[9:13])
		at += copy(digits[at:], uuid[14:18])
		at += copy(digits[at:], uuid[19:23])
		copy(digits[at:], uuid[24:])
		if _, err := hex.Decode(id[:], digits[:]); err == nil {
			return id
		}
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(uuid))
	h.Sum(id[:0])
	return id
}
