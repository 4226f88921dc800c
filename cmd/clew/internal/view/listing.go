package view

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/sessions"
)

// A ListSource has the sessions of a [Listing], such as a [*Source].
type ListSource interface {
	// List yields the sessions by their files alone, the newest first, and again when they change.
	List(ctx context.Context) iter.Seq2[[]sessions.SessionInfo, error]
	// Summarize returns the same sessions with their titles and prompts.
	Summarize(ctx context.Context, infos []sessions.SessionInfo) []sessions.SessionInfo
	// Measure returns what sessions did and cost.
	Measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures
	// Sizes returns the sizes of the transcripts that Measure reads, or 0.
	Sizes(ctx context.Context, infos []sessions.SessionInfo) []int64
	// Running returns the sessions that agents have open.
	Running(ctx context.Context) ([]sessions.RunningSession, error)
}

// A Listing is a list that is kept up to date as files and agents change: names first, then the summaries and
// figures of visible sessions, then the other summaries. A lock of its owner guards the list and the
// fields; it is not held while something is read.
type Listing struct {
	List
	// Err is the reason why the list is not complete, or nil.
	Err error
	// Revision counts the changes.
	Revision int
	// RowsRevision counts the announced changes to anything but figures. Entries may have newer summaries.
	RowsRevision int

	source ListSource
	lock   sync.Locker
	now    func() time.Time
	taken  func()          // called after each list of files, with the lock held; may be nil
	ctx    context.Context //nolint:containedctx // it ends with the owner
	work   sync.WaitGroup
	begin  sync.Once
	listed chan struct{} // closed when the first list arrived
	busy   atomic.Int32  // requests that someone waits for
	recent atomic.Bool   // a request was done since the last moment without one

	// summaries and figures have a value if there is something to read.
	summaries, figures chan struct{}
	shown              []*Entry               // the visible sessions
	looked             time.Time              // when Running began to be read, or zero if it has to be read again
	looks, known       int                    // how often it began to be read, and which of these Running is of
	sized              time.Time              // when sizes were read
	grown              []sessions.SessionInfo // to be counted again
	told               time.Time              // when summaries were announced
	untold             bool                   // there are others
	changed            chan struct{}          // closed at the next change
}

// NewListing returns a listing that reads nothing before Start, Open or Watch, and nothing after ctx ended.
// taken is called after each new list of files, with the lock held; it may be nil.
func NewListing(ctx context.Context, source ListSource, lock sync.Locker, now func() time.Time, taken func()) *Listing {
	return &Listing{
		source: source, lock: lock, now: now, taken: taken, ctx: ctx, listed: make(chan struct{}),
		summaries: make(chan struct{}, 1), figures: make(chan struct{}, 1), changed: make(chan struct{}),
	}
}

// Close waits until nothing is read any more. The context must have ended.
func (l *Listing) Close() {
	l.begin.Do(func() {}) // it won't start any more
	l.work.Wait()
}

// ErrClosed is returned by a listing whose context ended.
var ErrClosed = errors.New("view: the list is closed")

// Start starts to read, and does not wait.
func (l *Listing) Start() {
	l.begin.Do(func() {
		l.work.Go(l.follow)
		l.work.Go(func() { l.keep(l.summaries, l.readSummaries) })
		l.work.Go(func() { l.keep(l.figures, l.countFigures) })
	})
}

// Open waits until the list is read, and returns with the lock held. The caller unlocks it.
func (l *Listing) Open(ctx context.Context) error {
	l.Start()
	select {
	case <-l.listed:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return ErrClosed
	}
	l.lock.Lock()
	return nil
}

// follow takes the file lists.
func (l *Listing) follow() {
	first := true
	for infos, err := range l.source.List(l.ctx) {
		l.lock.Lock()
		if err != nil {
			l.Err = err
		}
		if infos != nil || first {
			l.Take(infos)
			if l.taken != nil {
				l.taken()
			}
		}
		l.looked = time.Time{} // an agent that starts or ends changes files
		l.change()
		l.lock.Unlock()
		if first {
			close(l.listed)
			first = false
		}
		rouse(l.summaries)
	}
	if first { // nothing could be listed
		close(l.listed)
	}
}

// change announces a changed list. The lock is held.
func (l *Listing) change() {
	l.RowsRevision++
	l.announce()
}

// announce announces a change. The lock is held.
func (l *Listing) announce() {
	l.Revision++
	close(l.changed)
	l.changed = make(chan struct{})
}

// rouse wakes a reader.
func rouse(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default: // it is known
	}
}

