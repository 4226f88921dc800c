package stores_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

// A memory is a store in memory that does only what a store must do.
type memory struct {
	mu          sync.Mutex
	transcripts map[wire.SessionKey][]wire.JSON
	times       map[wire.SessionKey]time.Time
}

func newMemory() *memory {
	return &memory{transcripts: map[wire.SessionKey][]wire.JSON{}, times: map[wire.SessionKey]time.Time{}}
}

func (m *memory) Append(_ context.Context, key wire.SessionKey, entries []wire.JSON) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.transcripts[key] = append(m.transcripts[key], entries...)
	m.times[key] = time.Now()
	return nil
}

func (m *memory) Load(_ context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	entries := m.entries(key)
	return func(yield func(wire.JSON, error) bool) {
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (m *memory) Sessions(_ context.Context, project string) (map[string]time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]time.Time{}
	for key, at := range m.times {
		if key.Project == project && key.Subpath == "" {
			found[key.SessionID] = at
		}
	}
	return found, nil
}

func (m *memory) Subpaths(_ context.Context, key wire.SessionKey) ([]string, error) {
	var found []string
	for _, other := range m.keys() {
		if other.Project == key.Project && other.SessionID == key.SessionID && other.Subpath != "" {
			found = append(found, other.Subpath)
		}
	}
	return found, nil
}

// keys returns the keys of all transcripts, sorted.
func (m *memory) keys() []wire.SessionKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Keys(m.transcripts), func(a, b wire.SessionKey) int {
		return strings.Compare(a.String(), b.String())
	})
}

func (m *memory) entries(key wire.SessionKey) []wire.JSON {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.transcripts[key])
}

// over returns options for Claude Code over a model.
func over(t *testing.T, model *clewtest.Model, opts clew.Options) *clew.Options {
	t.Helper()
	return scene.Options(t, model, &opts)
}

// connect opens a session that ends with the test.
func connect(t *testing.T, opts *clew.Options) *clew.Session {
	t.Helper()
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeSession(t, s) })
	return s
}

func closeSession(t *testing.T, s *clew.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// ask runs a turn that has to succeed, and returns its result.
func ask(t *testing.T, s *clew.Session, prompt string) *clew.ResultMessage {
	t.Helper()
	var result *clew.ResultMessage
	for msg, err := range s.Turn(t.Context(), clew.Text(prompt)) {
		switch m := msg.(type) {
		case *clew.ResultMessage:
			result = m
		case *wire.MirrorErrorMessage, *wire.TranscriptMirrorMessage:
			t.Errorf("message %s", m.Raw())
		}
		if err != nil {
			t.Fatalf("%s: %v", prompt, err)
		}
	}
	return result
}
