package transcript

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/clewdev/clew/wire"
)

// An Entry is one line of a transcript. Members that are not of the type that the agent gives them count as absent.
//
// Raw members, which are of type []byte or [json.RawMessage], share the memory of the line that was decoded.
type Entry struct {
	// Type is user, assistant, system, attachment or progress for entries of the conversation's tree, and another word
	// for what the agent keeps beside it, such as ai-title or cost-state.
	Type    string
	Subtype string

	UUID string
	// ParentUUID is the entry before this one in the conversation. Root says that the agent wrote null there.
	ParentUUID string
	Root       bool
	// LogicalParentUUID is the last entry before a compaction.
	LogicalParentUUID string
	// LeafUUID is the end of the conversation that a summary or last-prompt is about.
	LeafUUID string

	Timestamp      time.Time // zero if there is none that can be read
	SessionID      string
	AgentID        string
	CWD            string
	GitBranch      string
	Version        string
	PermissionMode string
	PromptID       string
	RequestID      string
	TeamName       string
	AgentName      string

	IsSidechain       bool
	IsMeta            bool
	IsCompactSummary  bool
	IsAPIErrorMessage bool
	// Forked says that the line was copied from another session.
	Forked bool

	// CostUSD is what the answer cost, where an older agent wrote that down.
	CostUSD float64

	// SourceToolUseID is the call that the entry comes from, such as a skill's.
	SourceToolUseID string
	// Supersedes are the UUIDs of entries that this one takes back or replaces.
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

	// Unknown is what the entry has that this package does not know, up to 1,000 names.
	Unknown []Unknown

	facts resultFacts // what ToolUseResult tells

	// Raw is the whole line.
	Raw []byte
	// Position is where the line was, if the caller has set it: see [LineSplitter].
	Position wire.Position
}

// A Message is what an entry says to or from the model.
type Message struct {
	ID         string
	Role       string
	Model      string
	StopReason string
	// Content is a string or a list of blocks: see [wire.DecodeContent].
	Content json.RawMessage
	Usage   *Usage
}

// Chained reports whether the entry is part of the conversation's tree.
func (e *Entry) Chained() bool {
	switch e.Type {
	case "user", "assistant", "system", "attachment", "progress":
		return e.UUID != ""
	}
	return false
}

// ParseEntry decodes a line of the conversation. It returns false if the line is not a JSON object, or has neither a
// UUID nor the UUID of a leaf; [DecodeEntry] takes every line, and says what is wrong with one.
func ParseEntry(line []byte) (Entry, bool) {
	e, err := DecodeEntry(line)
	if err != nil || e.UUID == "" && e.LeafUUID == "" {
		return Entry{}, false
	}
	return e, true
}

// maxTime is longer than any time that can be read.
const maxTime = 64

// parseTime reads a time with or without a zone. It returns the zero time for anything else.
func parseTime(text []byte) time.Time {
	if at, ok := parseUTC(text); ok {
		return at
	}
	if len(text) > maxTime {
		return time.Time{}
	}
	return parseAnyTime(string(text))
}

// parseUTC reads a time in the form that the agent writes: 2006-01-02T15:04:05.000Z.
func parseUTC(b []byte) (time.Time, bool) {
	if len(b) != len("2006-01-02T15:04:05.000Z") || b[4] != '-' || b[7] != '-' || b[10] != 'T' ||
		b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return time.Time{}, false
	}
	year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute, second, milli := digits(b[11:13]), digits(b[14:16]), digits(b[17:19]), digits(b[20:23])
	if year|month|day|hour|minute|second|milli < 0 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	at := time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	return at, at.Day() == day
}

// digits returns the number that b is, or -1.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func parseAnyTime(text string) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC()
	}
	at, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// An identity stands for the UUID of an entry in 16 bytes, so that a long transcript can be held in memory.
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