const (
	readAtOnce   = 100 // summaries, which takes some 5 ms
	countAtOnce  = 8   // sessions whose figures are counted at a time
	quietTime    = 20 * time.Millisecond
	tellInterval = 200 * time.Millisecond // the maximum time until summaries are announced that are not visible
)

// Hurry notes that someone waits for a request. Nothing else is read until the returned function is
// called.
func (l *Listing) Hurry() (done func()) {
	l.busy.Add(1)
	return func() {
		l.recent.Store(true)
		l.busy.Add(-1)
	}
}

// quiet waits until nobody waits for a request. After requests it waits for a moment, since another one often follows. It
// returns false if the owner ends.
func (l *Listing) quiet() bool {
	for l.busy.Load() > 0 || l.recent.Load() {
		if pause.For(l.ctx, quietTime) != nil {
			return false
		}
		if l.busy.Load() == 0 {
			l.recent.Store(false)
		}
	}
	return l.ctx.Err() == nil
}

// keep reads each time it is woken, until there is nothing to read.
func (l *Listing) keep(wake <-chan struct{}, read func() bool) {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-wake:
		}
		for l.quiet() && read() {
		}
	}
}

// readSummaries reads the summaries of some sessions, visible ones first. It returns false if all have one. The summaries of
// other sessions are announced together, at most tellInterval later, since whoever shows the list looks at all sessions at
// each change.
func (l *Listing) readSummaries() bool {
	l.lock.Lock()
	unread := l.visible((*Entry).unread)
	shown := len(unread) > 0
	if !shown {
		unread = l.Unread(readAtOnce)
	}
	if len(unread) == 0 {
		l.tell()
		l.lock.Unlock()
		return false
	}
	l.lock.Unlock()
	found := l.summarize(l.ctx, unread)
	l.lock.Lock()
	defer l.lock.Unlock()
	l.TakeSummaries(unread, found)
	waiting := l.untold
	l.untold = true
	switch {
	case shown || l.now().Sub(l.told) >= tellInterval:
		l.tell()
	case !waiting:
		time.AfterFunc(tellInterval, func() {
			l.lock.Lock()
			defer l.lock.Unlock()
			l.tell()
		})
	}
	rouse(l.figures) // which may have found nothing to count
	return l.ctx.Err() == nil
}

// tell announces the summaries that were not announced yet. The lock is held.
func (l *Listing) tell() {
	if l.untold && l.ctx.Err() == nil {
		l.told, l.untold = l.now(), false
		l.change()
	}
}

func (l *Listing) summarize(ctx context.Context, infos []sessions.SessionInfo) []Described {
	found := l.source.Summarize(ctx, infos)
	if ctx.Err() != nil {
		return nil // the errors are not about the sessions
	}
	return DescribeAll(found)
}

