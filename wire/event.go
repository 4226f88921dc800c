package wire

import "encoding/json"

// A StreamEventMessage carries a piece of an answer while the model writes it. The complete block
// follows as an [AssistantMessage], before its [*ContentBlockStopEvent].
//
// The text of the answer is in events of the type [*TextDeltaEvent]. A [Collector] returns it piece by
// piece, whether or not the agent streams:
//
//	if delta, ok := msg.Event.(*wire.TextDeltaEvent); ok {
//		fmt.Print(delta.Text)
//	}
//
// An API event that stands on a line by itself, without the frame around it, is a
// StreamEventMessage as well.
//
//wire:message stream_event
type StreamEventMessage struct {
	raw  string
	bare bool // the line is the event itself

	// Event is the piece. It is never nil in a message that was decoded.
	Event Event `json:"event"`
	// ParentToolUseID is the call that started the subagent that speaks, or empty.
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// APIMessageID is the [APIMessage.ID] that the piece belongs to.
	APIMessageID string `json:"api_message_id" wire:"intern"`

	// Details has what comes with few events, and is nil with the others.
	Details *StreamEventDetails `wire:"inline"`

	UUID      string `json:"uuid" wire:"required"`              // ID of this frame
	SessionID string `json:"session_id" wire:"required,intern"` // session that it belongs to
}

// StreamEventDetails are the members that come only with the first event of a turn or of an answer,
// and with an event that gives up blocks. On the wire they are members of the frame itself.
type StreamEventDetails struct {
	raw string

	// TTFT is the time to the first token of the answer.
	TTFT Millis `json:"ttft_ms,omitzero"`
	// UserMessageUUID is the caller's id of the prompt that is answered.
	UserMessageUUID string `json:"user_message_uuid,omitzero" wire:"intern"`
	// UserMessageUUIDs are the ids of all prompts that the turn took up so far.
	UserMessageUUIDs []string `json:"user_message_uuids,omitzero"`
	// ResumeReason is set when the turn continues a turn that a restart cut off.
	ResumeReason string `json:"resume_reason,omitzero" wire:"intern"`
	// ThinkingDisplay is the way thinking is shown, such as "updates".
	ThinkingDisplay string `json:"thinking_display,omitzero" wire:"intern"`
	// AbandonedBlocks names blocks of an answer that will not be finished.
	AbandonedBlocks *AbandonedBlocks `json:"abandoned_blocks,omitzero"`
	// OwedRows is left as JSON; its shape is not published.
	OwedRows JSON `json:"owed_rows,omitzero"`
}

// AbandonedBlocks names the blocks of an answer from an index on.
type AbandonedBlocks struct {
	raw string

	// APIMessageID is the [APIMessage.ID] of the answer.
	APIMessageID string `json:"api_message_id,omitzero" wire:"intern"`
	// FromBlockIndex is the first block that will not be finished.
	FromBlockIndex int `json:"from_block_index,omitzero"`
}

// An Event is a piece of a streamed answer. Its variants are
//
//   - [*MessageStartEvent], [*MessageDeltaEvent], [*MessageStopEvent]
//   - [*ContentBlockStartEvent], [*ContentBlockStopEvent]
//   - the deltas of a block: [*TextDeltaEvent], [*ThinkingDeltaEvent],
//     [*SignatureDeltaEvent], [*InputJSONDeltaEvent], [*CitationsDeltaEvent],
//     [*CompactionDeltaEvent]
//   - [*PingEvent], [*ErrorEvent]
//   - [*UnknownEvent], for an event or a delta of a type that this package does
//     not know
type Event interface {
	// EventType returns the event's type on the wire. It is "content_block_delta" for every delta.
	EventType() string
	// Raw returns the text that the event was read from, or "".
	Raw() string
	json.Marshaler

	sealed()
}

// A MessageStartEvent starts an answer, without content yet.
//
//wire:event message_start
type MessageStartEvent struct {
	raw string

	// Message has the id, the model and the first usage.
	Message *APIMessage `json:"message"`
}

