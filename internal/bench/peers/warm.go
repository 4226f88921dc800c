package main

import (
	"context"
	"slices"
)

// A warmRow is when one host saw what of a query, in milliseconds.
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
	r.atMost("warm query to the first assistant message, against a cold one", 0.25, "×", ready/cold)
	if len(r.Warm) > 2 {
		r.atMost("warm query to the first assistant message, against TypeScript", 1, "×", ready/r.Warm[2].Assistant)
	}
}
