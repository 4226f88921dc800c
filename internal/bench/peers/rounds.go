package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// A stage is what an agent runs on: its path, its environment and its working folder.
type stage struct {
	agent string
	env   []string
	dir   string
}

// simulated is the stage for the simulated agent with that load.
func (b *bench) simulated(load contest.Load) stage {
	return stage{b.agent, append(os.Environ(), contest.LoadVariable+"="+load.String()), b.dir}
}

// A series has what the hosts measured, by round.
type series map[string][]contest.Query

// measureRounds lets each host ask once unmeasured, to warm up what the system caches, and then round after round. Each
// round begins with another host.
func (b *bench) measureRounds(ctx context.Context, on stage, hosts []host) (series, error) {
	s := series{}
	for round := range b.rounds + 1 {
		for i := range hosts {
			h := hosts[(round+i)%len(hosts)]
			q := contest.Query{}
			if err := on.ask(ctx, &q, h.command...); err != nil {
				return nil, fmt.Errorf("%s: %w", h.name, err)
			}
			if round > 0 {
				s[h.name] = append(s[h.name], q)
			}
		}
	}
	return s, nil
}

// ask runs a host on the agent of the stage and reads what it prints into measured.
func (st stage) ask(ctx context.Context, measured any, command ...string) error {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], []string{st.agent})...)
	// The Python SDK would otherwise start the agent twice.
	cmd.Env = append(slices.Clone(st.env), "CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK=1")
	cmd.Dir = st.dir
	cmd.WaitDelay = time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, complaints.Bytes())
	}
	if err := json.Unmarshal(out, measured); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// median returns the median over the rounds of what figure makes of a host's queries.
func (s series) median(name string, figure func(contest.Query) float64) float64 {
	return median(s.figures(name, figure))
}

// ratio returns how many times as large as base's a figure of the host is: the median over the rounds.
func (s series) ratio(name, base string, figure func(contest.Query) float64) float64 {
	ratios, bases := s.figures(name, figure), s.figures(base, figure)
	for round := range ratios {
		ratios[round] /= bases[round]
	}
	return median(ratios)
}

// difference returns how much larger than base's a figure of the host is: the median over the rounds.
func (s series) difference(name, base string, figure func(contest.Query) float64) float64 {
	differences, bases := s.figures(name, figure), s.figures(base, figure)
	for round := range differences {
		differences[round] -= bases[round]
	}
	return median(differences)
}

func (s series) figures(name string, figure func(contest.Query) float64) []float64 {
	var values []float64
	for _, q := range s[name] {
		values = append(values, figure(q))
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
