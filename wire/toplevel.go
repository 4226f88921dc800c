package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A ToolProgressMessage reports that a tool call is still running.
//
//wire:message tool_progress
type ToolProgressMessage struct {
	raw string

	// ToolUseID is the ID of the call's [ToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"intern"`
	// ToolName is the tool, such as "Bash".
	ToolName string `json:"tool_name" wire:"intern"`
	// ParentToolUseID is the call that started the subagent, when a subagent runs the tool.
	ParentToolUseID string `json:"parent_tool_use_id" wire:"intern"`
	// ElapsedSeconds is the time the call has run.
	ElapsedSeconds float64 `json:"elapsed_time_seconds"`
	// TaskID is the task that the call runs as, if it has one.
	TaskID string `json:"task_id" wire:"intern"`
	// Heartbeat marks a message that only reports that the call still runs.
	Heartbeat bool `json:"heartbeat"`
	// SubagentType is the kind of subagent, or empty.
	SubagentType string `json:"subagent_type" wire:"intern"`
	// SubagentRetry is set while a subagent waits to repeat a failed request.
	SubagentRetry *SubagentRetry `json:"subagent_retry"`
	UUID          string         `json:"uuid"`                     // ID of this message
	SessionID     string         `json:"session_id" wire:"intern"` // session that it belongs to
}

// A SubagentRetry reports that a subagent's request to the model failed and will be sent again.
type SubagentRetry struct {
	raw string

	// AgentID is the id of the subagent.
	AgentID string `json:"agent_id,omitzero" wire:"intern"`
	// Attempt is the number of the retry, from 1.
	Attempt int `json:"attempt,omitzero"`
	// MaxRetries is the maximum number of retries.
	MaxRetries int `json:"max_retries,omitzero"`
	// RetryDelay is the time the subagent waits before the retry.
	RetryDelay Millis `json:"retry_delay_ms,omitzero"`
	// ErrorStatus is the HTTP status, or 0 when the connection failed.
	ErrorStatus int `json:"error_status,omitzero"`
	// ErrorCategory is a word for the kind of failure.
	ErrorCategory string `json:"error_category,omitzero" wire:"intern"`
}

// A ToolUseSummaryMessage sums up the tool calls before it.
//
//wire:message tool_use_summary
type ToolUseSummaryMessage struct {
	raw string

	// Summary is the text.
	Summary string `json:"summary"`
	// PrecedingToolUseIDs are the IDs of the calls that it is about.
	PrecedingToolUseIDs []string `json:"preceding_tool_use_ids"`
	UUID                string   `json:"uuid"`                     // ID of this message
	SessionID           string   `json:"session_id" wire:"intern"` // session that it belongs to
}

// An AuthStatusMessage reports the progress of a login.
//
//wire:message auth_status
type AuthStatusMessage struct {
	raw string

	// Authenticating reports whether the login is in progress.
	Authenticating bool `json:"isAuthenticating"`
	// Output is the output of the login, as a list of texts.
	Output []string `json:"output"`
	// Error explains why the login failed, or is empty.
	Error     string `json:"error"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A PromptSuggestionMessage proposes what the user might ask next. At most one comes in a turn,
// after its result.
//
//wire:message prompt_suggestion
type PromptSuggestionMessage struct {
	raw string

	// Suggestion is the text of the prompt.
	Suggestion string `json:"suggestion"`
	UUID       string `json:"uuid"`                     // ID of this message
	SessionID  string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A ConversationResetMessage reports that the conversation starts again under a new id. SessionID
// is still the old one.
//
//wire:message conversation_reset
type ConversationResetMessage struct {
	raw string

	// NewConversationID is the session id of the messages that follow.
	NewConversationID string `json:"new_conversation_id" wire:"required"`
	// Trigger is the cause of the reset.
	Trigger ResetTrigger `json:"trigger" wire:"intern"`
	// UserMessageUUID is the caller's id of the /clear prompt; set with ResetTriggerClear only.
	UserMessageUUID string `json:"user_message_uuid"`
	// Timestamp is the time of the reset, or empty.
	Timestamp string `json:"timestamp"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that has ended
}