// A MessageDeltaEvent brings what is known at the end of an answer.
//
//wire:event message_delta
type MessageDeltaEvent struct {
	raw string

	// Delta explains why the model stopped.
	Delta *MessageDelta `json:"delta"`
	// Usage counts from the beginning of the answer.
	Usage *Usage `json:"usage"`
	// ContextManagement is set if the API removed something from the context.
	ContextManagement *ContextManagement `json:"context_management"`
}

// A MessageDelta explains why the model stopped.
type MessageDelta struct {
	raw string

	// StopReason is the reason the model stopped, such as StopReasonEndTurn.
	StopReason StopReason `json:"stop_reason,omitzero" wire:"intern"`
	// StopSequence is the stop sequence that ended the answer, or empty.
	StopSequence string `json:"stop_sequence,omitzero"`
	// StopDetails is set if the model refused.
	StopDetails *StopDetails `json:"stop_details,omitzero"`
	// Container is set if the API used a container for the answer.
	Container *Container `json:"container,omitzero"`
}

// A MessageStopEvent ends an answer.
//
//wire:event message_stop
type MessageStopEvent struct {
	raw string
}

// A ContentBlockStartEvent starts a block.
//
//wire:event content_block_start
type ContentBlockStartEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int `json:"index"`
	// ContentBlock is the block at its start, usually without text.
	ContentBlock Block `json:"content_block"`
}

// A ContentBlockStopEvent ends a block.
//
//wire:event content_block_stop
type ContentBlockStopEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int `json:"index"`
}

// A PingEvent keeps the connection alive.
//
//wire:event ping
type PingEvent struct {
	raw string
}

// An ErrorEvent reports that the API broke the answer off.
//
//wire:event error
type ErrorEvent struct {
	raw string

	// Error is the error, such as one of the type "overloaded_error".
	Error *APIError `json:"error"`
}

// An APIError is an error of the API.
type APIError struct {
	raw string

	// Type is a word such as "invalid_request_error".
	Type string `json:"type,omitzero" wire:"intern"`
	// Message describes the error, for people.
	Message string `json:"message,omitzero"`
}

// A TextDeltaEvent appends to a text block.
//
//wire:delta text_delta
type TextDeltaEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int
	// Text is the piece to append.
	Text string `json:"text"`
}

// A ThinkingDeltaEvent appends to a thinking block.
//
//wire:delta thinking_delta
type ThinkingDeltaEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int
	// Thinking is the piece to append.
	Thinking string `json:"thinking"`
	// EstimatedTokens is an estimate of the tokens in the piece, or 0.
	EstimatedTokens int `json:"estimated_tokens"`
}

// A SignatureDeltaEvent brings the signature of a thinking block.
//
//wire:delta signature_delta
type SignatureDeltaEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int
	// Signature is opaque.
	Signature string `json:"signature"`
}

// An InputJSONDeltaEvent appends to a tool's input. The pieces are JSON only when put together.
//
//wire:delta input_json_delta
type InputJSONDeltaEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int
	// PartialJSON is the piece to append.
	PartialJSON string `json:"partial_json"`
}

// A CitationsDeltaEvent adds a citation to a text block.
//
//wire:delta citations_delta
type CitationsDeltaEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int
	// Citation is the citation to append.
	Citation *Citation `json:"citation"`
}

// A CompactionDeltaEvent brings the content of a compaction block.
//
//wire:delta compaction_delta
type CompactionDeltaEvent struct {
	raw string

	// Index is the place of the block in the content, from 0.
	Index int
	// Content is the summary, or empty.
	Content string `json:"content"`
	// EncryptedContent is opaque, or empty.
	EncryptedContent string `json:"encrypted_content"`
}

// An UnknownEvent is an event, or a delta, of a type that this package does not know.
type UnknownEvent struct {
	raw  string
	kind string
}

// EventType returns the unknown type, or "content_block_delta" for an unknown delta.
func (e *UnknownEvent) EventType() string { return e.kind }

// Raw returns the whole event.
func (e *UnknownEvent) Raw() string { return e.raw }

// MarshalJSON returns the event as it was read.
func (e *UnknownEvent) MarshalJSON() ([]byte, error) { return []byte(e.raw), nil }

func (e *UnknownEvent) sealed() {}
