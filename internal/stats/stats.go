// Package stats counts the tools, block rates and reached limits of all sessions, for the terminal
// and the web viewer. Package usage counts the rest. It is pure.
//
// The costs of tools are estimates, which are shown with a "~": see [usage.Prices.EstimatedCost].
package stats

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A ToolRow has the sums of a tool. Server is set for tools of MCP servers, if these are counted.
type ToolRow struct {
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool"`
	ToolSums
}

// ToolSums are sums over tool calls.
type ToolSums struct {
	Calls         int         `json:"calls"`
	Failed        int         `json:"failed"`
	InputTokens   int         `json:"inputTokens"`
	ResultTokens  int         `json:"resultTokens"`
	EstimatedCost usage.Money `json:"estimatedCost"`
	// UnknownCost means that the cost lacks calls to models without a known price.
	UnknownCost bool `json:"unknownCost"`
}

// Cost returns the estimate of the cost as users read it.
func (s *ToolSums) Cost() wording.Cost {
	return wording.Cost{Amount: s.EstimatedCost, Partial: s.UnknownCost, Estimated: true}
}

// Add adds other sums.
func (s *ToolSums) Add(o ToolSums) {
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.InputTokens += o.InputTokens
	s.ResultTokens += o.ResultTokens
	s.EstimatedCost += o.EstimatedCost
	s.UnknownCost = s.UnknownCost || o.UnknownCost
}

// Compare returns less than 0 if s comes before o in an order: answers, tokens or "", which means
// cost. It returns 0 if the names decide.
func (s *ToolSums) Compare(o *ToolSums, order string) int {
	tokens := cmp.Compare(o.InputTokens+o.ResultTokens, s.InputTokens+s.ResultTokens)
	switch order {
	case "name":
		return 0
	case "answers":
		return cmp.Compare(o.Calls, s.Calls)
	case "tokens":
		return tokens
	}
	return cmp.Or(cmp.Compare(o.EstimatedCost, s.EstimatedCost), tokens)
}

// SumsOf returns the sums of one call.
func SumsOf(c *usage.ToolCall, prices usage.Prices) ToolSums {
	s := ToolSums{Calls: 1, InputTokens: c.InputTokens, ResultTokens: c.ResultTokens}
	cost, known := prices.EstimatedCost(c)
	s.EstimatedCost, s.UnknownCost = cost, !known
	if c.Failed {
		s.Failed = 1
	}
	return s
}

// CountTools adds up the calls that are not before since and before until; a zero time means no limit.
// With servers set it counts the tools of MCP servers alone, by server. The rows are in no order.
func CountTools(
	calls []usage.ToolCall, since, until time.Time, prices usage.Prices, servers bool,
) (rows []ToolRow, total ToolSums) {
	sums, models := map[ToolRow]*ToolSums{}, map[string]string{}
	for i := range calls {
		c := &calls[i]
		if c.Time.Before(since) || !until.IsZero() && !c.Time.Before(until) {
			continue
		}
		row := ToolRow{Tool: c.Name}
		if server, tool, ok := c.MCP(); ok && servers {
			row.Server, row.Tool = server, tool
		} else if servers {
			continue
		}
		if sums[row] == nil {
			sums[row] = new(ToolSums)
		}
		if models[c.Model] == "" {
			models[c.Model] = prices.Name(c.Model)
		}
		c.Model = models[c.Model]
		one := SumsOf(c, prices)
		sums[row].Add(one)
		total.Add(one)
	}
	rows = []ToolRow{}
	for row, s := range sums {
		row.ToolSums = *s
		rows = append(rows, row)
	}
	return rows, total
}

// ToolCostRemark explains the costs of tools.
const ToolCostRemark = "~ estimated from the length of inputs, as output, and of results, as one cache write; " +
	"what later answers read again is not included"

// LeastSpan is the time for which a block must be used before its rate is meaningful.
const LeastSpan = 10 * time.Minute

// BlockRate returns the cost of a block per hour, or 0 if it is not known.
func BlockRate(b *usage.FiveHourBlock) usage.Money {
	if b.Burn == nil || b.Last.Sub(b.First) < LeastSpan {
		return 0
	}
	return b.Burn.CostPerHour
}

// OpenLimits returns the limits that were reached and are not reset yet: for each type the limit
// with the last reset, in the order in which they were reached.
func OpenLimits(limits []sessions.ReachedLimit, now time.Time) (open []sessions.ReachedLimit) {
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

// LimitName returns the name of a limit for people.
func LimitName(l *sessions.ReachedLimit) string {
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

// Shared returns the names that several keys share. names maps each key to its name.
func Shared(names map[string]string) map[string]bool {
	seen, shared := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		if seen[name] {
			shared[name] = true
		}
		seen[name] = true
	}
	return shared
}

// SortTools sorts rows: the most expensive first, and equal ones by name.
func SortTools(rows []ToolRow) {
	slices.SortFunc(rows, func(a, b ToolRow) int {
		return cmp.Or(a.Compare(&b.ToolSums, ""), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
}
