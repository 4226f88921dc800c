package transcript

import (
	"encoding/json"
	"time"
)

// A CostState is the agent's own account of what a session has used. It writes one when its process ends in peace, or
// moves on to another session; it writes none when it is killed.
//
// A process that resumes a session goes on from the last account, and so does a fork that the agent makes, from that of
// the session that it was forked from. So of several accounts with the same Start the last one has it all, and those of
// forks have the beginning in common: [Reconcile] takes care of that. A fork that a program has made, as sessions.Fork
// does, begins an account of its own.
type CostState struct {
	SessionID string `json:"sessionId"`
	TotalCost Money  `json:"totalCost"`
	// Models are what was used of each model, by the name that the agent asked for. It may be an alias of the name that
	// the answers have.
	Models map[string]ModelState `json:"models"`
	// HasUnknownModelCost says that the agent did not know the price of a model. It counts such a model at the price of
	// its main model.
	HasUnknownModelCost bool `json:"hasUnknownModelCost,omitempty"`

	// Start is when the session began, and Duration how long it ran, pauses between processes left out.
	Start    time.Time     `json:"start,omitzero"`
	Duration time.Duration `json:"duration"`
	// APIDuration is the time of all calls of the model, and APIDurationWithoutRetries that of those that succeeded.
	APIDuration               time.Duration `json:"apiDuration"`
	APIDurationWithoutRetries time.Duration `json:"apiDurationWithoutRetries"`
	ToolDuration              time.Duration `json:"toolDuration"`

	LinesAdded   int `json:"linesAdded"`
	LinesRemoved int `json:"linesRemoved"`
}

// A ModelState is what was used of a model, by the agent's own account.
type ModelState struct {
	Usage UsageSum `json:"usage"`
	Cost  Money    `json:"cost"`
}

// costStateLine is a CostState as the agent writes it. Durations are milliseconds, and not always whole ones.
type costStateLine struct {
	SessionID                      string                `json:"sessionId"`
	TotalCostUSD                   Money                 `json:"totalCostUSD"`
	ModelUsage                     map[string]modelUsage `json:"modelUsage"`
	HasUnknownModelCost            bool                  `json:"hasUnknownModelCost"`
	StartTime                      float64               `json:"startTime"`
	TotalDuration                  float64               `json:"totalDuration"`
	TotalAPIDuration               float64               `json:"totalAPIDuration"`
	TotalAPIDurationWithoutRetries float64               `json:"totalAPIDurationWithoutRetries"`
	TotalToolDuration              float64               `json:"totalToolDuration"`
	TotalLinesAdded                int                   `json:"totalLinesAdded"`
	TotalLinesRemoved              int                   `json:"totalLinesRemoved"`
}

type modelUsage struct {
	InputTokens                         int   `json:"inputTokens"`
	OutputTokens                        int   `json:"outputTokens"`
	ThinkingTokens                      int   `json:"thinkingTokens"`
	CacheReadInputTokens                int   `json:"cacheReadInputTokens"`
	CacheCreationInputTokens            int   `json:"cacheCreationInputTokens"`
	CacheCreationEphemeral5mInputTokens int   `json:"cacheCreationEphemeral5mInputTokens"`
	CacheCreationEphemeral1hInputTokens int   `json:"cacheCreationEphemeral1hInputTokens"`
	WebSearchRequests                   int   `json:"webSearchRequests"`
	CostUSD                             Money `json:"costUSD"`
}

// CostStateOf reads an entry of type cost-state. It returns false for any other, and for one that cannot be read.
func CostStateOf(e *Entry) (CostState, bool) {
	var line costStateLine
	if e.Type != "cost-state" || json.Unmarshal(e.Raw, &line) != nil {
		return CostState{}, false
	}
	s := CostState{
		SessionID: line.SessionID, TotalCost: line.TotalCostUSD, Models: make(map[string]ModelState, len(line.ModelUsage)),
		HasUnknownModelCost: line.HasUnknownModelCost, Duration: milliseconds(line.TotalDuration),
		APIDuration: milliseconds(line.TotalAPIDuration), ToolDuration: milliseconds(line.TotalToolDuration),
		APIDurationWithoutRetries: milliseconds(line.TotalAPIDurationWithoutRetries),
		LinesAdded:                line.TotalLinesAdded, LinesRemoved: line.TotalLinesRemoved,
	}
	if line.StartTime > 0 && line.StartTime < maxMilliseconds {
		s.Start = time.UnixMilli(int64(line.StartTime)).UTC()
	}
	for name, u := range line.ModelUsage {
		s.Models[name] = ModelState{u.sum(), u.CostUSD}
	}
	return s, true
}

func (u *modelUsage) sum() UsageSum {
	return UsageSum{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ThinkingTokens: u.ThinkingTokens,
		CacheReadTokens: u.CacheReadInputTokens, CacheCreationTokens: u.CacheCreationInputTokens,
		CacheCreation5mTokens: u.CacheCreationEphemeral5mInputTokens,
		CacheCreation1hTokens: u.CacheCreationEphemeral1hInputTokens,
		WebSearches:           u.WebSearchRequests,
	}
}

// maxMilliseconds is more than anything lasts: some centuries.
const maxMilliseconds = 1e13

// milliseconds returns a duration, or 0 for one that nothing can last.
func milliseconds(n float64) time.Duration {
	if n < 0 || n > maxMilliseconds {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}