// A ResetTrigger explains why a conversation was reset.
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

	// Value is the goal, or nil if the agent has none.
	Value     *ActiveGoal `json:"value"`
	UUID      string      `json:"uuid"`                     // ID of this message
	SessionID string      `json:"session_id" wire:"intern"` // session that it belongs to
}

// An ActiveGoal is a condition that the agent works to fulfil, and how the work stands.
type ActiveGoal struct {
	raw string

	// Condition is the goal.
	Condition string `json:"condition,omitzero"`
	// Iterations is the number of iterations the agent made.
	Iterations int `json:"iterations,omitzero"`
	// SetAt is the time the goal was set, as a number.
	SetAt int64 `json:"set_at,omitzero"`
	// TokensAtStart is the agent's count of tokens at the start.
	TokensAtStart int `json:"tokens_at_start,omitzero"`
	// LastReason is the latest reason that the agent gave, or empty.
	LastReason string `json:"last_reason,omitzero"`
}

// A TranscriptMirrorMessage carries entries that the agent appended to a transcript file, for a
// session store. It comes only when the agent was started with its session mirror on, and has
// neither id nor session id.
//
//wire:message transcript_mirror
type TranscriptMirrorMessage struct {
	raw string

	// FilePath is the transcript file, an absolute path.
	FilePath string `json:"filePath" wire:"intern"`
	// Entries are lines of the file, in order.
	Entries []JSON `json:"entries"`
}

// A CommandLifecycleMessage reports that a user message which came with an id was queued, started,
// completed or cancelled.
//
//wire:message command_lifecycle
type CommandLifecycleMessage struct {
	raw string

	// CommandUUID is the id of the user message.
	CommandUUID string `json:"command_uuid" wire:"intern"`
	// State is the step that was reached.
	State     CommandState `json:"state" wire:"intern"`
	UUID      string       `json:"uuid"`                     // ID of this message
	SessionID string       `json:"session_id" wire:"intern"` // session that it belongs to
}

// A CommandState is a step in the handling of a user message.
type CommandState string

// The steps.
const (
	CommandStateQueued    CommandState = "queued"
	CommandStateStarted   CommandState = "started"
	CommandStateCompleted CommandState = "completed"
	CommandStateCanceled  CommandState = "cancelled"
)

