package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
)

const (
	// statusSessions is the number of sessions when lines are printed.
	statusSessions = 5000
	// statusLines is the number of printed lines.
	statusLines = 200
	// busySessions are sessions at once, each of which has a new line every busyInterval. Costs are
	// computed at most every refreshInterval.
	busySessions    = 9
	busyInterval    = 10 * time.Second
	refreshInterval = 30 * time.Second
)

// statusInput is an input as Claude Code 2.1.325 writes it.
const statusInput = `{"session_id":"00765083-5b5f-4147-af0b-34dc3567d3f2","transcript_path":"/home/dev/.claude/projects/-home-dev-crowd-00/x.jsonl",` +
	`"cwd":"/home/dev/crowd","effort":{"level":"medium"},"model":{"id":"claude-opus-5-5","display_name":"Opus 5.5"},` +
	`"workspace":{"current_dir":"/home/dev/crowd","project_dir":"/home/dev/crowd","added_dirs":[]},"version":"2.1.325",` +
	`"output_style":{"name":"default"},"cost":{"total_cost_usd":0.065,"total_duration_ms":2412,"total_api_duration_ms":48,` +
	`"total_lines_added":0,"total_lines_removed":0},"context_window":{"total_input_tokens":19000,"total_output_tokens":300,` +
	`"context_window_size":1000000,"used_percentage":2,"remaining_percentage":98},"exceeds_200k_tokens":false,"fast_mode":false,` +
	`"thinking":{"enabled":true}}`

// measureStatusline measures how long the agent waits for the status line, and the cost of the
// line.
func measureStatusline(ctx context.Context, o options) ([]*feeling, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	o.crowd, o.projectsSize = statusSessions, 1<<20
	p, err := newProgram(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	v := &visit{program: p, rounds: 1}
	s := &statusBench{visit: v}
	return v.measure(ctx, "printing status lines", []visitPart{{"lines", s.measureLines}, {"costs", s.measureRefresh}})
}

// A statusBench measures status lines.
type statusBench struct {
	*visit
	line float64 // seconds of processor time of a line
}

// statusline runs the command once, and returns how long it took, and its processor time.
func (s *statusBench) statusline(ctx context.Context, args ...string) (elapsed, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, s.path, append([]string{"statusline"}, args...)...)
	cmd.Env, cmd.Stdin = s.environment(s.crowd()), strings.NewReader(statusInput)
	var out bytes.Buffer
	cmd.Stdout = &out
	began := time.Now()
	err = cmd.Run()
	elapsed = time.Since(began)
	if err == nil && len(args) == 0 && !strings.Contains(out.String(), "Opus 5.5") {
		err = fmt.Errorf("it prints %q", out.String())
	}
	if err != nil {
		return 0, 0, err
	}
	return elapsed, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// measureLines prints lines one after the other. Whenever costs are old, one of them starts the
// process that computes them, as it would elsewhere.
func (s *statusBench) measureLines(ctx context.Context) error {
	var used []float64
	for range statusLines {
		elapsed, cpu, err := s.statusline(ctx)
		if err != nil {
			return err
		}
		used = append(used, cpu.Seconds())
		name := fmt.Sprintf("a status line with %d sessions", statusSessions)
		s.add(name, "ms", 12, 1000*elapsed.Seconds())
		s.add(name+", processor time", "ms", 12, 1000*cpu.Seconds())
	}
	s.line = benchreport.Median(used)
	return nil
}

// measureRefresh computes costs: for the first time, and after one session has grown.
func (s *statusBench) measureRefresh(ctx context.Context) error {
	if err := os.RemoveAll(s.cache()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.cache(), "clew", "statusline"), 0o700); err != nil {
		return err
	}
	_, first, err := s.statusline(ctx, "--refresh")
	if err != nil {
		return err
	}
	s.add("the costs of all sessions for the first time, processor time", "ms", 1000, 1000*first.Seconds())
	grown := filepath.Join(s.crowd(), "projects", "-home-dev-crowd-00", "aaaaaaaa-0000-4000-8000-000000000000.jsonl")
	var used []float64
	for i := range 20 {
		if err := appendAnswer(grown, i); err != nil {
			return err
		}
		_, cpu, err := s.statusline(ctx, "--refresh")
		if err != nil {
			return err
		}
		used = append(used, cpu.Seconds())
		s.add("the costs after an answer, processor time", "ms", 150, 1000*cpu.Seconds())
	}
	share := busySessions*s.line/busyInterval.Seconds() + benchreport.Median(used)/refreshInterval.Seconds()
	s.add(fmt.Sprintf("%d sessions with a line every %.0f s each, of a processor", busySessions, busyInterval.Seconds()), "%", 1, 100*share)
	return nil
}

// appendAnswer adds an answer of the model to a transcript.
func appendAnswer(path string, i int) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, `{"type":"assistant","uuid":"u%d","requestId":"r%[1]d","timestamp":%q,"message":{"id":"m%[1]d",`+
		`"model":"claude-opus-5-5","usage":{"input_tokens":10,"output_tokens":500,"cache_read_input_tokens":20000}}}`+"\n",
		i, time.Now().UTC().Format(time.RFC3339))
	if err != nil {
		_ = file.Close() // the first error says more
		return err
	}
	return file.Close()
}

// judgeStatusline fills in the goals for the measurements.
func (r *report) judgeStatusline() {
	r.judgeFeelings(r.Statusline)
	r.Goals.AtMost(r.Statusline[0].Name+", 99 of 100", 30, "ms", r.Statusline[0].Worst)
}

func (r *report) writeStatusline(b *strings.Builder) { writeFeelings(b, "status line", r.Statusline) }
