// Package storetest tests session stores. Its tests define what [sessions.Store] promises. Run them
// on the store that you write; the stores of Clew pass them.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) sessions.Store { return openMine(t) })
//	}
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Run tests a store in subtests of t. Each subtest calls open, which returns a new, empty store and
// closes it with t.Cleanup. If the store is a [sessions.ProjectLister] or a [sessions.Summarizer],
// these methods are tested as well.
func Run(t *testing.T, open func(t *testing.T) sessions.Store) {
	t.Helper()
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) { test(t, open(t)) })
			}
		})
	}
}

var groups = map[string]map[string]func(*testing.T, sessions.Store){
	"entries":    entryTests,
	"keys":       keyTests,
	"uuids":      uuidTests,
	"faults":     faultTests,
	"concurrent": concurrentTests,
	"offers":     optionalTests,
}

// RunDurable is like [Run], for a store that keeps its data in the directory dir, or under that
// name. It also tests that the data is there after the store was closed and opened again.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) sessions.Store) {
	t.Helper()
	Run(t, func(t *testing.T) sessions.Store { return open(t, t.TempDir()) })
	t.Run("durable", func(t *testing.T) {
		dir := t.TempDir()
		var written time.Time
		t.Run("write", func(t *testing.T) {
			s := open(t, dir)
			mustAppend(t, s, main, titles...)
			mustAppend(t, s, agent, numbered(3, 5)...)
			mustAppend(t, s, other, numbered(5, 6)...)
			mustDelete(t, s, other)
			written = sessionTime(t, s, main)
		})
		t.Run("read", func(t *testing.T) {
			s := open(t, dir)
			checkLoad(t, s, main, titles)
			checkLoad(t, s, agent, numbered(3, 5))
			checkLoad(t, s, other, nil)
			checkSessions(t, s, main.Project, main.SessionID)
			checkSubpaths(t, s, main, agent.Subpath)
			checkSummaries(t, s, main.SessionID)
			if now := sessionTime(t, s, main); !now.Equal(written) {
				t.Errorf("the time of the session is %v, and was %v", now, written)
			}
		})
		t.Run("go on", func(t *testing.T) {
			s := open(t, dir)
			mustAppend(t, s, main, append(titles[:1:1], numbered(0, 2)...)...)
			checkLoad(t, s, main, append(titles[:2:2], numbered(0, 2)...))
			checkSummaries(t, s, main.SessionID)
		})
	})
}

// The transcripts that most tests use.
var (
	main      = wire.SessionKey{Project: "-home-me-code", SessionID: "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"}
	agent     = wire.SessionKey{Project: main.Project, SessionID: main.SessionID, Subpath: "subagents/agent-1"}
	deep      = wire.SessionKey{Project: main.Project, SessionID: main.SessionID, Subpath: "subagents/workflows/run/agent-2"}
	other     = wire.SessionKey{Project: main.Project, SessionID: "0c9b8f0e-64a5-4f0b-8a53-7b6c1f1d9e22"}
	elsewhere = wire.SessionKey{Project: "-home-me-elsewhere", SessionID: main.SessionID}
)

// numbered returns entries with the numbers from a up to, but not including, b, and UUIDs made of
// them.
func numbered(a, b int) []wire.JSON {
	entries := make([]wire.JSON, 0, b-a)
	for i := a; i < b; i++ {
		entries = append(entries, wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"u-%d","number":%d}`, i, i)))
	}
	return entries
}

func mustAppend(t *testing.T, s sessions.Store, key wire.SessionKey, entries ...wire.JSON) {
	t.Helper()
	if err := s.Append(t.Context(), key, entries); err != nil {
		t.Fatalf("Append to %s: %v", key, err)
	}
}

func mustDelete(t *testing.T, s sessions.Store, key wire.SessionKey) {
	t.Helper()
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatalf("Delete %s: %v", key, err)
	}
}

func load(ctx context.Context, s sessions.Store, key wire.SessionKey) ([]wire.JSON, error) {
	var entries []wire.JSON
	var failed error
	for entry, err := range s.Load(ctx, key) {
		if failed != nil {
			return nil, fmt.Errorf("Load yielded another pair after the error: %w", failed)
		}
		if failed = err; err == nil {
			entries = append(entries, entry)
		}
	}
	return entries, failed
}

func mustLoad(t *testing.T, s sessions.Store, key wire.SessionKey) []wire.JSON {
	t.Helper()
	entries, err := load(t.Context(), s, key)
	if err != nil {
		t.Fatalf("Load %s: %v", key, err)
	}
	return entries
}

// checkLoad compares the entries of a transcript with the expected ones.
func checkLoad(t *testing.T, s sessions.Store, key wire.SessionKey, want []wire.JSON) {
	t.Helper()
	checkValues(t, mustLoad(t, s, key), want)
}

func checkSessions(t *testing.T, s sessions.Store, project string, want ...string) {
	t.Helper()
	got, err := s.Sessions(t.Context(), project)
	if err != nil {
		t.Fatalf("Sessions of %s: %v", project, err)
	}
	if diff := cmp.Diff(sorted(want), keys(got)); diff != "" {
		t.Errorf("Sessions of %s (-want +got):\n%s", project, diff)
	}
}

func checkSubpaths(t *testing.T, s sessions.Store, key wire.SessionKey, want ...string) {
	t.Helper()
	got, err := s.Subpaths(t.Context(), key)
	if err != nil {
		t.Fatalf("Subpaths of %s: %v", key, err)
	}
	if diff := cmp.Diff(sorted(want), append([]string{}, got...)); diff != "" {
		t.Errorf("Subpaths of %s (-want +got):\n%s", key, diff)
	}
}
