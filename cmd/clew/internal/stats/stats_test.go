package stats

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func TestCountTools(t *testing.T) {
	t.Parallel()
	calls := []usage.ToolCall{
		{Name: "Bash", Time: noon, InputTokens: 10, ResultTokens: 5, Failed: true},
		{Name: "Bash", Time: noon.Add(time.Hour), InputTokens: 1, ResultTokens: 2},
		{Name: "mcp__files__read", Time: noon, InputTokens: 7},
		{Name: "Read", Time: noon.Add(-time.Hour), InputTokens: 100},
	}
	r := CountTools(between(slices.Clone(calls), noon, noon.Add(2*time.Hour)), usage.Prices{}, false)
	want := []ToolRow{
		{Tool: "Bash", ToolSums: ToolSums{Calls: 2, Failed: 1, InputTokens: 11, ResultTokens: 7, UnknownCost: true}},
		{Tool: "mcp__files__read", ToolSums: ToolSums{Calls: 1, InputTokens: 7, UnknownCost: true}},
	}
	if diff := cmp.Diff(want, r.Rows); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if r.Total.Calls != 3 || r.Total.InputTokens != 18 {
		t.Errorf("the total is %+v", r.Total)
	}
	rows := CountTools(between(calls, time.Time{}, time.Time{}), usage.Prices{}, true).Rows
	if len(rows) != 1 || rows[0].Server != "files" || rows[0].Tool != "read" {
		t.Errorf("the tools of servers are %+v", rows)
	}
}

func TestOpenLimits(t *testing.T) {
	t.Parallel()
	limit := func(kind wire.RateLimitType, resets time.Duration) sessions.ReachedLimit {
		return sessions.ReachedLimit{Type: kind, ResetsAt: noon.Add(resets)}
	}
	open := openLimits([]sessions.ReachedLimit{
		limit(wire.RateLimitFiveHour, -time.Hour), limit(wire.RateLimitSevenDay, time.Hour), limit(wire.RateLimitSevenDay, 2*time.Hour),
		limit(wire.RateLimitFiveHour, time.Minute),
	}, noon)
	var got []string
	for i := range open {
		got = append(got, limitName(&open[i])+" "+open[i].ResetsAt.Sub(noon).String())
	}
	if diff := cmp.Diff([]string{"weekly limit 2h0m0s", "five-hour limit 1m0s"}, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	got := shared(map[string]string{"a": "shop", "b": "shop", "c": "other"})
	if diff := cmp.Diff(map[string]bool{"shop": true}, got); diff != "" {
		t.Errorf("shared names (-want +got):\n%s", diff)
	}
}

func TestBlockRate(t *testing.T) {
	t.Parallel()
	b := usage.FiveHourBlock{First: noon, Last: noon.Add(5 * time.Minute), Burn: &usage.Burn{CostPerHour: usage.Dollar}}
	if HasRate(&b) {
		t.Error("five minutes have a rate")
	}
	b.Last = noon.Add(time.Hour)
	if !HasRate(&b) {
		t.Error("an hour has no rate")
	}
}