// An AutocompactStateMessage is about automatic compaction. Its shape is not published; use Raw to
// read it.
//
//wire:message autocompact_state
//wire:open
type AutocompactStateMessage struct {
	raw string

	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A KeepAliveMessage reports that the agent is alive. It has neither id nor session id.
//
//wire:message keep_alive
type KeepAliveMessage struct {
	raw string

	// StartupMark names the point that the agent reached while it starts. It is set only if the
	// environment variable CLAUDE_CODE_SDK_READS_STARTUP_MARKS is set.
	StartupMark string `json:"startup_mark" wire:"intern"`
}

// A ControlRequestMessage asks the other side for something: the host asks the agent, or the agent
// its host.
//
//wire:message control_request
type ControlRequestMessage struct {
	raw string

	// RequestID is the ID that the answer and a cancellation refer to.
	RequestID string `json:"request_id"`
	// Request is empty if the agent sent something other than an object.
	Request ControlRequest `json:"request"`
}

// A ControlRequest is the body of a [ControlRequestMessage]: its subtype, and fields that depend on
// it, still JSON in [ControlRequest.Raw].
//
//wire:open
//wire:methods
type ControlRequest struct {
	raw string

	// Subtype names the request, such as "can_use_tool".
	Subtype string `json:"subtype" wire:"intern"`
}

// A ControlResponseMessage answers a [ControlRequestMessage].
//
//wire:message control_response
type ControlResponseMessage struct {
	raw string

	// Response is the answer with the id of the request.
	Response ControlResponse `json:"response" wire:"required"`
}

// A ControlResponse is the body of a [ControlResponseMessage].
type ControlResponse struct {
	raw string

	// Subtype is "success" or "error".
	Subtype string `json:"subtype" wire:"required,intern"`
	// RequestID is the id of the request that is answered.
	RequestID string `json:"request_id" wire:"required"`
	// Response is the answer; some successes have none.
	Response JSON `json:"response,omitzero"`
	// Error explains why the request failed, for people.
	Error string `json:"error,omitzero"`
	// ErrorCode is a word such as "unsupported_request", which stands for a request that the agent
	// does not know, or empty.
	ErrorCode string `json:"error_code,omitzero" wire:"intern"`

	// PendingPermissionRequests are the agent's requests of subtype can_use_tool that still wait
	// for an answer. The three pending lists come with the answer to initialize.
	PendingPermissionRequests []ControlRequestMessage `json:"pending_permission_requests,omitzero"`
	// PendingUserDialogRequests are the pending requests of subtype request_user_dialog.
	PendingUserDialogRequests []ControlRequestMessage `json:"pending_user_dialog_requests,omitzero"`
	// PendingElicitationRequests are the pending requests of subtype elicitation.
	PendingElicitationRequests []ControlRequestMessage `json:"pending_elicitation_requests,omitzero"`
}

// A ControlCancelRequestMessage withdraws a request. Nobody answers it.
//
//wire:message control_cancel_request
type ControlCancelRequestMessage struct {
	raw string

	// RequestID is the id of the request that is withdrawn.
	RequestID string `json:"request_id" wire:"required"`
}

// A RateLimitMessage reports the state of an account's usage limits. It comes when that changes.
//
//wire:message rate_limit_event
type RateLimitMessage struct {
	raw string

	// Info describes how the account stands.
	Info      RateLimitInfo `json:"rate_limit_info" wire:"required"`
	UUID      string        `json:"uuid"`                     // ID of this message
	SessionID string        `json:"session_id" wire:"intern"` // session that it belongs to
}

// RateLimitInfo describes how an account stands against one limit and against its overage, which is
// paid usage beyond the plan.
type RateLimitInfo struct {
	raw string

	// Status reports whether requests are still allowed.
	Status RateLimitStatus `json:"status" wire:"required,intern"`
	// ResetsAt is the time the limit resets, as a Unix time.
	ResetsAt int64 `json:"resetsAt,omitzero"`
	// Type is the limit, such as RateLimitFiveHour.
	Type RateLimitType `json:"rateLimitType,omitzero" wire:"intern"`
	// Utilization is the used part of the limit.
	Utilization float64 `json:"utilization,omitzero"`
	// SurpassedThreshold is the highest warning threshold that Utilization passed, or 0.
	SurpassedThreshold float64 `json:"surpassedThreshold,omitzero"`

	// OverageStatus reports whether overage is still allowed, or is empty.
	OverageStatus RateLimitStatus `json:"overageStatus,omitzero" wire:"intern"`
	// OverageResetsAt is the time the overage resets, as a Unix time, or 0.
	OverageResetsAt int64 `json:"overageResetsAt,omitzero"`
	// OverageDisabledReason explains why overage is off.
	OverageDisabledReason OverageDisabledReason `json:"overageDisabledReason,omitzero" wire:"intern"`
	// UsingOverage reports whether the limit is used up and the account continues with its overage.
	UsingOverage bool `json:"isUsingOverage,omitzero"`
	// OverageInUse is the API's own flag that overage is in use. Most frames leave it out.
	OverageInUse bool `json:"overageInUse,omitzero"`
	// OverageEnabled reports whether the account has overage turned on. The agent sends it only
	// with RateLimitAllowedWarning, so false can mean that it is not known.
	OverageEnabled bool `json:"overageEnabled,omitzero"`

	// Scope is the scope of the limit.
	Scope RateLimitScope `json:"limitScope,omitzero" wire:"intern"`
	// ErrorCode is "credits_required" or empty.
	ErrorCode string `json:"errorCode,omitzero" wire:"intern"`
	// CanUserPurchaseCredits reports whether the user can buy credits.
	CanUserPurchaseCredits bool `json:"canUserPurchaseCredits,omitzero"`
	// HasChargeableSavedPaymentMethod reports whether the account has a way to pay for them.
	HasChargeableSavedPaymentMethod bool `json:"hasChargeableSavedPaymentMethod,omitzero"`
}

// A RateLimitStatus reports whether requests are still allowed.
type RateLimitStatus string

// The standings against a limit.
const (
	RateLimitAllowed        RateLimitStatus = "allowed"
	RateLimitAllowedWarning RateLimitStatus = "allowed_warning"
	RateLimitRejected       RateLimitStatus = "rejected"
)

// A RateLimitType is the kind of a limit.
type RateLimitType string

// The limits.
const (
	RateLimitFiveHour                RateLimitType = "five_hour"
	RateLimitSevenDay                RateLimitType = "seven_day"
	RateLimitSevenDayOpus            RateLimitType = "seven_day_opus"
	RateLimitSevenDaySonnet          RateLimitType = "seven_day_sonnet"
	RateLimitSevenDayOverageIncluded RateLimitType = "seven_day_overage_included"
	RateLimitOverage                 RateLimitType = "overage"
)

// A RateLimitScope is the scope of a limit.
type RateLimitScope string

// The scopes of a limit.
const (
	RateLimitScopeService   RateLimitScope = "service"
	RateLimitScopeChannel   RateLimitScope = "channel"
	RateLimitScopeGroupPool RateLimitScope = "group_pool"
)

// An OverageDisabledReason explains why an account cannot go beyond its plan.
type OverageDisabledReason string

// The reasons.
const (
	OverageNotProvisioned           OverageDisabledReason = "overage_not_provisioned"
	OverageOrgLevelDisabled         OverageDisabledReason = "org_level_disabled"
	OverageOrgLevelDisabledUntil    OverageDisabledReason = "org_level_disabled_until"
	OverageOutOfCredits             OverageDisabledReason = "out_of_credits"
	OverageSeatTierLevelDisabled    OverageDisabledReason = "seat_tier_level_disabled"
	OverageMemberLevelDisabled      OverageDisabledReason = "member_level_disabled"
	OverageSeatTierZeroCreditLimit  OverageDisabledReason = "seat_tier_zero_credit_limit"
	OverageGroupZeroCreditLimit     OverageDisabledReason = "group_zero_credit_limit"
	OverageMemberZeroCreditLimit    OverageDisabledReason = "member_zero_credit_limit"
	OverageOrgServiceLevelDisabled  OverageDisabledReason = "org_service_level_disabled"
	OverageNoLimitsConfigured       OverageDisabledReason = "no_limits_configured"
	OverageDisabledByFetchError     OverageDisabledReason = "fetch_error"
	OverageDisabledForUnknownReason OverageDisabledReason = "unknown"
)

// A SessionKey names one transcript in a session store: a session's, or with a Subpath one below
// it, such as a subagent's.
type SessionKey struct {
	// Project is the name that the agent derives from the working directory, such as
	// "-home-dev-project".
	Project string
	// SessionID is the ID of the session.
	SessionID string
	// Subpath is a path with slashes, without an extension, such as "subagents/agent-1". It is
	// empty for the session's own transcript.
	Subpath string
}

// String returns the key as a path.
func (k SessionKey) String() string {
	if k.Subpath == "" {
		return k.Project + "/" + k.SessionID
	}
	return k.Project + "/" + k.SessionID + "/" + k.Subpath
}

// Check returns an error unless every part of the key can be the name of a file inside a directory.
// A key may come from an untrusted source, and must not name a file elsewhere.
func (k SessionKey) Check() error {
	for _, part := range []string{k.Project, k.SessionID} {
		if !fileName(part) {
			return fmt.Errorf("wire: %q can't be part of a session key", part)
		}
	}
	if k.Subpath == "" {
		return nil
	}
	for part := range strings.SplitSeq(k.Subpath, "/") {
		if !fileName(part) {
			return fmt.Errorf("wire: %q can't be the subpath of a session", k.Subpath)
		}
	}
	return nil
}

// fileName reports whether name is a file name on every system, and not a path.
func fileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:\x00") &&
		utf8.ValidString(name)
}