// countFigures counts what some of the visible sessions did. It returns false if there are none.
func (l *Listing) countFigures() bool {
	l.lock.Lock()
	infos := l.visible((*Entry).Uncounted)
	l.lock.Unlock()
	if len(infos) == 0 {
		infos = l.outgrown(countAtOnce)
	}
	infos = infos[:min(countAtOnce, len(infos))]
	if len(infos) == 0 {
		return false
	}
	figures := CountAll(infos, l.source.Measure(l.ctx, infos))
	if l.ctx.Err() != nil {
		return false
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.TakeFigures(infos, figures)
	l.announce()
	return true
}

// outgrown returns at most n of the visible sessions whose subagents have written since they were counted, which does not
// change the list. It looks once in sizeInterval.
func (l *Listing) outgrown(n int) []sessions.SessionInfo {
	l.lock.Lock()
	defer l.lock.Unlock()
	if now := l.now(); len(l.grown) == 0 && (l.sized.IsZero() || now.Sub(l.sized) >= sizeInterval) {
		l.sized = now
		l.findGrown(now)
	}
	n = min(n, len(l.grown))
	found := l.grown[:n:n]
	l.grown = l.grown[n:]
	return found
}

// findGrown finds the sessions for outgrown. The lock is held, but not while it looks at files.
func (l *Listing) findGrown(now time.Time) {
	infos := l.visible(func(e *Entry) bool {
		_, open := l.Running[e.ID]
		return e.counted() && (open || now.Sub(e.Modified) < growTime)
	})
	l.lock.Unlock()
	sizes := l.source.Sizes(l.ctx, infos)
	l.lock.Lock()
	for i := range infos {
		e := l.Find(infos[i].Path)
		if e != nil && e.counted() && sizes[i] > 0 && sizes[i] != e.Figures.Bytes {
			l.grown = append(l.grown, e.SessionInfo)
		}
	}
}

// growTime is the time after the end of a session's own transcript in which its subagents are expected to write.
const growTime = time.Hour

// Want sets the visible sessions, which are read first and counted. The lock is held.
func (l *Listing) Want(shown []*Entry) {
	l.shown = shown
	rouse(l.summaries)
	rouse(l.figures)
}

// visible returns the visible sessions for which a condition holds.
func (l *Listing) visible(holds func(*Entry) bool) (found []sessions.SessionInfo) {
	for _, e := range l.shown {
		if holds(e) && l.Find(e.Key()) == e {
			found = append(found, e.SessionInfo)
		}
	}
	return found
}

// unread reports whether the summary of a session can be read.
func (e *Entry) unread() bool { return !e.Read && e.Path != "" }

// Complete reads the summaries of sessions that are about to be shown, and reports whether one was
// missing. The lock is held, but not while it reads.
func (l *Listing) Complete(ctx context.Context, shown []*Entry) bool {
	var missing []sessions.SessionInfo
	for _, e := range shown {
		if e.unread() {
			missing = append(missing, e.SessionInfo)
		}
	}
	if len(missing) == 0 {
		return false
	}
	l.lock.Unlock()
	found := l.summarize(ctx, missing)
	l.lock.Lock()
	l.TakeSummaries(missing, found)
	return len(found) > 0
}

const (
	// freshRunning is the time for which known agent states count as current.
	freshRunning = time.Second
	// lookInterval is the interval at which agent states are read while someone looks: a killed
	// process does not change a file. If no agent runs, that is rarely needed.
	lookInterval     = 10 * time.Second
	idleLookInterval = time.Minute
	// sizeInterval is the minimum time between two looks at the sizes of subagents' transcripts.
	sizeInterval = 10 * time.Second
)

// Look reads what agents do, unless that is new. It is read for everyone, even if the request that caused it
// ends. The lock is held, but not while it reads.
func (l *Listing) Look() {
	if now := l.now(); l.looked.IsZero() || now.Sub(l.looked) >= freshRunning {
		l.readRunning()
	}
	l.endQuiet()
}

// LookNow is like Look, and reads in any case.
func (l *Listing) LookNow() {
	l.readRunning()
	l.endQuiet()
}

// readRunning reads what agents do. Of two calls at a time, the states of the one that began later count.
func (l *Listing) readRunning() {
	l.looked = l.now()
	l.looks++
	look := l.looks
	l.lock.Unlock()
	list, err := l.source.Running(l.ctx)
	l.lock.Lock()
	if err != nil && len(list) == 0 || look < l.known {
		return // the last states are better than none or older ones
	}
	l.known = look
	if running := Running(list); !maps.Equal(running, l.Running) {
		l.Running = running
		l.change()
	}
}

// endQuiet ends the work of agents that have written nothing for long, which changes no file. It returns the time until
// the next one ends, at most lookInterval or, if no agent is known to run, idleLookInterval. The lock is held.
func (l *Listing) endQuiet() time.Duration {
	interval := lookInterval
	if len(l.Running) == 0 {
		interval = idleLookInterval
	}
	now := l.now()
	next, ended := l.endOngoing(now)
	if ended {
		l.change()
	}
	if !next.IsZero() {
		interval = min(interval, next.Sub(now))
	}
	return interval
}

// Heard tells what agents do, as it was just read. If the list has something else, the next Look reads it again, as Watch
// does soon. The lock is held.
func (l *Listing) Heard(list []sessions.RunningSession) {
	if !maps.Equal(Running(list), l.Running) {
		l.LookAgain()
	}
}

// LookAgain has Watch read soon what agents do. The lock is held.
func (l *Listing) LookAgain() {
	l.looked = time.Time{}
	l.change()
}

// Watch calls changed with each new revision until the context ends, but not twice within pace. It does not
// hold the lock meanwhile.
func (l *Listing) Watch(ctx context.Context, pace time.Duration, changed func(revision int)) error {
	for last := -1; ; {
		if err := l.Open(ctx); err != nil {
			return err
		}
		l.Look()
		interval := l.endQuiet()
		if l.looked.IsZero() { // it was wanted while Look read
			interval = 0
		}
		revision, next := l.Revision, l.changed
		l.lock.Unlock()
		rouse(l.figures) // subagents write without a change of the list
		if revision != last {
			changed(revision)
			last = revision
		}
		if err := pause.For(ctx, pace); err != nil {
			return err
		}
		again := time.NewTimer(interval)
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-next:
		}
		again.Stop()
	}
}
