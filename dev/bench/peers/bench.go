package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
)

// The names of the hosts in the report.
const (
	ours       = "clew"
	typeScript = "TypeScript"
	python     = "Python"
)

// A host is a program that asks an agent once and prints what it measured.
type host struct {
	name string
	// command is the program and its arguments, to which the path of the agent is appended.
	command []string
}

// A bench has all programs of the comparison in one directory, and the report that they fill.
type bench struct {
	dir    string
	rounds int
	agent  string // the simulated one
	host   string // ours, as a program
	clew   host
	reader host // ours, reading the text of the messages
	bare   host
	sdks   []host // of others, once they are installed
	report *report
}

// newBench builds our own programs. The bench must be closed.
func newBench(ctx context.Context, rounds int) (*bench, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, rounds: rounds, report: newReport(rounds)}
	b.agent, b.host = b.path("agent"), b.path("host")
	b.clew = host{ours, []string{b.host, "query"}}
	b.reader = host{ours + ", text read", []string{b.host, "read"}}
	b.bare = host{"claude -p", []string{b.host, "bare"}}
	if err := b.build(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
	}
}

// path returns the path of a file in the directory of the bench.
func (b *bench) path(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}

func (b *bench) build(ctx context.Context) error {
	const packages = "github.com/clewdev/clew/cmd/clew/dev/bench/peers/"
	for _, program := range []string{b.agent, b.host} {
		if _, err := output(ctx, "go", "build", "-o", program, packages+filepath.Base(program)); err != nil {
			return err
		}
	}
	return nil
}

// output runs a program and returns what it printed. The error has the last line that it complained
// with.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(complaints.String()), "\n")
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(name), err, lines[len(lines)-1])
	}
	return strings.TrimSpace(string(out)), nil
}

// A stage holds the path, the environment and the working directory of an agent.
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

// measureRounds lets each host ask once unmeasured, to warm up the system's caches, and then round
// after round. Each round starts with another host.
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

// median returns the median of a figure of a host's queries over the rounds.
func (s series) median(name string, figure func(contest.Query) float64) float64 {
	return benchreport.Median(s.figures(name, figure))
}

// ratio returns how many times as large as base's a figure of the host is: the median over the
// rounds.
func (s series) ratio(name, base string, figure func(contest.Query) float64) float64 {
	ratios, bases := s.figures(name, figure), s.figures(base, figure)
	for round := range ratios {
		ratios[round] /= bases[round]
	}
	return benchreport.Median(ratios)
}

// difference returns how much larger than base's a figure of the host is: the median over the
// rounds.
func (s series) difference(name, base string, figure func(contest.Query) float64) float64 {
	differences, bases := s.figures(name, figure), s.figures(base, figure)
	for round := range differences {
		differences[round] -= bases[round]
	}
	return benchreport.Median(differences)
}

func (s series) figures(name string, figure func(contest.Query) float64) []float64 {
	var values []float64
	for _, q := range s[name] {
		values = append(values, figure(q))
	}
	return values
}

// A throughputRow is the rate at which the messages of one load came to one host.
type throughputRow struct {
	Name              string  `json:"name"`
	MessagesPerSecond float64 `json:"messages_per_s"`
	MBPerSecond       float64 `json:"mb_per_s"`
	PeakMB            float64 `json:"peak_mb"`
	// Times is the speed of ours as a multiple of this one, and TimesRead the multiple if ours
	// reads the text.
	Times     float64 `json:"clew_times"`
	TimesRead float64 `json:"clew_read_times,omitempty"`
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

// results measures a few large frames, of prose and of code. Ours leaves the text of a result as it came until it is
// asked for; the SDKs decode it in any case.
func (b *bench) results(ctx context.Context) error {
	var err error
	if b.report.Prose, err = b.largeFrames(ctx, contest.Prose); err != nil {
		return err
	}
	b.report.Code, err = b.largeFrames(ctx, contest.Code)
	return err
}

func (b *bench) largeFrames(ctx context.Context, kind string) ([]throughputRow, error) {
	rows, err := b.throughput(ctx, contest.Load{Kind: kind, Count: 200}, b.reader)
	if err != nil {
		return nil, err
	}
	what := "tool results of " + kind
	b.report.against(what, rows, map[string]float64{typeScript: 3})
	for _, row := range rows {
		if row.Name == typeScript {
			b.report.Goals.AtLeast(what+", text read, against "+typeScript, 3, "×", row.TimesRead)
		}
	}
	b.report.memory(what, 60, rows[0])
	return rows, nil
}

// throughput gives a load to ours, which is the first row, to more hosts of ours, and to the hosts
// of others.
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
		row := throughputRow{
			Name:              h.name,
			MessagesPerSecond: rate,
			MBPerSecond:       rate * float64(load.FrameBytes()) / 1e6,
			PeakMB:            slices.Max(s.figures(h.name, peakMB)),
			Times:             s.ratio(ours, h.name, messagesPerSecond),
		}
		if len(s[b.reader.name]) > 0 {
			row.TimesRead = s.ratio(b.reader.name, h.name, messagesPerSecond)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// complete checks that a host got every message in every round. One that read the text must have
// seen all of it.
func (s series) complete(name string, load contest.Load) error {
	for _, q := range s[name] {
		if q.Load != load.Count || q.Text != 0 && q.Text != load.Count*load.TextBytes() {
			return fmt.Errorf("%s got %d messages with %d bytes of text of the load %q", name, q.Load, q.Text, load)
		}
	}
	return nil
}

// messagesPerSecond counts from the first message to the result: the start of the agent is not in
// it.
func messagesPerSecond(q contest.Query) float64 {
	return float64(q.Load) / (q.Result - q.First).Seconds()
}

func peakMB(q contest.Query) float64 { return float64(q.Peak) / 1e6 }

// against adds the goals for how many times as fast as the hosts in rows ours is, by the name of
// the host.
func (r *report) against(what string, rows []throughputRow, bounds map[string]float64) {
	for _, row := range rows {
		if bound, ok := bounds[row.Name]; ok {
			r.Goals.AtLeast(what+", against "+row.Name, bound, "×", row.Times)
		}
	}
}

// memory adds the goal for the memory of a host, on systems that report it.
func (r *report) memory(what string, bound float64, row throughputRow) {
	if row.PeakMB > 0 {
		r.Goals.AtMost(what+", memory of the host", bound, "MB", row.PeakMB)
	}
}
