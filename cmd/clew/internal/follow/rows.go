package follow

import (
	"cmp"
	"slices"
	"sync"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/transcript"
)

// Rows are a session's rows, which its readers share. [Reader.Rows] returns them.
type Rows struct {
	List rows.List
	// Top are the indexes of the rows at depth 0.
	Top []int
	// Snapshot is the snapshot that the rows were made of, or nil.
	Snapshot *Snapshot
	// Revision is larger after each change of the rows, also if the hub forgot the session and follows it anew.
	// It is 0 as long as there are no rows.
	Revision int

	session *session
	mu      sync.RWMutex
	ended   int // the line of the last answer that ended

	counting sync.Mutex
	facts    *rows.Facts
	counted  int // the revision that they are of
}

// A Change is the difference between two states of the rows.
type Change struct {
	Revision int
	First    int               // the first row at depth 0 that may have changed
	Total    int               // rows at depth 0
	Ended    *transcript.Chunk // the last answer if it ended since the last call, or nil
}

// Rows returns the rows of the newest snapshot. They don't change until done is called, which may be called
// only once. live reports whether an agent has the session open.
func (r *Reader) Rows(live bool) (shown *Rows, done func()) {
	w := &r.session.rows
	w.mu.Lock()
	w.refresh(live)
	w.mu.Unlock()
	w.mu.RLock()
	return w, w.mu.RUnlock
}

// Change returns the difference between the rows of the newest snapshot and the rows of the last call, or no
// rows if it is the first call.
func (r *Reader) Change(live bool) Change {
	w := &r.session.rows
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh(live)
	w.session.mu.Lock()
	defer w.session.mu.Unlock()
	c := Change{Revision: w.Revision, First: min(r.top, len(w.Top)), Total: len(w.Top), Ended: r.ended}
	if !r.told { // it ended before this reader asked
		c.Ended = nil
	}
	if w.Revision > 0 {
		r.top, r.ended, r.told = len(w.Top), nil, true
	}
	return c
}

// refresh makes the rows of the newest snapshot. The lock is held.
func (w *Rows) refresh(live bool) {
	s := w.session
	s.mu.Lock()
	isNew := w.Snapshot == nil || w.Snapshot.Revision != s.newest.Revision
	newest, first := s.newest, s.first
	if s.newest.Transcript != nil {
		s.first = unchanged
	}
	s.mu.Unlock()
	wasLive := w.List.Live
	w.List.Live = live
	if isNew {
		w.Snapshot = &newest
	}
	if newest.Transcript == nil || first == unchanged && live == wasLive {
		return
	}
	w.update(first)
	if live != wasLive { // other readers learn of it
		s.publish(func(n *Snapshot) { n.First = unchanged })
	}
}

// update makes the rows again from a chunk on. The lock is held.
func (w *Rows) update(first int) {
	changed := w.List.Update(w.Snapshot.Transcript, first)
	isFirst := w.Revision == 0
	w.Revision = int(w.session.hub.rows.Add(1))
	top, _ := slices.BinarySearch(w.Top, changed)
	if top > 0 && (top == len(w.Top) || w.Top[top] > changed) {
		top-- // the changed row is below this one
	}
	w.Top = w.Top[:top]
	at := 0
	if top > 0 {
		last := w.Top[top-1]
		at = last + 1 + w.List.At(last).Below
	}
	for ; at < w.List.Len(); at += 1 + w.List.At(at).Below {
		w.Top = append(w.Top, at)
	}
	ended := w.justEnded()
	if isFirst { // it ended before the session was read
		ended = nil
	}
	w.session.mu.Lock()
	defer w.session.mu.Unlock()
	for r := range w.session.readers {
		r.top, r.ended = min(r.top, top), cmp.Or(ended, r.ended)
	}
}

// justEnded returns the last answer, if it ended since the last call. The lock is held.
func (w *Rows) justEnded() *transcript.Chunk {
	chunks := w.Snapshot.Transcript.Chunks
	if len(chunks) == 0 {
		return nil
	}
	c := &chunks[len(chunks)-1]
	isEnd := c.Type == transcript.AIChunk && c.StopReason != "" && c.StopReason != "tool_use" && len(c.Lines) > 0
	if !isEnd || c.Lines[len(c.Lines)-1] <= w.ended {
		return nil
	}
	w.ended = c.Lines[len(c.Lines)-1]
	return c
}

// TopOf returns the place of the row at depth 0 that is at an index or above it.
func (w *Rows) TopOf(at int) int {
	i, ok := slices.BinarySearch(w.Top, at)
	if !ok {
		i--
	}
	return i
}

// Facts returns the figures of the session. They are counted once for each revision.
func (w *Rows) Facts() *rows.Facts {
	w.counting.Lock()
	defer w.counting.Unlock()
	if w.facts == nil || w.counted != w.Revision {
		w.facts, w.counted = rows.FactsOf(&w.List, w.Snapshot.Transcript), w.Revision
	}
	return w.facts
}
