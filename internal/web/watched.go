package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/follow"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

const (
	// maxViews and maxViewBytes limit the sessions that are kept after the last request for them.
	maxViews     = 5
	maxViewBytes = 320 << 20
	// readTime is the time limit for a request that waits for the first read of a session.
	readTime = 20 * time.Second
)

// views are the sessions that pages look at. Those that were looked at last are kept.
type views struct {
	source *view.Source
	held   func(bytes int64) // called with their size; it may be nil
	ctx    context.Context   // ends with the server
	loops  sync.WaitGroup

	mu     sync.Mutex
	byPath map[string]*watched
	used   []*watched // the sessions without users, the last one at the end
	bytes  int64      // of all, as last reported
	closed bool
}

func newViews(ctx context.Context, opts *Options) *views {
	return &views{source: opts.Source, held: opts.Held, ctx: ctx, byPath: map[string]*watched{}}
}

// measure reports the size of the sessions in memory, if it changed. The lock is held.
func (v *views) measure() {
	bytes := int64(0)
	for _, one := range v.byPath {
		bytes += one.size()
	}
	if bytes != v.bytes && v.held != nil {
		v.held(bytes)
	}
	v.bytes = bytes
}

// close waits for all loops. The context must have ended.
func (v *views) close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.loops.Wait()
}

// background runs f, unless the server ends.
func (v *views) background(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.loops.Go(f)
	}
}

// A watched is a session that pages look at: its newest snapshot, and its rows.
type watched struct {
	info  sessions.SessionInfo
	stop  context.CancelFunc
	users int // the lock of views guards it

	mu       sync.RWMutex
	list     rows.List
	top      []int // the indexes of the rows at depth 0
	snapshot *follow.Snapshot
	revision int
	err      error // why the session can't be read
	ended    int   // the line of the last answer that ended
	readers  map[*changes]bool
	changed  chan struct{} // closed at the next change

	counting sync.Mutex
	facts    *facts // of the revision counted, or nil
	counted  int
}

// changes holds the news that a session's reader did not get yet.
type changes struct {
	first int    // the first row at depth 0
	ended string // the text of the last answer that ended
}

// open returns a session, and a function that ends its use.
func (v *views) open(info sessions.SessionInfo) (one *watched, release func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one = v.byPath[info.Path]
	if one != nil && one.failed() {
		v.drop(one)
		one = nil
	}
	if one == nil {
		one = &watched{info: info, readers: map[*changes]bool{}, changed: make(chan struct{})}
		v.byPath[info.Path] = one
		v.start(one)
		v.measure()
	}
	one.users++
	v.used = slices.DeleteFunc(v.used, func(other *watched) bool { return other == one })
	return one, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if one.users--; one.users == 0 && v.byPath[info.Path] == one {
			v.used = append(v.used, one)
			v.trim()
			v.measure()
		}
	}
}

// trim drops the views that were used first until the rest is within the limits. The lock is held.
func (v *views) trim() {
	bytes := int64(0)
	for i := len(v.used) - 1; i >= 0; i-- {
		bytes += v.used[i].size()
		if len(v.used)-i > maxViews || bytes > maxViewBytes {
			for _, old := range slices.Clone(v.used[:i+1]) {
				v.drop(old)
			}
			return
		}
	}
}

// drop forgets a session. The lock is held.
func (v *views) drop(one *watched) {
	one.stop()
	if v.byPath[one.info.Path] == one {
		delete(v.byPath, one.info.Path)
	}
	v.used = slices.DeleteFunc(v.used, func(other *watched) bool { return other == one })
}

// start follows the session until it is dropped. The lock is held.
func (v *views) start(one *watched) {
	ctx, cancel := context.WithCancel(v.ctx)
	one.stop = cancel
	if v.closed {
		cancel()
		one.fail(follow.ErrClosed)
		return
	}
	v.loops.Go(func() {
		reader := v.source.Follow(one.info) //nolint:contextcheck // it is closed
		defer reader.Close()
		for {
			snapshot, err := reader.Next(ctx)
			if err != nil {
				one.fail(err)
				return
			}
			one.take(snapshot)
		}
	})
}