// ContextUsage describes the use of the context window.
type ContextUsage struct {
	raw string

	// Model is the model that the window belongs to.
	Model string `json:"model,omitzero" wire:"intern"`
	// TotalTokens is the number of tokens in use.
	TotalTokens int `json:"total_tokens,omitzero"`
	// RawMaxTokens is the size of the window, such as 200000.
	RawMaxTokens int `json:"raw_max_tokens,omitzero"`
	// Percentage is TotalTokens in percent of the window.
	Percentage float64 `json:"percentage,omitzero"`
	// OverLimit is nil if the context fits.
	OverLimit *ContextUsageOverLimit `json:"over_limit,omitzero"`
	// Categories split the window by use. The lists below have the details.
	Categories []ContextUsageCategory `json:"categories,omitzero"`
	// MCPTools lists the tools of MCP servers.
	MCPTools []ContextUsageMCPTool `json:"mcp_tools,omitzero"`
	// MemoryFiles lists files such as CLAUDE.md.
	MemoryFiles []ContextUsageMemoryFile `json:"memory_files,omitzero"`
	// Agents lists the kinds of subagents.
	Agents []ContextUsageAgent `json:"agents,omitzero"`
	// Skills lists the skills. Older agents leave it out.
	Skills []ContextUsageSkill `json:"skills,omitzero"`
}

