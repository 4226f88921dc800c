package view_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/view"
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

// The machine is shown if an archive has sessions of several.
func TestMachineColumn(t *testing.T) { //nolint:paralleltest // the roots of archives belong to the process
	sessions.SetArchiveRoots([]string{"/archive/desktop"})
	t.Cleanup(func() { sessions.SetArchiveRoots(nil) })
	l := view.List{Here: "laptop"}
	l.Take([]sessions.SessionInfo{{ID: "1", Path: "/home/me/1.jsonl"}, {ID: "2", Path: "/archive/desktop/projects/p/2.jsonl"}})
	machine := view.ColumnOf("machine")
	if here, there := machine.Text(&l, l.Order[0]), machine.Text(&l, l.Order[1]); here != "laptop" || there != "desktop" || !l.Machines() {
		t.Errorf("machines %q and %q, several: %t", here, there, l.Machines())
	}
	l.Take([]sessions.SessionInfo{{ID: "1", Path: "/home/me/1.jsonl"}})
	if got := machine.Text(&l, l.Order[0]); got != "" || l.MachineName(l.Order[0]) != "laptop" {
		t.Errorf("the only machine is shown as %q", got)
	}
}
