package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
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

// noWait is a context with which a backlog gives what it has.
var noWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// copy takes a batch to the store, and everything that waits.
func (m *mirror) copy(b batch) {
	for {
		received := m.receivedSoFar()
		frames, err := m.queue.Take(noWait)
		switch {
		case err == nil:
			for _, frame := range frames {
				m.add(&b, frame)
			}
		case errors.Is(err, context.Canceled), errors.Is(err, io.EOF):
			m.append(&b)
			if m.rest(received) {
				return
			}
		default:
			m.unreadable = err
		}
	}
}

func (m *mirror) receivedSoFar() amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.received
}

// errMissing is why frames are lost if nothing else says so.
var errMissing = errors.New("frames are missing")

// rest ends the copying, unless more is due. All that was received has been taken from the queue: what is not settled
// now could not be read from there. What came since then may be settled already, and hides a loss until the next time.
func (m *mirror) rest(received amount) (over bool) {
	if missing := received.minus(m.settled); missing.frames > 0 { // only this goroutine changes it
		m.lose(&StoreError{Method: "Append", Lost: missing.entries, Err: cmp.Or(m.unreadable, errMissing)})
		m.settle(missing)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copying = m.due()
	m.moveOn()
	return !m.copying
}

// settle notes that more is in the store, or given up.
func (m *mirror) settle(more amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = m.settled.plus(more)
	m.moveOn()
}

// moveOn wakes those who wait. The caller holds the lock.
func (m *mirror) moveOn() {
	close(m.progress)
	m.progress = make(chan struct{})
}

// A batch is what is appended at once: for each transcript its entries, in order.
type batch struct {
	size    amount
	keys    []wire.SessionKey
	entries map[wire.SessionKey][]wire.JSON
}

// add puts a frame into a batch, and appends that if it is large enough.
func (m *mirror) add(b *batch, msg wire.Message) {
	frame, ok := msg.(*wire.TranscriptMirrorMessage)
	if !ok {
		return
	}
	b.size = b.size.plus(amountOf(frame))
	if len(frame.Entries) > 0 {
		key, err := m.keys.find(frame.FilePath)
		if err != nil {
			m.lose(&StoreError{Method: "Append", Lost: len(frame.Entries), Err: err})
		} else {
			b.add(key, frame.Entries)
			m.recent.note(frame.FilePath, frame.Entries)
			if key.Subpath != "" {
				m.recent.noteSidecar(frame.FilePath, frame.Entries)
			}
		}
	}
	if b.size.entries > maxUncopiedEntries || b.size.bytes > maxUncopiedBytes {
		m.append(b)
	}
}

func (b *batch) add(key wire.SessionKey, entries []wire.JSON) {
	if b.entries == nil {
		b.entries = make(map[wire.SessionKey][]wire.JSON)
	}
	if _, ok := b.entries[key]; !ok {
		b.keys = append(b.keys, key)
	}
	b.entries[key] = append(b.entries[key], entries...)
}

// append takes a batch to the store, and empties it.
func (m *mirror) append(b *batch) {
	for _, key := range b.keys {
		if err := m.store.append(key, b.entries[key]); err != nil {
			m.lose(&StoreError{Method: "Append", Key: key, Lost: len(b.entries[key]), Err: err})
		}
	}
	m.settle(b.size)
	*b = batch{}
}

// lose notes entries that are given up, so that the caller is told of them.
func (m *mirror) lose(loss *StoreError) {
	m.log.Warn("entries of the transcript are lost", "error", loss)
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.losses, loss.like); i >= 0 {
		m.losses[i].Lost += loss.Lost
		return
	}
	m.losses = append(m.losses, loss)
}

// next returns what the caller is shown next: msg, or before a result what says that entries were lost. A result waits
// until everything that came before it is in the store or given up. The error is that of ctx.
func (m *mirror) next(ctx context.Context, msg wire.Message) (wire.Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, ok := msg.(*wire.ResultMessage); !ok || m == nil {
		return msg, nil
	}
	wanted := m.wantedSoFar()
	if !m.wait(ctx.Done(), func() bool { return m.settled.frames >= wanted }) {
		return nil, context.Cause(ctx)
	}
	if loss := m.report(); loss != nil {
		return loss, nil
	}
	return msg, nil
}

