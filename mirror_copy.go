package clew

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/clewdev/clew/wire"
)

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
