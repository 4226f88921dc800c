package clew

import (
	"log/slog"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/backlog"
	"github.com/clewdev/clew/wire"
)

// More than this does not wait for a result.
const (
	maxUncopiedEntries = 500
	maxUncopiedBytes   = 1 << 20
)

// A mirror copies what the agent writes down to a store. The read loop puts frames into a backlog. There they wait for
// a result, or until there are many, and not at all if the store is eager; then a goroutine takes all there are to the
// store. Whoever reads a result waits for it: neither the read loop nor control requests do. A nil mirror copies
// nothing.
type mirror struct {
	log     *slog.Logger
	eager   bool
	timeout time.Duration
	id      func() string // of the session
	queue   *backlog.Backlog
	keys    *keyFinder
	store   *appender

	incoming []*wire.TranscriptMirrorMessage // for the read loop alone, as is result
	result   bool                            // a result came behind incoming

	recent     *recent // for the goroutine that copies, as is unreadable
	unreadable error   // why frames are missing in the queue

	mu       sync.Mutex
	received amount        // what was put into the queue
	settled  amount        // what is in the store, or is given up
	wanted   int           // how many of the frames came before the newest result
	draining bool          // nothing waits any more
	copying  bool          // a goroutine is at it
	progress chan struct{} // closed when more is settled, or all is copied
	losses   []*StoreError // that nobody has been told of
}

// An amount is how much is in a number of frames.
type amount struct{ frames, entries, bytes int }

func (a amount) plus(b amount) amount {
	return amount{a.frames + b.frames, a.entries + b.entries, a.bytes + b.bytes}
}

func (a amount) minus(b amount) amount {
	return amount{a.frames - b.frames, a.entries - b.entries, a.bytes - b.bytes}
}

func amountOf(frame *wire.TranscriptMirrorMessage) amount {
	return amount{1, len(frame.Entries), len(frame.Raw())}
}

func newMirror(s *Session) *mirror {
	if s.opts.Store == nil {
		return nil
	}
	return &mirror{
		log: s.log, eager: s.opts.StoreEager, timeout: s.opts.storeTimeout(), id: s.ID,
		queue: backlog.New(backlog.Options{DiskBytes: s.opts.MaxBacklogBytes, Decode: s.decode, Urgent: s.urgent}),
		keys:  newKeyFinder(s.opts),
		store: newAppender(s.opts), recent: newRecent(), progress: make(chan struct{}),
	}
}

// take keeps a frame if it is for the store.
func (m *mirror) take(msg wire.Message) (taken bool) {
	if m == nil {
		return false
	}
	switch msg := msg.(type) {
	case *wire.TranscriptMirrorMessage:
		m.incoming = append(m.incoming, msg)
		return true
	case *wire.ResultMessage:
		m.result = true
	}
	return false
}

// pending reports whether flush has something to do.
func (m *mirror) pending() bool { return m != nil && (m.result || len(m.incoming) > 0) }

// flush hands over what was taken. Frames are pushed one by one: when one of them has to wait for room, there are so
// many before it that they are being copied, which makes room.
func (m *mirror) flush() {
	if m == nil {
		return
	}
	for _, frame := range m.incoming {
		m.queue.Push([]wire.Message{frame})
		m.noteReceived(amountOf(frame))
	}
	m.incoming = nil
	if m.result {
		m.result = false
		m.noteResult()
	}
}

func (m *mirror) noteReceived(a amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.received = m.received.plus(a)
	m.copyIfDue()
}

func (m *mirror) noteResult() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted = m.received.frames
	m.copyIfDue()
}

// wake lets the read loop ask again whether it may pass the bounds of the backlog.
func (m *mirror) wake() {
	if m != nil {
		m.queue.Wake()
	}
}

// copyIfDue starts to copy if that is due. The caller holds the lock.
func (m *mirror) copyIfDue() {
	if !m.copying && m.due() {
		m.start(batch{})
	}
}

// start has a goroutine copy a batch, and then whatever waits. The caller holds the lock.
func (m *mirror) start(b batch) {
	m.copying = true
	go m.copy(b)
}

func (m *mirror) due() bool {
	waiting := m.received.minus(m.settled)
	switch {
	case waiting.frames <= 0:
		return false
	case m.eager, m.draining, m.wanted > m.settled.frames:
		return true
	}
	return waiting.entries > maxUncopiedEntries || waiting.bytes > maxUncopiedBytes
}
