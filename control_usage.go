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

// ContextUsage returns how full the context window is, and with what. The agent has the API count the tokens of each
// category, which takes a moment: see [Session.ContextSummary].
func (s *Session) ContextUsage(ctx context.Context) (*ContextReport, error) {
	return call[ContextReport](ctx, s, "get_context_usage", contextRequest{"full"})
}

// ContextSummary returns what [Session.ContextUsage] does, from estimates and the usage that the API has reported last.
func (s *Session) ContextSummary(ctx context.Context) (*ContextReport, error) {
	return call[ContextReport](ctx, s, "get_context_usage", contextRequest{"summary"})
}

type contextRequest struct {
	Detail string `json:"detail"`
}

// A ContextReport tells how full the context window is, and with what.
type ContextReport struct {
	Model       string `json:"model"`
	TotalTokens int    `json:"totalTokens"`
	// MaxTokens is how many tokens the session may use, RawMaxTokens how many the model has.
	MaxTokens    int     `json:"maxTokens"`
	RawMaxTokens int     `json:"rawMaxTokens"`
	Percentage   float64 `json:"percentage"`

	AutoCompactEnabled bool `json:"isAutoCompactEnabled"`
	// AutoCompactThreshold is how many tokens start a compaction, or 0 if it is not known.
	AutoCompactThreshold int    `json:"autoCompactThreshold"`
	AutoCompactSource    string `json:"autocompactSource"`

	// Categories divide the window. The lists below say what some of them consist of.
	Categories           []ContextCategory        `json:"categories"`
	SystemPromptSections []ContextItem            `json:"systemPromptSections"`
	SystemTools          []ContextItem            `json:"systemTools"`
	DeferredBuiltinTools []ContextTool            `json:"deferredBuiltinTools"`
	MCPTools             []ContextTool            `json:"mcpTools"`
	MCPInstructions      []ContextMCPServer       `json:"mcpInstructions"`
	MemoryFiles          []wire.ContextMemoryFile `json:"memoryFiles"`
	Agents               []ContextAgent           `json:"agents"`
	SlashCommands        *ContextCommands         `json:"slashCommands"`
	Skills               *ContextSkills           `json:"skills"`
	Messages             *ContextMessages         `json:"messageBreakdown"`

	// APIUsage is the usage of the last call of the API, or nil before it.
	APIUsage *wire.Usage `json:"apiUsage"`
	// Grid is the window as rows of squares, as the agent's own screen draws it.
	Grid [][]ContextSquare `json:"gridRows"`
}

// A ContextCategory is one part of the context window.
type ContextCategory struct {
	// ID names the category, such as system_prompt or free_space, and Name does so for people.
	ID     string `json:"id"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	// Kind is used, free, buffer for what is kept for a compaction, or deferred for what is outside of the window.
	Kind string `json:"kind"`
	// Color is a colour of the agent's own theme.
	Color string `json:"color"`
}

// A ContextItem is what one thing takes of the context.
type ContextItem struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// A ContextTool is what a tool takes of the context.
type ContextTool struct {
	Name string `json:"name"`
	// ServerName is empty for a tool of the agent itself. It may differ from the configured name in its punctuation.
	ServerName string `json:"serverName"`
	Tokens     int    `json:"tokens"`
	// Loaded is false for a tool that the model has to look up first. Nil means that it need not.
	Loaded *bool `json:"isLoaded"`
}

// A ContextMCPServer is what the instructions of an MCP server take of the context.
type ContextMCPServer struct {
	ServerName string `json:"serverName"`
	Tokens     int    `json:"tokens"`
}

// A ContextAgent is what the description of a subagent takes of the context.
type ContextAgent struct {
	AgentType string `json:"agentType"`
	Source    string `json:"source"`
	PluginID  string `json:"pluginId"`
	// Path is the file of the subagent, if it has one.
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// ContextCommands is what the slash commands take of the context.
type ContextCommands struct {
	Total    int `json:"totalCommands"`
	Included int `json:"includedCommands"`
	Tokens   int `json:"tokens"`
}

// ContextSkills is what the descriptions of the skills take of the context.
type ContextSkills struct {
	Total    int            `json:"totalSkills"`
	Included int            `json:"includedSkills"`
	Tokens   int            `json:"tokens"`
	Skills   []ContextSkill `json:"skillFrontmatter"`
}

// A ContextSkill is what the description of one skill takes of the context.
type ContextSkill struct {
	Name       string `json:"name"`
	Source     string `json:"source"`
	PluginName string `json:"pluginName"`
	PluginID   string `json:"pluginId"`
	// Path is the file of the skill, if it has one.
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// ContextMessages is what the conversation takes of the context.
type ContextMessages struct {
	UserTokens              int `json:"userMessageTokens"`
	AssistantTokens         int `json:"assistantMessageTokens"`
	ToolCallTokens          int `json:"toolCallTokens"`
	ToolResultTokens        int `json:"toolResultTokens"`
	AttachmentTokens        int `json:"attachmentTokens"`
	RedirectedContextTokens int `json:"redirectedContextTokens"`
	UnattributedTokens      int `json:"unattributedTokens"`

	Tools       []ContextToolCalls `json:"toolCallsByType"`
	Attachments []ContextItem      `json:"attachmentsByType"`
}

// ContextToolCalls is what the calls of one tool take of the context, and their results.
type ContextToolCalls struct {
	Name         string `json:"name"`
	CallTokens   int    `json:"callTokens"`
	ResultTokens int    `json:"resultTokens"`
}

// A ContextSquare is one square of a [ContextReport.Grid]: a share of the window.
type ContextSquare struct {
	Category string `json:"categoryName"`
	Color    string `json:"color"`
	Filled   bool   `json:"isFilled"`
	// Fullness is how much of the square is used, from 0 to 1.
	Fullness float64 `json:"squareFullness"`
	// Tokens and Percentage are those of the whole category.
	Tokens     int     `json:"tokens"`
	Percentage float64 `json:"percentage"`
}
