package main

import (
	"context"

	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// A turnsRow is what two turns of one session took, in milliseconds.
type turnsRow struct {
	Agent   string  `json:"agent"`
	Connect float64 `json:"connect_ms"`
	First   float64 `json:"first_ms"`
	Second  float64 `json:"second_ms"`
}

// turns measures sessions of ours. The simulated agent names its process as the session: it shows whether the second
// turn came from the same one.
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
	b.report.atMost("agents started by a second turn", 0, "", started)
	return b.withClaude(ctx, func(on stage) error {
		row, _, err := b.twoTurns(ctx, "Claude Code", on)
		b.report.Turns = append(b.report.Turns, row)
		return err
	})
}

// twoTurns returns the medians over the rounds, and whether all of them had both turns from one session.
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
	return turnsRow{agent, median(connect), median(first), median(second)}, same, nil
}

// idle measures what an open session of ours costs that does nothing.
func (b *bench) idle(ctx context.Context) error {
	on := b.simulated(contest.Load{Kind: contest.Answer, Count: 1})
	b.report.Idle = new(contest.Idle)
	if err := on.ask(ctx, b.report.Idle, b.host, "idle"); err != nil {
		return err
	}
	b.report.atMost("goroutines of an idle session", 4, "", b.report.Idle.Goroutines)
	b.report.atMost("memory of an idle session", 64, "KB", b.report.Idle.Bytes/1024)
	return nil
}
