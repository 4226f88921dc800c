package wire

// A ToolProgressMessage says that a tool call is still running.
//
//wire:message tool_progress
type ToolProgressMessage struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"intern"`
	ToolName  string `json:"tool_name" wire:"intern"`
	// ParentToolUseID is the call that started the subagent, when a subagent runs the tool.
	ParentToolUseID string  `json:"parent_tool_use_id" wire:"intern"`
	ElapsedSeconds  float64 `json:"elapsed_time_seconds"`
	TaskID          string  `json:"task_id" wire:"intern"`
	// Heartbeat marks a message that only says the call is alive.
	Heartbeat    bool   `json:"heartbeat"`
	SubagentType string `json:"subagent_type" wire:"intern"`
	// SubagentRetry is set while a subagent waits to repeat a failed request.
	SubagentRetry *SubagentRetry `json:"subagent_retry"`
	UUID          string         `json:"uuid"`
	SessionID     string         `json:"session_id" wire:"intern"`
}

// A SubagentRetry says that a subagent's request to the model has failed and
// will be sent again.
type SubagentRetry struct {
	raw string

	AgentID    string `json:"agent_id" wire:"intern"`
	Attempt    int    `json:"attempt"`
	MaxRetries int    `json:"max_retries"`
	RetryDelay Millis `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, or 0 when the connection failed.
	ErrorStatus   int    `json:"error_status"`
	ErrorCategory string `json:"error_category" wire:"intern"`
}

// A ToolUseSummaryMessage sums up, in one sentence, the tool calls before it.
//
//wire:message tool_use_summary
type ToolUseSummaryMessage struct {
	raw string

	Summary             string   `json:"summary"`
	PrecedingToolUseIDs []string `json:"preceding_tool_use_ids"`
	UUID                string   `json:"uuid"`
	SessionID           string   `json:"session_id" wire:"intern"`
}

// An AuthStatusMessage follows a login.
//
//wire:message auth_status
type AuthStatusMessage struct {
	raw string

	Authenticating bool `json:"isAuthenticating"`
	// Output is what the login has printed, by lines.
	Output    []string `json:"output"`
	Error     string   `json:"error"`
	UUID      string   `json:"uuid"`
	SessionID string   `json:"session_id" wire:"intern"`
}

// A PromptSuggestionMessage proposes what the user might ask next. At most one
// comes in a turn, after its result.
//
//wire:message prompt_suggestion
type PromptSuggestionMessage struct {
	raw string

	Suggestion string `json:"suggestion"`
	UUID       string `json:"uuid"`
	SessionID  string `json:"session_id" wire:"intern"`
}

// A ConversationResetMessage says that the conversation starts afresh under a
// new id. SessionID is still the old one.
//
//wire:message conversation_reset
type ConversationResetMessage struct {
	raw string

	NewConversationID string       `json:"new_conversation_id" wire:"required"`
	Trigger           ResetTrigger `json:"trigger" wire:"intern"`
	// UserMessageUUID is the caller's id of the /clear prompt; set with ResetTriggerClear only.
	UserMessageUUID string `json:"user_message_uuid"`
	Timestamp       string `json:"timestamp"`
	UUID            string `json:"uuid"`
	SessionID       string `json:"session_id" wire:"intern"`
}

// A ResetTrigger says why a conversation was reset.
type ResetTrigger string

// The reasons for a reset.
const (
	ResetTriggerClear        ResetTrigger = "clear"
	ResetTriggerPlanModeExit ResetTrigger = "plan_mode_exit"
	ResetTriggerFreshSession ResetTrigger = "fresh_session"
	ResetTriggerOnboarding   ResetTrigger = "onboarding"
)

// An ActiveGoalMessage gives the goal that the agent works towards.
//
//wire:message active_goal
type ActiveGoalMessage struct {
	raw string

	// Value is nil when there is no goal.
	Value     *ActiveGoal `json:"value"`
	UUID      string      `json:"uuid"`
	SessionID string      `json:"session_id" wire:"intern"`
}

// An ActiveGoal is a condition that the agent works to fulfil, and how the work
// stands.
type ActiveGoal struct {
	raw string

	Condition  string `json:"condition"`
	Iterations int    `json:"iterations"`
	// SetAt is a Unix time.
	SetAt         int64 `json:"set_at"`
	TokensAtStart int   `json:"tokens_at_start"`
	// LastReason says why the goal was not yet met when it was last checked.
	LastReason string `json:"last_reason"`
}

// A TranscriptMirrorMessage carries entries that the agent has appended to a
// transcript file, for a session store. It comes only when the agent was started
// with its session mirror on, and has neither id nor session id.
//
//wire:message transcript_mirror
type TranscriptMirrorMessage struct {
	raw string

	FilePath string `json:"filePath" wire:"intern"`
	// Entries are lines of the file, in order.
	Entries []JSON `json:"entries"`
}

// A CommandLifecycleMessage says that a user message which came with an id has
// been queued, started, completed or cancelled.
//
//wire:message command_lifecycle
type CommandLifecycleMessage struct {
	raw string

	// CommandUUID is the id of the user message.
	CommandUUID string       `json:"command_uuid" wire:"intern"`
	State       CommandState `json:"state" wire:"intern"`
	UUID        string       `json:"uuid"`
	SessionID   string       `json:"session_id" wire:"intern"`
}

// A CommandState is a step in the handling of a user message.
type CommandState string

// The steps.
const (
	CommandStateQueued    CommandState = "queued"
	CommandStateStarted   CommandState = "started"
	CommandStateCompleted CommandState = "completed"
	CommandStateCancelled CommandState = "cancelled"
)

// An AutocompactStateMessage tells about automatic compaction. Its shape is not
// published: what it holds is in its raw bytes.
//
//wire:message autocompact_state
//wire:open
type AutocompactStateMessage struct {
	raw string

	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A KeepAliveMessage says that the agent is alive. It has neither id nor
// session id.
//
//wire:message keep_alive
type KeepAliveMessage struct {
	raw string

	// StartupMark names the point of its start-up that the agent has reached, where it reports them.
	StartupMark string `json:"startup_mark" wire:"intern"`
}
