package wire

import (
	"strings"
)

// An APIMessage is a message of the Messages API. Assistant and user frames and the message_start
// event contain one.
//
//wire:methods
type APIMessage struct {
	raw string

	// ID is shared by the frames that carry the blocks of one answer.
	ID string `json:"id" wire:"intern"`
	// Role is who speaks: RoleAssistant in an answer, RoleUser in a prompt or a tool's result.
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
	// ExpiresAt is when the container expires, as a timestamp.
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
	// ClearedToolUses is how many tool calls were removed, with the first type.
	ClearedToolUses int `json:"cleared_tool_uses,omitzero"`
	// ClearedThinkingTurns is how many turns lost their thinking, with the second type.
	ClearedThinkingTurns int `json:"cleared_thinking_turns,omitzero"`
	// ClearedInputTokens is how many input tokens were removed.
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
	// APIErrorMessage says that the text is an error of the API, not an answer.
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
	// UserMessageUUIDs are the ids of all prompts that the turn has taken up so far, at most 64. It
	// is set where UserMessageUUID is.
	UserMessageUUIDs []string `json:"user_message_uuids"`

	// ResumeReason is set when the turn continues one that a restart cut off. It is
	// "interrupted_turn" unless the environment variable CLAUDE_CODE_RESUME_REASON says otherwise.
	ResumeReason string `json:"resume_reason" wire:"intern"`
	// ResumedFromIncompleteThinking says that the turn was resumed from incomplete thinking.
	ResumedFromIncompleteThinking bool `json:"resumed_from_incomplete_thinking"`
	// Supersedes are the UUIDs of earlier messages that this one replaces, after a refusal or a
	// tool call that could not be parsed. Remove them from the conversation.
	Supersedes []string `json:"supersedes"`
	// Aborted says that an interrupt cut the message off.
	Aborted bool `json:"aborted"`

	// AgentID is the subagent that speaks, or empty. It equals the TaskID of the subagent's task.
	AgentID string `json:"agent_id" wire:"intern"`
	// SubagentType is the kind of that subagent, such as "general-purpose".
	SubagentType string `json:"subagent_type" wire:"intern"`
	// TaskDescription is the short description that the subagent was started with.
	TaskDescription string `json:"task_description" wire:"intern"`

	// ThinkingDuration is how long the model was thinking.
	ThinkingDuration Millis `json:"thinking_duration_ms"`
	// ThinkingDisplay is how thinking is shown, such as "updates".
	ThinkingDisplay string `json:"thinking_display" wire:"intern"`
	// ToolUseMeta has display names for calls of MCP tools in the content.
	ToolUseMeta []ToolUseMeta `json:"tool_use_meta"`
	// Timestamp is when the message was made, such as "2026-11-15T00:44:58.807Z". Use it for
	// display only.
	Timestamp string `json:"timestamp"`

	// ContextUsage is the answer to /context, and nil otherwise.
	ContextUsage *ContextUsage `json:"context_usage"`
	// UsageReport is the answer to /usage, and nil otherwise.
	UsageReport *UsageCommandOutput `json:"usage_report"`

	UUID      string `json:"uuid"`                     // ID of this message, as in Supersedes
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// ToolUseMeta says how to show a call of a tool.
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

// A UserMessage is a prompt on its way to the agent, or, from the agent, the results of tools and
// other content in the user's role.
//
//wire:message user
type UserMessage struct {
	raw  string
	flat bool // the API message lies flat on the frame

	APIMessage `json:"message"`

	// ParentToolUseID is the call that started the subagent that is spoken to.
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// Synthetic says that the agent made the message up, such as the summary after a compaction.
	Synthetic bool `json:"isSynthetic"`
	// Replay marks a prompt that the agent repeats to its host.
	Replay bool `json:"isReplay"`

	// ToolUseResult is the structured result of the tool; its shape depends on the tool.
	ToolUseResult JSON `json:"tool_use_result"`
	// ToolResultMeta says, for each tool result in the content, who allowed or refused the call.
	ToolResultMeta []ToolResultMeta `json:"tool_result_meta"`

	// Priority is now, next or later.
	Priority string `json:"priority" wire:"intern"`
	// Origin is where the prompt came from. It is nil if the sender did not say. A host that passes
	// on what a person typed should set OriginHuman.
	Origin *Origin `json:"origin" wire:"lenient"`
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
	// Timestamp is when the message was made, such as "2026-11-15T05:38:19.103Z".
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
	// PermissionDecision says whether the call was allowed. Calls that the permission mode allows
	// have one as well.
	PermissionDecision *PermissionDecision `json:"permission_decision,omitzero"`
	// NonExecutionKind says why the tool did not run, such as "permission-rule". It is empty if it
	// ran.
	NonExecutionKind string `json:"non_execution_kind,omitzero" wire:"intern"`
}

// A PermissionDecision says whether a tool was allowed to run, and by whom.
type PermissionDecision struct {
	raw string

	// Decision is "accept" or "reject".
	Decision string `json:"decision,omitzero" wire:"intern"`
	// Source is who decided, such as "config", "hook", "user_temporary" or "user_reject".
	Source string `json:"source,omitzero" wire:"intern"`
	// ReasonType is the kind of reason, such as "mode", "hook" or "other", or empty.
	ReasonType string `json:"reason_type,omitzero" wire:"intern"`
}

// A ResultMessage ends a turn, whether it went well or not. One run can yield several: a background
// task that finishes starts another turn.
//
//wire:message result
type ResultMessage struct {
	raw string

	// Subtype says how the turn ended; see also [ResultMessage.Failed].
	Subtype ResultSubtype `json:"subtype" wire:"required,intern"`
	// IsError says that the turn failed. It can be set with ResultSuccess: the turn then ended on
	// an API error.
	IsError bool `json:"is_error"`
	// Result is the final text, or the text of the error if IsError is set. Only ResultSuccess has
	// it.
	Result string `json:"result"`
	// Errors are the error messages of the other subtypes, such as "Reached maximum number of turns
	// (1)".
	Errors []string `json:"errors" wire:"lenient"`

	// Duration is how long the turn took.
	Duration Millis `json:"duration_ms"`
	// APIDuration is the time spent in API calls. It adds up over the turns of a session, so it can
	// be longer than Duration, but a local command such as /compact reports 0.
	APIDuration Millis `json:"duration_api_ms"`
	// NumTurns is the agent's own count of the turn's steps. It is not the number of API calls: two
	// calls with three parallel tool results between them count as 4.
	NumTurns int `json:"num_turns"`
	// StopReason is why the model stopped at the end of the turn. It is empty after an interrupt
	// and after /compact.
	StopReason StopReason `json:"stop_reason" wire:"intern"`
	// TerminalReason says what ended the agent's loop. It is empty for local slash commands.
	TerminalReason TerminalReason `json:"terminal_reason" wire:"intern"`
	// APIErrorStatus is the HTTP status of the API error that ended the turn, if one did.
	APIErrorStatus int `json:"api_error_status"`
	// APIErrorType is the type of that error, such as "invalid_request_error", or empty.
	APIErrorType string `json:"api_error_type" wire:"intern"`

	// TotalCostUSD is an estimate over the whole session, in US dollars. Read the latest one; don't
	// add them up. /clear resets it.
	TotalCostUSD float64 `json:"total_cost_usd"`
	// Usage is of this turn and of the main loop alone.
	Usage *Usage `json:"usage"`
	// ModelUsage is of the session and of every call, by model. Use this one for accounting.
	ModelUsage map[string]ModelUsage `json:"modelUsage"`
	// ModelUsageSinceLastResult is what ModelUsage has gained since the previous result.
	ModelUsageSinceLastResult map[string]ModelUsage `json:"model_usage_since_last_result"`

	// PermissionDenials are the tool calls that were not allowed.
	PermissionDenials []PermissionDenial `json:"permission_denials"`
	// StructuredOutput is the answer in the schema that the caller asked for.
	StructuredOutput JSON `json:"structured_output"`
	// DeferredToolUse is a tool call that was deferred, as a PreToolUse hook can decide.
	DeferredToolUse *DeferredToolUse `json:"deferred_tool_use"`
	// LocalCommand is the slash command that the turn ran, such as "compact".
	LocalCommand string `json:"local_command" wire:"intern"`
	// SubagentStats counts the subagents of the session so far.
	SubagentStats *SubagentStats `json:"subagent_stats"`
	// SafetyStops is how many calls of models a safety system has stopped in the session.
	SafetyStops int `json:"safety_stops"`

	// QueuedTurnCount is how many prompts are still queued.
	QueuedTurnCount int `json:"queued_turn_count"`
	// ResultIndex counts the results from 0; a gap means that one was lost.
	ResultIndex int `json:"result_index"`
	// UserMessageUUID is the caller's id of the prompt that is answered.
	UserMessageUUID string `json:"user_message_uuid" wire:"intern"`
	// UserMessageUUIDs are the ids of all prompts that the turn took up.
	UserMessageUUIDs []string `json:"user_message_uuids"`
	// ResumeReason is set when the turn continued one that a restart cut off.
	ResumeReason string `json:"resume_reason" wire:"intern"`
	// Origin is where the prompt came from, if that is known.
	Origin *Origin `json:"origin" wire:"lenient"`

	// FirstRequestInputTokens is the size of the turn's first request, cached input included.
	FirstRequestInputTokens int `json:"first_request_input_tokens"`
	// FirstRequestCacheReadInputTokens is the part of it that was read from the cache.
	FirstRequestCacheReadInputTokens int `json:"first_request_cache_read_input_tokens"`

	// FastModeState says whether fast mode is on.
	FastModeState FastModeState `json:"fast_mode_state" wire:"intern"`
	// FastModeDisabledReason says why fast mode is not available, or is empty.
	FastModeDisabledReason FastModeDisabledReason `json:"fast_mode_disabled_reason" wire:"intern"`
	// CredentialExpiresAt is when the login expires, as a timestamp. Only logins at claude.ai have
	// it.
	CredentialExpiresAt string `json:"credential_expires_at"`
	// WarmSpareClaimed says that the session claimed a spare process that was started in advance.
	WarmSpareClaimed bool `json:"warm_spare_claimed"`

	// StartupFailureReason says why the agent did not start. Most reasons are reported only if the
	// environment variable CLAUDE_CODE_STARTUP_FAILURE_RESULTS is set.
	StartupFailureReason StartupFailureReason `json:"startup_failure_reason" wire:"intern"`
	// InvalidConfigFile is set with StartupConfigFileInvalid.
	InvalidConfigFile *InvalidConfigFile `json:"invalid_config_file"`

	// TTFT is the time to the first finished block. The timings count from the start of the turn.
	// Only ResultSuccess has them, and an agent on a pipe sends just this one, TTFTStream,
	// TimeToRequest and FirstContentFrame. The fields from FirstStreamPost on are about uploads to
	// a server.
	TTFT Millis `json:"ttft_ms"`
	// TTFTStream is the time to the first event of the model's first answer.
	TTFTStream Millis `json:"ttft_stream_ms"`
	// TimeToRequest is the time to the first request.
	TimeToRequest Millis `json:"time_to_request_ms"`
	// TimeToRequestFromSpawn is that time from the start of the process.
	TimeToRequestFromSpawn Millis `json:"time_to_request_from_spawn_ms"`
	// TimeOrigin is when the process started, as a Unix time.
	TimeOrigin Millis `json:"time_origin_ms"`
	// RequestSentWall is when the first request was sent, as a Unix time.
	RequestSentWall Millis `json:"request_sent_wall_ms"`
	// FirstContentFrame is the time to the first event with content.
	FirstContentFrame Millis `json:"first_content_frame_ms"`
	// FirstStreamPost is the time to the upload of the first event.
	FirstStreamPost Millis `json:"first_stream_post_ms"`
	// FirstStreamPostAck is the time to its acknowledgment.
	FirstStreamPostAck Millis `json:"first_stream_post_ack_ms"`
	// FirstStreamPostQueueWait is how long it was queued.
	FirstStreamPostQueueWait Millis `json:"first_stream_post_queue_wait_ms"`
	// FirstStreamPostWall is when it was uploaded, as a Unix time.
	FirstStreamPostWall Millis `json:"first_stream_post_wall_ms"`
	// FirstStreamPostQueuedBehind is why it was queued: "durable_post", "ephemeral_post",
	// "retry_backoff", "hold" or "none".
	FirstStreamPostQueuedBehind string `json:"first_stream_post_queued_behind" wire:"intern"`
	// FirstTextPost is the time to the upload of the first text.
	FirstTextPost Millis `json:"first_text_post_ms"`
	// FirstTextPostQueueWait is how long that text was queued.
	FirstTextPostQueueWait Millis `json:"first_text_post_queue_wait_ms"`
	// FirstTextPostWall is when it was uploaded, as a Unix time.
	FirstTextPostWall Millis `json:"first_text_post_wall_ms"`
	// FirstTextPostQueuedBehind is why it was queued.
	FirstTextPostQueuedBehind string `json:"first_text_post_queued_behind" wire:"intern"`

	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// Failed reports whether the turn has failed: the result has the flag, or a subtype that begins
// with "error", since agents may leave out the flag.
func (m *ResultMessage) Failed() bool {
	return m.IsError || strings.HasPrefix(string(m.Subtype), "error")
}

// A ResultSubtype says how a turn ended. A success can still have IsError set: the turn ended in
// order, on an error of the API.
type ResultSubtype string

// The ways in which a turn ends.
const (
	ResultSuccess                         ResultSubtype = "success"
	ResultErrorDuringExecution            ResultSubtype = "error_during_execution"
	ResultErrorMaxTurns                   ResultSubtype = "error_max_turns"
	ResultErrorMaxBudgetUSD               ResultSubtype = "error_max_budget_usd"
	ResultErrorMaxStructuredOutputRetries ResultSubtype = "error_max_structured_output_retries"
)

// A TerminalReason says what ended the agent's loop.
type TerminalReason string

// The reasons that end the loop.
const (
	TerminalReasonBlockingLimit                  TerminalReason = "blocking_limit"
	TerminalReasonRapidRefillBreaker             TerminalReason = "rapid_refill_breaker"
	TerminalReasonPromptTooLong                  TerminalReason = "prompt_too_long"
	TerminalReasonImageError                     TerminalReason = "image_error"
	TerminalReasonModelError                     TerminalReason = "model_error"
	TerminalReasonAPIError                       TerminalReason = "api_error"
	TerminalReasonMalformedToolUseExhausted      TerminalReason = "malformed_tool_use_exhausted"
	TerminalReasonAbortedStreaming               TerminalReason = "aborted_streaming"
	TerminalReasonAbortedTools                   TerminalReason = "aborted_tools"
	TerminalReasonStopHookPrevented              TerminalReason = "stop_hook_prevented"
	TerminalReasonHookStopped                    TerminalReason = "hook_stopped"
	TerminalReasonToolDeferred                   TerminalReason = "tool_deferred"
	TerminalReasonMaxTurns                       TerminalReason = "max_turns"
	TerminalReasonBackgroundRequested            TerminalReason = "background_requested"
	TerminalReasonCompleted                      TerminalReason = "completed"
	TerminalReasonBudgetExhausted                TerminalReason = "budget_exhausted"
	TerminalReasonStructuredOutputRetryExhausted TerminalReason = "structured_output_retry_exhausted"
	TerminalReasonToolDeferredUnavailable        TerminalReason = "tool_deferred_unavailable"
	TerminalReasonTurnSetupFailed                TerminalReason = "turn_setup_failed"
)

// A StartupFailureReason says why the agent did not start.
type StartupFailureReason string

// The reasons for a failed start.
const (
	StartupOrgPinAPIKeyConflict              StartupFailureReason = "org_pin_api_key_conflict"
	StartupProviderNotAllowed                StartupFailureReason = "provider_not_allowed"
	StartupOrgVerifyFailed                   StartupFailureReason = "org_verify_failed"
	StartupOrgPinMismatch                    StartupFailureReason = "org_pin_mismatch"
	StartupManagedSettingsInvalid            StartupFailureReason = "managed_settings_invalid"
	StartupRemoteSettingsRequiredUnavailable StartupFailureReason = "remote_settings_required_unavailable"
	StartupGatewaySigninRequired             StartupFailureReason = "gateway_signin_required"
	StartupGatewayAccessDenied               StartupFailureReason = "gateway_access_denied"
	StartupProxyInvalid                      StartupFailureReason = "proxy_invalid"
	StartupTempDirUnusable                   StartupFailureReason = "temp_dir_unusable"
	StartupCWDUnavailable                    StartupFailureReason = "cwd_unavailable"
	StartupShellToolMissing                  StartupFailureReason = "shell_tool_missing"
	StartupSessionHeldByBackground           StartupFailureReason = "session_held_by_background"
	StartupWorktreeResumeRefused             StartupFailureReason = "worktree_resume_refused"
	StartupWorktreeUnverified                StartupFailureReason = "worktree_unverified"
	StartupCLIVersionTooOld                  StartupFailureReason = "cli_version_too_old"
	StartupBypassRoot                        StartupFailureReason = "bypass_root"
	StartupOrgConfigRequiredUnavailable      StartupFailureReason = "org_config_required_unavailable"
	StartupOrgConfigRefused                  StartupFailureReason = "org_config_refused"
	StartupSandboxRequiredUnavailable        StartupFailureReason = "sandbox_required_unavailable"
	StartupInitializeNotFirst                StartupFailureReason = "initialize_not_first"
	StartupConfigFileInvalid                 StartupFailureReason = "config_file_invalid"
	StartupManagedSettingsNotDelivered       StartupFailureReason = "managed_settings_not_delivered"
)

// A PermissionDenial is a call of a tool that was not allowed.
type PermissionDenial struct {
	raw string

	// ToolName is the tool that the model wanted to use.
	ToolName string `json:"tool_name,omitzero" wire:"intern"`
	// ToolUseID is the ID of the call's [ToolUseBlock].
	ToolUseID string `json:"tool_use_id,omitzero"`
	// ToolInput is the input of the call.
	ToolInput JSON `json:"tool_input,omitzero"`
}

// A DeferredToolUse is a call that the agent leaves to its host.
type DeferredToolUse struct {
	raw string

	// ID is the ID of the call's [ToolUseBlock].
	ID string `json:"id,omitzero"`
	// Name is the name of the tool.
	Name string `json:"name,omitzero" wire:"intern"`
	// Input is the input of the call.
	Input JSON `json:"input,omitzero"`
}

// InvalidConfigFile names the config file that kept the agent from starting.
type InvalidConfigFile struct {
	raw string

	// Path is the invalid file.
	Path string `json:"path,omitzero"`
	// Global says that it is the global config file.
	Global bool `json:"is_global,omitzero"`
	// BackupSearched says that the agent has looked for a backup.
	BackupSearched bool `json:"backup_searched,omitzero"`
	// BackupPath is the backup, or empty if there is none.
	BackupPath string `json:"backup_path,omitzero"`
}

// SubagentStats counts the subagents of a session.
type SubagentStats struct {
	raw string

	// Spawned is how many subagents were started.
	Spawned int `json:"spawned,omitzero"`
	// Requested counts the requests by whether they asked for the background.
	Requested *SubagentRequested `json:"requested,omitzero"`
	// StartedInBackground is how many of them the agent did not wait for.
	StartedInBackground int `json:"started_in_background,omitzero"`
	// MaxDepth is the deepest nesting of subagents.
	MaxDepth int `json:"max_depth,omitzero"`
	// SpawnedBySubagents is how many of them other subagents started.
	SpawnedBySubagents int `json:"spawned_by_subagents,omitzero"`
	// Completed is how many subagents have ended as they should.
	Completed int `json:"completed,omitzero"`
	// Failed is how many subagents have ended with an error.
	Failed int `json:"failed,omitzero"`
	// Killed counts the subagents that were ended early.
	Killed *SubagentKilled `json:"killed,omitzero"`
	// Refused counts the requests that a limit prevented.
	Refused *SubagentRefused `json:"refused,omitzero"`
	// ByType counts the started subagents by type, such as "general-purpose".
	ByType map[string]int `json:"by_type,omitzero"`
}

// SubagentRequested counts subagents by how their start was asked for.
type SubagentRequested struct {
	raw string

	Background int `json:"background,omitzero"` // run_in_background was true
	Foreground int `json:"foreground,omitzero"` // run_in_background was false
	Unset      int `json:"unset,omitzero"`      // the call did not say, or could not
}

// SubagentKilled counts subagents by who ended them.
type SubagentKilled struct {
	raw string

	Parent int `json:"parent,omitzero"` // another agent ended it
	User   int `json:"user,omitzero"`   // the user or a client ended it
	System int `json:"system,omitzero"` // Claude Code ended it
}

// SubagentRefused counts subagents that were not started, by the limit.
type SubagentRefused struct {
	raw string

	DepthLimit       int `json:"depth_limit,omitzero"`       // too deep a nesting
	ConcurrencyLimit int `json:"concurrency_limit,omitzero"` // too many at once
	Budget           int `json:"budget,omitzero"`            // the budget was used up
}

// Usage counts the tokens of one API call, or of one turn when it comes with a result. Frames that
// share an API message repeat its usage: count it once per [APIMessage.ID].
type Usage struct {
	raw string

	// InputTokens does not include the tokens that were read from the cache or written to it.
	InputTokens int `json:"input_tokens,omitzero"`
	// OutputTokens includes thinking.
	OutputTokens int `json:"output_tokens,omitzero"`
	// CacheCreationInputTokens counts the tokens written to the cache.
	CacheCreationInputTokens int `json:"cache_creation_input_tokens,omitzero"`
	// CacheReadInputTokens counts the tokens read from the cache.
	CacheReadInputTokens int `json:"cache_read_input_tokens,omitzero"`

	// CacheCreation splits CacheCreationInputTokens by lifetime.
	CacheCreation *CacheCreation `json:"cache_creation,omitzero"`
	// ServerToolUse counts the calls of tools that run at the API. Web searches have a separate
	// price.
	ServerToolUse *ServerToolUsage `json:"server_tool_use,omitzero"`
	// OutputTokensDetails splits OutputTokens. It is nil if the API does not say.
	OutputTokensDetails *OutputTokensDetails `json:"output_tokens_details,omitzero"`

	// ServiceTier is "standard", "priority" or "batch". It may be empty outside a result.
	ServiceTier string `json:"service_tier,omitzero" wire:"intern"`
	// Speed is "standard", or "fast", which costs more.
	Speed string `json:"speed,omitzero" wire:"intern"`
	// InferenceGeo is where the model ran, or empty if the API does not say.
	InferenceGeo string `json:"inference_geo,omitzero" wire:"intern"`

	// Iterations lists the parts of the call. Don't add them to the counters above.
	Iterations []UsageIteration `json:"iterations,omitzero"`
	// FallbackCredit is left as JSON: an object with the member status, or null.
	FallbackCredit JSON `json:"fallback_credit,omitzero"`
}

// TotalTokens returns all tokens that went in and came out, cached or not. It is 0 for a nil Usage.
func (u *Usage) TotalTokens() int {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
}

// CacheCreation counts tokens written to the cache by how long they live.
type CacheCreation struct {
	raw string

	Ephemeral5mInputTokens int `json:"ephemeral_5m_input_tokens,omitzero"` // kept for five minutes
	Ephemeral1hInputTokens int `json:"ephemeral_1h_input_tokens,omitzero"` // kept for an hour
}

// ServerToolUsage counts the calls of tools that run at the API.
type ServerToolUsage struct {
	raw string

	WebSearchRequests int `json:"web_search_requests,omitzero"` // web searches
	WebFetchRequests  int `json:"web_fetch_requests,omitzero"`  // pages fetched
}

// OutputTokensDetails says what the output tokens were spent on.
type OutputTokensDetails struct {
	raw string

	// ThinkingTokens is the part of OutputTokens that went into thinking.
	ThinkingTokens int `json:"thinking_tokens,omitzero"`
}

// A UsageIteration is the usage of one part of a call.
type UsageIteration struct {
	raw string

	// Type is message, compaction, advisor_message or fallback_message.
	Type string `json:"type,omitzero" wire:"intern"`
	// Model is the model of this part. It is empty for a compaction.
	Model string `json:"model,omitzero" wire:"intern"`
	// InputTokens and the counters below mean the same as those of [Usage].
	InputTokens int `json:"input_tokens,omitzero"`
	// OutputTokens includes thinking.
	OutputTokens int `json:"output_tokens,omitzero"`
	// CacheCreationInputTokens counts the tokens written to the cache.
	CacheCreationInputTokens int `json:"cache_creation_input_tokens,omitzero"`
	// CacheReadInputTokens counts the tokens read from the cache.
	CacheReadInputTokens int `json:"cache_read_input_tokens,omitzero"`
	// CacheCreation splits CacheCreationInputTokens by lifetime, or is nil.
	CacheCreation *CacheCreation `json:"cache_creation,omitzero"`
}

// ModelUsage is what a session has used of one model, all calls of the agent included.
type ModelUsage struct {
	raw string

	// InputTokens and the next three counters mean the same as those of [Usage].
	InputTokens              int `json:"inputTokens,omitzero"`
	OutputTokens             int `json:"outputTokens,omitzero"`             // thinking included
	CacheReadInputTokens     int `json:"cacheReadInputTokens,omitzero"`     // read from the cache
	CacheCreationInputTokens int `json:"cacheCreationInputTokens,omitzero"` // written to the cache
	// WebSearchRequests is how many web searches were requested.
	WebSearchRequests int `json:"webSearchRequests,omitzero"`
	// CostUSD is the agent's estimate of the cost, in US dollars. CostBasis says by which prices.
	CostUSD float64 `json:"costUSD,omitzero"`
	// ContextWindow is the size of the model's context window in tokens, such as 1000000.
	ContextWindow int `json:"contextWindow,omitzero"`
	// MaxOutputTokens is the longest answer in tokens, such as 128000.
	MaxOutputTokens int `json:"maxOutputTokens,omitzero"`

	// ThinkingTokens are a part of OutputTokens.
	ThinkingTokens int `json:"thinkingTokens,omitzero"`
	// CacheCreationEphemeral5mInputTokens is the part of CacheCreationInputTokens that is kept for
	// five minutes.
	CacheCreationEphemeral5mInputTokens int `json:"cacheCreationEphemeral5mInputTokens,omitzero"`
	// CacheCreationEphemeral1hInputTokens is the part that is kept for an hour.
	CacheCreationEphemeral1hInputTokens int `json:"cacheCreationEphemeral1hInputTokens,omitzero"`

	// CanonicalModel is the model's canonical name, such as "claude-opus-5-5".
	CanonicalModel string `json:"canonicalModel,omitzero" wire:"intern"`
	// Provider is the API that serves the model, such as "firstParty".
	Provider string `json:"provider,omitzero" wire:"intern"`
	// CostBasis is "list", "managed" or "unknown".
	CostBasis string `json:"costBasis,omitzero" wire:"intern"`
}
