package wire

import (
	"strings"
)

// An APIMessage is a message of the Messages API, as it lies inside an
// assistant or user frame or a message_start event.
//
//wire:methods
type APIMessage struct {
	raw string

	// ID is shared by the frames that carry the blocks of one answer.
	ID string `json:"id" wire:"intern"`
	// Role is who speaks. An agent of today sends it with every message.
	Role Role `json:"role" wire:"intern"`
	// Model is the model that answered, such as "claude-opus-4-1". It is "<synthetic>" for a text that the agent wrote itself.
	Model string `json:"model" wire:"intern"`
	// Content is the list of blocks. Use [Content.Text] for the text alone.
	Content Content `json:"content"`

	// StopReason is empty while an answer streams: the reason comes with the result.
	StopReason StopReason `json:"stop_reason" wire:"intern"`
	// StopSequence is the sequence that ended the answer, with StopReasonStopSequence.
	StopSequence string `json:"stop_sequence"`
	// StopDetails is set if the model refused.
	StopDetails *StopDetails `json:"stop_details"`
	// Usage counts the tokens of the API call. It is repeated on each frame of an answer.
	Usage *Usage `json:"usage"`

	// Container is set if code ran at the API.
	Container *Container `json:"container"`
	// ContextManagement is set if the API removed something from the context.
	ContextManagement *ContextManagement `json:"context_management"`
	// Diagnostics is left as JSON; its shape is not published.
	Diagnostics JSON `json:"diagnostics"`
}

// StopDetails explains a refusal.
type StopDetails struct {
	raw string

	// Type is "refusal".
	Type string `json:"type,omitzero" wire:"intern"`
	// Category is the policy that the request touched, if the API names it.
	Category string `json:"category,omitzero" wire:"intern"`
	// Explanation is a sentence for people.
	Explanation string `json:"explanation,omitzero"`
	// RecommendedModel is a model that may answer instead.
	RecommendedModel string `json:"recommended_model,omitzero" wire:"intern"`
	// FallbackCreditToken lets the call be repeated with another model at no cost.
	FallbackCreditToken     string `json:"fallback_credit_token,omitzero"`
	FallbackHasPrefillClaim bool   `json:"fallback_has_prefill_claim,omitzero"`
}

// A Container is the sandbox at the API in which code was run.
type Container struct {
	raw string

	// ID lets a later call use the same container.
	ID string `json:"id,omitzero"`
	// ExpiresAt is a time such as "2026-01-02T15:04:05Z".
	ExpiresAt string `json:"expires_at,omitzero"`
	// Skills are the skills that were loaded into it.
	Skills []ContainerSkill `json:"skills,omitzero"`
}

// A ContainerSkill is a skill loaded into a container.
type ContainerSkill struct {
	raw string

	SkillID string `json:"skill_id,omitzero"`
	// Type is "anthropic" or "custom".
	Type string `json:"type,omitzero" wire:"intern"`
	// Version is the version of the skill, or "latest".
	Version string `json:"version,omitzero" wire:"intern"`
}

// ContextManagement tells what the API removed from the context.
type ContextManagement struct {
	raw string

	// AppliedEdits are the removals, in the order in which they were made.
	AppliedEdits []AppliedEdit `json:"applied_edits,omitzero"`
}