func (m *mirror) wantedSoFar() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted
}

// wait blocks until done, which is called with the lock held, or until enough is closed. It reports whether it is done.
func (m *mirror) wait(enough <-chan struct{}, done func() bool) bool {
	for {
		m.mu.Lock()
		over, progress := done(), m.progress
		m.mu.Unlock()
		if over {
			return true
		}
		select {
		case <-progress:
		case <-enough:
			return false
		}
	}
}

// report returns a message about the oldest loss that nobody was told of, or nil.
func (m *mirror) report() wire.Message {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.losses) == 0 {
		return nil
	}
	loss := m.losses[0]
	m.losses = m.losses[1:]
	return loss.message(m.id())
}

// reportRest shows the losses that nobody was told of.
func (m *mirror) reportRest(show func(wire.Message) (more bool)) {
	for loss := m.report(); loss != nil && show(loss); loss = m.report() {
	}
}

// unreported returns the losses that no message has reported, as one error.
func (m *mirror) unreported() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs error
	for _, loss := range m.losses {
		errs = join(errs, loss)
	}
	return errs
}

// end copies what is left when nothing more will come. It takes no longer than one call of the store may: what is not
// copied by then is lost.
func (m *mirror) end() {
	if m == nil {
		return
	}
	overdue := fmt.Errorf("not done %v after the agent had ended: %w", m.timeout, context.DeadlineExceeded)
	timer := time.AfterFunc(m.timeout, func() { m.store.giveUp(overdue) })
	m.drain(nil)
	timer.Stop()
	m.store.giveUp(nil)
	m.queue.Close()
}

// drain copies everything that an agent which is gone has written down, also what it has not mirrored. It blocks until
// all is in the store or given up, or until enough is closed: then the rest goes on in the background.
func (m *mirror) drain(enough <-chan struct{}) {
	if m == nil {
		return
	}
	idle := func() bool { return !m.copying }
	m.setDraining(true)
	if m.wait(enough, idle) {
		m.copyMissed()
		m.wait(enough, idle)
	}
	m.setDraining(false)
}

// copyMissed copies what the agent has not mirrored. Nothing else copies now.
func (m *mirror) copyMissed() {
	missed := m.missed()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(missed)
}

func (m *mirror) setDraining(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = on
	m.copyIfDue()
}

// appendPauses are those before each attempt to append something.
var appendPauses = []time.Duration{0, 200 * time.Millisecond, 800 * time.Millisecond}

// An appender appends to a store, one call after the other.
//
// A call that has not returned when its time is over may still reach the store. Until it returns, nothing else is
// appended to the same transcript, so that entries never change places: who comes next waits for it, within his own
// time.
type appender struct {
	store   Store
	timeout time.Duration
	running map[wire.SessionKey]<-chan struct{} // calls that were not waited for

	ctx    context.Context // ended by giveUp
	giveUp context.CancelCauseFunc
}

func newAppender(opts *Options) *appender {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &appender{
		store: opts.Store, timeout: opts.storeTimeout(), running: make(map[wire.SessionKey]<-chan struct{}),
		ctx: ctx, giveUp: cancel,
	}
}

// append appends entries. What fails is tried again, unless it took too long.
func (a *appender) append(key wire.SessionKey, entries []wire.JSON) (err error) {
	for _, pause := range appendPauses {
		if !sleep(a.ctx, pause) {
			return join(err, context.Cause(a.ctx))
		}
		late, failure := a.try(key, entries)
		if err = failure; err == nil || late {
			break
		}
	}
	return err
}

func (a *appender) try(key wire.SessionKey, entries []wire.JSON) (late bool, err error) {
	ctx, cancel := withStoreTimeout(a.ctx, a.timeout)
	defer cancel()
	if running := a.running[key]; running != nil {
		select {
		case <-running:
			delete(a.running, key)
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
	running, err := callStore(ctx, func(ctx context.Context) error { return a.store.Append(ctx, key, entries) })
	if ctx.Err() == nil {
		return false, err
	}
	a.running[key] = running
	return true, err
}
