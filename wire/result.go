package wire

import "strings"

// A ResultMessage ends a turn, whether it went well or not. One run can yield
// several: a background task that finishes starts a turn of its own.
//
//wire:message result
type ResultMessage struct {
	raw string

	Subtype ResultSubtype `json:"subtype" wire:"required,intern"`
	IsError bool          `json:"is_error"`
	// Result is the final text, or the text of the error of a turn that failed.
	Result string `json:"result"`
	// Errors are the messages of a result that is not a success.
	Errors []string `json:"errors" wire:"lenient"`

	Duration       Millis         `json:"duration_ms"`
	APIDuration    Millis         `json:"duration_api_ms"`
	NumTurns       int            `json:"num_turns"`
	StopReason     StopReason     `json:"stop_reason" wire:"intern"`
	TerminalReason TerminalReason `json:"terminal_reason" wire:"intern"`
	APIErrorStatus int            `json:"api_error_status"`
	APIErrorType   string         `json:"api_error_type" wire:"intern"`

	// TotalCostUSD is an estimate over the whole session: read the latest, don't
	// add up.
	TotalCostUSD float64 `json:"total_cost_usd"`
	// Usage is of this turn and of the main loop alone; ModelUsage is of the
	// session and of every call, which makes it the one to account by.
	Usage                     *Usage                `json:"usage"`
	ModelUsage                map[string]ModelUsage `json:"modelUsage"`
	ModelUsageSinceLastResult map[string]ModelUsage `json:"model_usage_since_last_result"`

	PermissionDenials []PermissionDenial `json:"permission_denials"`
	StructuredOutput  JSON               `json:"structured_output"`
	DeferredToolUse   *DeferredToolUse   `json:"deferred_tool_use"`
	LocalCommand      string             `json:"local_command" wire:"intern"`
	SubagentStats     *SubagentStats     `json:"subagent_stats"`
	SafetyStops       int                `json:"safety_stops"`

	// QueuedTurnCount is how many prompts still wait.
	QueuedTurnCount int `json:"queued_turn_count"`
	// ResultIndex counts the results from 0; a gap means that one was lost.
	ResultIndex      int      `json:"result_index"`
	UserMessageUUID  string   `json:"user_message_uuid" wire:"intern"`
	UserMessageUUIDs []string `json:"user_message_uuids"`
	ResumeReason     string   `json:"resume_reason" wire:"intern"`
	Origin           *Origin  `json:"origin" wire:"lenient"`

	FirstRequestInputTokens          int `json:"first_request_input_tokens"`
	FirstRequestCacheReadInputTokens int `json:"first_request_cache_read_input_tokens"`

	FastModeState          FastModeState          `json:"fast_mode_state" wire:"intern"`
	FastModeDisabledReason FastModeDisabledReason `json:"fast_mode_disabled_reason" wire:"intern"`
	CredentialExpiresAt    string                 `json:"credential_expires_at"`
	WarmSpareClaimed       bool                   `json:"warm_spare_claimed"`

	// StartupFailureReason tells why the agent did not start.
	StartupFailureReason StartupFailureReason `json:"startup_failure_reason" wire:"intern"`
	InvalidConfigFile    *InvalidConfigFile   `json:"invalid_config_file"`

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

	ToolName  string `json:"tool_name" wire:"intern"`
	ToolUseID string `json:"tool_use_id"`
	ToolInput JSON   `json:"tool_input"`
}

// A DeferredToolUse is a call that the agent leaves to its host.
type DeferredToolUse struct {
	raw string

	ID    string `json:"id"`
	Name  string `json:"name" wire:"intern"`
	Input JSON   `json:"input"`
}

// InvalidConfigFile names the config file that kept the agent from starting.
type InvalidConfigFile struct {
	raw string

	Path           string `json:"path"`
	Global         bool   `json:"is_global"`
	BackupSearched bool   `json:"backup_searched"`
	BackupPath     string `json:"backup_path"`
}

// SubagentStats counts the subagents of a session.
type SubagentStats struct {
	raw string

	Spawned             int                `json:"spawned"`
	Requested           *SubagentRequested `json:"requested"`
	StartedInBackground int                `json:"started_in_background"`
	MaxDepth            int                `json:"max_depth"`
	SpawnedBySubagents  int                `json:"spawned_by_subagents"`
	Completed           int                `json:"completed"`
	Failed              int                `json:"failed"`
	Killed              *SubagentKilled    `json:"killed"`
	Refused             *SubagentRefused   `json:"refused"`
	ByType              map[string]int     `json:"by_type"`
}

// SubagentRequested counts subagents by how their start was asked for.
type SubagentRequested struct {
	raw string

	Background int `json:"background"`
	Foreground int `json:"foreground"`
	Unset      int `json:"unset"`
}

// SubagentKilled counts subagents by who ended them.
type SubagentKilled struct {
	raw string

	Parent int `json:"parent"`
	User   int `json:"user"`
	System int `json:"system"`
}

// SubagentRefused counts subagents that were not started, by the limit.
type SubagentRefused struct {
	raw string

	DepthLimit       int `json:"depth_limit"`
	ConcurrencyLimit int `json:"concurrency_limit"`
	Budget           int `json:"budget"`
}
