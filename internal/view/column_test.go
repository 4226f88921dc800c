package view_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// Every column has its turn when a terminal chooses columns.
func TestColumnsAreChosen(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range view.Columns {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	if chosen := slices.Sorted(slices.Values(view.Chosen)); !slices.Equal(chosen, names) {
		t.Errorf("chosen are %q of %q", chosen, names)
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	info := sessions.SessionInfo{ID: "1", Path: "/p/1.jsonl", Project: "-home-me-shop", Summary: sessions.Summary{
		CWD: "/home/me/shop", GitBranch: "main", Model: "claude-opus-5-5-20261001", Created: time.Unix(0, 0), LastTime: time.Unix(300, 0),
	}}
	figures := sessions.Figures{Turns: 2, FilesChanged: 1, Calls: []usage.Call{{Model: "unknown", Usage: usage.Usage{InputTokens: 1200}}}}
	var l view.List
	l.Take([]sessions.SessionInfo{info})
	e := l.Order[0]
	e.Described, e.Figures = view.Describe(info), view.Count(&info, &figures, usage.DefaultPrices())
	for name, want := range map[string]string{
		"project": "shop", "machine": "", "branch": "main", "model": "opus-5-5", "turns": "2 turns", "time": "5m", "tokens": "1.2k tokens",
		"files": "1 file", "cost": "?",
	} {
		if got := view.ColumnOf(name).Text(&l, e); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	e.Ongoing = true
	if got := view.ColumnOf("turns").Text(&l, e); got != "working" {
		t.Errorf("turns of a session in which an agent works: %q", got)
	}
}
