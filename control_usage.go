package clew

import (
	"context"
	"time"

	"github.com/clewdev/clew/wire"
)

// Usage returns what the session has cost so far, and how much of a subscription's limits is used. The agent calls what
// it answers experimental.
func (s *Session) Usage(ctx context.Context) (*UsageOverview, error) {
	return call[UsageOverview](ctx, s, "get_usage", usageRequest{SkipBehaviors: true})
}

// UsageBehaviors returns what [Session.Usage] does, and for a subscription also what its limits were spent on. The
// agent reads all transcripts of the last seven days for it.
func (s *Session) UsageBehaviors(ctx context.Context) (*UsageOverview, error) {
	return call[UsageOverview](ctx, s, "get_usage", usageRequest{})
}

type usageRequest struct {
	SkipBehaviors bool `json:"skip_behaviors,omitempty"`
}

// A UsageOverview tells what a session has cost, and what is used of the limits of a subscription.
type UsageOverview struct {
	Session wire.SessionUsage `json:"session"`
	// Subscription is the kind of subscription, such as pro or max. It is empty with an API key.
	Subscription string `json:"subscription_type"`
	// RateLimitsAvailable is false where there are no such limits, as with an API key.
	RateLimitsAvailable bool `json:"rate_limits_available"`
	// RateLimits is nil without limits, and when they could not be read.
	RateLimits *RateLimits `json:"rate_limits"`
	// Behaviors is nil without a subscription, and when they were not asked for or not found.
	Behaviors *UsageHistory `json:"behaviors"`
}

// RateLimits tell what is used of the limits of a subscription. A limit that does not apply is nil.
type RateLimits struct {
	FiveHour          *RateLimit `json:"five_hour"`
	SevenDay          *RateLimit `json:"seven_day"`
	SevenDayOAuthApps *RateLimit `json:"seven_day_oauth_apps"`
	SevenDayOpus      *RateLimit `json:"seven_day_opus"`
	SevenDaySonnet    *RateLimit `json:"seven_day_sonnet"`
	// Models are weekly limits of single models.
	Models     []ModelRateLimit `json:"model_scoped"`
	ExtraUsage *ExtraUsage      `json:"extra_usage"`
}

// A RateLimit is how much of a limit is used.
type RateLimit struct {
	// Utilization is a percentage, from 0 to 100, or nil if it is not known.
	Utilization *float64 `json:"utilization"`
	// ResetsAt is when the limit starts anew, or nil if it is not known.
	ResetsAt *time.Time `json:"resets_at"`
}

// A ModelRateLimit is the weekly limit of one model.
type ModelRateLimit struct {
	DisplayName string `json:"display_name"`
	RateLimit
}

// ExtraUsage is what was bought beyond the limits. Numbers that are not known are nil.
type ExtraUsage struct {
	Enabled      bool     `json:"is_enabled"`
	MonthlyLimit *float64 `json:"monthly_limit"`
	UsedCredits  *float64 `json:"used_credits"`
	Utilization  *float64 `json:"utilization"`
	Currency     string   `json:"currency"`
}

// UsageHistory tells what the limits were spent on, by the transcripts on this machine.
type UsageHistory struct {
	// Day are the last 24 hours, Week the last seven days.
	Day  UsagePeriod `json:"day"`
	Week UsagePeriod `json:"week"`
}

// A UsagePeriod tells what the limits were spent on in some time. Its shares are percentages that overlap.
type UsagePeriod struct {
	RequestCount int `json:"request_count"`
	SessionCount int `json:"session_count"`

	Behaviors  []UsageBehavior `json:"behaviors"`
	Agents     []UsageShare    `json:"agents"`
	Skills     []UsageShare    `json:"skills"`
	Plugins    []UsageShare    `json:"plugins"`
	MCPServers []UsageShare    `json:"mcp_servers"`

	// Recommendations say what to change, the largest share first.
	Recommendations []UsageRecommendation `json:"recommendations"`
	// Fix is what would make the changes, or nil if the session can't.
	Fix *UsageFix `json:"fix"`
}

// A UsageBehavior is a way of working that costs much.
type UsageBehavior struct {
	// Key is cache_miss, long_context, subagent_heavy, high_parallel, cron, max_effort, workflow, always_on_context,
	// large_tool_results or a newer one.
	Key     string  `json:"key"`
	Percent float64 `json:"pct"`
	// Count is how many requests were of that kind.
	Count int `json:"count"`
}

// A UsageShare is what one thing, such as a skill, has used.
type UsageShare struct {
	Name    string  `json:"name"`
	Percent float64 `json:"pct"`
}

// A UsageRecommendation is a change that would save something.
type UsageRecommendation struct {
	// Key is that of a [UsageBehavior], or agent, skill, plugin or mcp_server.
	Key     string  `json:"key"`
	Percent float64 `json:"pct"`
	Title   string  `json:"title"`
	Detail  string  `json:"detail"`
}

// A UsageFix is prompts that make the recommended changes, to be sent in their order.
type UsageFix struct {
	// Keys are the recommendations that it covers.
	Keys    []string `json:"keys"`
	Prompts []string `json:"messages"`
}

// SessionCost returns what the session has cost so far, as several lines for people.
func (s *Session) SessionCost(ctx context.Context) (string, error) {
	answer, err := call[sessionCostAnswer](ctx, s, "get_session_cost", nil)
	if err != nil {
		return "", err
	}
	return answer.Text, nil
}

type sessionCostAnswer struct {
	Text string `json:"text"`
}
