package web

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A listing keeps the session list. It starts to read when the first request needs it, and then
// keeps reading as files change: names first, then the summaries of visible sessions, then the
// others.
type listing struct {
	source *view.Source
	now    func() time.Time
	ctx    context.Context // ends with the server
	work   sync.WaitGroup
	begin  sync.Once
	listed chan struct{} // closed when the first list arrived
	wake   chan struct{} // there is something to read
	busy   atomic.Int32  // requests that someone waits for

	mu       sync.Mutex
	list     view.List
	ids      map[string]*view.Entry // by the ID in addresses
	names    map[*view.Entry]string // the ID in addresses
	wanted   []sessions.SessionInfo // whose figures are to be counted
	err      error                  // why the list is not complete
	looked   time.Time              // when Running was read
	revision int
	changed  chan struct{} // closed at the next change
}

func newListing(ctx context.Context, source *view.Source, now func() time.Time) *listing {
	return &listing{
		source: source, now: now, ctx: ctx, listed: make(chan struct{}), wake: make(chan struct{}, 1),
		ids: map[string]*view.Entry{}, changed: make(chan struct{}),
	}
}

// close waits until nothing is read any more. The context must have ended.
func (l *listing) close() {
	l.begin.Do(func() {}) // it won't start any more
	l.work.Wait()
}

// open returns with the lock held, once the list is read. The caller unlocks it.
func (l *listing) open(ctx context.Context) error {
	l.begin.Do(func() {
		l.work.Go(l.follow)
		l.work.Go(l.read)
	})
	select {
	case <-l.listed:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return refused(http.StatusServiceUnavailable, "the server is ending")
	}
	l.mu.Lock()
	return nil
}

// follow takes the file lists.
func (l *listing) follow() {
	first := true
	for infos, err := range l.source.List(l.ctx) {
		l.mu.Lock()
		if err != nil {
			l.err = err
		}
		if infos != nil || first {
			l.take(infos)
		}
		l.looked = time.Time{} // an agent that starts or ends changes files
		l.change()
		l.mu.Unlock()
		if first {
			close(l.listed)
			first = false
		}
		l.rouse()
	}
	if first { // nothing could be listed
		close(l.listed)
	}
}

// take takes a list, and gives each session an ID that no other one has: if several projects have one
// with the same ID, their names belong to it, whichever is the newest. The ID alone is the newest one's.
// The lock is held.
func (l *listing) take(infos []sessions.SessionInfo) {
	l.list.Take(infos)
	l.ids = make(map[string]*view.Entry, len(infos))
	l.names = make(map[*view.Entry]string, len(infos))
	for _, e := range l.list.Order {
		first, taken := l.ids[e.ID]
		if !taken {
			l.ids[e.ID], l.names[e] = e, e.ID
			continue
		}
		for _, one := range []*view.Entry{first, e} {
			l.names[one] = one.ID + "@" + one.Project
			l.ids[l.names[one]] = one
		}
	}
}

// change announces a changed list. The lock is held.
func (l *listing) change() {
	l.revision++
	close(l.changed)
	l.changed = make(chan struct{})
}

// rouse wakes the reader.
func (l *listing) rouse() {
	select {
	case l.wake <- struct{}{}:
	default: // it is known
	}
}

const (
	readAtOnce  = 100 // summaries, which takes some 5 ms
	countAtOnce = 8   // sessions whose figures are counted at a time
	quietTime   = 20 * time.Millisecond
)

// hurry notes that someone waits for a request. Nothing else is read until the returned function is
// called.
func (l *listing) hurry() (done func()) {
	l.busy.Add(1)
	return func() { l.busy.Add(-1) }
}

// quiet waits until nobody waits for a request. It returns false if the server ends.
func (l *listing) quiet() bool {
	for l.busy.Load() > 0 {
		if !waitFor(l.ctx, quietTime, nil) {
			return false
		}
	}
	return l.ctx.Err() == nil
}

// read reads the figures that are wanted, and the summaries of all sessions.
func (l *listing) read() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.wake:
		}
		for l.quiet() && (l.readSummaries() || l.countFigures()) {
		}
	}
}

// readSummaries reads the summaries of some sessions. It returns false if all have one.
func (l *listing) readSummaries() bool {
	l.mu.Lock()
	unread := l.list.Unread(readAtOnce)
	l.mu.Unlock()
	if len(unread) == 0 {
		return false
	}
	found := l.summarize(l.ctx, unread)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list.TakeSummaries(found)
	l.change()
	return l.ctx.Err() == nil
}