func (w *watched) failed() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.err != nil
}

// size returns about how large the session is in memory.
func (w *watched) size() int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.snapshot == nil {
		return w.info.Size
	}
	return max(w.info.Size, w.snapshot.Total)
}

// fail records that there are no more snapshots.
func (w *watched) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	w.tell()
}

// take takes a snapshot.
func (w *watched) take(snapshot *follow.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.snapshot
	w.snapshot = snapshot
	if snapshot.Transcript == nil {
		w.tell() // a request may report the progress
		return
	}
	first := snapshot.First
	if before == nil || before.Transcript == nil {
		first = 0
	}
	w.update(first)
}

// update makes the rows again from a chunk on. The lock is held.
func (w *watched) update(first int) {
	changed := w.list.Update(w.snapshot.Transcript, first)
	w.revision++
	top, _ := slices.BinarySearch(w.top, changed)
	if top > 0 && (top == len(w.top) || w.top[top] > changed) {
		top-- // the changed row is below this one
	}
	w.top = w.top[:top]
	at := 0
	if top > 0 {
		last := w.top[top-1]
		at = last + 1 + w.list.At(last).Below
	}
	for ; at < w.list.Len(); at += 1 + w.list.At(at).Below {
		w.top = append(w.top, at)
	}
	ended := w.justEnded()
	for c := range w.readers {
		c.first = min(c.first, top)
		c.ended = cmp.Or(ended, c.ended)
	}
	w.tell()
}

// tell wakes the waiters. The lock is held.
func (w *watched) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// maxSpoken is the size of the part of an answer that is sent at its end, in bytes.
const maxSpoken = 2000

// justEnded returns the text of the last answer, if it ended since the last call. The lock is held.
func (w *watched) justEnded() string {
	chunks := w.snapshot.Transcript.Chunks
	if len(chunks) == 0 {
		return ""
	}
	c := &chunks[len(chunks)-1]
	isEnd := c.Type == transcript.AIChunk && c.StopReason != "" && c.StopReason != "tool_use" && len(c.Lines) > 0
	if !isEnd || c.Lines[len(c.Lines)-1] <= w.ended {
		return ""
	}
	isFirst := w.revision == 1
	w.ended = c.Lines[len(c.Lines)-1]
	if isFirst {
		return ""
	}
	text := "The answer has ended."
	for i := range c.Items {
		if item := &c.Items[i]; item.Type == transcript.ItemOutput && strings.TrimSpace(item.Text) != "" {
			text = item.Text
		}
	}
	return clip.Bytes(text, maxSpoken)
}

// setLive sets whether the session is open in an agent.
func (w *watched) setLive(live bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list.Live != live {
		w.list.Live = live
		if w.snapshot != nil && w.snapshot.Transcript != nil {
			w.update(len(w.snapshot.Transcript.Chunks))
		}
	}
}

// wait waits until the session was read, and if whole is set, until its subagents were as well.
func (w *watched) wait(ctx context.Context, whole bool) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for {
		w.mu.RLock()
		snapshot, err, changed := w.snapshot, w.err, w.changed
		w.mu.RUnlock()
		switch {
		case snapshot != nil && snapshot.Transcript != nil && !(whole && snapshot.Loading):
			return nil
		case err != nil:
			return readError(err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return stillReading(snapshot)
		}
	}
}

// readError returns the reason why a session can't be read.
func readError(err error) error {
	if errors.Is(err, follow.ErrClosed) || errors.Is(err, context.Canceled) {
		return refused(http.StatusServiceUnavailable, "the server is ending")
	}
	return refused(http.StatusNotFound, "the session can't be read: %v", err)
}

