package contest

// Totals is what a program prints that adds up the usage of all sessions.
type Totals struct {
	Totals struct {
		Input      int `json:"inputTokens"`
		Output     int `json:"outputTokens"`
		CacheWrite int `json:"cacheCreationTokens"`
		CacheRead  int `json:"cacheReadTokens"`
	} `json:"totals"`
}
