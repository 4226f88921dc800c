package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/internal/corpus"
)

func TestOptionsChosen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ only, want string }{
		{"", "events results share cold warm turns idle usage statusline"},
		{"idle,events", "events idle"},
	} {
		chosen, err := options{rounds: 1, only: tt.only}.chosen()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range chosen {
			names = append(names, m.name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("-only %q chose %q, want %q", tt.only, got, tt.want)
		}
	}
	for _, bad := range []options{{rounds: 0}, {rounds: 1, only: "speed"}} {
		if _, err := bad.chosen(); err == nil {
			t.Errorf("no error for %+v", bad)
		}
	}
}

// ends makes a series of two hosts by when their queries ended, in milliseconds.
func ends(a, b []float64) series {
	s := series{}
	for round := range a {
		s["a"] = append(s["a"], contest.Query{End: time.Duration(a[round] * 1e6)})
		s["b"] = append(s["b"], contest.Query{End: time.Duration(b[round] * 1e6)})
	}
	return s
}

func TestSeriesComparesInsideOfRounds(t *testing.T) {
	t.Parallel()
	s := ends([]float64{10, 60, 100}, []float64{5, 10, 10})
	if got := s.ratio("a", "b", endMS); got != 6 {
		t.Errorf("ratio %v, want 6", got)
	}
	if got := s.difference("a", "b", endMS); got != 50 {
		t.Errorf("difference %v, want 50", got)
	}
	if got := s.median("a", endMS); got != 60 {
		t.Errorf("median %v, want 60", got)
	}
}

func TestSeriesComplete(t *testing.T) {
	t.Parallel()
	load := contest.Load{Kind: contest.Events, Count: 10}
	all := 10 * load.TextBytes()
	for _, tt := range []struct {
		name  string
		query contest.Query
		ok    bool
	}{
		{"all read", contest.Query{Load: 10, Text: all}, true},
		{"nothing read", contest.Query{Load: 10}, true},
		{"a message lost", contest.Query{Load: 9}, false},
		{"text lost", contest.Query{Load: 10, Text: all - 1}, false},
	} {
		if err := (series{"a": {tt.query}}).complete("a", load); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestReportMarkdown(t *testing.T) {
	t.Parallel()
	r := newReport(10)
	r.note("Python is left out: %v", errors.New("no pip"))
	r.Events = []throughputRow{{ours, 900_000, 171, 9.5, 1, 0}, {typeScript, 200_000, 38, 90, 4.5, 0}}
	r.against("events", r.Events, map[string]float64{typeScript: 3, python: 25})
	r.memory("events", 9, r.Events[0])
	r.Share = []latencyRow{{ours, 1.5, 1.6, 1.9, 0.4}}
	r.Warm = []warmRow{{ours + ", cold", 400, 420, 440}, {ours, 90, 100, 120}, {typeScript, 100, 110, 120}}
	r.warmGoals()
	r.Turns = []turnsRow{{"Claude Code", 480, 200, 70}}
	r.Idle = &contest.Idle{Sessions: 100, Goroutines: 4, Bytes: 32 << 10}
	var b strings.Builder
	if err := benchreport.Write(&b, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Note: Python is left out: no pip",
		"| TypeScript | 200000 | 38 | 90.0 | 4.50 |",
		"| clew | 1.5 | 1.6 | 1.9 | 0.4 |",
		"| clew | 90.0 | 100.0 | 120.0 |",
		"| warm query to the first assistant message, against a cold one | ≤ 0.25 × | 0.23 × | yes |",
		"| warm query to the first assistant message, against TypeScript | ≤ 1 × | 0.90 × | yes |",
		"| Claude Code | 480.0 | 200.0 | 70.0 |",
		"One of 100 idle sessions takes 4.0 goroutines and 32.0 KB.",
		"| events, against TypeScript | ≥ 3 × | 4.50 × | yes |",
		"| events, memory of the host | ≤ 9 MB | 9.50 MB | no |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "against Python") {
		t.Errorf("a goal against a host that did not run in\n%s", &b)
	}
}

func TestTestCleansUp(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name, want, skipped string
		body                func(*test) error
	}{
		{name: "success", body: func(*test) error { return nil }},
		{name: "error", want: "broken", body: func(*test) error { return broken }},
		{name: "fatal", want: "no model", body: func(s *test) error { s.Fatalf("no %s", "model"); return nil }},
		{name: "skip", skipped: "no agent", body: func(s *test) error { s.Skip("no agent"); return broken }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &test{ctx: t.Context(), dir: t.TempDir()}
			var order []int
			err := s.run(func() error {
				s.Cleanup(func() { order = append(order, 2) })
				s.Cleanup(func() { order = append(order, 1) })
				return tt.body(s)
			})
			if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want || s.skipped != tt.skipped {
				t.Errorf("error %v, skipped %q", err, s.skipped)
			}
			if diff := cmp.Diff([]int{1, 2}, order); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUsageRows(t *testing.T) {
	t.Parallel()
	rows := sumUsage([]usageRow{
		{Name: ours, PeakMB: 30, seconds: []float64{9, 0.4, 0.5, 0.5}},
		{Name: ccusage, PeakMB: 150, seconds: []float64{9, 1.2, 1, 2}},
	}, 400e6)
	r := newReport(3)
	r.Usage = rows
	r.usageGoals()
	var b strings.Builder
	if err := benchreport.Write(&b, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| clew | 0.500 | 800 | 30.0 | 1.00 |",
		"| ccusage | 1.200 | 333 | 150.0 | 3.00 |",
		"| totals, memory | ≤ 100 MB | 30.00 MB | yes |",
		"| totals, against ccusage | ≥ 2 × | 3.00 × | yes |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %q in\n%s", want, &b)
		}
	}
}

func TestCheckTotals(t *testing.T) {
	t.Parallel()
	want := corpus.Tokens{Input: 1, Output: 2, CacheWrite: 3, CacheRead: 4}
	for text, ok := range map[string]bool{
		`{"daily":[],"totals":{"inputTokens":1,"outputTokens":2,"cacheCreationTokens":3,"cacheReadTokens":4,"totalTokens":10}}`: true,
		`{"totals":{"inputTokens":1,"outputTokens":2,"cacheCreationTokens":3,"cacheReadTokens":5}}`:                             false,
		`No data`: false,
	} {
		if err := checkTotals([]byte(text), want); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
