package wire

// A StatusMessage reports the agent's activity, the outcome of a compaction, or a change of the
// permission mode.
//
//wire:message system status
type StatusMessage struct {
	raw string

	// Status is empty if the agent is doing neither, and in a message about the permission mode.
	Status SessionStatus `json:"status" wire:"intern"`
	// PermissionMode is the new mode after a change.
	PermissionMode PermissionMode `json:"permissionMode" wire:"intern"`
	// CompactResult is set when a compaction ends.
	CompactResult CompactResult `json:"compact_result" wire:"intern"`
	// CompactError explains why the compaction failed, for people, or is empty.
	CompactError string `json:"compact_error"`
	// UserMessageUUIDs are the caller's ids of the prompts that the turn answers.
	UserMessageUUIDs []string `json:"user_message_uuids"`
	UUID             string   `json:"uuid"`                     // ID of this message
	SessionID        string   `json:"session_id" wire:"intern"` // session that it belongs to
}

// A SessionStatus is an activity of the agent.
type SessionStatus string

// The activities that a StatusMessage reports.
const (
	SessionStatusCompacting SessionStatus = "compacting"
	SessionStatusRequesting SessionStatus = "requesting"
)

// A SessionStateChangedMessage reports that the session has become idle, busy or blocked on the
// caller. The idle state is the reliable sign that a turn is over.
//
//wire:message system session_state_changed
type SessionStateChangedMessage struct {
	raw string

	// State is the new state.
	State SessionState `json:"state" wire:"intern"`
	// SDKHostOnly marks a frame meant for the library that drives the agent, not for its user.
	SDKHostOnly bool   `json:"sdk_host_only"`
	UUID        string `json:"uuid"`                     // ID of this message
	SessionID   string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A SessionState reports whether a session is waiting, working or blocked.
type SessionState string

// The states of a session.
const (
	SessionStateIdle           SessionState = "idle"
	SessionStateRunning        SessionState = "running"
	SessionStateRequiresAction SessionState = "requires_action"
)

// A SessionTitleChangedMessage gives the session's new title after a rename.
//
//wire:message system session_title_changed
type SessionTitleChangedMessage struct {
	raw string

	// Title is the new title.
	Title     string `json:"title"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A WorkerShuttingDownMessage reports that the session's process is about to end, and why.
//
//wire:message system worker_shutting_down
type WorkerShuttingDownMessage struct {
	raw string

	// Reason explains why.
	Reason    string `json:"reason" wire:"intern"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A SessionReconnectedMessage reports that the agent died and that a new agent continues the
// session. The turn and the background tasks of the old agent are lost. The library that drives the
// agent makes this message, not the agent.
//
//wire:message system session_reconnected
type SessionReconnectedMessage struct {
	raw string

	// Error describes how the old agent ended, for people.
	Error string `json:"error"`
	// ExitCode is its exit code, or -1 when Signal ended it.
	ExitCode int `json:"exit_code"`
	// Signal is the signal that ended the agent, such as "killed", or empty.
	Signal string `json:"signal" wire:"intern"`
	// Attempts is the number of agents that were started until one was ready.
	Attempts int `json:"attempts"`
	// Downtime is the time the session was without an agent.
	Downtime Millis `json:"downtime_ms"`
	// LostPrompts are the ids of the prompts that the old agent received and did not answer. It may
	// have acted on them, so they were not sent again.
	LostPrompts []string `json:"lost_prompts"`
	UUID        string   `json:"uuid"` // ID of this message
	// Resumed is false if the conversation starts again: nothing of it was on disk when the agent
	// died, for instance in its first turn.
	Resumed bool `json:"resumed"`
	// SessionID is empty before the first turn.
	SessionID string `json:"session_id" wire:"intern"`
}

// A CompactBoundaryMessage marks the place where the conversation was replaced by a summary of it.
//
//wire:message system compact_boundary
type CompactBoundaryMessage struct {
	raw string

	// Metadata describes the compaction.
	Metadata CompactMetadata `json:"compact_metadata"`
	// LogicalParentUUID is the last transcript entry before the boundary. The stream may not show
	// that entry.
	LogicalParentUUID string `json:"logical_parent_uuid"`
	UUID              string `json:"uuid"`                     // ID of this message
	SessionID         string `json:"session_id" wire:"intern"` // session that it belongs to
}

// CompactMetadata describes a compaction: its cause, its size and the messages it kept.
type CompactMetadata struct {
	raw string

	// Trigger reports whether the user or the agent asked for the compaction.
	Trigger CompactTrigger `json:"trigger,omitzero" wire:"intern"`
	// PreTokens is the size of the context before.
	PreTokens int `json:"pre_tokens,omitzero"`
	// PostTokens is the size of the context after, or 0 if the agent does not report it.
	PostTokens int `json:"post_tokens,omitzero"`
	// CumulativeDroppedTokens counts over all compactions of the session.
	CumulativeDroppedTokens int `json:"cumulative_dropped_tokens,omitzero"`
	// Duration is the time the compaction took.
	Duration Millis `json:"duration_ms,omitzero"`
	// PreservedSegment is the older form of PreservedMessages. If both are set, use
	// PreservedMessages.
	PreservedSegment *PreservedSegment `json:"preserved_segment,omitzero"`
	// PreservedMessages is nil if the compaction kept no message word for word.
	PreservedMessages *PreservedMessages `json:"preserved_messages,omitzero"`
}

// A CompactTrigger is the initiator of a compaction.
type CompactTrigger string

// The triggers of a compaction.
const (
	CompactTriggerManual CompactTrigger = "manual"
	CompactTriggerAuto   CompactTrigger = "auto"
)

// A CompactResult is the outcome of a compaction. It comes with a StatusMessage.
type CompactResult string

// The results of a compaction.
const (
	CompactResultSuccess CompactResult = "success"
	CompactResultFailed  CompactResult = "failed"
)

// A PreservedSegment names, by its ends, the run of messages that a compaction kept word for word.
type PreservedSegment struct {
	raw string

	// HeadUUID is the first message of the segment.
	HeadUUID string `json:"head_uuid,omitzero"`
	// AnchorUUID is the message that the segment now follows.
	AnchorUUID string `json:"anchor_uuid,omitzero"`
	// TailUUID is the last message of the segment.
	TailUUID string `json:"tail_uuid,omitzero"`
}

// PreservedMessages names each message that a compaction kept word for word.
type PreservedMessages struct {
	raw string

	// AnchorUUID is the message that the kept ones now follow.
	AnchorUUID string `json:"anchor_uuid,omitzero"`
	// UUIDs are the kept messages that are in the transcript, in order.
	UUIDs []string `json:"uuids,omitzero"`
	// AllUUIDs are all kept messages, including messages that the agent has only in memory.
	AllUUIDs []string `json:"all_uuids,omitzero"`
}

// A MirrorErrorMessage reports that transcript entries could not be copied to the session store.
// The library that drives the agent makes it, not the agent.
//
//wire:message system mirror_error
type MirrorErrorMessage struct {
	raw string

	// Error describes the problem, for people.
	Error string `json:"error"`
	// Key is the transcript that the entries belong to, if it is known.
	Key       *MirrorKey `json:"key"`
	UUID      string     `json:"uuid"`                     // ID of this message
	SessionID string     `json:"session_id" wire:"intern"` // session that it belongs to
}

// A MirrorKey names the transcript in a session store.
type MirrorKey struct {
	raw string

	// ProjectKey is the project in the store.
	ProjectKey string `json:"projectKey,omitzero" wire:"intern"`
	// SessionID is the session.
	SessionID string `json:"sessionId,omitzero" wire:"intern"`
	// Subpath names a transcript below the session's own, such as a subagent's.
	Subpath string `json:"subpath,omitzero"`
}

// A SessionWritesLostMessage reports that the disk was full and part of the session was not
// written. It comes at most once, when the agent exits. The exit code is still 0.
//
//wire:message system session_writes_lost
type SessionWritesLostMessage struct {
	raw string

	// ErrorCode is the error of the write.
	ErrorCode WriteErrorCode `json:"error_code" wire:"intern"`
	// Lost names what is incomplete: "transcript", "global_config".
	Lost []string `json:"lost"`
	// TranscriptSessionIDs are the sessions whose transcripts have gaps.
	TranscriptSessionIDs []string `json:"transcript_session_ids"`
	UUID                 string   `json:"uuid"`                     // ID of this message
	SessionID            string   `json:"session_id" wire:"intern"` // session that it belongs to
}

// A WriteErrorCode is the system's reason for a failed write.
type WriteErrorCode string

// The reasons: the disk is full, or the user's quota is used up.
const (
	WriteErrorNoSpace WriteErrorCode = "ENOSPC"
	WriteErrorQuota   WriteErrorCode = "EDQUOT"
)

// An ExitReason explains why a session ended, as the hook SessionEnd reports it. There may be
// others than those below.
type ExitReason string

// The reasons for which a session ends.
const (
	// ExitClear is the command /clear, after which the agent continues with a new session.
	ExitClear ExitReason = "clear"
	// ExitResume is the change to another session.
	ExitResume ExitReason = "resume"
	// ExitLogout is the command /logout.
	ExitLogout ExitReason = "logout"
	// ExitPromptInput is that the user left at the prompt, such as with Ctrl+D.
	ExitPromptInput ExitReason = "prompt_input_exit"
	// ExitOther is any other reason.
	ExitOther ExitReason = "other"
)

// ExitReasons returns all of them. The list is new at each call.
func ExitReasons() []ExitReason {
	return []ExitReason{ExitClear, ExitResume, ExitLogout, ExitPromptInput, ExitOther}
}