func stillReading(snapshot *follow.Snapshot) error {
	no := &refusal{status: http.StatusServiceUnavailable, reason: "the session is still being read", hint: "Try again in a moment."}
	if snapshot != nil && snapshot.Total > 0 {
		no.reason += ": " + percent(snapshot.Done, snapshot.Total)
	}
	return no
}

// A reading is a session during a request. Its rows don't change until it is closed, which is before the
// answer is written: a client that reads slowly must not keep the rows. It may be closed twice.
type reading struct {
	*watched
	id    string // in addresses
	entry view.Entry
	state view.State
	close func()
}

// read opens the session that a request names, waits until it was read, and keeps its rows as they
// are. The caller closes it. Subagents may be missing.
func (s *Server) read(r *http.Request) (*reading, error) { return s.readUntil(r, false) }

// readWhole is like read, and waits for the subagents as well.
func (s *Server) readWhole(r *http.Request) (*reading, error) { return s.readUntil(r, true) }

func (s *Server) readUntil(r *http.Request, whole bool) (*reading, error) {
	defer s.listing.hurry()()
	id := r.PathValue("id")
	entry, state, err := s.listing.find(r.Context(), id)
	if err != nil {
		return nil, err
	}
	one, release := s.views.open(entry.SessionInfo) //nolint:contextcheck // it outlives the request
	if err := one.wait(r.Context(), whole); err != nil {
		release()
		return nil, err
	}
	one.setLive(state.Live)
	one.mu.RLock()
	return &reading{one, id, entry, state, sync.OnceFunc(func() {
		one.mu.RUnlock()
		release()
	})}, nil
}

// expect starts to read a session whose page a browser loads. Its script will ask for the rows,
// once the server proved itself and the script sent the token. Nobody gets anything for asking
// without the token, and nobody guesses the ID of a session.
func (s *Server) expect(id string) {
	defer s.listing.hurry()()
	entry, _, err := s.listing.find(s.ending, id)
	if err != nil {
		return // the script will ask, and inform the user
	}
	_, release := s.views.open(entry.SessionInfo)
	release()
}

// followRows calls changed with the first state of a session, which has First 0, and with each new
// one, until ctx ends. The event stream calls it once for each session that is watched.
func (s *Server) followRows(ctx context.Context, session string, changed func(rowsChange)) error {
	entry, state, err := s.listing.find(ctx, session)
	if err != nil {
		return err
	}
	one, release := s.views.open(entry.SessionInfo) //nolint:contextcheck // it outlives the request
	defer release()
	one.setLive(state.Live)
	mine := one.addReader()
	defer one.removeReader(mine)
	for last := 0; ; {
		change, next, err := one.news(mine)
		if err != nil {
			return endOf(ctx, err)
		}
		if change.Session = session; change.Revision != last {
			last = change.Revision
			changed(change)
		}
		if !waitFor(ctx, lookInterval, next) {
			return nil
		}
		if _, state, err = s.listing.find(ctx, session); err != nil {
			return endOf(ctx, err)
		}
		one.setLive(state.Live)
	}
}

func (w *watched) addReader() *changes {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := new(changes)
	w.readers[c] = true
	return c
}

func (w *watched) removeReader(c *changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.readers, c)
}

// news returns the changes that a reader did not get yet, and a channel that is closed when there
// are more.
func (w *watched) news(c *changes) (change rowsChange, next <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change = rowsChange{Revision: w.revision, First: min(c.first, len(w.top)), Total: len(w.top), Ended: c.ended}
	if w.revision > 0 {
		*c = changes{first: len(w.top)}
	}
	return change, w.changed, w.err
}

// topOf returns the place of the row at depth 0 that is at an index or above it.
func (w *watched) topOf(at int) int {
	i, ok := slices.BinarySearch(w.top, at)
	if !ok {
		i--
	}
	return i
}

// percent returns a share for people.
func percent(n, of int64) string { return strconv.FormatInt(100*n/max(of, 1), 10) + " %" }
