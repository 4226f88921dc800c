package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/internal/corpus"
)

// statusRuns is the number of lines that each program prints.
const statusRuns = 20

// statusInput is an input with all fields that the programs need, as Claude Code 2.1.325 writes it.
const statusInput = `{"session_id":"00765083-5b5f-4147-af0b-34dc3567d3f2","transcript_path":"%s","cwd":"%[2]s","model":{"id":"claude-opus-5-5",` +
	`"display_name":"Opus 5.5"},"workspace":{"current_dir":"%[2]s","project_dir":"%[2]s","added_dirs":[]},"version":"2.1.325",` +
	`"cost":{"total_cost_usd":0.065,"total_duration_ms":2412,"total_api_duration_ms":48,"total_lines_added":0,"total_lines_removed":0},` +
	`"context_window":{"total_input_tokens":19000,"total_output_tokens":300,"context_window_size":1000000,"used_percentage":2,` +
	`"remaining_percentage":98}}`

// A statusRow is the time of a program for a status line, from its start to its end.
type statusRow struct {
	Name   string  `json:"name"`
	Median float64 `json:"median_ms"`
	Worst  float64 `json:"worst_ms"`
	CPU    float64 `json:"cpu_ms"` // median of the processor time
	PeakMB float64 `json:"peak_mb"`

	command   []string
	took, cpu []float64
}

// statusline measures the status lines over a projects directory.
func (b *bench) statusline(ctx context.Context) error {
	program := b.path("clew.exe") // every system runs this name
	if _, err := output(ctx, "go", "build", "-o", program, "github.com/clewdev/clew/cmd/clew"); err != nil {
		return err
	}
	config := b.path("status")
	if _, err := corpus.Projects(filepath.Join(config, "projects"), 1, corpus.ProjectsSize); err != nil {
		return err
	}
	rows := []statusRow{{Name: ours, command: []string{program, "statusline"}}}
	if command, err := b.installCcusage(ctx); err != nil {
		b.report.note("%s is left out: %v", ccusage, err)
	} else {
		line := []string{command[0], "claude", "statusline", "--offline"}
		rows = append(rows, statusRow{Name: contest.CcusagePackage, command: line},
			statusRow{Name: contest.CcusagePackage + ", --no-cache", command: append(slices.Clone(line), "--no-cache")})
	}
	found, err := filepath.Glob(filepath.Join(config, "projects", "*", "*.jsonl"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("no transcripts: %w", err)
	}
	for range statusRuns {
		for i := range rows {
			if err := rows[i].print(ctx, config, fmt.Sprintf(statusInput, found[0], config)); err != nil {
				return err
			}
		}
	}
	for i := range rows {
		rows[i].sum()
	}
	b.report.Status = rows
	return nil
}

// print prints a line.
func (r *statusRow) print(ctx context.Context, config, input string) error {
	cmd := exec.CommandContext(ctx, r.command[0], r.command[1:]...)
	cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+config, "HOME="+config, "XDG_CACHE_HOME="+filepath.Join(config, "cache"), "TMPDIR="+config)
	cmd.Stdin = strings.NewReader(input)
	began := time.Now()
	out, err := cmd.Output()
	took := time.Since(began)
	if err == nil && !strings.Contains(string(out), "Opus 5.5") {
		err = fmt.Errorf("it prints %q", out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	r.took = append(r.took, 1000*took.Seconds())
	r.cpu = append(r.cpu, 1000*(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds())
	r.PeakMB = max(r.PeakMB, float64(benchreport.PeakOf(cmd.ProcessState))/1e6)
	return nil
}

func (r *statusRow) sum() {
	r.Median, r.CPU, r.Worst = benchreport.Median(r.took), benchreport.Median(r.cpu), slices.Max(r.took)
}

func (r *report) writeStatus(b *strings.Builder) {
	benchreport.Table(b, "| status line | ms, median | ms, worst | processor ms | peak MB |", r.Status, func(row statusRow) string {
		return fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f |", row.Name, row.Median, row.Worst, row.CPU, row.PeakMB)
	})
}
