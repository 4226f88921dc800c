package clew

// A SetupInput tells that the agent sets itself up.
type SetupInput struct {
	HookBase
	// Trigger is init or maintenance.
	Trigger string `json:"trigger"`
}

// A SessionStartInput tells that a session begins or goes on.
type SessionStartInput struct {
	HookBase
	// Source is startup, resume, clear, compact or fork.
	Source       string `json:"source"`
	Model        string `json:"model"`
	SessionTitle string `json:"session_title"`

	// These are about what it takes to go on with an old session.
	SecondsSinceLastResponse float64 `json:"seconds_since_last_response"`
	ContextTokens            int     `json:"context_tokens"`
	PromptCacheLikelyExpired bool    `json:"prompt_cache_likely_expired"`
	EstimatedCacheWriteUSD   float64 `json:"estimated_cache_write_usd"`
}

// A SessionEndInput tells that a session ends.
type SessionEndInput struct {
	HookBase
	// Reason is clear, resume, logout, prompt_input_exit or other.
	Reason string `json:"reason"`
}

// A PreCompactInput tells that the conversation is about to be compacted.
type PreCompactInput struct {
	HookBase
	// Trigger is manual or auto.
	Trigger            string `json:"trigger"`
	CustomInstructions string `json:"custom_instructions"`
}

// A PostCompactInput tells that the conversation was compacted.
type PostCompactInput struct {
	HookBase
	// Trigger is manual or auto.
	Trigger        string `json:"trigger"`
	CompactSummary string `json:"compact_summary"`
}

// A PreModelSwitchInput tells that the session is about to go on with another model.
type PreModelSwitchInput struct {
	HookBase
	ModelSwitch
}

// A PostModelSwitchInput tells that the session goes on with another model.
type PostModelSwitchInput struct {
	HookBase
	ModelSwitch
}

// A ModelSwitch is a change of the model, and what it costs.
type ModelSwitch struct {
	FromModel string `json:"from_model"`
	ToModel   string `json:"to_model"`
	// RequestedModel is the name that was asked for, or empty.
	RequestedModel string `json:"requested_model"`
	// Source is command, picker, sdk, auto or resume.
	Source          string `json:"source"`
	ContextTokens   int    `json:"context_tokens"`
	PromptCacheWarm bool   `json:"prompt_cache_warm"`
	// CacheTTL is 5m or 1h.
	CacheTTL               string  `json:"cache_ttl"`
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`
	// Pricing says what the estimate rests on: configured, catalog or default.
	Pricing string `json:"pricing"`
}