// ContextUsageOverLimit says by how much the context is too long.
type ContextUsageOverLimit struct {
	raw string

	// TokensOver is the number of tokens above the limit.
	TokensOver int `json:"tokens_over,omitzero"`
	// Kind is hard_limit or compaction_window.
	Kind string `json:"kind,omitzero" wire:"intern"`
}

// A ContextUsageCategory is one part of the context window.
type ContextUsageCategory struct {
	raw string

	// Name is for people, such as "System prompt".
	Name string `json:"name,omitzero" wire:"intern"`
	// Tokens is the number of tokens in the category.
	Tokens int `json:"tokens,omitzero"`
	// Kind is used, free, buffer or deferred.
	Kind string `json:"kind,omitzero" wire:"intern"`
}

// A ContextUsageMCPTool is the context used by a tool of an MCP server.
type ContextUsageMCPTool struct {
	raw string

	// Name is the tool, such as "mcp__calc__add".
	Name string `json:"name,omitzero"`
	// ServerName is its MCP server.
	ServerName string `json:"server_name,omitzero" wire:"intern"`
	// Tokens is the size of the tool's definition.
	Tokens int `json:"tokens,omitzero"`
}

// A ContextUsageMemoryFile is the context used by a memory file.
type ContextUsageMemoryFile struct {
	raw string

	// Path is the path of the file.
	Path string `json:"path,omitzero"`
	// Type is the kind of memory file.
	Type string `json:"type,omitzero" wire:"intern"`
	// Tokens is the size of the file's text.
	Tokens int `json:"tokens,omitzero"`
}

// ContextUsageAgent is the context used by an agent's description.
type ContextUsageAgent struct {
	raw string

	// AgentType is the name of the agent, such as "general-purpose".
	AgentType string `json:"agent_type,omitzero" wire:"intern"`
	// Source is the origin of the agent's definition.
	Source string `json:"source,omitzero" wire:"intern"`
	// Tokens is the size of the description.
	Tokens int `json:"tokens,omitzero"`
}

