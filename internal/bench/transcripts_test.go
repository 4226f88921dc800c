package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes the program of the tests do the jobs of children, too.
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
	if err := r.writeMarkdown(&b); err != nil {
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
