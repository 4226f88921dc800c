package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMeasureProgram(t *testing.T) {
	t.Parallel()
	list, err := measureProgram(t.Context(), options{seed: 1, transcriptRounds: 1, projectsSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		if u.First <= 0 || u.Seconds < u.First || len(u.rounds) != max(u.times, 1) {
			t.Errorf("%s: %+v", u.Name, u)
		}
	}
	r := report{Program: list}
	r.judgeProgram()
	var b strings.Builder
	if err := r.writeMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| clew ls, 10 sessions | ", "| clew version | ≤ 30 ms |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
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
