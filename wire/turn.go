package wire

// An APIMessage is a message of the Messages API, as it lies inside an
// assistant or user frame or a message_start event.
type APIMessage struct {
	raw string

	// ID is shared by the frames that carry the blocks of one answer.
	ID      string  `json:"id" wire:"intern"`
	Role    Role    `json:"role" wire:"intern"`
	Model   string  `json:"model" wire:"intern"`
	Content Content `json:"content"`

	StopReason   StopReason   `json:"stop_reason" wire:"intern"`
	StopSequence string       `json:"stop_sequence"`
	StopDetails  *StopDetails `json:"stop_details"`
	Usage        *Usage       `json:"usage"`

	Container         *Container         `json:"container"`
	ContextManagement *ContextManagement `json:"context_management"`
	Diagnostics       JSON               `json:"diagnostics"`
}

// StopDetails explains a refusal.
type StopDetails struct {
	raw string

	Type                    string `json:"type" wire:"intern"`
	Category                string `json:"category" wire:"intern"`
	Explanation             string `json:"explanation"`
	RecommendedModel        string `json:"recommended_model" wire:"intern"`
	FallbackCreditToken     string `json:"fallback_credit_token"`
	FallbackHasPrefillClaim bool   `json:"fallback_has_prefill_claim"`
}

// A Container is the sandbox at the API in which code was run.
type Container struct {
	raw string

	ID        string           `json:"id"`
	ExpiresAt string           `json:"expires_at"`
	Skills    []ContainerSkill `json:"skills"`
}

// A ContainerSkill is a skill loaded into a container.
type ContainerSkill struct {
	raw string

	SkillID string `json:"skill_id"`
	Type    string `json:"type" wire:"intern"`
	Version string `json:"version" wire:"intern"`
}

// ContextManagement tells what the API removed from the context.
type ContextManagement struct {
	raw string

	AppliedEdits []AppliedEdit `json:"applied_edits"`
}

// An AppliedEdit is one removal from the context.
type AppliedEdit struct {
	raw string

	Type                 string `json:"type" wire:"intern"`
	ClearedToolUses      int    `json:"cleared_tool_uses"`
	ClearedThinkingTurns int    `json:"cleared_thinking_turns"`
	ClearedInputTokens   int    `json:"cleared_input_tokens"`
}

// An AssistantMessage carries what the model said: one finished block while the
// answer streams, so that several frames share one [APIMessage.ID].
//
//wire:message assistant
type AssistantMessage struct {
	raw  string
	flat bool // the API message lies flat on the frame

	APIMessage `json:"message"`

	// ParentToolUseID is the call that started the subagent that speaks, or empty.
	ParentToolUseID string         `json:"parent_tool_use_id" wire:"intern"`
	Error           AssistantError `json:"error" wire:"intern"`
	// APIErrorMessage says that the text is an error of the API, not an answer.
	APIErrorMessage bool   `json:"is_api_error_message"`
	APIErrorStatus  int    `json:"api_error_status"`
	APIErrorType    string `json:"api_error_type" wire:"intern"`
	RequestID       string `json:"request_id" wire:"intern"`

	// UserMessageUUID is the caller's id of the prompt that is answered, on the
	// first message of a turn; UserMessageUUIDs has all that the turn took up.
	UserMessageUUID  string   `json:"user_message_uuid" wire:"intern"`
	UserMessageUUIDs []string `json:"user_message_uuids"`

	// ResumeReason is set when the turn goes on with one that a restart cut off.
	ResumeReason                  string `json:"resume_reason" wire:"intern"`
	ResumedFromIncompleteThinking bool   `json:"resumed_from_incomplete_thinking"`
	// Supersedes are ids of earlier messages that this one replaces.
	Supersedes []string `json:"supersedes"`
	// Aborted says that an interrupt cut the message.
	Aborted bool `json:"aborted"`

	AgentID         string `json:"agent_id" wire:"intern"`
	SubagentType    string `json:"subagent_type" wire:"intern"`
	TaskDescription string `json:"task_description" wire:"intern"`

	ThinkingDuration Millis        `json:"thinking_duration_ms"`
	ThinkingDisplay  string        `json:"thinking_display" wire:"intern"`
	ToolUseMeta      []ToolUseMeta `json:"tool_use_meta"`
	Timestamp        string        `json:"timestamp"`

	// ContextUsage is the answer to /context, UsageReport that to /usage.
	ContextUsage *ContextUsage `json:"context_usage"`
	UsageReport  *UsageReport  `json:"usage_report"`

	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// ToolUseMeta tells how to show a call of a tool.
type ToolUseMeta struct {
	raw string

	ID                string `json:"id"`
	DisplayName       string `json:"display_name" wire:"intern"`
	ServerDisplayName string `json:"server_display_name" wire:"intern"`
	ToolName          string `json:"tool_name" wire:"intern"`
}

// A UserMessage is a prompt on its way to the agent, or, from the agent, the
// results of tools and other content in the user's role.
//
//wire:message user
type UserMessage struct {
	raw  string
	flat bool // the API message lies flat on the frame

	APIMessage `json:"message"`

	// ParentToolUseID is the call that started the subagent that is spoken to.
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// Synthetic says that nobody typed this.
	Synthetic bool `json:"isSynthetic"`
	// Replay marks a prompt that the agent repeats to its host.
	Replay bool `json:"isReplay"`

	// ToolUseResult is the structured result of the tool; its shape depends on
	// the tool.
	ToolUseResult  JSON             `json:"tool_use_result"`
	ToolResultMeta []ToolResultMeta `json:"tool_result_meta"`

	// Priority is now, next or later.
	Priority string  `json:"priority" wire:"intern"`
	Origin   *Origin `json:"origin" wire:"lenient"`
	// ShouldQuery, when false, adds to the transcript without starting a turn.
	ShouldQuery *bool `json:"shouldQuery"`
	// ClientComposed delivers the text as it is: no paths, no commands expanded.
	ClientComposed bool `json:"client_composed"`
	// PastedContent are texts, or lists of blocks, appended to what was typed.
	PastedContent   []JSON   `json:"pasted_content"`
	InlinePastes    []string `json:"inline_pastes"`
	FileAttachments []JSON   `json:"file_attachments"`

	AgentID         string `json:"agent_id" wire:"intern"`
	SubagentType    string `json:"subagent_type" wire:"intern"`
	TaskDescription string `json:"task_description" wire:"intern"`
	Timestamp       string `json:"timestamp"`

	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// ToolResultMeta tells how a call of a tool came to its result.
type ToolResultMeta struct {
	raw string

	ID                 string              `json:"id"`
	PermissionDecision *PermissionDecision `json:"permission_decision"`
	NonExecutionKind   string              `json:"non_execution_kind" wire:"intern"`
}

// A PermissionDecision tells who let a tool run, or did not.
type PermissionDecision struct {
	raw string

	Decision   string `json:"decision" wire:"intern"`
	Source     string `json:"source" wire:"intern"`
	ReasonType string `json:"reason_type" wire:"intern"`
}