func (l *listing) summarize(ctx context.Context, infos []sessions.SessionInfo) []view.Described {
	found := make([]view.Described, 0, len(infos))
	for _, info := range l.source.Summarize(ctx, infos) {
		if ctx.Err() != nil {
			return nil // the errors are not about the sessions
		}
		found = append(found, view.Describe(info))
	}
	return found
}

// countFigures counts what some of the wanted sessions did. It returns false if there are none.
func (l *listing) countFigures() bool {
	l.mu.Lock()
	infos := l.wanted[:min(countAtOnce, len(l.wanted))]
	l.wanted = l.wanted[len(infos):]
	l.mu.Unlock()
	if len(infos) == 0 {
		return false
	}
	prices := usage.DefaultPrices()
	figures := l.source.Measure(l.ctx, infos)
	if l.ctx.Err() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range figures {
		if e := l.list.Find(infos[i].Path); e != nil {
			e.Figures = view.Count(&infos[i], &figures[i], prices)
		}
	}
	l.change()
	return true
}

// want sets the visible sessions, so that their figures are counted. The lock is held.
func (l *listing) want(shown []*view.Entry) {
	l.wanted = nil
	for _, e := range shown {
		if e.Uncounted() {
			l.wanted = append(l.wanted, e.SessionInfo)
		}
	}
	if len(l.wanted) > 0 {
		l.rouse()
	}
}

// complete reads the summaries of sessions that are about to be shown, and reports whether one was
// missing. The lock is held, but not while it reads.
func (l *listing) complete(ctx context.Context, shown []*view.Entry) bool {
	var missing []sessions.SessionInfo
	for _, e := range shown {
		if !e.Read && e.Path != "" {
			missing = append(missing, e.SessionInfo)
		}
	}
	if len(missing) == 0 {
		return false
	}
	l.mu.Unlock()
	found := l.summarize(ctx, missing)
	l.mu.Lock()
	l.list.TakeSummaries(found)
	return len(found) > 0
}

const (
	// freshRunning is the time for which known agent states count as current.
	freshRunning = time.Second
	// lookInterval is the interval at which agent states are read while someone looks: a killed
	// process does not change a file. If no agent runs, that is rarely needed.
	lookInterval     = 10 * time.Second
	idleLookInterval = time.Minute
)

// look reads what agents do, unless that is new. The lock is held, but not while it reads.
func (l *listing) look(ctx context.Context) {
	if now := l.now(); !l.looked.IsZero() && now.Sub(l.looked) < freshRunning {
		return
	}
	l.looked = l.now()
	l.mu.Unlock()
	list, err := l.source.Running(ctx)
	l.mu.Lock()
	if err != nil && len(list) == 0 {
		return // the last states are better than none
	}
	if running := view.Running(list); !maps.Equal(running, l.list.Running) {
		l.list.Running = running
		l.change()
	}
}

// watch calls changed with each new revision until the context ends.
func (l *listing) watch(ctx context.Context, changed func(revision int)) error {
	for last := -1; ; {
		if err := l.open(ctx); err != nil {
			return endOf(ctx, err)
		}
		l.look(ctx)
		revision, next, interval := l.revision, l.changed, lookInterval
		if len(l.list.Running) == 0 {
			interval = idleLookInterval
		}
		l.mu.Unlock()
		if revision != last {
			changed(revision)
			last = revision
		}
		if !waitFor(ctx, listPace, nil) || !waitFor(ctx, interval, next) {
			return nil
		}
	}
}

// listPace is the minimum time between two list changes that are sent.
const listPace = 200 * time.Millisecond

// waitFor waits for a time or for a channel to be closed. It returns false if the context ends.
func waitFor(ctx context.Context, d time.Duration, closed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-closed:
	}
	return true
}

// endOf returns an error, unless it only reports the end of the context.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// address returns the ID in addresses of a session that an agent runs in a directory.
func (l *listing) address(ctx context.Context, id, dir string) string {
	project, err := sessions.ProjectName(dir)
	if err != nil || l.open(ctx) != nil {
		return id
	}
	defer l.mu.Unlock()
	if name := id + "@" + project; l.ids[name] != nil {
		return name
	}
	return id
}

// find returns a session by the ID in an address, with its summary and its state.
func (l *listing) find(ctx context.Context, id string) (view.Entry, view.State, error) {
	if err := l.open(ctx); err != nil {
		return view.Entry{}, view.State{}, err
	}
	defer l.mu.Unlock()
	e := l.ids[id]
	if e == nil {
		return view.Entry{}, view.State{}, &refusal{
			status: http.StatusNotFound, reason: "there is no session with this ID",
			hint: "It may have been deleted: look in the trash.",
		}
	}
	l.look(ctx)
	l.complete(ctx, []*view.Entry{e})
	return *e, l.list.State(e), nil
}
