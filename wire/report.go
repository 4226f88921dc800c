package wire

// ContextUsage tells how full the context window is, and with what.
type ContextUsage struct {
	raw string

	Model        string               `json:"model" wire:"intern"`
	TotalTokens  int                  `json:"total_tokens"`
	RawMaxTokens int                  `json:"raw_max_tokens"`
	Percentage   float64              `json:"percentage"`
	OverLimit    *ContextOverLimit    `json:"over_limit"`
	Categories   []ContextCategory    `json:"categories"`
	MCPTools     []ContextMCPTool     `json:"mcp_tools"`
	MemoryFiles  []ContextMemoryFile  `json:"memory_files"`
	Agents       []ContextAgentTokens `json:"agents"`
	Skills       []ContextSkill       `json:"skills"`
}

// ContextOverLimit tells by how much the context is too long.
type ContextOverLimit struct {
	raw string

	TokensOver int `json:"tokens_over"`
	// Kind is hard_limit or compaction_window.
	Kind string `json:"kind" wire:"intern"`
}

// A ContextCategory is one part of the context window.
type ContextCategory struct {
	raw string

	Name   string `json:"name" wire:"intern"`
	Tokens int    `json:"tokens"`
	// Kind is used, free, buffer or deferred.
	Kind string `json:"kind" wire:"intern"`
}

// A ContextMCPTool is what a tool of an MCP server takes of the context.
type ContextMCPTool struct {
	raw string

	Name       string `json:"name"`
	ServerName string `json:"server_name" wire:"intern"`
	Tokens     int    `json:"tokens"`
}

// A ContextMemoryFile is what a memory file takes of the context.
type ContextMemoryFile struct {
	raw string

	Path   string `json:"path"`
	Type   string `json:"type" wire:"intern"`
	Tokens int    `json:"tokens"`
}

// ContextAgentTokens is what an agent's description takes of the context.
type ContextAgentTokens struct {
	raw string

	AgentType string `json:"agent_type" wire:"intern"`
	Source    string `json:"source" wire:"intern"`
	Tokens    int    `json:"tokens"`
}

// A ContextSkill is what a skill's description takes of the context.
type ContextSkill struct {
	raw string

	Name       string `json:"name"`
	Source     string `json:"source" wire:"intern"`
	PluginName string `json:"plugin_name" wire:"intern"`
	Tokens     int    `json:"tokens"`
}

// A UsageReport tells what the session has cost and what is left of the limits.
type UsageReport struct {
	raw string

	Session    *SessionUsage `json:"session"`
	RateLimits JSON          `json:"rate_limits"`
}

// SessionUsage is what a session has used so far.
type SessionUsage struct {
	raw string

	TotalCostUSD      float64               `json:"total_cost_usd"`
	TotalAPIDuration  Millis                `json:"total_api_duration_ms"`
	TotalDuration     Millis                `json:"total_duration_ms"`
	TotalLinesAdded   int                   `json:"total_lines_added"`
	TotalLinesRemoved int                   `json:"total_lines_removed"`
	ModelUsage        map[string]ModelUsage `json:"model_usage"`
}
