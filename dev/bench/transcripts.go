package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/internal/corpus"
)

// hugeTranscript is the size of a transcript that must not take memory in proportion.
const hugeTranscript = 2 << 30

// A work is one job over one input, in several rounds.
type work struct {
	Name    string  `json:"name"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // median
	MBps    float64 `json:"mb_per_s"`
	PeakMB  float64 `json:"peak_mb"` // the highest

	job, path string
	check     func(figures) error
	rounds    []figures
}

// The places of the works in the list.
const (
	corpusTotals = iota
	corpusList
	largestRead
	largestValid
	largestTail
	hugeTotals
	hugeList
	hugeRead
	hugeStream
)

// measureTranscripts makes projects directories and measures work on them.
func measureTranscripts(ctx context.Context, o options) ([]work, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	list, err := newWorks(dir, o)
	if err != nil {
		return nil, err
	}
	for range o.transcriptRounds {
		for i := range list {
			if err := list[i].run(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", list[i].Name, err)
			}
		}
	}
	for i := range list {
		list[i].sum()
	}
	return list, nil
}

func newWorks(dir string, o options) ([]work, error) {
	many, one := filepath.Join(dir, "many", "projects"), filepath.Join(dir, "one", "projects")
	fmt.Fprintln(os.Stderr, "making transcripts")
	truth, err := corpus.Projects(many, o.seed, o.projectsSize)
	if err != nil {
		return nil, err
	}
	huge, err := corpus.HugeProject(one, o.seed, o.hugeSize)
	if err != nil {
		return nil, err
	}
	largest, largestBytes := mainTranscript(many, truth)
	only, onlyBytes := mainTranscript(one, huge)
	return []work{
		corpusTotals: {Name: fmt.Sprintf("totals over %d sessions", len(truth.Sessions)), Bytes: truth.Bytes, job: totalsJob,
			path: many, check: exactly(truth)},
		corpusList: {Name: fmt.Sprintf("list of %d sessions", len(truth.Sessions)), Bytes: truth.Bytes, job: listJob,
			path: many, check: counts(len(truth.Sessions))},
		largestRead:  {Name: "largest session to chunks", Bytes: largestBytes, job: readJob, path: largest},
		largestValid: {Name: "largest session, json.Valid", Bytes: largestBytes, job: validJob, path: largest},
		largestTail:  {Name: "largest session, 10 KB appended", Bytes: largestBytes, job: tailJob, path: largest},
		hugeTotals: {Name: "totals over one huge session", Bytes: onlyBytes, job: totalsJob, path: one,
			check: exactly(huge)},
		hugeList:   {Name: "list of one huge session", Bytes: onlyBytes, job: listJob, path: one, check: counts(1)},
		hugeRead:   {Name: "huge session to chunks", Bytes: onlyBytes, job: readJob, path: only},
		hugeStream: {Name: "huge session to chunks, none kept", Bytes: onlyBytes, job: streamJob, path: only},
	}, nil
}

func mainTranscript(dir string, truth *corpus.Truth) (path string, size int64) {
	for _, s := range truth.Sessions {
		if s.Path == truth.Largest {
			size = int64(s.Bytes)
		}
	}
	return filepath.Join(dir, truth.Largest), size
}

// exactly checks totals.
func exactly(truth *corpus.Truth) func(figures) error {
	return func(f figures) error {
		if f.Count != truth.Answers || f.Tokens != truth.Tokens.Total() {
			return fmt.Errorf("%d tokens in %d answers, true are %d in %d", f.Tokens, f.Count, truth.Tokens.Total(),
				truth.Answers)
		}
		return nil
	}
}

func counts(want int) func(figures) error {
	return func(f figures) error {
		if f.Count != want {
			return fmt.Errorf("%d sessions, want %d", f.Count, want)
		}
		return nil
	}
}

// run does the work once.
func (w *work) run(ctx context.Context) error {
	f, err := inChild(ctx, child{job: w.job, path: w.path})
	if err == nil && w.check != nil {
		err = w.check(f)
	}
	w.rounds = append(w.rounds, f)
	return err
}

// sum makes the figures of the rounds.
func (w *work) sum() {
	var seconds []float64
	for _, f := range w.rounds {
		seconds = append(seconds, f.Elapsed.Seconds())
		w.PeakMB = max(w.PeakMB, float64(f.Peak)/1e6)
	}
	w.Seconds = benchreport.Median(seconds)
	w.MBps = float64(w.Bytes) / 1e6 / w.Seconds
}

// times returns the speed of the work as a multiple of the speed of base: the median over the
// rounds.
func (w *work) times(base *work) float64 {
	var ratios []float64
	for i := range min(len(w.rounds), len(base.rounds)) {
		ratios = append(ratios, float64(base.rounds[i].Elapsed)/float64(w.rounds[i].Elapsed))
	}
	return benchreport.Median(ratios)
}

// judgeTranscripts fills in the goals for the measurements.
func (r *report) judgeTranscripts() {
	list := r.Transcripts
	r.Goals.AtMost("totals", 0.4, "s", list[corpusTotals].Seconds)
	r.Goals.AtMost("totals, memory", 100, "MB", list[corpusTotals].PeakMB)
	r.Goals.AtMost("list", 0.1, "s", list[corpusList].Seconds)
	r.Goals.AtLeast("session to chunks, against json.Valid", 2, "×", list[largestRead].times(&list[largestValid]))
	r.Goals.AtMost("session to chunks, memory", 80, "MB", list[largestRead].PeakMB)
	r.Goals.AtMost("10 KB appended, until their chunks are there", 5, "ms", 1000*list[largestTail].Seconds)
	r.Goals.AtMost("huge session, totals, memory", 100, "MB", list[hugeTotals].PeakMB)
	r.Goals.AtMost("huge session, list, memory", 100, "MB", list[hugeList].PeakMB)
	r.Goals.AtMost("huge session to chunks, memory", 80, "MB", list[hugeRead].PeakMB)
	r.Goals.AtMost("huge session to chunks, none kept, memory", 40, "MB", list[hugeStream].PeakMB)
}

func (r *report) writeTranscripts(b *strings.Builder) {
	benchreport.Table(b, "| transcripts | MB | s, median | MB/s | peak MB |", r.Transcripts, func(w work) string {
		return fmt.Sprintf("| %s | %.1f | %.4f | %.0f | %.1f |", w.Name, float64(w.Bytes)/1e6, w.Seconds, w.MBps, w.PeakMB)
	})
}
