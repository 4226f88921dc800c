package wire

import (
	"math"
	"time"
)

// Millis is a duration as the wire gives it: a number of milliseconds, which
// may have a fraction.
type Millis float64

// Duration returns m as a time.Duration, or the longest there is if m is longer.
func (m Millis) Duration() time.Duration {
	ns := float64(m) * float64(time.Millisecond)
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

// A Role says who speaks in an API message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// A StopReason says why the model stopped. It is empty on the assistant
// messages of a stream: the reason comes with the result.
type StopReason string

// The stop reasons of the API.
const (
	StopReasonEndTurn               StopReason = "end_turn"
	StopReasonMaxTokens             StopReason = "max_tokens"
	StopReasonStopSequence          StopReason = "stop_sequence"
	StopReasonToolUse               StopReason = "tool_use"
	StopReasonPauseTurn             StopReason = "pause_turn"
	StopReasonCompaction            StopReason = "compaction"
	StopReasonRefusal               StopReason = "refusal"
	StopReasonContextWindowExceeded StopReason = "model_context_window_exceeded"
)

// An AssistantError says what went wrong when an assistant message stands for a
// failed API call.
type AssistantError string

// The errors that the agent reports.
const (
	AssistantErrorAuthenticationFailed AssistantError = "authentication_failed"
	AssistantErrorOAuthOrgNotAllowed   AssistantError = "oauth_org_not_allowed"
	AssistantErrorAccountOnHold        AssistantError = "account_on_hold"
	AssistantErrorVerificationRequired AssistantError = "verification_required"
	AssistantErrorBilling              AssistantError = "billing_error"
	AssistantErrorRateLimit            AssistantError = "rate_limit"
	AssistantErrorOverloaded           AssistantError = "overloaded"
	AssistantErrorInvalidRequest       AssistantError = "invalid_request"
	AssistantErrorModelNotFound        AssistantError = "model_not_found"
	AssistantErrorServer               AssistantError = "server_error"
	AssistantErrorUnknown              AssistantError = "unknown"
	AssistantErrorMaxOutputTokens      AssistantError = "max_output_tokens"
	AssistantErrorCloudCredential      AssistantError = "cloud_credential_error"
)

// A PermissionMode is how the agent decides whether a tool may run.
type PermissionMode string

// The permission modes.
const (
	PermissionModeDefault           PermissionMode = "default"
	PermissionModeAcceptEdits       PermissionMode = "acceptEdits"
	PermissionModeBypassPermissions PermissionMode = "bypassPermissions"
	PermissionModePlan              PermissionMode = "plan"
	PermissionModeDontAsk           PermissionMode = "dontAsk"
	PermissionModeAuto              PermissionMode = "auto"
)

// A FastModeState says whether fast mode is on.
type FastModeState string

// The states of fast mode.
const (
	FastModeStateOff      FastModeState = "off"
	FastModeStateCooldown FastModeState = "cooldown"
	FastModeStateOn       FastModeState = "on"
)

// A FastModeDisabledReason says why fast mode cannot be turned on.
type FastModeDisabledReason string

// The reasons for fast mode being out of reach.
const (
	FastModeDisabledFree               FastModeDisabledReason = "free"
	FastModeDisabledPreference         FastModeDisabledReason = "preference"
	FastModeDisabledExtraUsageDisabled FastModeDisabledReason = "extra_usage_disabled"
	FastModeDisabledNetworkError       FastModeDisabledReason = "network_error"
	FastModeDisabledUnknown            FastModeDisabledReason = "unknown"
	FastModeDisabledNotFirstParty      FastModeDisabledReason = "not_first_party"
	FastModeDisabledByEnv              FastModeDisabledReason = "disabled_by_env"
	FastModeDisabledModelNotAllowed    FastModeDisabledReason = "model_not_allowed"
	FastModeDisabledSDKOptInRequired   FastModeDisabledReason = "sdk_opt_in_required"
	FastModeDisabledPending            FastModeDisabledReason = "pending"
)
