package statusline

import (
	"time"

	"github.com/clewdev/clew/settings"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// Example returns a view that has most values, to show what a format looks like.
func Example(now time.Time) *View {
	limit := func(used float64, in time.Duration) *settings.StatusLimit {
		return &settings.StatusLimit{UsedPercentage: &used, ResetsAt: now.Add(in).Unix()}
	}
	used, cost, hits := 42.0, 1.23, 0.93
	amount := func(cents usage.Money) Amount { return Amount{Cost: cents * usage.Dollar / 100} }
	return &View{
		Now: now, Branch: "main",
		Input: settings.StatusLineInput{
			SessionName: "limits", Version: "2.1.325", TranscriptPath: "/home/me/.claude/projects/-home-me-shop/x.jsonl",
			Model:     settings.StatusModel{DisplayName: "Opus 5.5"},
			Effort:    &settings.StatusEffort{Level: wire.EffortHigh},
			Workspace: settings.StatusWorkspace{CurrentDir: "/home/me/shop"},
			Cost: &settings.StatusCost{
				TotalCostUSD: &cost, TotalDurationMS: (90 * time.Minute).Milliseconds(), TotalLinesAdded: 120, TotalLinesRemoved: 33,
			},
			ContextWindow: &settings.StatusContextWindow{UsedPercentage: &used},
			PromptCache:   &settings.StatusPromptCache{Warm: true, CachingObserved: true, HitRatio: &hits},
			RateLimits: &settings.StatusRateLimits{
				FiveHour: limit(23, 2*time.Hour+14*time.Minute), SevenDay: limit(71, 76*time.Hour),
			},
			PullRequest: &settings.StatusPullRequest{Number: 12, ReviewState: "approved"},
		},
		Facts: &Facts{
			Version: version, Time: now, Day: now.Format(time.DateOnly), Today: amount(840),
			Projects: map[string]Amount{"-home-me-shop": amount(310)},
			Block:    &Block{now.Add(-3 * time.Hour), now.Add(2 * time.Hour), amount(390)},
		},
	}
}
