package screens

import (
	"context"
	"time"

	"github.com/clewdev/clew/wire"
)

// AccountUsage returns the cost of the session so far and how much of a subscription's limits is
// used, as /usage shows it. Nil options leave out the behaviors. The makers of the agent call this
// answer experimental.
func AccountUsage(ctx context.Context, c Controller, opts *AccountUsageOptions) (*AccountReport, error) {
	request := usageRequest{SkipBehaviors: opts == nil || !opts.Behaviors}
	return ask[AccountReport](ctx, c, "get_usage", request)
}

// AccountUsageOptions configure [AccountUsage].
type AccountUsageOptions struct {
	// Behaviors also asks what the limits of a subscription were spent on. The agent reads all
	// transcripts of the last seven days for it, which can take seconds.
	Behaviors bool
}

type usageRequest struct {
	SkipBehaviors bool `json:"skip_behaviors,omitempty"`
}

// An AccountReport is the cost of a session and the state of a subscription's limits.
type AccountReport struct {
	// Session is the cost and the tokens of this session.
	Session wire.SessionUsage `json:"session"`
	// Subscription is the kind of subscription, such as pro or max. It is empty with an API key.
	Subscription string `json:"subscription_type"`
	// RateLimitsAvailable is false for an account without such limits, as with an API key.
	RateLimitsAvailable bool `json:"rate_limits_available"`
	// RateLimits is nil without limits, and when the agent could not read them.
	RateLimits *RateLimits `json:"rate_limits"`
	// Behaviors is nil without a subscription, unless [AccountUsageOptions.Behaviors] asks for it,
	// and when the agent finds none.
	Behaviors *UsageHistory `json:"behaviors"`
}

// RateLimits are the limits of a subscription. A limit that does not apply is nil.
type RateLimits struct {
	// FiveHour is the limit of the current five hours.
	FiveHour *RateLimit `json:"five_hour"`
	// SevenDay is the weekly limit.
	SevenDay *RateLimit `json:"seven_day"`
	// SevenDayOAuthApps is the weekly limit of other programs that use the account.
	SevenDayOAuthApps *RateLimit `json:"seven_day_oauth_apps"`
	// SevenDayOpus is the weekly limit of Opus models.
	SevenDayOpus *RateLimit `json:"seven_day_opus"`
	// SevenDaySonnet is the weekly limit of Sonnet models.
	SevenDaySonnet *RateLimit `json:"seven_day_sonnet"`
	// Models are weekly limits of single models.
	Models []ModelRateLimit `json:"model_scoped"`
	// ExtraUsage is the usage bought beyond the limits.
	ExtraUsage *ExtraUsage `json:"extra_usage"`
}

// A RateLimit is a limit and its use.
type RateLimit struct {
	// Utilization is a percentage, from 0 to 100, or nil if it is unknown.
	Utilization *float64 `json:"utilization"`
	// ResetsAt is the time the limit resets, or nil if it is unknown.
	ResetsAt *time.Time `json:"resets_at"`
}

// A ModelRateLimit is the weekly limit of one model.
type ModelRateLimit struct {
	// DisplayName is the name of the model for people.
	DisplayName string `json:"display_name"`
	RateLimit
}

// ExtraUsage is the usage bought beyond the limits. Numbers that are unknown are nil.
type ExtraUsage struct {
	// Enabled reports whether the account may exceed its limits.
	Enabled bool `json:"is_enabled"`
	// MonthlyLimit is the most that may be spent in a month.
	MonthlyLimit *float64 `json:"monthly_limit"`
	// UsedCredits is the amount spent this month.
	UsedCredits *float64 `json:"used_credits"`
	// Utilization is the percentage of MonthlyLimit that is used.
	Utilization *float64 `json:"utilization"`
	// Currency is the currency of the amounts, such as "USD".
	Currency string `json:"currency"`
}

// UsageHistory breaks down the use of the limits, according to the transcripts on this machine.
type UsageHistory struct {
	// Day covers the last 24 hours.
	Day UsagePeriod `json:"day"`
	// Week covers the last seven days.
	Week UsagePeriod `json:"week"`
}

// A UsagePeriod breaks down the use of the limits in a period. Its shares are percentages that
// overlap.
type UsagePeriod struct {
	// RequestCount is the number of requests to the API.
	RequestCount int `json:"request_count"`
	// SessionCount is the number of sessions.
	SessionCount int `json:"session_count"`

	// Behaviors are ways of working that cost much.
	Behaviors []UsageBehavior `json:"behaviors"`
	// Agents are the shares of subagents.
	Agents []UsageShare `json:"agents"`
	// Skills are the shares of skills.
	Skills []UsageShare `json:"skills"`
	// Plugins are the shares of plugins.
	Plugins []UsageShare `json:"plugins"`
	// MCPServers are the shares of MCP servers.
	MCPServers []UsageShare `json:"mcp_servers"`

	// Recommendations are changes that would save something, the largest share first.
	Recommendations []UsageRecommendation `json:"recommendations"`
	// Fix holds prompts that make these changes, or is nil if the session can't.
	Fix *UsageFix `json:"fix"`
}

// A UsageBehavior is a way of working that costs much.
type UsageBehavior struct {
	// Key is cache_miss, long_context, subagent_heavy, high_parallel, cron, max_effort, workflow,
	// always_on_context, large_tool_results or a newer one.
	Key string `json:"key"`
	// Percent is the share of the usage, from 0 to 100.
	Percent float64 `json:"pct"`
	// Count is the number of requests that were of this kind.
	Count int `json:"count"`
}

// A UsageShare is the usage of one thing, such as a skill.
type UsageShare struct {
	// Name is the name of the subagent, skill, plugin or MCP server.
	Name string `json:"name"`
	// Percent is the share of the usage, from 0 to 100.
	Percent float64 `json:"pct"`
}

// A UsageRecommendation is a change that would save something.
type UsageRecommendation struct {
	// Key is the key of a [UsageBehavior], or agent, skill, plugin or mcp_server.
	Key string `json:"key"`
	// Percent is the share of the usage that it is about, from 0 to 100.
	Percent float64 `json:"pct"`
	// Title describes the change.
	Title string `json:"title"`
	// Detail explains it.
	Detail string `json:"detail"`
}

// A UsageFix holds prompts that make the recommended changes.
type UsageFix struct {
	// Keys are the recommendations that the fix covers.
	Keys []string `json:"keys"`
	// Prompts are to be sent in this order.
	Prompts []string `json:"messages"`
}
