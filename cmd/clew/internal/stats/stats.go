// Package stats reports the usage of all sessions in groups, as "clew stats" prints it and the page of usage draws it. It
// does no I/O.
//
// A [Report] counts answers, and a [ToolReport] tool calls. The costs of tools are estimates, which are shown with
// a "~": see [usage.Prices.EstimatedCost].
package stats

import (
	"time"

	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// minSpan is the time for which a block must be used before its rate is meaningful.
const minSpan = 10 * time.Minute

// HasRate reports whether the rate of a block is known.
func HasRate(b *usage.FiveHourBlock) bool { return b.Burn != nil && b.Last.Sub(b.First) >= minSpan }

// Active returns the current block, or nil.
func (r *Report) Active() *usage.FiveHourBlock {
	for i := range r.Blocks {
		if r.Blocks[i].Active {
			return &r.Blocks[i]
		}
	}
	return nil
}

// Limits describes the limits that were reached and are not reset yet, for a report by block.
func (r *Report) Limits() (texts []string) {
	for _, l := range openLimits(r.limits, r.Now) {
		texts = append(texts, limitName(&l)+" reached (resets "+wording.Clock(l.ResetsAt, r.Now.In(r.Zone))+")")
	}
	return texts
}

// openLimits returns the limits that were reached and are not reset yet: for each type the limit
// with the last reset, in the order in which they were reached.
func openLimits(limits []sessions.ReachedLimit, now time.Time) (open []sessions.ReachedLimit) {
	latest := map[wire.RateLimitType]time.Time{}
	for i := range limits {
		l := &limits[i]
		if l.ResetsAt.After(now) && l.ResetsAt.After(latest[l.Type]) {
			latest[l.Type] = l.ResetsAt
		}
	}
	for i := range limits {
		l := &limits[i]
		if at, ok := latest[l.Type]; ok && at.Equal(l.ResetsAt) {
			open = append(open, *l)
			delete(latest, l.Type)
		}
	}
	return open
}

// limitName returns the name of a limit for people.
func limitName(l *sessions.ReachedLimit) string {
	switch l.Type {
	case wire.RateLimitFiveHour:
		return "five-hour limit"
	case wire.RateLimitSevenDay, wire.RateLimitSevenDayOverageIncluded:
		return "weekly limit"
	case wire.RateLimitSevenDayOpus:
		return "weekly limit of Opus"
	case wire.RateLimitSevenDaySonnet:
		return "weekly limit of Sonnet"
	case wire.RateLimitOverage:
		return "limit of extra usage"
	}
	return "usage limit"
}
