// Package follow lets any number of readers follow sessions. Each session is followed once, by one
// loop over its files, which makes immutable snapshots of it. A reader takes the newest snapshot
// when it is ready for one: nobody queues, and a slow reader skips those in between. Readers that need the
// rows of the session share them ([Reader.Rows]).
//
// A subagent that changes is copied with the chunks above it, and the rest is shared with the last
// snapshot. A slow reader gets the newest snapshot and the lowest index that changed since its last
// one.
package follow

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// ErrClosed is returned by [Reader.Next] after the reader or its hub was closed.
var ErrClosed = errors.New("follow: closed")

// Options configures a hub. Nil and the zero value mean the defaults.
type Options struct {
	// PollInterval is the interval of checks for changes, as in [sessions.TailOptions].
	PollInterval time.Duration
	// MaxIdle is the maximum number of sessions without a reader that are followed further, so that
	// they can be opened again at once; 0 means 8, and less than 0 means none. The sessions closed
	// first are dropped first.
	MaxIdle int
	// MaxIdleBytes limits the sizes of these sessions, added up; 0 means 320 MiB.
	MaxIdleBytes int64
	// Held is called with the size of all sessions that are followed, in bytes, when it has changed; nil
	// means that nothing is called. It must not block.
	Held func(bytes int64)
}

// A Snapshot is a session at one moment. It never changes, so that several goroutines may read it,
// even while the session continues. It must not be changed.
type Snapshot struct {
	// Revision is larger than in any snapshot of the session before.
	Revision int
	// First is the index of the first chunk that changed since this reader's last snapshot, or the
	// number of chunks if none did. A change of a subagent counts as a change of the chunk that
	// started it. It is 0 in the first snapshot, and if a branch changed.
	First int
	// Transcript is the transcript so far, with its subagents, or nil if nothing is read yet.
	Transcript *transcript.Transcript
	// Loading reports whether a part is not read yet: the session itself if Transcript is nil, and
	// subagents otherwise.
	Loading bool
	// Done and Total are how many bytes of the session's own file were read, and of how many, when
	// it was last read from its start.
	Done, Total int64
	// Gone reports whether the file of the session no longer exists. Transcript is then the last
	// known one.
	Gone bool
	// Err names the subagents or their directories that can't be read, or is nil.
	Err error
}

// A Hub follows sessions. Its methods may be called by several goroutines.
type Hub struct {
	opts Options
	ends sync.WaitGroup // the goroutines of sessions
	rows atomic.Int64   // the revision of the rows that were made last, of any session

	mu       sync.Mutex
	sessions map[string]*session // by the path of the file
	idle     *list.List          // of *session without readers, the last closed in front
	bytes    int64               // of all sessions, as last reported
	closed   bool
}

// New returns a hub that follows no session yet. The caller has to close it. opts may be nil.
func New(opts *Options) *Hub {
	h := &Hub{sessions: map[string]*session{}, idle: list.New()}
	if opts != nil {
		h.opts = *opts
	}
	h.opts.MaxIdle = cmp.Or(h.opts.MaxIdle, 8)
	h.opts.MaxIdleBytes = cmp.Or(h.opts.MaxIdleBytes, 320<<20)
	return h
}

// Open returns a reader of the session with a transcript at path, which need not exist yet. It does not wait:
// if the session can't be read, [Reader.Next] returns the error. size is the size of the file, as far as it is
// known. The caller has to close the reader.
func (h *Hub) Open(path string, size int64) *Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[path]
	if s == nil {
		s = &session{hub: h, path: path, size: size, readers: map[*Reader]bool{}}
		s.rows.session = s
		if h.closed {
			s.err = ErrClosed
		} else {
			h.start(s)
		}
	}
	if s.idle != nil {
		h.idle.Remove(s.idle)
		s.idle = nil
	}
	r := &Reader{hub: h, session: s, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.readers[r] = true
	s.mu.Unlock()
	return r
}

// start starts to follow a session. The lock is held.
func (h *Hub) start(s *session) {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	h.sessions[s.path] = s
	h.measure() // before it is read, which tells its size anew
	h.ends.Go(func() {
		err := s.follow(ctx, h.opts.PollInterval)
		h.mu.Lock()
		h.drop(s) // so that the next reader tries again
		h.measure()
		h.mu.Unlock()
		s.end(err)
	})
}

// drop forgets a session, and ends its loop. The lock is held.
func (h *Hub) drop(s *session) {
	s.cancel()
	if h.sessions[s.path] == s {
		delete(h.sessions, s.path)
	}
	if s.idle != nil {
		h.idle.Remove(s.idle)
		s.idle = nil
	}
}

// leave removes a reader. A session without readers is followed for a while.
func (h *Hub) leave(r *Reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := r.session
	s.mu.Lock()
	left := s.readers[r]
	delete(s.readers, r)
	others := len(s.readers) > 0
	s.mu.Unlock()
	if left && !others && h.sessions[s.path] == s {
		s.idle = h.idle.PushFront(s)
		h.dropIdle()
		h.measure()
	}
}

