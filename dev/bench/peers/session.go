package main

import (
	"context"
	"slices"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
)

// A turnsRow holds the times of two turns of one session, in milliseconds.
type turnsRow struct {
	Agent   string  `json:"agent"`
	Connect float64 `json:"connect_ms"`
	First   float64 `json:"first_ms"`
	Second  float64 `json:"second_ms"`
}

// turns measures sessions of ours. The simulated agent names its process as the session: it shows
// whether the second turn came from the same one.
func (b *bench) turns(ctx context.Context) error {
	row, same, err := b.twoTurns(ctx, "simulated", b.simulated(contest.Load{Kind: contest.Answer, Count: 1}))
	if err != nil {
		return err
	}
	b.report.Turns = append(b.report.Turns, row)
	started := 0.0
	if !same {
		started = 1
	}
	b.report.Goals.AtMost("agents started by a second turn", 0, "", started)
	return b.withClaude(ctx, func(on stage) error {
		row, _, err := b.twoTurns(ctx, "Claude Code", on)
		b.report.Turns = append(b.report.Turns, row)
		return err
	})
}

// twoTurns returns the medians over the rounds, and whether all of them had both turns from one
// session.
func (b *bench) twoTurns(ctx context.Context, agent string, on stage) (row turnsRow, same bool, err error) {
	var connect, first, second []float64
	same = true
	for range b.rounds {
		var t contest.Turns
		if err := on.ask(ctx, &t, b.host, "turns"); err != nil {
			return turnsRow{}, false, err
		}
		connect = append(connect, milliseconds(t.Connect))
		first = append(first, milliseconds(t.First))
		second = append(second, milliseconds(t.Second))
		same = same && t.SameSession
	}
	return turnsRow{agent, benchreport.Median(connect), benchreport.Median(first), benchreport.Median(second)}, same, nil
}

// idle measures what an open session of ours costs that does nothing.
func (b *bench) idle(ctx context.Context) error {
	on := b.simulated(contest.Load{Kind: contest.Answer, Count: 1})
	b.report.Idle = new(contest.Idle)
	if err := on.ask(ctx, b.report.Idle, b.host, "idle"); err != nil {
		return err
	}
	b.report.Goals.AtMost("goroutines of an idle session", 4, "", b.report.Idle.Goroutines)
	b.report.Goals.AtMost("memory of an idle session", 64, "KB", b.report.Idle.Bytes/1024)
	return nil
}

// A warmRow holds the times at which one host saw the parts of a query, in milliseconds.
type warmRow struct {
	Name      string  `json:"name"`
	Assistant float64 `json:"assistant_ms"`
	Result    float64 `json:"result_ms"`
	End       float64 `json:"end_ms"`
}

// warm measures queries of Claude Code that was started before, and beside them cold ones.
func (b *bench) warm(ctx context.Context) error {
	if err := b.install(ctx); err != nil {
		return err
	}
	cold, ready := host{ours + ", cold", b.clew.command}, host{ours, []string{b.host, "warm"}}
	hosts := []host{cold, ready}
	if i := slices.IndexFunc(b.sdks, func(h host) bool { return h.name == typeScript }); i >= 0 {
		hosts = append(hosts, host{typeScript, slices.Concat(b.sdks[i].command, []string{"warm"})})
	}
	return b.withClaude(ctx, func(on stage) error {
		s, err := b.measureRounds(ctx, on, hosts)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			b.report.Warm = append(b.report.Warm, warmRow{
				h.name, s.median(h.name, assistantMS), s.median(h.name, resultMS), s.median(h.name, endMS),
			})
		}
		b.report.warmGoals()
		return nil
	})
}

// warmGoals compares what a caller waits for: the first assistant message.
func (r *report) warmGoals() {
	cold, ready := r.Warm[0].Assistant, r.Warm[1].Assistant
	r.Goals.AtMost("warm query to the first assistant message, against a cold one", 0.25, "×", ready/cold)
	if len(r.Warm) > 2 {
		r.Goals.AtMost("warm query to the first assistant message, against TypeScript", 1, "×", ready/r.Warm[2].Assistant)
	}
}

// A latencyRow holds the same times for a query that starts its agent, in milliseconds.
type latencyRow struct {
	Name      string  `json:"name"`
	Assistant float64 `json:"assistant_ms"`
	Result    float64 `json:"result_ms"`
	End       float64 `json:"end_ms"`
	// Share is the extra time to the end, compared to the agent by itself.
	Share float64 `json:"share_ms"`
}

// share measures what a host adds to an agent that answers at once.
func (b *bench) share(ctx context.Context) error {
	rows, err := b.latency(ctx, b.simulated(contest.Load{Kind: contest.Answer, Count: 1}))
	if err != nil {
		return err
	}
	b.report.Share = rows
	b.report.Goals.AtMost("our share of a query", 15, "ms", rows[0].Share)
	return nil
}

// cold measures queries of Claude Code. Not all of the difference to Claude Code by itself is due
// to the host: the agent works differently when it is asked through the protocol.
func (b *bench) cold(ctx context.Context) error {
	return b.withClaude(ctx, func(on stage) error {
		rows, err := b.latency(ctx, on)
		if err != nil {
			return err
		}
		b.report.Cold = rows
		if i := slices.IndexFunc(rows, func(r latencyRow) bool { return r.Name == typeScript }); i >= 0 {
			b.report.Goals.AtMost("cold query to the first assistant message, against TypeScript", 1, "×", rows[0].Assistant/rows[i].Assistant)
			b.report.Goals.AtMost("cold query to the result, against TypeScript", 1, "×", rows[0].Result/rows[i].Result)
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
