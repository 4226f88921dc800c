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

// Memory is a [Store] in memory, for tests and for programs that keep nothing. Its contents last as
// long as the process. It is also a [ProjectLister] and a [Summarizer]. The zero value is empty and
// ready to use. A Memory must not be copied after first use.
//
// Everything stays in memory until it is deleted, so a program that runs for long should delete
// sessions that it no longer needs.
type Memory struct {
	mu       sync.RWMutex
	projects map[string]map[string]*memorySession // by name and ID
}

// A memorySession is one session: its transcripts by subpath, with "" for the main one.
type memorySession struct {
	// transcripts holds the transcripts of the session and its subagents, by subpath.
	transcripts map[string]*memoryTranscript
	changed     time.Time // the last append to the main transcript
	// summary summarizes the main transcript. Append keeps it up to date.
	summary Summary
}

// A memoryTranscript only grows, so that Load can iterate over the entries it saw without holding
// the lock.
type memoryTranscript struct {
	// entries are in the order of the appends.
	entries []wire.JSON
	// uuids holds the UUIDs of the entries, so that none is added twice.
	uuids map[string]bool
}

// NewMemory returns an empty store. It is the same as new(Memory).
//
//	store := sessions.NewMemory()
//	s, err := clew.Connect(ctx, &clew.Options{Store: clew.StoreOptions{Store: store}})
func NewMemory() *Memory { return new(Memory) }

// Append adds entries to a transcript. It keeps the strings as they are, without copying them. See
// [Store].
func (m *Memory) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	if err := checkKey(ctx, key); err != nil {
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

// session returns the session of a key. It creates one if there is none. The caller holds the lock.
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

// add appends an entry unless its UUID is known, and reports whether it did.
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

// Load returns the entries that the transcript has when the loop starts. Entries that are appended
// during the loop do not appear in it. See [Store].
func (m *Memory) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		if err := checkKey(ctx, key); err != nil {
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

// entries returns the entries of a transcript. The slice may be read without the lock, since
// elements are never changed.
func (m *Memory) entries(key wire.SessionKey) []wire.JSON {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s := m.projects[key.Project][key.SessionID]; s != nil && s.transcripts[key.Subpath] != nil {
		return s.transcripts[key.Subpath].entries
	}
	return nil
}

// Sessions returns the sessions of a project with the times of their last appends. See [Store].
func (m *Memory) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	return collectSessions(ctx, m, project, func(s *memorySession) time.Time { return s.changed })
}

// Summaries returns the summaries of a project's sessions, which Append keeps up to date. See
// [Summarizer]. The map belongs to the caller.
func (m *Memory) Summaries(ctx context.Context, project string) (map[string]Summary, error) {
	return collectSessions(ctx, m, project, func(s *memorySession) Summary { return s.summary })
}

// collectSessions returns one value for each session of a project that has a main transcript.
func collectSessions[T any](
	ctx context.Context, m *Memory, project string, value func(*memorySession) T,
) (map[string]T, error) {
	if err := checkKey(ctx, projectKey(project)); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := map[string]T{}
	for id, s := range m.projects[project] {
		if s.transcripts[""] != nil {
			found[id] = value(s)
		}
	}
	return found, nil
}

// Projects returns the names of the projects that have sessions, sorted. A project that has only
// transcripts of subagents is not included. See [ProjectLister].
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

// Subpaths returns the subpaths of a session's other transcripts, sorted. See [Store].
func (m *Memory) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if err := checkKey(ctx, key); err != nil {
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

// Delete removes a transcript, or the whole session if the key has no subpath. A loop over Load
// that started before still yields all entries. See [Store].
func (m *Memory) Delete(ctx context.Context, key wire.SessionKey) error {
	if err := checkKey(ctx, key); err != nil {
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
