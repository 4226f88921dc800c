package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/internal/corpus"
)

// ccusage is the name of the program that we compare totals with.
const ccusage = "ccusage"

// A usageRow is the time of one program for the totals of all sessions, from its start to its end.
type usageRow struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	MBps    float64 `json:"mb_per_s"`
	PeakMB  float64 `json:"peak_mb"`
	// Times is the speed of ours as a multiple of this one.
	Times float64 `json:"clew_times"`

	command []string
	seconds []float64
}

// usage measures the totals over a projects directory. Each program has to find the true ones.
func (b *bench) usage(ctx context.Context) error {
	program := b.path("totals")
	if _, err := output(ctx, "go", "build", "-o", program,
		"github.com/clewdev/clew/cmd/clew/dev/bench/peers/totals"); err != nil {
		return err
	}
	config := b.path("config")
	truth, err := corpus.Projects(filepath.Join(config, "projects"), 1, corpus.ProjectsSize)
	if err != nil {
		return err
	}
	rows := []usageRow{{Name: ours, command: []string{program, filepath.Join(config, "projects")}}}
	if command, err := b.installCcusage(ctx); err != nil {
		b.report.note("%s is left out: %v", ccusage, err)
	} else {
		rows = append(rows, usageRow{Name: ccusage, command: command})
	}
	for round := range b.rounds + 1 {
		for i := range rows {
			if err := b.addUp(ctx, &rows[(round+i)%len(rows)], truth.Tokens); err != nil {
				return err
			}
		}
	}
	b.report.Usage = sumUsage(rows, truth.Bytes)
	b.report.usageGoals()
	return nil
}

// installCcusage installs the program, and returns it as a command.
func (b *bench) installCcusage(ctx context.Context) ([]string, error) {
	program, err := contest.InstallCcusage(ctx, b.path(ccusage))
	if err != nil {
		return nil, err
	}
	b.report.version("%s, native", contest.CcusagePackage)
	return []string{program, "claude", "daily", "--offline", "--json"}, nil
}

// addUp runs a program once and checks what it found.
func (b *bench) addUp(ctx context.Context, row *usageRow, want corpus.Tokens) error {
	cmd := exec.CommandContext(ctx, row.command[0], row.command[1:]...)
	cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+b.path("config"), "HOME="+b.path("config"))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	start := time.Now()
	out, err := cmd.Output()
	elapsed := time.Since(start)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", row.Name, err, complaints.String())
	}
	if err := checkTotals(out, want); err != nil {
		return fmt.Errorf("%s: %w", row.Name, err)
	}
	row.seconds = append(row.seconds, elapsed.Seconds())
	row.PeakMB = max(row.PeakMB, float64(benchreport.PeakOf(cmd.ProcessState))/1e6)
	return nil
}

func checkTotals(out []byte, want corpus.Tokens) error {
	var got contest.Totals
	if err := json.Unmarshal(out, &got); err != nil {
		return err
	}
	t := got.Totals
	if tokens := (corpus.Tokens{Input: t.Input, Output: t.Output, CacheWrite: t.CacheWrite,
		CacheRead: t.CacheRead}); tokens != want {
		return fmt.Errorf("found %+v, true are %+v", tokens, want)
	}
	return nil
}

// sumUsage makes the figures of the rounds. The first is to warm up what the system caches. Ours is
// the first row.
func sumUsage(rows []usageRow, size int64) []usageRow {
	for i := range rows {
		row := &rows[i]
		row.Seconds = benchreport.Median(row.seconds[1:])
		row.MBps = float64(size) / 1e6 / row.Seconds
		ratios := slices.Clone(row.seconds[1:])
		for round := range ratios {
			ratios[round] /= rows[0].seconds[round+1]
		}
		row.Times = benchreport.Median(ratios)
	}
	return rows
}

func (r *report) usageGoals() {
	for _, row := range r.Usage {
		if row.Name == ccusage {
			r.Goals.AtLeast("totals, against "+ccusage, 2, "×", row.Times)
		} else if row.PeakMB > 0 {
			r.Goals.AtMost("totals, memory", 100, "MB", row.PeakMB)
		}
	}
}

func (r *report) writeUsage(b *strings.Builder) {
	benchreport.Table(b, "| totals over all sessions | s | MB/s | peak MB | clew is × |", r.Usage, func(row usageRow) string {
		return fmt.Sprintf("| %s | %.3f | %.0f | %.1f | %.2f |", row.Name, row.Seconds, row.MBps, row.PeakMB, row.Times)
	})
}

// withClaude calls measure with Claude Code over a scripted model that always says hello, in an
// empty directory. If there is no Claude Code it leaves a note in the report instead.
func (b *bench) withClaude(ctx context.Context, measure func(stage) error) error {
	t := &test{ctx: ctx, dir: b.dir}
	err := t.run(func() error { //nolint:contextcheck // clewtest takes the context from the test
		agent := clewtest.RealAgent(t)
		model := clewtest.NewModel(t).Reply("Hello.")
		return measure(stage{agent, model.Env(), t.TempDir()})
	})
	if t.skipped != "" {
		b.report.note("Claude Code is left out: %s", t.skipped)
		return nil
	}
	b.report.version("Claude Code %s", claudeVersion())
	return err
}

// claudeVersion identifies Claude Code: the pinned version, or the path in CLEW_AGENT.
func claudeVersion() string {
	if named := os.Getenv("CLEW_AGENT"); named != "" {
		return "at " + named
	}
	return clewtest.AgentVersion
}

// A test is the test that package clewtest wants, in a program that is none. It has the methods
// which that calls.
type test struct {
	testing.TB // nil
	ctx        context.Context
	dir        string // for temporary folders; its owner removes it
	skipped    string

	mu       sync.Mutex
	cleanups []func()
	errs     []error
}

// run calls body on a separate goroutine, which Fatal and Skip end, and cleans up after it.
func (t *test) run(body func() error) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := body(); err != nil {
			t.add(err)
		}
	}()
	<-done
	for _, cleanup := range slices.Backward(t.cleanups) {
		cleanup()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.errs...)
}

func (t *test) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

func (t *test) Helper()                           {}
func (t *test) Context() context.Context          { return t.ctx }
func (t *test) Cleanup(cleanup func())            { t.cleanups = append(t.cleanups, cleanup) }
func (t *test) Logf(format string, args ...any)   { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (t *test) Errorf(format string, args ...any) { t.add(fmt.Errorf(format, args...)) }

func (t *test) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *test) Fatal(args ...any) {
	t.Fatalf("%s", fmt.Sprint(args...))
}

func (t *test) Skip(args ...any) {
	t.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (t *test) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "claude-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
