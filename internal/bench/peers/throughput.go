package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// A throughputRow is how fast the messages of one load came to one host.
type throughputRow struct {
	Name              string  `json:"name"`
	MessagesPerSecond float64 `json:"messages_per_s"`
	MBPerSecond       float64 `json:"mb_per_s"`
	PeakMB            float64 `json:"peak_mb"`
	// Times is how many times as fast ours is.
	Times float64 `json:"clew_times"`
}

// events measures many small frames.
func (b *bench) events(ctx context.Context) error {
	rows, err := b.throughput(ctx, contest.Load{Kind: contest.Events, Count: 50_000})
	if err != nil {
		return err
	}
	b.report.Events = rows
	b.report.against("events", rows, map[string]float64{typeScript: 3, python: 25})
	b.report.memory("events", 40, rows[0])
	return nil
}

// results measures a few large frames. Ours leaves the text of a result as it came until it is asked for; the SDKs
// decode it in any case.
func (b *bench) results(ctx context.Context) error {
	rows, err := b.throughput(ctx, contest.Load{Kind: contest.Results, Count: 200}, b.reader)
	if err != nil {
		return err
	}
	b.report.Results = rows
	b.report.against("tool results", rows, map[string]float64{typeScript: 3})
	b.report.memory("tool results", 60, rows[0])
	return nil
}

// throughput gives a load to ours, which is the first row, to more hosts of ours, and to those of others.
func (b *bench) throughput(ctx context.Context, load contest.Load, more ...host) ([]throughputRow, error) {
	if err := b.install(ctx); err != nil {
		return nil, err
	}
	hosts := slices.Concat([]host{b.clew}, more, b.sdks)
	s, err := b.measureRounds(ctx, b.simulated(load), hosts)
	if err != nil {
		return nil, err
	}
	var rows []throughputRow
	for _, h := range hosts {
		if err := s.complete(h.name, load); err != nil {
			return nil, err
		}
		rate := s.median(h.name, messagesPerSecond)
		rows = append(rows, throughputRow{
			Name:              h.name,
			MessagesPerSecond: rate,
			MBPerSecond:       rate * float64(load.FrameBytes()) / 1e6,
			PeakMB:            slices.Max(s.figures(h.name, peakMB)),
			Times:             s.ratio(ours, h.name, messagesPerSecond),
		})
	}
	return rows, nil
}

// complete checks that a host got every message in every round. One that read the text must have seen all of it.
func (s series) complete(name string, load contest.Load) error {
	for _, q := range s[name] {
		if q.Load != load.Count || q.Text != 0 && q.Text != load.Count*load.TextBytes() {
			return fmt.Errorf("%s got %d messages with %d bytes of text of the load %q", name, q.Load, q.Text, load)
		}
	}
	return nil
}

// messagesPerSecond counts from the first message to the result: the start of the agent is not in it.
func messagesPerSecond(q contest.Query) float64 {
	return float64(q.Load) / (q.Result - q.First).Seconds()
}

func peakMB(q contest.Query) float64 { return float64(q.Peak) / 1e6 }

// against adds the goals for how many times as fast as the hosts in rows ours is, by the name of the host.
func (r *report) against(what string, rows []throughputRow, bounds map[string]float64) {
	for _, row := range rows {
		if bound, ok := bounds[row.Name]; ok {
			r.atLeast(what+", against "+row.Name, bound, "×", row.Times)
		}
	}
}

// memory adds the goal for the memory of a host, where the system tells how much that is.
func (r *report) memory(what string, bound float64, row throughputRow) {
	if row.PeakMB > 0 {
		r.atMost(what+", memory of the host", bound, "MB", row.PeakMB)
	}
}
