package sessions

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/wire"
)

// Memory is a [Store] that lasts as long as the process, for tests and for programs that keep nothing. It is a
// [ProjectLister] and a [Summarizer], too. The zero value is empty and ready.
type Memory struct {
	mu       sync.RWMutex
	projects map[string]map[string]*memorySession // by name and ID
}

// A memorySession is a session with its transcripts, by subpath.
type memorySession struct {
	transcripts map[string]*memoryTranscript
	changed     time.Time // of its own transcript, as is the summary
	summary     Summary
}

// A memoryTranscript only grows, so that a loop can go on over what it has seen without a lock.
type memoryTranscript struct {
	entries []wire.JSON
	uuids   map[string]bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

// Append adds entries to a transcript. See [Store].
func (m *Memory) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	uuids, err := entryUUIDs(key, entries)
	if err != nil || len(entries) == 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(key)
	t := s.transcripts[key.Subpath]
	if t == nil {
		t = &memoryTranscript{uuids: map[string]bool{}}
		s.transcripts[key.Subpath] = t
	}
	for i, entry := range entries {
		if t.add(uuids[i], entry) && key.Subpath == "" {
			s.summary.Add(entry)
		}
	}
	if key.Subpath == "" {
		s.changed = time.Now()
	}
	return nil
}

// session returns the session of a key, which it makes if there is none.
func (m *Memory) session(key wire.SessionKey) *memorySession {
	if m.projects == nil {
		m.projects = map[string]map[string]*memorySession{}
	}
	if m.projects[key.Project] == nil {
		m.projects[key.Project] = map[string]*memorySession{}
	}
	s := m.projects[key.Project][key.SessionID]
	if s == nil {
		s = &memorySession{transcripts: map[string]*memoryTranscript{}}
		m.projects[key.Project][key.SessionID] = s
	}
	return s
}

// add reports whether the entry is new.
func (t *memoryTranscript) add(uuid string, entry wire.JSON) bool {
	if t.uuids[uuid] {
		return false
	}
	if uuid != "" {
		t.uuids[uuid] = true
	}
	t.entries = append(t.entries, entry)
	return true
}

// Load returns the entries of a transcript as they are when the loop begins. See [Store].
func (m *Memory) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		if err := ready(ctx, key); err != nil {
			yield("", err)
			return
		}
		for _, entry := range m.entries(key) {
			if err := ctx.Err(); err != nil {
				yield("", err)
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (m *Memory) entries(key wire.SessionKey) []wire.JSON {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s := m.projects[key.Project][key.SessionID]; s != nil && s.transcripts[key.Subpath] != nil {
		return s.transcripts[key.Subpath].entries
	}
	return nil
}

// Sessions returns the sessions of a project. See [Store].
func (m *Memory) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	return ofSessions(ctx, m, project, func(s *memorySession) time.Time { return s.changed })
}

// Summaries returns the summaries of the sessions of a project. See [Summarizer].
func (m *Memory) Summaries(ctx context.Context, project string) (map[string]Summary, error) {
	return ofSessions(ctx, m, project, func(s *memorySession) Summary { return s.summary })
}

// ofSessions returns something of each session of a project that has a transcript of its own.
func ofSessions[T any](
	ctx context.Context, m *Memory, project string, something func(*memorySession) T,
) (map[string]T, error) {
	if err := ready(ctx, anyKey(project)); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := map[string]T{}
	for id, s := range m.projects[project] {
		if s.transcripts[""] != nil {
			found[id] = something(s)
		}
	}
	return found, nil
}

// Projects returns the projects that have sessions, sorted. See [ProjectLister].
func (m *Memory) Projects(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var projects []string
	for project, found := range m.projects {
		for _, s := range found {
			if s.transcripts[""] != nil {
				projects = append(projects, project)
				break
			}
		}
	}
	slices.Sort(projects)
	return projects, nil
}

// Subpaths returns the subpaths below a session, sorted. See [Store].
func (m *Memory) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if err := ready(ctx, key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var subpaths []string
	if s := m.projects[key.Project][key.SessionID]; s != nil {
		subpaths = slices.Sorted(maps.Keys(s.transcripts))
	}
	return slices.DeleteFunc(subpaths, func(subpath string) bool { return subpath == "" }), nil
}

// Delete removes a transcript, or a session with all that is below it. See [Store].
func (m *Memory) Delete(ctx context.Context, key wire.SessionKey) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.projects[key.Project][key.SessionID]
	if s == nil {
		return nil
	}
	delete(s.transcripts, key.Subpath)
	if key.Subpath == "" || len(s.transcripts) == 0 {
		delete(m.projects[key.Project], key.SessionID)
	}
	if len(m.projects[key.Project]) == 0 {
		delete(m.projects, key.Project)
	}
	return nil
}
