package transcript

// A UsageSum counts the tokens of several calls.
type UsageSum struct {
	InputTokens         int `json:"inputTokens"`
	OutputTokens        int `json:"outputTokens"`
	CacheReadTokens     int `json:"cacheReadTokens"`
	CacheCreationTokens int `json:"cacheCreationTokens"`

	// CacheCreation5mTokens and CacheCreation1hTokens are the parts of CacheCreationTokens by lifetime, as far as the
	// agent tells.
	CacheCreation5mTokens int `json:"cacheCreation5mTokens"`
	CacheCreation1hTokens int `json:"cacheCreation1hTokens"`
	// ThinkingTokens are a part of OutputTokens.
	ThinkingTokens int `json:"thinkingTokens"`
	WebSearches    int `json:"webSearches"`
	WebFetches     int `json:"webFetches"`
}

// TotalTokens returns all tokens that went in and came out, cached or not.
func (s UsageSum) TotalTokens() int {
	return s.InputTokens + s.OutputTokens + s.CacheReadTokens + s.CacheCreationTokens
}

// sumOf returns the counts of one call.
func sumOf(u *Usage) UsageSum {
	w := writesOf(u)
	return UsageSum{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
		CacheCreationTokens: w.all, CacheCreation5mTokens: w.fiveMinutes, CacheCreation1hTokens: w.oneHour,
		ThinkingTokens: u.ThinkingTokens, WebSearches: u.WebSearches, WebFetches: u.WebFetches,
	}
}

// plus returns the sum of s and n times o.
func (s UsageSum) plus(o UsageSum, n int) UsageSum {
	return UsageSum{
		InputTokens:           s.InputTokens + n*o.InputTokens,
		OutputTokens:          s.OutputTokens + n*o.OutputTokens,
		CacheReadTokens:       s.CacheReadTokens + n*o.CacheReadTokens,
		CacheCreationTokens:   s.CacheCreationTokens + n*o.CacheCreationTokens,
		CacheCreation5mTokens: s.CacheCreation5mTokens + n*o.CacheCreation5mTokens,
		CacheCreation1hTokens: s.CacheCreation1hTokens + n*o.CacheCreation1hTokens,
		ThinkingTokens:        s.ThinkingTokens + n*o.ThinkingTokens,
		WebSearches:           s.WebSearches + n*o.WebSearches,
		WebFetches:            s.WebFetches + n*o.WebFetches,
	}
}

// cacheWrites are tokens written to the cache, by lifetime.
type cacheWrites struct{ all, fiveMinutes, oneHour int }

// writesOf reads the counts as the agent does: parts are cut to the whole, and are the whole where that is missing.
func writesOf(u *Usage) cacheWrites {
	five, hour := max(u.CacheCreation5mTokens, 0), max(u.CacheCreation1hTokens, 0)
	all := u.CacheCreationTokens
	if all <= 0 {
		all = five + hour
	}
	hour = min(hour, all)
	return cacheWrites{all, min(five, all-hour), hour}
}
