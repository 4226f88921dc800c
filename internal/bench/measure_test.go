package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func testSlices(t *testing.T) []slice {
	t.Helper()
	parts, err := newSlices(1, 3<<20)
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
	if got := s.total(0, median); got != 65 {
		t.Errorf("median %v, want 65", got)
	}
}

func TestReportMarkdown(t *testing.T) {
	t.Parallel()
	r := report{Rows: make([]row, len(contestants())), Huge: make([]hugeCase, listingLinesPieces+1)}
	for i := range r.Huge {
		r.Huge[i].Best = 30 * time.Millisecond
	}
	r.Rows[wireRaw] = row{TimesStructs: 7.5, TimesMap: 4.5, TimesValid: 1.8, AllocsPer: 5}
	r.Framing = 12
	r.judge()
	var b strings.Builder
	if err := r.writeMarkdown(&b); err != nil {
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
