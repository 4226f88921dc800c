package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A fakeSource has sessions in memory. It records the actions on them.
type fakeSource struct {
	mu       sync.Mutex
	changed  chan struct{} // closed at the next change
	infos    []sessions.SessionInfo
	states   map[string][]*follow.Snapshot // by the ID of the session, the last one at the end
	failures map[string]error              // why a session can no longer be followed
	running  []sessions.RunningSession
	here     map[string]bool
	trash    []sessions.TrashedSession
	figures  map[string]sessions.Figures
	glances  map[string]view.Glance
	found    *view.Found
	entries  map[int]wire.JSON // by line
	spills   map[string][]byte
	done     []string // the actions, such as "rename ID title"
}

var _ Source = (*fakeSource)(nil)

var errFake = errors.New("it is not there")

func newFakeSource() *fakeSource {
	return &fakeSource{
		changed: make(chan struct{}), states: map[string][]*follow.Snapshot{}, failures: map[string]error{}, here: map[string]bool{},
		figures: map[string]sessions.Figures{}, glances: map[string]view.Glance{}, entries: map[int]wire.JSON{}, spills: map[string][]byte{},
	}
}

// change changes the source, and wakes up all waiters.
func (f *fakeSource) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// add adds a state of a session.
func (f *fakeSource) add(id string, s *follow.Snapshot) {
	f.change(func() {
		s.Revision = len(f.states[id]) + 1
		f.states[id] = append(f.states[id], s)
	})
}

// note notes that something was done.
func (f *fakeSource) note(format string, args ...any) {
	f.change(func() { f.done = append(f.done, fmt.Sprintf(format, args...)) })
}

// notes returns the recorded actions.
func (f *fakeSource) notes() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.done, "\n")
}

// List yields the sessions, and again after every change.
func (f *fakeSource) List(ctx context.Context) iter.Seq2[[]sessions.SessionInfo, error] {
	return func(yield func([]sessions.SessionInfo, error) bool) {
		for {
			f.mu.Lock()
			infos, changed := append([]sessions.SessionInfo{}, f.infos...), f.changed
			f.mu.Unlock()
			for i := range infos {
				infos[i].Summary = sessions.Summary{}
			}
			if !yield(infos, nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fakeSource) Summarize(_ context.Context, infos []sessions.SessionInfo) []sessions.SessionInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := append([]sessions.SessionInfo{}, infos...)
	for i := range out {
		for _, known := range f.infos {
			if known.ID == out[i].ID {
				out[i].Summary, out[i].Ongoing = known.Summary, known.Ongoing
			}
		}
	}
	return out
}

func (f *fakeSource) Measure(_ context.Context, infos []sessions.SessionInfo) []sessions.Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]sessions.Figures, len(infos))
	for i := range infos {
		out[i] = f.figures[infos[i].ID]
	}
	return out
}

func (f *fakeSource) Sizes(_ context.Context, infos []sessions.SessionInfo) []int64 {
	return make([]int64, len(infos))
}

func (f *fakeSource) Running(context.Context) ([]sessions.RunningSession, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sessions.RunningSession{}, f.running...), nil
}

func (f *fakeSource) Here(context.Context) map[string]bool { return f.here }

func (f *fakeSource) Glance(_ context.Context, info sessions.SessionInfo) (view.Glance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.glances[info.ID], nil
}

func (f *fakeSource) Trash(context.Context) ([]sessions.TrashedSession, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]sessions.TrashedSession{}, f.trash...), nil
}

func (f *fakeSource) Follow(info sessions.SessionInfo) view.Follower {
	return &fakeFollower{source: f, id: info.ID, closed: make(chan struct{})}
}

func (f *fakeSource) Search(_ context.Context, words string, _ int, _ func(done, total int64)) (*view.Found, error) {
	f.note("search %s", words)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		return &view.Found{}, nil
	}
	return f.found, nil
}

func (f *fakeSource) Entry(_ context.Context, _ sessions.SessionInfo, agent string, at wire.Position) (wire.JSON, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if entry, ok := f.entries[at.Line]; ok && agent == "" {
		return entry, nil
	}
	return "", errFake
}

func (f *fakeSource) Spill(_ context.Context, _ sessions.SessionInfo, path string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if data, ok := f.spills[path]; ok {
		return data, nil
	}
	return nil, errFake
}

// edit changes the info of a session.
func (f *fakeSource) edit(id string, edit func(*sessions.SessionInfo)) {
	f.change(func() {
		for i := range f.infos {
			if f.infos[i].ID == id {
				edit(&f.infos[i])
			}
		}
	})
}

func (f *fakeSource) Rename(_ context.Context, info sessions.SessionInfo, title string) error {
	f.note("rename %s %s", info.ID, title)
	f.edit(info.ID, func(i *sessions.SessionInfo) { i.CustomTitle = title })
	return nil
}

func (f *fakeSource) Tag(_ context.Context, info sessions.SessionInfo, tag string) error {
	f.note("tag %s %s", info.ID, tag)
	f.edit(info.ID, func(i *sessions.SessionInfo) { i.Tag = tag })
	return nil
}

func (f *fakeSource) Delete(_ context.Context, info sessions.SessionInfo) error {
	f.note("delete %s", info.ID)
	f.change(func() {
		f.infos = slices.DeleteFunc(f.infos, func(i sessions.SessionInfo) bool { return i.ID == info.ID })
		f.trash = append([]sessions.TrashedSession{{ID: info.ID, Project: info.Project, Title: info.Title(), Deleted: storyTime, Path: "/trash/" + info.ID}}, f.trash...)
	})
	return nil
}

func (f *fakeSource) Restore(_ context.Context, deleted sessions.TrashedSession) error {
	f.note("restore %s", deleted.ID)
	f.change(func() {
		f.trash = slices.DeleteFunc(f.trash, func(t sessions.TrashedSession) bool { return t.ID == deleted.ID })
	})
	return nil
}

func (f *fakeSource) Export(_ context.Context, info sessions.SessionInfo, show bool) (string, error) {
	f.note("export %s %t", info.ID, show)
	return "/home/dev/" + info.ID + ".html", nil
}

func (f *fakeSource) Markdown(_ context.Context, info sessions.SessionInfo, lines []int) (string, error) {
	return fmt.Sprintf("# Markdown of %s, lines %v", info.ID, lines), nil
}

// Command returns a program that does nothing.
func (f *fakeSource) Command(p view.Program) (view.Runner, error) {
	f.note("%s %s %s", p.Kind, p.Info.ID, p.Text)
	return exec.CommandContext(context.Background(), os.Args[0], "-test.run=^$"), nil
}

type fakeFollower struct {
	source *fakeSource
	id     string
	seen   int
	once   sync.Once
	closed chan struct{}
}

func (f *fakeFollower) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

func (f *fakeFollower) Next(ctx context.Context) (*follow.Snapshot, error) {
	for {
		f.source.mu.Lock()
		states, err, changed := f.source.states[f.id], f.source.failures[f.id], f.source.changed
		f.source.mu.Unlock()
		if len(states) > f.seen {
			last := *states[len(states)-1]
			for _, s := range states[f.seen:] {
				last.First = min(last.First, s.First)
			}
			if f.seen == 0 {
				last.First = 0
			}
			f.seen = len(states)
			return &last, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-f.closed:
			return nil, context.Canceled
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readSession reads a recorded transcript and its subagents.
func readSession(t testing.TB, path string) *transcript.Transcript {
	t.Helper()
	path, err := corpus.Install(t.TempDir(), path)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := sessions.ReadFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
