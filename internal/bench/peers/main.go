// Command peers compares driving an agent with Clew to driving it with the official SDKs for TypeScript and Python, and
// to running the agent by itself; and it compares adding up the usage of all sessions to the program that people use for
// that.
//
// It installs the others, each at one version, into a folder that it removes in the end; what cannot be installed is
// left out, and the report says so. Each host is a program of its own and starts anew for each query. The hosts take
// turns, over the same agent: a simulated one that writes as fast as its pipe takes it, or Claude Code over a scripted
// model. Ratios are medians over the rounds of the ratio inside a round, so that noise from the rest of the machine
// hits both sides.
//
// It runs on Linux and macOS; only Linux tells how much memory a host used. The report is Markdown, ready for
// docs/benchmarks.md; -json prints the same as one object.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

type options struct {
	rounds int
	only   string
	json   bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 10, "rounds to measure, each with every host")
	flag.StringVar(&o.only, "only", "", "comma-separated measurements to make, of "+strings.Join(measurementNames(), ","))
	flag.BoolVar(&o.json, "json", false, "print one JSON object instead of Markdown")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, o options) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	rep, err := measure(ctx, o.rounds, chosen)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(rep)
	}
	return rep.writeMarkdown(w)
}

// A measurement fills in its part of the report.
type measurement struct {
	name string
	make func(*bench, context.Context) error
}

func measurements() []measurement {
	return []measurement{
		{"events", (*bench).events},
		{"results", (*bench).results},
		{"share", (*bench).share},
		{"cold", (*bench).cold},
		{"warm", (*bench).warm},
		{"turns", (*bench).turns},
		{"idle", (*bench).idle},
		{"usage", (*bench).usage},
	}
}

func measurementNames() []string {
	var names []string
	for _, m := range measurements() {
		names = append(names, m.name)
	}
	return names
}

// chosen returns the measurements to make, in their own order.
func (o options) chosen() ([]measurement, error) {
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds must be positive")
	}
	if o.only == "" {
		return measurements(), nil
	}
	wanted := strings.Split(o.only, ",")
	for _, name := range wanted {
		if !slices.Contains(measurementNames(), name) {
			return nil, fmt.Errorf("-only: there is no measurement %q", name)
		}
	}
	return slices.DeleteFunc(measurements(), func(m measurement) bool { return !slices.Contains(wanted, m.name) }), nil
}

func measure(ctx context.Context, rounds int, chosen []measurement) (*report, error) {
	b, err := newBench(ctx, rounds)
	if err != nil {
		return nil, err
	}
	defer b.close()
	for _, m := range chosen {
		fmt.Fprintln(os.Stderr, "measuring", m.name)
		if err := m.make(b, ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return b.report, nil
}
