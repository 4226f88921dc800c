package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
)

// testSlices returns a stream that has every kind of frame.
func testSlices(t *testing.T) []slice {
	t.Helper()
	parts, err := newSlices(1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestStreamIsKnownToWire(t *testing.T) {
	t.Parallel()
	if err := checkWire(testSlices(t)); err != nil {
		t.Fatal(err)
	}
}

func TestContestantsSeeEveryFrame(t *testing.T) {
	t.Parallel()
	part := testSlices(t)[0]
	for _, c := range contestants() {
		if n, err := c.run(part); err != nil || n != part.frames() {
			t.Errorf("%s: %d frames of %d, %v", c.name, n, part.frames(), err)
		}
	}
}

func TestMeasureRefusesLostFrames(t *testing.T) {
	t.Parallel()
	loser := contestant{"loser", func(s slice) (int, error) { return s.frames() - 1, nil }}
	if _, err := measure(loser, slice{ends: make([]int, 3)}); err == nil {
		t.Error("no error")
	}
}

func TestCutSlices(t *testing.T) {
	t.Parallel()
	data := []byte("one\ntwo\nthree\nfour\n")
	for size := 1; size <= len(data)+1; size++ {
		var joined []byte
		lines := 0
		for _, s := range cutSlices(data, size) {
			if !bytes.HasSuffix(s.data, []byte("\n")) {
				t.Errorf("size %d: slice %q ends inside a line", size, s.data)
			}
			joined = append(joined, s.data...)
			lines += s.frames()
		}
		if !bytes.Equal(joined, data) || lines != 4 {
			t.Errorf("size %d: %d lines, %q", size, lines, joined)
		}
	}
}

// times makes a series of two contestants over the given slices.
func times(slices []int, base, other []time.Duration) *series {
	s := &series{slices: slices, samples: make([][]sample, 2)}
	for i := range slices {
		s.samples[0] = append(s.samples[0], sample{elapsed: base[i]})
		s.samples[1] = append(s.samples[1], sample{elapsed: other[i]})
	}
	return s
}

func TestSeriesRatioIsMedianOfRounds(t *testing.T) {
	t.Parallel()
	s := times([]int{0, 1, 0}, []time.Duration{10, 60, 100}, []time.Duration{5, 10, 10})
	if got := s.ratio(0, 1); got != 6 {
		t.Errorf("ratio %v, want 6", got)
	}
}

func TestSeriesTotal(t *testing.T) {
	t.Parallel()
	s := times([]int{0, 1, 0, 1}, []time.Duration{10, 40, 20, 60}, []time.Duration{1, 1, 1, 1})
	if got := s.total(0, least); got != 50 {
		t.Errorf("best %v, want 50", got)
	}
	if got := s.total(0, benchreport.Median); got != 65 {
		t.Errorf("median %v, want 65", got)
	}
}

func TestReportMarkdown(t *testing.T) {
	t.Parallel()
	r := report{Rows: make([]row, len(contestants())), Huge: make([]hugeCase, listingLines+1)}
	for i := range r.Huge {
		r.Huge[i].Best = 30 * time.Millisecond
	}
	r.Rows[wireRaw] = row{TimesStructs: 7.5, TimesMap: 4.5, TimesValid: 1.8, AllocsPer: 5}
	r.Framing = 12
	r.judge()
	var b strings.Builder
	if err := benchreport.Write(&b, &r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| wire, raw kept, against structs | ≥ 7 × | 7.50 × | yes |",
		"| wire, raw kept, against map[string]any | ≥ 5 × | 4.50 × | no |",
		"| wire, raw kept, allocations per frame | ≤ 5.5 | 5.00 | yes |",
		"| framing adds | ≤ 10 % | 12.00 % | no |",
		"| 10 MB in 4 KB pieces | ≤ 40 ms | 30.00 ms | yes |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %q in\n%s", want, &b)
		}
	}
}

func TestMeasureProgram(t *testing.T) {
	t.Parallel()
	list, err := measureProgram(t.Context(), options{seed: 1, transcriptRounds: 1, projectsSize: 1 << 20, crowd: 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		if u.First <= 0 || u.Lines < u.First || u.Seconds < u.Lines || len(u.rounds) != max(u.times, 1) {
			t.Errorf("%s: %+v", u.Name, u)
		}
	}
	r := report{Program: list}
	r.judgeProgram()
	var b strings.Builder
	if err := benchreport.Write(&b, &r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| clew ls --all, 10 sessions, at a terminal | ", "| clew ls --all, 30 sessions, at a terminal | ", "| clew version | ≤ 30 ms |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if share := list[programIndex].Share; share <= 0 || share > 1 {
		t.Errorf("the index has %v of the size of the transcripts", share)
	}
}

func TestProgramChecksWhatItMeasures(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{dir: t.TempDir(), path: self}
	for _, u := range []use{
		{Name: "it fails", args: []string{"-child", "none"}},
		{Name: "it prints something else", args: []string{"-test.run=^$"}, check: counts(99)},
	} {
		if err := p.run(t.Context(), &u); err == nil {
			t.Errorf("%s: no error, %+v", u.Name, u.rounds)
		}
	}
}

func TestUseFigures(t *testing.T) {
	t.Parallel()
	u := use{rounds: []figures{{First: 1 * time.Second, Elapsed: 3 * time.Second, Peak: 2e6},
		{First: 2 * time.Second, Elapsed: 5 * time.Second, Peak: 4e6}, {First: 3 * time.Second, Elapsed: 4 * time.Second}}}
	u.sum()
	if u.First != 2 || u.Seconds != 4 || u.PeakMB != 4 {
		t.Errorf("%+v", u)
	}
}

// TestMain lets the test binary also do the jobs of children.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestMeasureTranscripts(t *testing.T) {
	t.Parallel()
	o := options{seed: 1, transcriptRounds: 1, projectsSize: 1 << 20, hugeSize: 2 << 20}
	list, err := measureTranscripts(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		if len(w.rounds) != 1 || w.Seconds <= 0 || w.MBps <= 0 {
			t.Errorf("%s: %+v", w.Name, w)
		}
	}
	r := report{Transcripts: list}
	r.judgeTranscripts()
	var b strings.Builder
	if err := benchreport.Write(&b, &r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| totals over 10 sessions | 1", "| totals, memory | ≤ 100 MB |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestWorkChecksWhatItMeasures(t *testing.T) {
	t.Parallel()
	w := work{job: listJob, path: t.TempDir(), check: counts(1)}
	if err := w.run(t.Context()); err == nil {
		t.Error("no error for a list that lacks a session")
	}
	w = work{job: "none"}
	if err := w.run(t.Context()); err == nil {
		t.Error("no error for a job that is not there")
	}
}

func TestWorkFigures(t *testing.T) {
	t.Parallel()
	w := work{Bytes: 4e6, rounds: []figures{{Elapsed: time.Second, Peak: 3e6}, {Elapsed: 2 * time.Second, Peak: 5e6},
		{Elapsed: 4 * time.Second}}}
	base := work{rounds: []figures{{Elapsed: 6 * time.Second}, {Elapsed: 6 * time.Second}, {Elapsed: 6 * time.Second}}}
	w.sum()
	if w.Seconds != 2 || w.MBps != 2 || w.PeakMB != 5 || w.times(&base) != 3 {
		t.Errorf("%+v, %v times", w, w.times(&base))
	}
}
