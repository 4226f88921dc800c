package wire

import (
	"slices"
	"strings"
)

// A ResultMessage ends a turn, whether it went well or not. One run can yield several: a background
// task that finishes starts another turn.
//
//wire:message result
type ResultMessage struct {
	raw string

	// Subtype describes how the turn ended; see also [ResultMessage.Failed].
	Subtype ResultSubtype `json:"subtype" wire:"required,intern"`
	// IsError reports whether the turn failed. It can be set with ResultSuccess: the turn then
	// ended on an API error.
	IsError bool `json:"is_error"`
	// Result is the final text, or the text of the error if IsError is set. Only ResultSuccess has
	// it.
	Result string `json:"result"`
	// Errors are the error messages of the other subtypes, such as "Reached maximum number of turns
	// (1)".
	Errors []string `json:"errors"`

	// Duration is the time the turn took.
	Duration Millis `json:"duration_ms"`
	// APIDuration is the time spent in API calls. It adds up over the turns of a session, so it can
	// be longer than Duration, but a local command such as /compact reports 0.
	APIDuration Millis `json:"duration_api_ms"`
	// NumTurns is the agent's own count of the turn's steps. It is not the number of API calls: two
	// calls with three parallel tool results between them count as 4.
	NumTurns int `json:"num_turns"`
	// StopReason is the reason the model stopped at the end of the turn. It is empty after an
	// interrupt and after /compact.
	StopReason StopReason `json:"stop_reason" wire:"intern"`
	// TerminalReason is the reason the agent's loop ended. It is empty for local slash commands.
	TerminalReason TerminalReason `json:"terminal_reason" wire:"intern"`
	// APIErrorStatus is the HTTP status of the API error that ended the turn, if one did.
	APIErrorStatus int `json:"api_error_status"`
	// APIErrorType is the type of that error, such as "invalid_request_error", or empty.
	APIErrorType string `json:"api_error_type" wire:"intern"`

	// TotalCostUSD is an estimate over the whole session, in US dollars. Read the latest one of a
	// session; don't add them up. /clear resets it, so the totals of a pool's runs can be added up.
	TotalCostUSD float64 `json:"total_cost_usd"`
	// Usage is of this turn and of the main loop alone.
	Usage *Usage `json:"usage"`
	// ModelUsage is of the session and of every call, by model. Use this one for accounting.
	ModelUsage map[string]ModelUsage `json:"modelUsage"`
	// ModelUsageSinceLastResult is the increase of ModelUsage since the previous result.
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
	// SafetyStops is the number of model calls a safety system stopped in the session.
	SafetyStops int `json:"safety_stops"`

	// QueuedTurnCount is the number of prompts that are still queued.
	QueuedTurnCount int `json:"queued_turn_count"`
	// ResultIndex counts the results from 0; a gap means that one was lost.
	ResultIndex int `json:"result_index"`
	// UserMessageUUID is the caller's id of the prompt that is answered.
	UserMessageUUID string `json:"user_message_uuid" wire:"intern"`
	// UserMessageUUIDs are the ids of all prompts that the turn took up.
	UserMessageUUIDs []string `json:"user_message_uuids"`
	// ResumeReason is set when the turn continued a turn that a restart cut off.
	ResumeReason string `json:"resume_reason" wire:"intern"`
	// Origin is the origin of the prompt, if it is known.
	Origin *Origin `json:"origin"`

	// FirstRequestInputTokens is the size of the turn's first request, cached input included.
	FirstRequestInputTokens int `json:"first_request_input_tokens"`
	// FirstRequestCacheReadInputTokens is the part of it that was read from the cache.
	FirstRequestCacheReadInputTokens int `json:"first_request_cache_read_input_tokens"`

	// FastModeState reports whether fast mode is on.
	FastModeState FastModeState `json:"fast_mode_state" wire:"intern"`
	// FastModeDisabledReason explains why fast mode is not available, or is empty.
	FastModeDisabledReason FastModeDisabledReason `json:"fast_mode_disabled_reason" wire:"intern"`
	// CredentialExpiresAt is the time the login expires, as a timestamp. Only logins at claude.ai
	// have it.
	CredentialExpiresAt string `json:"credential_expires_at"`
	// WarmSpareClaimed reports whether the session claimed a spare process that was started in
	// advance.
	WarmSpareClaimed bool `json:"warm_spare_claimed"`

	// StartupFailureReason explains why the agent did not start. Most reasons are reported only if
	// the environment variable CLAUDE_CODE_STARTUP_FAILURE_RESULTS is set.
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
	// TimeOrigin is the start time of the process, as a Unix time.
	TimeOrigin Millis `json:"time_origin_ms"`
	// RequestSentWall is the time the first request was sent, as a Unix time.
	RequestSentWall Millis `json:"request_sent_wall_ms"`
	// FirstContentFrame is the time to the first event with content.
	FirstContentFrame Millis `json:"first_content_frame_ms"`
	// FirstStreamPost is the time to the upload of the first event.
	FirstStreamPost Millis `json:"first_stream_post_ms"`
	// FirstStreamPostAck is the time to its acknowledgment.
	FirstStreamPostAck Millis `json:"first_stream_post_ack_ms"`
	// FirstStreamPostQueueWait is the time it was queued.
	FirstStreamPostQueueWait Millis `json:"first_stream_post_queue_wait_ms"`
	// FirstStreamPostWall is the time it was uploaded, as a Unix time.
	FirstStreamPostWall Millis `json:"first_stream_post_wall_ms"`
	// FirstStreamPostQueuedBehind is the reason it was queued: "durable_post", "ephemeral_post",
	// "retry_backoff", "hold" or "none".
	FirstStreamPostQueuedBehind string `json:"first_stream_post_queued_behind" wire:"intern"`
	// FirstTextPost is the time to the upload of the first text.
	FirstTextPost Millis `json:"first_text_post_ms"`
	// FirstTextPostQueueWait is the time that text was queued.
	FirstTextPostQueueWait Millis `json:"first_text_post_queue_wait_ms"`
	// FirstTextPostWall is the time it was uploaded, as a Unix time.
	FirstTextPostWall Millis `json:"first_text_post_wall_ms"`
	// FirstTextPostQueuedBehind is the reason it was queued.
	FirstTextPostQueuedBehind string `json:"first_text_post_queued_behind" wire:"intern"`

	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// Failed reports whether the turn failed: the result has the flag, or a subtype that starts with
// "error", since agents may leave out the flag. If one of them does not fit, as in
// "is_error":"yes", the turn counts as failed.
func (m *ResultMessage) Failed() bool {
	return m.IsError || strings.HasPrefix(string(m.Subtype), "error") || slices.ContainsFunc(Misfits(m), func(e *FieldError) bool {
		return !e.Missing && (e.Pointer == "/is_error" || e.Pointer == "/subtype")
	})
}

// A ResultSubtype is the outcome of a turn. A success can still have IsError set: the turn ended in
// order, on an API error.
type ResultSubtype string

// The ways in which a turn ends.
const (
	ResultSuccess                         ResultSubtype = "success"
	ResultErrorDuringExecution            ResultSubtype = "error_during_execution"
	ResultErrorMaxTurns                   ResultSubtype = "error_max_turns"
	ResultErrorMaxBudgetUSD               ResultSubtype = "error_max_budget_usd"
	ResultErrorMaxStructuredOutputRetries ResultSubtype = "error_max_structured_output_retries"
)

// A TerminalReason is the reason the agent's loop ended.
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

// A StartupFailureReason explains why the agent did not start.
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

// A PermissionDenial is a tool call that was not allowed.
type PermissionDenial struct {
	raw string

	// ToolName is the tool that the model wanted to use.
	ToolName string `json:"tool_name,omitzero" wire:"intern"`
	// ToolUseID is the ID of the call's [ToolUseBlock].
	ToolUseID string `json:"tool_use_id,omitzero"`
	// ToolInput is the call's input.
	ToolInput JSON `json:"tool_input,omitzero"`
}

// A DeferredToolUse is a call that the agent leaves to its host.
type DeferredToolUse struct {
	raw string

	// ID is the ID of the call's [ToolUseBlock].
	ID string `json:"id,omitzero"`
	// Name is the name of the tool.
	Name string `json:"name,omitzero" wire:"intern"`
	// Input is the call's input.
	Input JSON `json:"input,omitzero"`
}

// InvalidConfigFile names the config file that kept the agent from starting.
type InvalidConfigFile struct {
	raw string

	// Path is the invalid file.
	Path string `json:"path,omitzero"`
	// Global reports whether it is the global config file.
	Global bool `json:"is_global,omitzero"`
	// BackupSearched reports whether the agent looked for a backup.
	BackupSearched bool `json:"backup_searched,omitzero"`
	// BackupPath is the backup, or empty if there is none.
	BackupPath string `json:"backup_path,omitzero"`
}

// SubagentStats counts the subagents of a session.
type SubagentStats struct {
	raw string

	// Spawned is the number of subagents that were started.
	Spawned int `json:"spawned,omitzero"`
	// Requested counts the requests by whether they asked for the background.
	Requested *SubagentRequested `json:"requested,omitzero"`
	// StartedInBackground is the number of them that the agent did not wait for.
	StartedInBackground int `json:"started_in_background,omitzero"`
	// MaxDepth is the deepest nesting of subagents.
	MaxDepth int `json:"max_depth,omitzero"`
	// SpawnedBySubagents is the number of them that other subagents started.
	SpawnedBySubagents int `json:"spawned_by_subagents,omitzero"`
	// Completed is the number of subagents that ended normally.
	Completed int `json:"completed,omitzero"`
	// Failed is the number of subagents that ended with an error.
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
	// ServerToolUse counts the tool calls that run at the API. Web searches have a separate price.
	ServerToolUse *ServerToolUsage `json:"server_tool_use,omitzero"`
	// OutputTokensDetails splits OutputTokens. It is nil if the API does not say.
	OutputTokensDetails *OutputTokensDetails `json:"output_tokens_details,omitzero"`

	// ServiceTier is "standard", "priority" or "batch". It may be empty outside a result.
	ServiceTier string `json:"service_tier,omitzero" wire:"intern"`
	// Speed is "standard", or "fast", which costs more.
	Speed string `json:"speed,omitzero" wire:"intern"`
	// InferenceGeo is the region in which the model ran, or empty if the API does not report it.
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

// ServerToolUsage counts the tool calls that run at the API.
type ServerToolUsage struct {
	raw string

	WebSearchRequests int `json:"web_search_requests,omitzero"` // web searches
	WebFetchRequests  int `json:"web_fetch_requests,omitzero"`  // pages fetched
}

// OutputTokensDetails breaks down the output tokens.
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
	// InputTokens and the counters below mean the same as in [Usage].
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

// ModelUsage is a session's usage of one model, including all calls of the agent.
type ModelUsage struct {
	raw string

	// InputTokens and the next three counters mean the same as in [Usage].
	InputTokens              int `json:"inputTokens,omitzero"`
	OutputTokens             int `json:"outputTokens,omitzero"`             // thinking included
	CacheReadInputTokens     int `json:"cacheReadInputTokens,omitzero"`     // read from the cache
	CacheCreationInputTokens int `json:"cacheCreationInputTokens,omitzero"` // written to the cache
	// WebSearchRequests is the number of web searches that were requested.
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
