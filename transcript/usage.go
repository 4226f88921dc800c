package transcript

// Usage counts the tokens of one answer of the model.
type Usage struct {
	InputTokens         int
	OutputTokens        int
	CacheReadTokens     int
	CacheCreationTokens int

	// CacheCreation5mTokens and CacheCreation1hTokens are the parts of CacheCreationTokens by lifetime, as far as the
	// agent tells.
	CacheCreation5mTokens int
	CacheCreation1hTokens int
	// ThinkingTokens are a part of OutputTokens.
	ThinkingTokens int
	WebSearches    int
	WebFetches     int
	// Fast says that the answer was given in fast mode.
	Fast bool
	// InferenceUS says that the answer was computed in the US only, as was asked for. That costs more.
	InferenceUS bool
	// ServiceTier is standard, priority, batch or another word.
	ServiceTier string
}

// TotalTokens returns all tokens that went in and came out, cached or not. It is 0 for nil.
func (u *Usage) TotalTokens() int {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens + u.CacheReadTokens + u.CacheCreationTokens
}

// ContextTokens returns how much of the model's context the call took: all that went in. It is 0 for nil.
func (u *Usage) ContextTokens() int {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.CacheReadTokens + u.CacheCreationTokens
}
