// Command peers compares driving an agent with Clew to driving it with the official SDKs for
// TypeScript and Python, and to running the agent by itself. It also compares adding up the usage
// of all sessions with the program that people use for that.
//
// It installs the others, each at one version, into a directory that it removes at the end. A peer
// that cannot be installed is left out, and the report mentions it. Each host is a separate program
// and starts again for each query. The hosts take turns, over the same agent: a simulated agent,
// which writes as fast as its pipe takes it, or Claude Code over a scripted model. Ratios are medians
// over the rounds of the ratio inside a round, so that noise from the rest of the machine hits both
// sides.
//
// It runs on Linux and macOS. The report is Markdown, ready for docs/benchmarks.md; -json prints
// the same as one object.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
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
	return benchreport.Write(w, rep, o.json)
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
		{"statusline", (*bench).statusline},
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

// The SDKs that we compare with, at these versions.
const (
	typeScriptSDK = "@anthropic-ai/claude-agent-sdk@0.3.325"
	pythonSDK     = "claude-agent-sdk==0.2.143"
)

// scripts are the hosts that use them.
//
//go:embed scripts
var scripts embed.FS

// install puts the SDKs of others into the directory of the bench, unless they are there already.
// One that cannot be installed is left out, with a note in the report.
func (b *bench) install(ctx context.Context) error {
	if _, err := os.Stat(b.path("scripts")); err == nil {
		return nil
	}
	if err := os.CopyFS(b.dir, scripts); err != nil {
		return err
	}
	b.add(typeScript, func() ([]string, error) { return b.installTypeScript(ctx) })
	b.add(python, func() ([]string, error) { return b.installPython(ctx) })
	return ctx.Err()
}

func (b *bench) add(name string, install func() ([]string, error)) {
	fmt.Fprintln(os.Stderr, "installing the SDK for", name)
	command, err := install()
	if err != nil {
		b.report.note("%s is left out: %v", name, err)
		return
	}
	b.sdks = append(b.sdks, host{name, command})
}

// installTypeScript leaves out the optional packages, which are agent binaries of 350 MB.
func (b *bench) installTypeScript(ctx context.Context) ([]string, error) {
	version, err := output(ctx, "node", "--version")
	if err != nil {
		return nil, err
	}
	_, err = output(ctx, "npm", "install", "--prefix", b.path("scripts"), "--ignore-scripts", "--omit=optional",
		"--no-audit", "--no-fund", "--no-package-lock", typeScriptSDK)
	if err != nil {
		return nil, err
	}
	b.report.version("%s on Node %s", typeScriptSDK, version)
	return []string{"node", b.path("scripts", "host.mjs")}, nil
}

func (b *bench) installPython(ctx context.Context) ([]string, error) {
	version, err := output(ctx, "python3", "--version")
	if err != nil {
		return nil, err
	}
	if _, err := output(ctx, "python3", "-m", "venv", b.path("venv")); err != nil {
		return nil, err
	}
	interpreter := b.path("venv", "bin", "python")
	if _, err := output(ctx, interpreter, "-m", "pip", "install", "--quiet", pythonSDK); err != nil {
		return nil, err
	}
	b.report.version("%s on %s", pythonSDK, version)
	return []string{interpreter, b.path("scripts", "host.py")}, nil
}
