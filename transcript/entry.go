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
// decoded.
type Entry struct {
	// Type is user, assistant, system, attachment or progress for entries of the conversation's
	// tree, and another word for what the agent keeps beside it, such as ai-title or cost-state.
	Type string
	// Subtype is the kind of a system entry, such as compact_boundary or turn_duration.
	Subtype string

	// UUID identifies the entry. Entries beside the conversation have none.
	UUID string
	// ParentUUID is the UUID of the entry before this one in the conversation. Root reports whether
	// the agent wrote null.
	ParentUUID string
	Root       bool
	// LogicalParentUUID is the last entry before a compaction.
	LogicalParentUUID string
	// LeafUUID is the end of the conversation that a summary or last-prompt is about.
	LeafUUID string

	// Timestamp is when the entry was written, or the zero time if it has no valid time.
	Timestamp time.Time
	SessionID string
	// AgentID is the ID of the subagent that the entry belongs to, or "" for the session itself.
	AgentID string
	// CWD, GitBranch, Version and PermissionMode are the working directory, the git branch, the
	// version of the agent, such as 2.1.325, and the permission mode, such as plan, when the entry
	// was written.
	CWD            string
	GitBranch      string
	Version        string
	PermissionMode string
	// PromptID is shared by the entries of a turn, and RequestID is the ID of the request to the
	// API.
	PromptID  string
	RequestID string
	// TeamName and AgentName name the member of a team that wrote the entry.
	TeamName  string
	AgentName string

	// IsSidechain reports whether the entry belongs to a subagent.
	IsSidechain bool
	// IsMeta reports whether the agent, and not the user, wrote a message in the user's role.
	IsMeta bool
	// IsCompactSummary reports whether the message is the summary of a compaction.
	IsCompactSummary bool
	// IsAPIErrorMessage reports whether the message is an error of the API in the form of an
	// answer.
	IsAPIErrorMessage bool
	// Forked reports whether the line was copied from another session.
	Forked bool

	// CostUSD is the cost of the answer in dollars. Only older agents wrote it.
	CostUSD float64

	// SourceToolUseID is the call that the entry comes from, such as a skill's.
	SourceToolUseID string
	// Supersedes are the UUIDs of entries that this one retracts or replaces.
	Supersedes []string

	// Message is nil unless the entry has one.
	Message *Message
	// ToolUseResult is the structured result of a tool: an object, a list or a string.
	ToolUseResult json.RawMessage
	// Attachment is that of an entry of type attachment, and AttachmentType its type.
	Attachment     json.RawMessage
	AttachmentType string
	// Content is that of a system entry or a queue-operation: usually a string.
	Content json.RawMessage
	// Data is that of a progress entry, and DataType its type.
	Data     json.RawMessage
	DataType string
	// CompactMetadata is that of a compact_boundary.
	CompactMetadata json.RawMessage

	// Unknown are the names in the entry that this package does not know, up to 1,000.
	Unknown []Unknown

	facts resultFacts // what ToolUseResult tells

	// Raw is the whole line.
	Raw []byte
	// Position is the position of the line in the file, if the caller has set it: see
	// [LineSplitter].
	Position wire.Position
}

// A Message is the message of an entry, to or from the model.
type Message struct {
	ID         string
	Role       string
	Model      string
	StopReason string
	// Content is a string or a list of blocks: see [wire.DecodeContent].
	Content json.RawMessage
	Usage   *usage.Usage
}

// Usage counts the tokens of one answer of the model. It is the type of package usage under the
// name that messages and chunks know it by.
type Usage = usage.Usage

// Chained reports whether the entry is part of the conversation's tree.
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
