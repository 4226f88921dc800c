package wire

// An APIMessage is a message of the Messages API. Assistant and user frames and the message_start
// event contain one.
//
//wire:methods
type APIMessage struct {
	raw string

	// ID is shared by the frames that carry the blocks of one answer.
	ID string `json:"id" wire:"intern"`
	// Role is the speaker: RoleAssistant in an answer, RoleUser in a prompt or a tool's result.
	Role Role `json:"role" wire:"intern"`
	// Model is the model that answered, such as "claude-opus-5-5". It is "<synthetic>" for a
	// message that the agent made up, such as an API error, and empty in user messages.
	Model string `json:"model" wire:"intern"`
	// Content is the list of blocks. Use [Content.Text] for the text alone.
	Content Content `json:"content"`

	// StopReason is empty while an answer streams: the reason comes with the result.
	StopReason StopReason `json:"stop_reason" wire:"intern"`
	// StopSequence is the stop sequence that ended the answer, or empty.
	StopSequence string `json:"stop_sequence"`
	// StopDetails is set if the model refused, and nil otherwise.
	StopDetails *StopDetails `json:"stop_details"`
	// Usage counts the tokens of the API call. Each frame of an answer repeats it. It is
	// provisional; the totals come with the result.
	Usage *Usage `json:"usage"`

	// Container is set if the API used a container for the answer.
	Container *Container `json:"container"`
	// ContextManagement is set if the API removed something from the context.
	ContextManagement *ContextManagement `json:"context_management"`
	// Diagnostics is left as JSON: an object with the member cache_miss_reason, or null.
	Diagnostics JSON `json:"diagnostics"`
}

// StopDetails explains a refusal.
type StopDetails struct {
	raw string

	// Type is "refusal".
	Type string `json:"type,omitzero" wire:"intern"`
	// Category is the kind of refusal, such as "cyber" or "bio", or empty.
	Category string `json:"category,omitzero" wire:"intern"`
	// Explanation is the API's explanation, or empty.
	Explanation string `json:"explanation,omitzero"`
	// RecommendedModel is the model that the API recommends instead, or empty.
	RecommendedModel string `json:"recommended_model,omitzero" wire:"intern"`
	// FallbackCreditToken is passed on as the API sent it, or empty.
	FallbackCreditToken string `json:"fallback_credit_token,omitzero"`
	// FallbackHasPrefillClaim is passed on as the API sent it.
	FallbackHasPrefillClaim bool `json:"fallback_has_prefill_claim,omitzero"`
}

// A Container is a container at the API, in which its tools run code.
type Container struct {
	raw string

	// ID is the API's id of the container.
	ID string `json:"id,omitzero"`
	// ExpiresAt is the time the container expires, as a timestamp.
	ExpiresAt string `json:"expires_at,omitzero"`
	// Skills are the skills of the container.
	Skills []ContainerSkill `json:"skills,omitzero"`
}

// A ContainerSkill is a skill of a container.
type ContainerSkill struct {
	raw string

	// SkillID is the API's id of the skill.
	SkillID string `json:"skill_id,omitzero"`
	// Type is "anthropic" or "custom".
	Type string `json:"type,omitzero" wire:"intern"`
	// Version is the version of the skill.
	Version string `json:"version,omitzero" wire:"intern"`
}

// ContextManagement lists what the API removed from the context.
type ContextManagement struct {
	raw string

	// AppliedEdits are the removals.
	AppliedEdits []AppliedEdit `json:"applied_edits,omitzero"`
}

// An AppliedEdit is one removal from the context.
type AppliedEdit struct {
	raw string

	// Type is "clear_tool_uses_20250919" or "clear_thinking_20251015".
	Type string `json:"type,omitzero" wire:"intern"`
	// ClearedToolUses is the number of tool calls that were removed, with the first type.
	ClearedToolUses int `json:"cleared_tool_uses,omitzero"`
	// ClearedThinkingTurns is the number of turns that lost their thinking, with the second type.
	ClearedThinkingTurns int `json:"cleared_thinking_turns,omitzero"`
	// ClearedInputTokens is the number of input tokens that were removed.
	ClearedInputTokens int `json:"cleared_input_tokens,omitzero"`
}

