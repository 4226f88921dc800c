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
	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// More entries or bytes than these are copied without waiting for a result.
const (
	maxUncopiedEntries = 500
	maxUncopiedBytes   = 1 << 20
)

// A mirror copies the transcript that the agent writes to a store. The read loop puts mirror frames
// into a backlog. They wait there for a result, or until there are many of them, or not at all if
// the store is eager. Then a goroutine copies them to the store. The reader of a result waits for
// that; the read loop and control requests don't. A nil mirror copies nothing.
//
// A loss is a message before the next result, or an error of Run, Close and Pool.Close. It belongs
// to its conversation: a pool never shows it to the next caller.
type mirror struct {
	log     *slog.Logger
	eager   bool
	timeout time.Duration
	id      func() string // returns the ID of the session
	queue   *backlog.Backlog
	keys    *keyFinder
	store   *appender

	// For the read loop only.
	incoming []*wire.TranscriptMirrorMessage
	result   bool // a result came after incoming

	// For the goroutine that copies only.
	recent     *recent
	unreadable error // why frames are missing in the queue

	mu       sync.Mutex
	received amount        // what was put into the queue
	settled  amount        // what is in the store, or lost
	wanted   int           // how many of the frames came before the newest result
	draining bool          // frames don't wait any more
	copying  bool          // there is a goroutine that copies
	progress chan struct{} // closed when more is settled, or all is copied
	losses   []*StoreError // not reported yet
}

// An amount counts frames, their entries and their bytes.
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
	if s.opts.Store.Store == nil {
		return nil
	}
	return &mirror{
		log: s.log, eager: s.opts.Store.Eager, timeout: s.opts.storeTimeout(), id: s.ID,
		queue: backlog.New(backlog.Options{DiskBytes: s.opts.Limits.MaxBacklogBytes, Urgent: s.urgent}),
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

// flush hands over the frames that were taken. It pushes them one by one: when one of them has to
// wait for room, there are so many before it that they are being copied, which makes room.
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

// copyIfDue starts to copy if that is due. The lock is held.
func (m *mirror) copyIfDue() {
	if !m.copying && m.due() {
		m.start(batch{})
	}
}

// start starts a goroutine that copies a batch, and then the queue. The lock is held.
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

// noWait is a context that ended: with it, a backlog returns only messages that are there.
var noWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// copy copies a batch and the queue to the store.
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
			if m.finishCopy(received) {
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

// errMissing is the reason for lost frames if no other is known.
var errMissing = errors.New("frames are missing")

// finishCopy ends the copying, unless more is due. All received frames were taken from the queue,
// so frames that are not settled could not be read from there. Frames that came later may be
// settled already, and hide a loss until the next time.
func (m *mirror) finishCopy(received amount) (over bool) {
	if missing := received.minus(m.settled); missing.frames > 0 { // only this goroutine changes it
		m.lose(&StoreError{Method: "Append", Lost: missing.entries, Err: cmp.Or(m.unreadable, errMissing)})
		m.settle(missing)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copying = m.due()
	m.signalProgress()
	return !m.copying
}

// settle counts what is in the store, or lost.
func (m *mirror) settle(more amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = m.settled.plus(more)
	m.signalProgress()
}

// signalProgress wakes the goroutines that wait. The lock is held.
func (m *mirror) signalProgress() {
	close(m.progress)
	m.progress = make(chan struct{})
}

// A batch holds entries to be appended: for each transcript its own, in order.
type batch struct {
	size    amount
	keys    []wire.SessionKey
	entries map[wire.SessionKey][]wire.JSON
}

// add adds a frame to a batch, and appends the batch if it is large enough.
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
			m.recent.add(frame.FilePath, frame.Entries)
			if key.Subpath != "" {
				m.recent.addSidecars(frame.FilePath, frame.Entries)
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

// append appends a batch to the store, and empties it.
func (m *mirror) append(b *batch) {
	for _, key := range b.keys {
		if err := m.store.append(key, b.entries[key]); err != nil {
			m.lose(&StoreError{Method: "Append", Key: key, Lost: len(b.entries[key]), Err: err})
		}
	}
	m.settle(b.size)
	*b = batch{}
}

// lose keeps a loss until it is reported to the caller.
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

// next returns the message that the caller reads next: msg, or before a result a message about lost
// entries. Before it returns a result, it waits until everything before that is in the store or
// lost. The error is ctx's error.
func (m *mirror) next(ctx context.Context, msg wire.Message) (wire.Message, error) {
	if ctx.Err() != nil {
		return nil, control.ContextError(ctx)
	}
	if _, ok := msg.(*wire.ResultMessage); !ok || m == nil {
		return msg, nil
	}
	wanted := m.wantedSoFar()
	if !m.wait(ctx.Done(), func() bool { return m.settled.frames >= wanted }) {
		return nil, control.ContextError(ctx)
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

// wait blocks until done returns true, or until enough is closed, and reports whether it is done.
// It calls done with the lock held.
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

// report returns a message about the oldest loss that was not reported, or nil.
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

// reportRest shows the losses that were not reported.
func (m *mirror) reportRest(show func(wire.Message) (more bool)) {
	for loss := m.report(); loss != nil && show(loss); loss = m.report() {
	}
}

// unreported returns the losses that no message reported, as one error.
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

// end copies the rest when no more frames will come. It takes no longer than one call of the store
// may take: entries that are not copied by then are lost.
func (m *mirror) end() {
	if m == nil {
		return
	}
	overdue := fmt.Errorf("not copied within %v after the agent had ended: %w", m.timeout, context.DeadlineExceeded)
	timer := time.AfterFunc(m.timeout, func() { m.store.giveUp(overdue) })
	m.drain(nil)
	timer.Stop()
	m.store.giveUp(nil)
	m.queue.Close()
}

// drain copies everything that an agent wrote before it ended, including entries that it did not
// mirror. It blocks until all is in the store or lost, or until enough is closed: then the copying
// continues in the background.
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

// copyMissed copies the entries that the agent did not mirror. It must not run while entries are
// copied.
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

// appendPauses are the pauses before each attempt to append.
var appendPauses = []time.Duration{0, 200 * time.Millisecond, 800 * time.Millisecond}

// An appender appends to a store, one call after the other.
//
// A call that has not returned in time may still reach the store. Until it returns, nothing else is
// appended to the same transcript, so that entries keep their order: the next call waits for it,
// within its own time limit.
type appender struct {
	store   Store
	timeout time.Duration
	running map[wire.SessionKey]<-chan struct{} // calls that took too long

	ctx    context.Context // ended by giveUp
	giveUp context.CancelCauseFunc
}

func newAppender(opts *Options) *appender {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &appender{
		store: opts.Store.Store, timeout: opts.storeTimeout(), running: make(map[wire.SessionKey]<-chan struct{}),
		ctx: ctx, giveUp: cancel,
	}
}

// append appends entries. A call that fails is repeated, unless it took too long.
func (a *appender) append(key wire.SessionKey, entries []wire.JSON) (err error) {
	for _, wait := range appendPauses {
		if pause.For(a.ctx, wait) != nil {
			return join(err, control.ContextError(a.ctx))
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
			return true, control.ContextError(ctx)
		}
	}
	running, err := callStore(ctx, func(ctx context.Context) error { return a.store.Append(ctx, key, entries) })
	if ctx.Err() == nil {
		return false, err
	}
	a.running[key] = running
	return true, err
}
