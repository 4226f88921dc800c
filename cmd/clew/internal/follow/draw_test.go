package follow_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// drawAll draws a session as a viewer does: bodies, and panels. It returns the number of lines.
func drawAll(tr *transcript.Transcript, l *rows.List) int {
	o := render.Options{Width: 80, Dir: tr.CWD, Zone: time.UTC}
	n := 0
	for i := range l.Len() {
		body, _ := o.RowBody(l.At(i), 5)
		n += 1 + len(body)
	}
	for _, panel := range [][]render.PanelLine{
		o.AgentsPanel(tr, l), o.FilesPanel(tr, l), o.TurnsPanel(tr, l), o.ContextPanel(tr, l), o.UsagePanel(tr, l), o.BranchesPanel(l),
		o.Outline(l),
	} {
		n += len(panel)
	}
	return n
}

// rowTexts returns the lines of a session's rows.
func rowTexts(tr *transcript.Transcript, l *rows.List) []string {
	o := render.Options{Width: 80, Dir: tr.CWD, Zone: time.UTC}
	var texts []string
	for i := range l.Len() {
		texts = append(texts, string(l.At(i).ID)+" "+o.RowLine(l.At(i), render.NoMark))
	}
	return texts
}

// A session that grows is drawn while it is read further, and its rows always equal the rows of the
// whole.
func TestFollowedRows(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"../demo/recording/allowed", "../../../../transcript/testdata/recorded/subagent_background", "../../../../internal/render/testdata/rewound",
	} {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			want := finalTexts(t, source)
			path := filepath.Join(t.TempDir(), "projects", "p", "0b9cbcd1-6a9b-4b43-9d3b-0c8d5c7f2a11.jsonl")
			hub := follow.New(nil)
			defer func() { _ = hub.Close() }()
			reader := hub.Open(path, 0)
			written := make(chan error, 1)
			rnd := soak.Rand(t)
			go func() { written <- copySlowly(rnd, source, path) }()
			ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
			defer cancel()
			var l rows.List
			for done := false; !done; {
				s, err := reader.Next(ctx)
				if err != nil {
					t.Fatalf("%v, with %d of %d rows", err, l.Len(), len(want))
				}
				if s.Transcript == nil {
					continue
				}
				l.Update(s.Transcript, s.First)
				var made rows.List
				made.Update(s.Transcript, 0)
				if diff := cmp.Diff(rowTexts(s.Transcript, &made), rowTexts(s.Transcript, &l)); diff != "" {
					t.Fatalf("(-new +updated):\n%s", diff)
				}
				if n := drawAll(s.Transcript, &l); n < l.Len() {
					t.Fatalf("%d lines of %d rows", n, l.Len())
				}
				done = cmp.Equal(want, rowTexts(s.Transcript, &l))
			}
			if err := <-written; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// finalTexts returns the lines of a complete session's rows.
func finalTexts(t *testing.T, source string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "0b9cbcd1-6a9b-4b43-9d3b-0c8d5c7f2a11.jsonl")
	if err := copySlowly(soak.Rand(t), source, path); err != nil {
		t.Fatal(err)
	}
	tr, err := sessions.ReadFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var l rows.List
	l.Update(tr, 0)
	return rowTexts(tr, &l)
}

// copySlowly copies a session and its subagents line by line, in a random order.
func copySlowly(rnd *rand.Rand, source, path string) error {
	targets := map[string]string{filepath.Join(source, "transcript.jsonl"): path}
	agents, _ := filepath.Glob(filepath.Join(source, "subagents", "*.jsonl"))
	for _, agent := range agents {
		targets[agent] = filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents", filepath.Base(agent))
	}
	rest := map[string][]string{}
	for from, to := range targets {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		rest[to] = strings.SplitAfter(string(data), "\n")
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
	}
	for len(rest) > 0 {
		left := slices.Sorted(maps.Keys(rest))
		to := left[rnd.IntN(len(left))]
		n := min(1+rnd.IntN(3), len(rest[to]))
		if err := appendText(to, strings.Join(rest[to][:n], "")); err != nil {
			return err
		}
		if rest[to] = rest[to][n:]; len(rest[to]) == 0 {
			delete(rest, to)
		}
	}
	return nil
}

func appendText(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
