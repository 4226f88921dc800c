package main

import (
	"context"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// A latencyRow is when one host saw what of a query that starts its agent, in milliseconds.
type latencyRow struct {
	Name      string  `json:"name"`
	Assistant float64 `json:"assistant_ms"`
	Result    float64 `json:"result_ms"`
	End       float64 `json:"end_ms"`
	// Share is how much longer than the agent by itself it took to the end.
	Share float64 `json:"share_ms"`
}

// share measures what a host adds to an agent that answers at once.
func (b *bench) share(ctx context.Context) error {
	rows, err := b.latency(ctx, b.simulated(contest.Load{Kind: contest.Answer, Count: 1}))
	if err != nil {
		return err
	}
	b.report.Share = rows
	b.report.atMost("our share of a query", 15, "ms", rows[0].Share)
	return nil
}

// cold measures queries of Claude Code. What is more than Claude Code by itself is not only the host's doing: the agent
// works differently when it is asked through the protocol.
func (b *bench) cold(ctx context.Context) error {
	return b.withClaude(ctx, func(on stage) error {
		rows, err := b.latency(ctx, on)
		if err != nil {
			return err
		}
		b.report.Cold = rows
		if i := slices.IndexFunc(rows, func(r latencyRow) bool { return r.Name == typeScript }); i >= 0 {
			b.report.atMost("cold query to the first assistant message, against TypeScript", 1, "×", rows[0].Assistant/rows[i].Assistant)
			b.report.atMost("cold query to the result, against TypeScript", 1, "×", rows[0].Result/rows[i].Result)
		}
		return nil
	})
}

// latency lets every host ask, ours first, and the agent by itself last.
func (b *bench) latency(ctx context.Context, on stage) ([]latencyRow, error) {
	if err := b.install(ctx); err != nil {
		return nil, err
	}
	hosts := slices.Concat([]host{b.clew}, b.sdks, []host{b.bare})
	s, err := b.measureRounds(ctx, on, hosts)
	if err != nil {
		return nil, err
	}
	var rows []latencyRow
	for _, h := range hosts {
		rows = append(rows, latencyRow{
			Name:      h.name,
			Assistant: s.median(h.name, assistantMS),
			Result:    s.median(h.name, resultMS),
			End:       s.median(h.name, endMS),
			Share:     s.difference(h.name, b.bare.name, endMS),
		})
	}
	return rows, nil
}

func assistantMS(q contest.Query) float64 { return milliseconds(q.Assistant) }
func resultMS(q contest.Query) float64    { return milliseconds(q.Result) }
func endMS(q contest.Query) float64       { return milliseconds(q.End) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