// An AppliedEdit is one removal from the context.
type AppliedEdit struct {
	raw string

	// Type names the rule, such as "clear_tool_uses_20250919".
	Type string `json:"type,omitzero" wire:"intern"`
	// ClearedToolUses is how many calls of tools were removed.
	ClearedToolUses int `json:"cleared_tool_uses,omitzero"`
	// ClearedThinkingTurns is how many turns lost their thinking blocks.
	ClearedThinkingTurns int `json:"cleared_thinking_turns,omitzero"`
	// ClearedInputTokens is how many tokens that saved.
	ClearedInputTokens int `json:"cleared_input_tokens,omitzero"`
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
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// Error is set if the message stands for a failed API call. The text says what happened.
	Error AssistantError `json:"error" wire:"intern"`
	// APIErrorMessage says that the text is an error of the API, not an answer.
	APIErrorMessage bool `json:"is_api_error_message"`
	// APIErrorStatus is the HTTP status of the error, such as 529.
	APIErrorStatus int `json:"api_error_status"`
	// APIErrorType is the type that the API gave the error, such as "overloaded_error".
	APIErrorType string `json:"api_error_type" wire:"intern"`
	// RequestID is the API's id of the request. Anthropic's support asks for it.
	RequestID string `json:"request_id" wire:"intern"`

	// UserMessageUUID is the caller's id of the prompt that is answered, on the
	// first message of a turn; UserMessageUUIDs has all that the turn took up.
	UserMessageUUID  string   `json:"user_message_uuid" wire:"intern"`
	UserMessageUUIDs []string `json:"user_message_uuids"`

	// ResumeReason is set when the turn goes on with one that a restart cut off.
	ResumeReason string `json:"resume_reason" wire:"intern"`
	// ResumedFromIncompleteThinking says that the restart came while the model was thinking.
	ResumedFromIncompleteThinking bool `json:"resumed_from_incomplete_thinking"`
	// Supersedes are ids of earlier messages that this one replaces.
	Supersedes []string `json:"supersedes"`
	// Aborted says that an interrupt cut the message.
	Aborted bool `json:"aborted"`

	// AgentID is the subagent that speaks, or empty.
	AgentID string `json:"agent_id" wire:"intern"`
	// SubagentType is the kind of that subagent, such as "Explore".
	SubagentType string `json:"subagent_type" wire:"intern"`
	// TaskDescription is the short description that the subagent was started with.
	TaskDescription string `json:"task_description" wire:"intern"`

	// ThinkingDuration is how long the model was thinking.
	ThinkingDuration Millis `json:"thinking_duration_ms"`
	// ThinkingDisplay is how thinking is shown: "summarized", "omitted" or "highlights".
	ThinkingDisplay string `json:"thinking_display" wire:"intern"`
	// ToolUseMeta has display names for the calls of tools in the content.
	ToolUseMeta []ToolUseMeta `json:"tool_use_meta"`
	// Timestamp is when the message was made, such as "2026-01-02T15:04:05.000Z".
	Timestamp string `json:"timestamp"`

	// ContextUsage is the answer to /context, UsageReport that to /usage.
	ContextUsage *ContextUsage       `json:"context_usage"`
	UsageReport  *UsageCommandOutput `json:"usage_report"`

	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// ToolUseMeta tells how to show a call of a tool.
type ToolUseMeta struct {
	raw string

	// ID is the ID of the [ToolUseBlock].
	ID string `json:"id,omitzero"`
	// DisplayName is the tool's name for people.
	DisplayName string `json:"display_name,omitzero" wire:"intern"`
	// ServerDisplayName is the name of its MCP server for people.
	ServerDisplayName string `json:"server_display_name,omitzero" wire:"intern"`
	// ToolName is the tool's name at its MCP server.
	ToolName string `json:"tool_name,omitzero" wire:"intern"`
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
	ToolUseResult JSON `json:"tool_use_result"`
	// ToolResultMeta says, for each result in the content, whether the tool ran and who allowed it.
	ToolResultMeta []ToolResultMeta `json:"tool_result_meta"`

	// Priority is now, next or later.
	Priority string `json:"priority" wire:"intern"`
	// Origin is where the prompt came from. Nil means that nothing was said about it.
	Origin *Origin `json:"origin" wire:"lenient"`
	// ShouldQuery, when false, adds to the transcript without starting a turn.
	ShouldQuery *bool `json:"shouldQuery"`
	// ClientComposed delivers the text as it is: no paths, no commands expanded.
	ClientComposed bool `json:"client_composed"`
	// PastedContent are texts, or lists of blocks, appended to what was typed.
	PastedContent []JSON `json:"pasted_content"`
	// InlinePastes are texts that were pasted in the middle of what was typed.
	InlinePastes []string `json:"inline_pastes"`
	// FileAttachments are files that the prompt comes with.
	FileAttachments []JSON `json:"file_attachments"`

	// AgentID is the subagent whose tool has the result, or empty.
	AgentID string `json:"agent_id" wire:"intern"`
	// SubagentType is the kind of that subagent, such as "Explore".
	SubagentType string `json:"subagent_type" wire:"intern"`
	// TaskDescription is the short description that the subagent was started with.
	TaskDescription string `json:"task_description" wire:"intern"`
	// Timestamp is when the message was made, such as "2026-01-02T15:04:05.000Z".
	Timestamp string `json:"timestamp"`

	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// ToolResultMeta tells how a call of a tool came to its result.
type ToolResultMeta struct {
	raw string

	// ID is the ToolUseID of the [ToolResultBlock].
	ID string `json:"id,omitzero"`
	// PermissionDecision is nil if nobody had to decide.
	PermissionDecision *PermissionDecision `json:"permission_decision,omitzero"`
	// NonExecutionKind says why the tool did not run. It is empty if it ran.
	NonExecutionKind string `json:"non_execution_kind,omitzero" wire:"intern"`
}

// A PermissionDecision tells who let a tool run, or did not.
type PermissionDecision struct {
	raw string

	// Decision is what was decided, such as "allow" or "deny".
	Decision string `json:"decision,omitzero" wire:"intern"`
	// Source is who decided, such as a rule or the user.
	Source string `json:"source,omitzero" wire:"intern"`
	// ReasonType is the kind of reason, such as "mode" or "rule".
	ReasonType string `json:"reason_type,omitzero" wire:"intern"`
}

// A ResultMessage ends a turn, whether it went well or not. One run can yield
// several: a background task that finishes starts a turn of its own.
//
//wire:message result
type ResultMessage struct {
	raw string

	// Subtype says how the turn ended; see also [ResultMessage.Failed].
	Subtype ResultSubtype `json:"subtype" wire:"required,intern"`
	// IsError says that the turn failed, if need be on a success: then the API did.
	IsError bool `json:"is_error"`
	// Result is the final text, or the text of the error of a turn that failed.
	Result string `json:"result"`
	// Errors are the messages of a result that is not a success.
	Errors []string `json:"errors" wire:"lenient"`

	// Duration is the time of the turn, and APIDuration the part of it that API calls took.
	Duration    Millis `json:"duration_ms"`
	APIDuration Millis `json:"duration_api_ms"`
	// NumTurns is how many times the model was called in the turn.
	NumTurns int `json:"num_turns"`
	// StopReason is why the model stopped at last.
	StopReason StopReason `json:"stop_reason" wire:"intern"`
	// TerminalReason says what ended the agent's loop, in more detail than Subtype.
	TerminalReason TerminalReason `json:"terminal_reason" wire:"intern"`
	// APIErrorStatus and APIErrorType describe the API error that ended the turn, if one did.
	APIErrorStatus int    `json:"api_error_status"`
	APIErrorType   string `json:"api_error_type" wire:"intern"`

	// TotalCostUSD is an estimate over the whole session: read the latest, don't
	// add up.
	TotalCostUSD float64 `json:"total_cost_usd"`
	// Usage is of this turn and of the main loop alone; ModelUsage is of the
	// session and of every call, which makes it the one to account by.
	Usage      *Usage                `json:"usage"`
	ModelUsage map[string]ModelUsage `json:"modelUsage"`
	// ModelUsageSinceLastResult is the part of ModelUsage that came since the result before.
	ModelUsageSinceLastResult map[string]ModelUsage `json:"model_usage_since_last_result"`

	// PermissionDenials are all calls of tools in the turn that were not allowed.
	PermissionDenials []PermissionDenial `json:"permission_denials"`
	// StructuredOutput is the answer in the schema that the caller asked for.
	StructuredOutput JSON `json:"structured_output"`
	// DeferredToolUse is the call that a hook has deferred to the host.
	DeferredToolUse *DeferredToolUse `json:"deferred_tool_use"`
	// LocalCommand is the slash command that was run without the model.
	LocalCommand string `json:"local_command" wire:"intern"`
	// SubagentStats counts the subagents of the session.
	SubagentStats *SubagentStats `json:"subagent_stats"`
	// SafetyStops is how often a safety check stopped the model.
	SafetyStops int `json:"safety_stops"`

	// QueuedTurnCount is how many prompts still wait.
	QueuedTurnCount int `json:"queued_turn_count"`
	// ResultIndex counts the results from 0; a gap means that one was lost.
	ResultIndex int `json:"result_index"`
	// UserMessageUUID is the caller's id of the prompt that is answered; UserMessageUUIDs has all that the turn took up.
	UserMessageUUID  string   `json:"user_message_uuid" wire:"intern"`
	UserMessageUUIDs []string `json:"user_message_uuids"`
	// ResumeReason is set when the turn went on with one that a restart cut off.
	ResumeReason string `json:"resume_reason" wire:"intern"`
	// Origin is where the prompt came from, if that is known.
	Origin *Origin `json:"origin" wire:"lenient"`

	// The size of the turn's first request: tokens that were not cached, and those read from the cache.
	FirstRequestInputTokens          int `json:"first_request_input_tokens"`
	FirstRequestCacheReadInputTokens int `json:"first_request_cache_read_input_tokens"`

	// FastModeState says whether fast mode is on, and FastModeDisabledReason why it can't be.
	FastModeState          FastModeState          `json:"fast_mode_state" wire:"intern"`
	FastModeDisabledReason FastModeDisabledReason `json:"fast_mode_disabled_reason" wire:"intern"`
	// CredentialExpiresAt is when the login ends, for logins at claude.ai.
	CredentialExpiresAt string `json:"credential_expires_at"`
	// WarmSpareClaimed says that the session runs in a process that was started ahead.
	WarmSpareClaimed bool `json:"warm_spare_claimed"`

	// StartupFailureReason tells why the agent did not start.
	StartupFailureReason StartupFailureReason `json:"startup_failure_reason" wire:"intern"`
	// InvalidConfigFile is set with StartupConfigFileInvalid.
	InvalidConfigFile *InvalidConfigFile `json:"invalid_config_file"`

	// When the first answer to the prompt took which step: by their names, spans of
	// time, and moments in Unix time for TimeOrigin and those that end in Wall.
	TTFT                        Millis `json:"ttft_ms"`
	TTFTStream                  Millis `json:"ttft_stream_ms"`
	TimeToRequest               Millis `json:"time_to_request_ms"`
	TimeToRequestFromSpawn      Millis `json:"time_to_request_from_spawn_ms"`
	TimeOrigin                  Millis `json:"time_origin_ms"`
	RequestSentWall             Millis `json:"request_sent_wall_ms"`
	FirstContentFrame           Millis `json:"first_content_frame_ms"`
	FirstStreamPost             Millis `json:"first_stream_post_ms"`
	FirstStreamPostAck          Millis `json:"first_stream_post_ack_ms"`
	FirstStreamPostQueueWait    Millis `json:"first_stream_post_queue_wait_ms"`
	FirstStreamPostWall         Millis `json:"first_stream_post_wall_ms"`
	FirstStreamPostQueuedBehind string `json:"first_stream_post_queued_behind" wire:"intern"`
	FirstTextPost               Millis `json:"first_text_post_ms"`
	FirstTextPostQueueWait      Millis `json:"first_text_post_queue_wait_ms"`
	FirstTextPostWall           Millis `json:"first_text_post_wall_ms"`
	FirstTextPostQueuedBehind   string `json:"first_text_post_queued_behind" wire:"intern"`

	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// Failed reports whether the turn has failed: the result has the flag, or a subtype
// that begins with "error", since agents may leave out the flag.
func (m *ResultMessage) Failed() bool {
	return m.IsError || strings.HasPrefix(string(m.Subtype), "error")
}

// A ResultSubtype says how a turn ended. A success can still have IsError set:
// the turn ended in order, on an error of the API.
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

	// Path is the file that can't be read.
	Path string `json:"path,omitzero"`
	// Global says that it is the user's file, not that of a project.
	Global bool `json:"is_global,omitzero"`
	// BackupSearched says that the agent has looked for a backup, and BackupPath where it found one.
	BackupSearched bool   `json:"backup_searched,omitzero"`
	BackupPath     string `json:"backup_path,omitzero"`
}

// SubagentStats counts the subagents of a session.
type SubagentStats struct {
	raw string

	// Spawned is how many subagents were started.
	Spawned int `json:"spawned,omitzero"`
	// Requested splits the requests by what was said about the background.
	Requested           *SubagentRequested `json:"requested,omitzero"`
	StartedInBackground int                `json:"started_in_background,omitzero"`
	// MaxDepth is the deepest nesting of subagents.
	MaxDepth int `json:"max_depth,omitzero"`
	// SpawnedBySubagents is how many were started by another subagent.
	SpawnedBySubagents int `json:"spawned_by_subagents,omitzero"`
	// Completed, Failed and Killed split those that have ended.
	Completed int             `json:"completed,omitzero"`
	Failed    int             `json:"failed,omitzero"`
	Killed    *SubagentKilled `json:"killed,omitzero"`
	// Refused counts the requests that a limit prevented.
	Refused *SubagentRefused `json:"refused,omitzero"`
	// ByType counts the started ones by SubagentType.
	ByType map[string]int `json:"by_type,omitzero"`
}

// SubagentRequested counts subagents by how their start was asked for.
type SubagentRequested struct {
	raw string

	Background int `json:"background,omitzero"`
	Foreground int `json:"foreground,omitzero"`
	Unset      int `json:"unset,omitzero"`
}

// SubagentKilled counts subagents by who ended them.
type SubagentKilled struct {
	raw string

	Parent int `json:"parent,omitzero"`
	User   int `json:"user,omitzero"`
	System int `json:"system,omitzero"`
}

// SubagentRefused counts subagents that were not started, by the limit.
type SubagentRefused struct {
	raw string

	DepthLimit       int `json:"depth_limit,omitzero"`
	ConcurrencyLimit int `json:"concurrency_limit,omitzero"`
	Budget           int `json:"budget,omitzero"`
}

// Usage counts the tokens of one API call, or of one turn when it comes with a
// result. Frames that share an API message repeat its usage: count it once per
// [APIMessage.ID].
type Usage struct {
	raw string

	// InputTokens are those that were neither read from the cache nor written to it.
	InputTokens int `json:"input_tokens,omitzero"`
	// OutputTokens include thinking.
	OutputTokens int `json:"output_tokens,omitzero"`
	// CacheCreationInputTokens were written to the cache, and CacheReadInputTokens read from it.
	CacheCreationInputTokens int `json:"cache_creation_input_tokens,omitzero"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens,omitzero"`

	// CacheCreation splits CacheCreationInputTokens by lifetime.
	CacheCreation *CacheCreation `json:"cache_creation,omitzero"`
	// ServerToolUse counts the calls of tools that run at the API. They cost extra.
	ServerToolUse       *ServerToolUsage     `json:"server_tool_use,omitzero"`
	OutputTokensDetails *OutputTokensDetails `json:"output_tokens_details,omitzero"`

	// ServiceTier is "standard", "priority" or "batch".
	ServiceTier string `json:"service_tier,omitzero" wire:"intern"`
	// Speed is "fast" in fast mode.
	Speed string `json:"speed,omitzero" wire:"intern"`
	// InferenceGeo is the region in which the model ran.
	InferenceGeo string `json:"inference_geo,omitzero" wire:"intern"`

	// Iterations splits the call into the samplings that it consisted of.
	Iterations []UsageIteration `json:"iterations,omitzero"`
	// FallbackCredit is left as JSON; its shape is not published.
	FallbackCredit JSON `json:"fallback_credit,omitzero"`
}

// TotalTokens returns all tokens that went in and came out, cached or not. It is
// 0 for a nil Usage.
func (u *Usage) TotalTokens() int {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
}

// CacheCreation counts tokens written to the cache by how long they live.
type CacheCreation struct {
	raw string

	Ephemeral5mInputTokens int `json:"ephemeral_5m_input_tokens,omitzero"`
	Ephemeral1hInputTokens int `json:"ephemeral_1h_input_tokens,omitzero"`
}

// ServerToolUsage counts the calls of tools that run at the API.
type ServerToolUsage struct {
	raw string

	WebSearchRequests int `json:"web_search_requests,omitzero"`
	WebFetchRequests  int `json:"web_fetch_requests,omitzero"`
}

// OutputTokensDetails tells what the output tokens were spent on.
type OutputTokensDetails struct {
	raw string

	ThinkingTokens int `json:"thinking_tokens,omitzero"`
}

// A UsageIteration is the usage of one sampling inside a call.
type UsageIteration struct {
	raw string

	// Type is message, compaction, advisor_message or fallback_message.
	Type string `json:"type,omitzero" wire:"intern"`
	// Model is the model that was sampled.
	Model string `json:"model,omitzero" wire:"intern"`
	// The counters mean the same as those of [Usage].
	InputTokens              int            `json:"input_tokens,omitzero"`
	OutputTokens             int            `json:"output_tokens,omitzero"`
	CacheCreationInputTokens int            `json:"cache_creation_input_tokens,omitzero"`
	CacheReadInputTokens     int            `json:"cache_read_input_tokens,omitzero"`
	CacheCreation            *CacheCreation `json:"cache_creation,omitzero"`
}

// ModelUsage is what a session has used of one model, all calls of the agent
// included.
type ModelUsage struct {
	raw string

	// The token counters mean the same as those of [Usage].
	InputTokens              int `json:"inputTokens,omitzero"`
	OutputTokens             int `json:"outputTokens,omitzero"`
	CacheReadInputTokens     int `json:"cacheReadInputTokens,omitzero"`
	CacheCreationInputTokens int `json:"cacheCreationInputTokens,omitzero"`
	// WebSearchRequests is how many web searches the API ran.
	WebSearchRequests int `json:"webSearchRequests,omitzero"`
	// CostUSD is an estimate by list prices, in US dollars.
	CostUSD float64 `json:"costUSD,omitzero"`
	// ContextWindow is how many tokens the model can take, and MaxOutputTokens how many it may write.
	ContextWindow   int `json:"contextWindow,omitzero"`
	MaxOutputTokens int `json:"maxOutputTokens,omitzero"`

	// ThinkingTokens are a part of OutputTokens.
	ThinkingTokens int `json:"thinkingTokens,omitzero"`
	// The two ephemeral counters are parts of CacheCreationInputTokens.
	CacheCreationEphemeral5mInputTokens int `json:"cacheCreationEphemeral5mInputTokens,omitzero"`
	CacheCreationEphemeral1hInputTokens int `json:"cacheCreationEphemeral1hInputTokens,omitzero"`

	// CanonicalModel is the model's name without provider and date.
	CanonicalModel string `json:"canonicalModel,omitzero" wire:"intern"`
	// Provider is who serves the model, such as "firstParty" or "bedrock".
	Provider string `json:"provider,omitzero" wire:"intern"`
	// CostBasis is list, managed or unknown.
	CostBasis string `json:"costBasis,omitzero" wire:"intern"`
}
