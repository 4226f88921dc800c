package wire

// A CompactBoundaryMessage marks the place where the conversation was replaced
// by a summary of it.
//
//wire:message system compact_boundary
type CompactBoundaryMessage struct {
	raw string

	Metadata CompactMetadata `json:"compact_metadata"`
	// LogicalParentUUID is the last message before the boundary.
	LogicalParentUUID string `json:"logical_parent_uuid"`
	UUID              string `json:"uuid"`
	SessionID         string `json:"session_id" wire:"intern"`
}

// CompactMetadata describes a compaction: why it ran and what it left.
type CompactMetadata struct {
	raw string

	Trigger CompactTrigger `json:"trigger" wire:"intern"`
	// PreTokens and PostTokens are the sizes of the context before and after.
	PreTokens  int `json:"pre_tokens"`
	PostTokens int `json:"post_tokens"`
	// CumulativeDroppedTokens counts over all compactions of the session.
	CumulativeDroppedTokens int    `json:"cumulative_dropped_tokens"`
	Duration                Millis `json:"duration_ms"`
	// PreservedSegment is the older form of PreservedMessages; where both are
	// set, PreservedMessages counts.
	PreservedSegment  *PreservedSegment  `json:"preserved_segment"`
	PreservedMessages *PreservedMessages `json:"preserved_messages"`
}

// A CompactTrigger says who asked for a compaction.
type CompactTrigger string

// The triggers of a compaction.
const (
	CompactTriggerManual CompactTrigger = "manual"
	CompactTriggerAuto   CompactTrigger = "auto"
)

// A CompactResult says how a compaction ended. It comes with a StatusMessage.
type CompactResult string

// The results of a compaction.
const (
	CompactResultSuccess CompactResult = "success"
	CompactResultFailed  CompactResult = "failed"
)

// A PreservedSegment names, by its ends, the run of messages that a compaction
// kept word for word.
type PreservedSegment struct {
	raw string

	HeadUUID string `json:"head_uuid"`
	// AnchorUUID is the message that the segment now follows.
	AnchorUUID string `json:"anchor_uuid"`
	TailUUID   string `json:"tail_uuid"`
}

// PreservedMessages names each message that a compaction kept word for word.
type PreservedMessages struct {
	raw string

	// AnchorUUID is the message that the kept ones now follow.
	AnchorUUID string   `json:"anchor_uuid"`
	UUIDs      []string `json:"uuids"`
}