// An AssistantMessage carries what the model said: one finished block while the answer streams, so
// that several frames share one [APIMessage.ID].
//
//wire:message assistant
type AssistantMessage struct {
	raw  string
	flat bool // the API message lies flat on the frame

	APIMessage `json:"message"`

	// ParentToolUseID is the call that started the subagent that speaks, or empty.
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// Error is set if the message reports a failed API call. The text describes the error.
	Error AssistantError `json:"error" wire:"intern"`
	// APIErrorMessage reports whether the text is an API error, not an answer.
	APIErrorMessage bool `json:"is_api_error_message"`
	// APIErrorStatus is the HTTP status of the error, such as 400.
	APIErrorStatus int `json:"api_error_status"`
	// APIErrorType is the type that the API gave the error, such as "invalid_request_error".
	APIErrorType string `json:"api_error_type" wire:"intern"`
	// RequestID is the API's id of the request, from the request-id header of its response.
	RequestID string `json:"request_id" wire:"intern"`

	// UserMessageUUID is the caller's id of the prompt that is answered. It is set on the first
	// message of a turn, except for subagents.
	UserMessageUUID string `json:"user_message_uuid" wire:"intern"`
	// UserMessageUUIDs are the ids of all prompts that the turn took up so far, at most 64. It is
	// set where UserMessageUUID is.
	UserMessageUUIDs []string `json:"user_message_uuids"`

	// ResumeReason is set when the turn continues a turn that a restart cut off. It is
	// "interrupted_turn" unless the environment variable CLAUDE_CODE_RESUME_REASON says otherwise.
	ResumeReason string `json:"resume_reason" wire:"intern"`
	// ResumedFromIncompleteThinking reports whether the turn was resumed from incomplete thinking.
	ResumedFromIncompleteThinking bool `json:"resumed_from_incomplete_thinking"`
	// Supersedes are the UUIDs of earlier messages that this one replaces, after a refusal or a
	// tool call that could not be parsed. Remove them from the conversation.
	Supersedes []string `json:"supersedes"`
	// Aborted reports whether an interrupt cut the message off.
	Aborted bool `json:"aborted"`

	// AgentID is the subagent that speaks, or empty. It equals the TaskID of the subagent's task.
	AgentID string `json:"agent_id" wire:"intern"`
	// SubagentType is the kind of that subagent, such as "general-purpose".
	SubagentType string `json:"subagent_type" wire:"intern"`
	// TaskDescription is the short description that the subagent was started with.
	TaskDescription string `json:"task_description" wire:"intern"`

	// ThinkingDuration is the time the model was thinking.
	ThinkingDuration Millis `json:"thinking_duration_ms"`
	// ThinkingDisplay is the way thinking is shown, such as "updates".
	ThinkingDisplay string `json:"thinking_display" wire:"intern"`
	// ToolUseMeta has display names for calls of MCP tools in the content.
	ToolUseMeta []ToolUseMeta `json:"tool_use_meta"`
	// Timestamp is the time the message was made, such as "2026-11-15T00:44:58.807Z". Use it for
	// display only.
	Timestamp string `json:"timestamp"`

	// ContextUsage is the answer to /context, and nil otherwise.
	ContextUsage *ContextUsage `json:"context_usage"`
	// LocalCommandRun is the slash command that wrote the text, or nil.
	LocalCommandRun *LocalCommandRun `json:"local_command_run"`
	// LocalCommandSource is the text as the transcript has it, with tags.
	LocalCommandSource string `json:"local_command_source"`
	// LocalCommandOutcome explains why the command did nothing, or is nil.
	LocalCommandOutcome *LocalCommandOutcome `json:"local_command_outcome"`
	// UsageReport is the answer to /usage, and nil otherwise.
	UsageReport *UsageCommandOutput `json:"usage_report"`

	UUID      string `json:"uuid"`                     // ID of this message, as in Supersedes
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// ToolUseMeta describes how to show a tool call.
type ToolUseMeta struct {
	raw string

	// ID is the ID of the [ToolUseBlock].
	ID string `json:"id,omitzero"`
	// DisplayName is the tool's name for people, such as "Add".
	DisplayName string `json:"display_name,omitzero" wire:"intern"`
	// ServerDisplayName is the name of its MCP server for people.
	ServerDisplayName string `json:"server_display_name,omitzero" wire:"intern"`
	// ToolName is the tool's name at its MCP server, such as "add" for mcp__calc__add.
	ToolName string `json:"tool_name,omitzero" wire:"intern"`
}

// A UserMessage is a prompt on its way to the agent, or, from the agent, the tool results and other
// content in the user's role.
//
//wire:message user
type UserMessage struct {
	raw  string
	flat bool // the API message lies flat on the frame

	APIMessage `json:"message"`

	// ParentToolUseID is the call that started the subagent that is spoken to.
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// Synthetic reports whether the agent made the message up, such as the summary after a
	// compaction.
	Synthetic bool `json:"isSynthetic"`
	// Replay marks a prompt that the agent repeats to its host.
	Replay bool `json:"isReplay"`

	// ToolUseResult is the structured result of the tool; its shape depends on the tool.
	ToolUseResult JSON `json:"tool_use_result"`
	// ToolResultMeta says, for each tool result in the content, who allowed or refused the call.
	ToolResultMeta []ToolResultMeta `json:"tool_result_meta"`

	// Priority is now, next or later.
	Priority string `json:"priority" wire:"intern"`
	// Origin is the origin of the prompt. It is nil if the sender did not say. A host that passes
	// on what a person typed should set OriginHuman.
	Origin *Origin `json:"origin"`
	// ShouldQuery, when false, adds to the transcript without starting a turn.
	ShouldQuery *bool `json:"shouldQuery"`
	// ClientComposed delivers the text as it is: @path is not expanded and slash commands do not
	// run.
	ClientComposed bool `json:"client_composed"`
	// PastedContent are strings, or lists of blocks, appended after the typed text. The agent
	// ignores more than 1,000 of them.
	PastedContent []JSON `json:"pasted_content"`
	// InlinePastes are the pasted parts of the typed text. The agent looks at the first 100.
	InlinePastes []string `json:"inline_pastes"`
	// FileAttachments comes with a replay; its shape is not published.
	FileAttachments []JSON `json:"file_attachments"`

	// AgentID is the subagent that the message belongs to, or empty.
	AgentID string `json:"agent_id" wire:"intern"`
	// SubagentType is the kind of that subagent, such as "general-purpose".
	SubagentType string `json:"subagent_type" wire:"intern"`
	// TaskDescription is the short description that the subagent was started with.
	TaskDescription string `json:"task_description" wire:"intern"`
	// Timestamp is the time the message was made, such as "2026-11-15T05:38:19.103Z".
	Timestamp string `json:"timestamp"`

	// UUID is the caller's ID of a prompt, or the agent's ID of another message.
	UUID string `json:"uuid"`
	// SessionID is the session that it belongs to. It may be empty in a prompt.
	SessionID string `json:"session_id" wire:"intern"`
}

// ToolResultMeta describes how a tool call came to its result.
type ToolResultMeta struct {
	raw string

	// ID is the ToolUseID of the [ToolResultBlock].
	ID string `json:"id,omitzero"`
	// PermissionDecision reports whether the call was allowed. Calls that the permission mode
	// allows have one as well.
	PermissionDecision *PermissionDecision `json:"permission_decision,omitzero"`
	// NonExecutionKind explains why the tool did not run, such as "permission-rule". It is empty if
	// it ran.
	NonExecutionKind string `json:"non_execution_kind,omitzero" wire:"intern"`
}

// A PermissionDecision reports whether a tool was allowed to run, and by whom.
type PermissionDecision struct {
	raw string

	// Decision is "accept" or "reject".
	Decision string `json:"decision,omitzero" wire:"intern"`
	// Source is the decider, such as "config", "hook", "user_temporary" or "user_reject".
	Source string `json:"source,omitzero" wire:"intern"`
	// ReasonType is the kind of reason, such as "mode", "hook" or "other", or empty.
	ReasonType string `json:"reason_type,omitzero" wire:"intern"`
}