// A ContextUsageSkill is the context used by a skill's description.
type ContextUsageSkill struct {
	raw string

	// Name is the name of the skill.
	Name string `json:"name,omitzero"`
	// Source is the origin of the skill's definition, such as "built-in".
	Source string `json:"source,omitzero" wire:"intern"`
	// PluginName is the plugin that the skill belongs to, or empty.
	PluginName string `json:"plugin_name,omitzero" wire:"intern"`
	// Tokens is the size of the description.
	Tokens int `json:"tokens,omitzero"`
}

// A UsageCommandOutput reports the cost of the session and the use of the limits. The agent calls
// it experimental.
type UsageCommandOutput struct {
	raw string

	// Session is the usage of this session.
	Session *SessionUsage `json:"session,omitzero"`
	// RateLimits are the limits of a subscription, or nil without one.
	RateLimits *UsageLimits `json:"rate_limits,omitzero"`
}

// UsageLimits are the limits of a subscription.
type UsageLimits struct {
	raw string

	// Limits are the limits and their use.
	Limits []UsageLimit `json:"limits,omitzero"`
	// ExtraUsage is the usage bought beyond the limits, or nil if the agent does not report it.
	ExtraUsage *ExtraUsage `json:"extra_usage,omitzero"`
}

// A UsageLimit is a limit and its use.
type UsageLimit struct {
	raw string

	// Kind is the kind of limit, and Group the group it belongs to.
	Kind  string `json:"kind,omitzero" wire:"intern"`
	Group string `json:"group,omitzero" wire:"intern"`
	// Percent is the used part, from 0 to 100.
	Percent float64 `json:"percent,omitzero"`
	// ResetsAt is the time the limit resets, as the agent writes it, or empty if that is unknown.
	ResetsAt string `json:"resets_at,omitzero"`
	// Scope is the scope of the limit, or nil for everything.
	Scope *UsageLimitScope `json:"scope,omitzero"`
	// Severity describes how close the limit is.
	Severity string `json:"severity,omitzero" wire:"intern"`
	// Active reports whether the limit counts now.
	Active bool `json:"is_active,omitzero"`
}

// A UsageLimitScope is the scope of a limit.
type UsageLimitScope struct {
	raw string

	// Model is the model, and Surface the program, or nil.
	Model   *UsageLimitName `json:"model,omitzero"`
	Surface *UsageLimitName `json:"surface,omitzero"`
}

// A UsageLimitName names what a limit is for.
type UsageLimitName struct {
	raw string

	// DisplayName is the name for people.
	DisplayName string `json:"display_name,omitzero"`
}

// ExtraUsage is the usage bought beyond the limits of a subscription. Numbers that are unknown are
// 0.
type ExtraUsage struct {
	raw string

	// Enabled reports whether the account may exceed its limits.
	Enabled bool `json:"is_enabled,omitzero"`
	// MonthlyLimit is the most that may be spent in a month, and UsedCredits what was spent.
	MonthlyLimit float64 `json:"monthly_limit,omitzero"`
	UsedCredits  float64 `json:"used_credits,omitzero"`
	// Utilization is the percentage of MonthlyLimit that is used.
	Utilization float64 `json:"utilization,omitzero"`
	// Currency is the currency of the amounts, such as "USD", or empty.
	Currency string `json:"currency,omitzero" wire:"intern"`
}

// SessionUsage is the usage of a session so far.
type SessionUsage struct {
	raw string

	// TotalCostUSD is the agent's estimate of the cost, in US dollars.
	TotalCostUSD float64 `json:"total_cost_usd,omitzero"`
	// TotalAPIDuration is the time spent in API calls.
	TotalAPIDuration Millis `json:"total_api_duration_ms,omitzero"`
	// TotalDuration is the time the session lasted.
	TotalDuration Millis `json:"total_duration_ms,omitzero"`
	// TotalLinesAdded is the number of lines the session added to files.
	TotalLinesAdded int `json:"total_lines_added,omitzero"`
	// TotalLinesRemoved is the number of lines the session removed from files.
	TotalLinesRemoved int `json:"total_lines_removed,omitzero"`
	// ModelUsage splits the usage by model.
	ModelUsage map[string]ModelUsage `json:"model_usage,omitzero"`
}