// measure reports the size of all sessions, if it changed. The lock is held.
func (h *Hub) measure() {
	bytes := int64(0)
	for _, s := range h.sessions {
		bytes += s.bytes()
	}
	if bytes != h.bytes && h.opts.Held != nil {
		h.opts.Held(bytes)
	}
	h.bytes = bytes
}

// dropIdle drops sessions without readers until the rest is within the limits. The lock is held.
func (h *Hub) dropIdle() {
	n, bytes := 0, int64(0)
	for e := h.idle.Front(); e != nil; {
		s, _ := e.Value.(*session)
		e = e.Next()
		n++
		bytes += s.bytes()
		if n > h.opts.MaxIdle || bytes > h.opts.MaxIdleBytes {
			h.drop(s)
		}
	}
}

// Close ends all loops and waits for them. Readers get [ErrClosed]. Closing a hub again does
// nothing.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	for _, s := range h.sessions {
		s.end(ErrClosed)
		h.drop(s)
	}
	h.mu.Unlock()
	h.ends.Wait()
	return nil
}

// A session is a followed session. Its goroutine never waits for readers.
type session struct {
	hub    *Hub
	path   string
	cancel context.CancelFunc
	idle   *list.Element // in the hub's list, whose lock guards it

	// tree and the time of the last progress report belong to the goroutine.
	tree      tree
	published time.Time

	mu      sync.Mutex
	newest  Snapshot // its First is that since the last snapshot
	size    int64
	err     error // why the loop ended, or nil
	readers map[*Reader]bool
	first   int // the lowest index that changed since the rows were made

	rows Rows
}

// bytes returns about how large the session is.
func (s *session) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.size, s.newest.Total)
}

// pace is the interval between snapshots while a file is read.
const pace = 50 * time.Millisecond

// follow makes snapshots until the context ends or the session can't be read.
func (s *session) follow(ctx context.Context, poll time.Duration) error {
	for u, err := range sessions.TailFile(ctx, s.path, &sessions.TailOptions{Progress: s.progress, PollInterval: poll}) {
		if err != nil {
			return err
		}
		if s.tree.note(u); u.More {
			continue
		}
		t, first := s.tree.snapshot()
		s.publish(func(n *Snapshot) {
			n.Transcript, n.First, n.Loading, n.Gone, n.Err = t, first, u.Loading, s.tree.gone, s.tree.err()
			s.size = s.tree.size()
		})
	}
	return nil
}

// progress publishes how much of the file was read.
func (s *session) progress(done, total int64) {
	if done < total && time.Since(s.published) < pace {
		return
	}
	s.published = time.Now()
	s.publish(func(n *Snapshot) {
		n.Done, n.Total = done, total
		n.Loading, n.First = true, unchanged
	})
}

// publish makes the next snapshot and wakes the readers. change gets the last one.
func (s *session) publish(change func(*Snapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	change(&s.newest)
	s.newest.Revision++
	s.first = min(s.first, s.newest.First)
	for r := range s.readers {
		r.first = min(r.first, s.newest.First)
		r.notify()
	}
}

// end sets the reason why there are no more snapshots. The first reason counts.
func (s *session) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, context.Canceled) {
		err = ErrClosed
	}
	s.err = cmp.Or(s.err, err)
	for r := range s.readers {
		r.notify()
	}
}

// A Reader reads the snapshots of one session. Next is for one goroutine at a time; Close may be
// called by any.
type Reader struct {
	hub     *Hub
	session *session
	wake    chan struct{}

	// The lock of the session guards these.
	seen   int // the revision of the last snapshot
	first  int // the lowest changed index since
	closed bool
	told   bool              // Change returned rows
	top    int               // the first row at depth 0 that changed since the last Change
	ended  *transcript.Chunk // the answer that ended since then, or nil
}

// notify wakes Next. The lock of the session is held.
func (r *Reader) notify() {
	select {
	case r.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Next waits until there is a snapshot that is newer than the last one, and returns the newest. If
// the session can't be followed any more, it returns the error, after the last snapshot. Otherwise
// it returns [ErrClosed], or the context's error.
func (r *Reader) Next(ctx context.Context) (*Snapshot, error) {
	for {
		if snapshot, err := r.take(); snapshot != nil || err != nil {
			return snapshot, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.wake:
		}
	}
}

// take returns the newest snapshot, or nil if the reader has it.
func (r *Reader) take() (*Snapshot, error) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.closed:
		return nil, ErrClosed
	case s.newest.Revision == r.seen:
		return nil, s.err
	}
	snapshot := s.newest
	snapshot.First = 0
	if r.seen > 0 && snapshot.Transcript != nil {
		snapshot.First = min(r.first, len(snapshot.Transcript.Chunks))
	}
	r.seen, r.first = snapshot.Revision, unchanged
	return &snapshot, nil
}

// Close ends the reader, and a waiting Next. The session is followed further if it has other
// readers, or if it is one of the last used. Closing a reader again does nothing.
func (r *Reader) Close() error {
	r.session.mu.Lock()
	r.closed = true
	r.notify()
	r.session.mu.Unlock()
	r.hub.leave(r)
	return nil
}
