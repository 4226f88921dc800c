package wire

// Usage counts the tokens of one API call, or of one turn when it comes with a
// result. Frames that share an API message repeat its usage: count it once per
// [APIMessage.ID].
type Usage struct {
	raw string

	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`

	// CacheCreation splits CacheCreationInputTokens by lifetime.
	CacheCreation       *CacheCreation       `json:"cache_creation"`
	ServerToolUse       *ServerToolUsage     `json:"server_tool_use"`
	OutputTokensDetails *OutputTokensDetails `json:"output_tokens_details"`

	ServiceTier  string `json:"service_tier" wire:"intern"`
	Speed        string `json:"speed" wire:"intern"`
	InferenceGeo string `json:"inference_geo" wire:"intern"`

	// Iterations splits the call into the samplings that it consisted of.
	Iterations     []UsageIteration `json:"iterations"`
	FallbackCredit JSON             `json:"fallback_credit"`
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

	Ephemeral5mInputTokens int `json:"ephemeral_5m_input_tokens"`
	Ephemeral1hInputTokens int `json:"ephemeral_1h_input_tokens"`
}

// ServerToolUsage counts the calls of tools that run at the API.
type ServerToolUsage struct {
	raw string

	WebSearchRequests int `json:"web_search_requests"`
	WebFetchRequests  int `json:"web_fetch_requests"`
}

// OutputTokensDetails tells what the output tokens were spent on.
type OutputTokensDetails struct {
	raw string

	ThinkingTokens int `json:"thinking_tokens"`
}

// A UsageIteration is the usage of one sampling inside a call.
type UsageIteration struct {
	raw string

	// Type is message, compaction, advisor_message or fallback_message.
	Type                     string         `json:"type" wire:"intern"`
	Model                    string         `json:"model" wire:"intern"`
	InputTokens              int            `json:"input_tokens"`
	OutputTokens             int            `json:"output_tokens"`
	CacheCreationInputTokens int            `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int            `json:"cache_read_input_tokens"`
	CacheCreation            *CacheCreation `json:"cache_creation"`
}

// ModelUsage is what a session has used of one model, all calls of the agent
// included.
type ModelUsage struct {
	raw string

	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
	WebSearchRequests        int     `json:"webSearchRequests"`
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	MaxOutputTokens          int     `json:"maxOutputTokens"`

	// ThinkingTokens are a part of OutputTokens.
	ThinkingTokens int `json:"thinkingTokens"`
	// The two ephemeral counters are parts of CacheCreationInputTokens.
	CacheCreationEphemeral5mInputTokens int `json:"cacheCreationEphemeral5mInputTokens"`
	CacheCreationEphemeral1hInputTokens int `json:"cacheCreationEphemeral1hInputTokens"`

	CanonicalModel string `json:"canonicalModel" wire:"intern"`
	Provider       string `json:"provider" wire:"intern"`
	// CostBasis is list, managed or unknown.
	CostBasis string `json:"costBasis" wire:"intern"`
}
