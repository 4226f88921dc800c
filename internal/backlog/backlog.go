// Package backlog holds the messages that were read from an agent until the caller takes them. They
// are in memory up to a bound, and beyond it in temporary files.
//
// Answers, permission requests and hooks come on the same pipe as the messages, after the messages
// that nobody took yet. So the reader of the pipe must be able to continue, whatever the caller
// does. With a backlog the reader stops only when the bound on disk is reached too. That slows down
// the agent, and nothing is lost.
//
// Files are readable by the user only. Except on Windows they have no name, and vanish with the
// process. Text lines and invalid frames stay in memory, since their text does not have their place
// in the stream.
package backlog

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/clewdev/clew/wire"
)

// takeTimeout is the time that the consumer has to take something before messages go to disk.
const takeTimeout = 10 * time.Millisecond

// Options configures a [Backlog].
type Options struct {
	// MemoryBytes bounds the messages in memory before others go to disk; 0 means 4 MiB. A message
	// counts as the length of its raw text and 256 bytes. After that, messages that can't be on
	// disk may take as much again: text lines, invalid frames, and any message when the disk is
	// full.
	MemoryBytes int64
	// DiskBytes bounds the size of the files; 0 means 256 MiB, and less than 0 means no files. The
	// batch that is added last may pass a bound, by some 64 KiB or by one message if that is
	// larger.
	DiskBytes int64
	// Dir is the directory of the files. Empty means [os.TempDir].
	Dir string
	// Decode decodes a frame from disk in the same way as it was decoded at first, and does not
	// keep frame. It runs within Take, with no lock held. Nil means [wire.Decode].
	Decode func(frame []byte) wire.Message
	// Urgent reports whether the host waits for something that the agent has yet to write. While it
	// does, Push exceeds the bounds instead of blocking. It runs within Push, with no lock held.
	// Nil means never.
	Urgent func() bool
}

// A Backlog is a queue of messages. Push is for one goroutine at a time, and so are Take and Return
// together; the other methods may be called from anywhere at any time. A backlog starts no
// goroutine, and has files only while there are messages on disk.
type Backlog struct {
	opts  Options
	ready chan struct{} // one slot: there may be something to take
	room  chan struct{} // one slot: there may be room, or no need for it

	mu     sync.Mutex // also held while files are written and read, which is usually fast
	queue  queue
	ended  bool // End or Close was called
	closed bool // Close was called
}

// New returns an empty backlog.
func New(opts Options) *Backlog {
	if opts.MemoryBytes == 0 {
		opts.MemoryBytes = 4 << 20
	}
	if opts.DiskBytes == 0 {
		opts.DiskBytes = 256 << 20
	}
	if opts.Decode == nil {
		opts.Decode = wire.Decode
	}
	b := &Backlog{opts: opts, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	b.queue.configure(opts)
	return b
}

// Push adds messages after all others. It takes over the slice.
//
// It returns at once while there is room in memory. When there is none, the consumer gets 10 ms to
// take something. If it does not, this and everything that follows goes to disk, until everything
// was taken. When there is no room on disk either, or the disk cannot be written, Push blocks until
// the consumer makes room, Urgent reports true, or Close is called.
func (b *Backlog) Push(msgs []wire.Message) {
	if rest := b.add(msgs, inRoom); len(rest) > 0 {
		b.pushRest(rest)
	}
}

// pushRest adds messages that did not fit at first. Each time that some of them find room, the
// consumer gets another moment.
func (b *Backlog) pushRest(msgs []wire.Message) {
	passed := time.After(takeTimeout)
	for len(msgs) > 0 {
		if b.opts.Urgent != nil && b.opts.Urgent() {
			b.add(msgs, urgent)
			return
		}
		var rest []wire.Message
		select {
		case <-b.room:
			rest = b.add(msgs, inRoom)
		case <-passed:
			rest = b.add(msgs, spilling)
		}
		if len(rest) < len(msgs) {
			msgs, passed = rest, time.After(takeTimeout)
		}
	}
}

// Add adds a message without waiting for room. It may be called while Push blocks: then the message
// comes before Push's remaining ones.
func (b *Backlog) Add(msg wire.Message) { b.add([]wire.Message{msg}, urgent) }

// add adds the messages that there is room for, and returns the rest.
func (b *Backlog) add(msgs []wire.Message, l limit) []wire.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	n := b.queue.add(msgs, l)
	if n > 0 {
		signal(b.ready)
	}
	return msgs[n:]
}

// Wake lets a Push that blocks ask Urgent again. It takes no lock and never blocks.
func (b *Backlog) Wake() { signal(b.room) }

// Take returns the next messages, at least one, and gives them away with their slice. It blocks
// until there are some. Waiting messages are returned even if the context is over.
//
// The error is the context's if it ends the wait, and [io.EOF] at the end: when End was called and
// everything was taken, or after Close. Any other error means that messages on disk could not be
// read and are lost; the next call continues after them.
func (b *Backlog) Take(ctx context.Context) ([]wire.Message, error) {
	for {
		got, err := b.next()
		if err != nil {
			return nil, err
		}
		if msgs := got.decode(b.opts.Decode); len(msgs) > 0 {
			return msgs, nil
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next takes the next batch, which is empty if there are no messages.
func (b *Backlog) next() (batch, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.queue.empty() {
		signal(b.room)
		return b.queue.take()
	}
	if b.ended {
		return batch{}, io.EOF
	}
	return batch{}, nil
}

// Return puts messages that were taken and not used back before all others. It keeps no reference
// to the slice.
func (b *Backlog) Return(msgs []wire.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(msgs) == 0 {
		return
	}
	b.queue.putBack(msgs)
	signal(b.ready)
}

// End marks the end of Push calls. Remaining messages can still be taken.
func (b *Backlog) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	signal(b.ready)
}

// Close drops all messages and removes the files. It unblocks Push, which does nothing from then
// on, and Take. It may be called any number of times.
func (b *Backlog) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended, b.closed = true, true
	b.queue.clear()
	signal(b.ready)
	signal(b.room)
}

// Bytes returns the size of the messages in memory, as [Options.MemoryBytes] counts them, and the
// size of the files.
func (b *Backlog) Bytes() (memory, disk int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.memory, b.queue.spool.size
}

// signal fills a slot. The goroutine that waits for it empties it.
func signal(slot chan struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}

// A batch holds messages, or records that are still to be decoded.
type batch struct {
	msgs    []wire.Message
	records []byte
}

// decode returns the messages.
func (b batch) decode(decode func([]byte) wire.Message) []wire.Message {
	msgs := b.msgs
	for rest := b.records; len(rest) > 0; {
		var frame []byte
		frame, rest, _ = cutRecord(rest)
		msgs = append(msgs, decode(frame))
	}
	return msgs
}

// encode returns records of the first messages, up to a message that can't be on disk or until they
// fill a piece, and the number of these messages.
func encode(msgs []wire.Message) (records []byte, n int) {
	for n < len(msgs) && len(records) < pieceBytes {
		frame, ok := frameOf(msgs[n])
		if !ok {
			break
		}
		records = appendRecord(records, frame)
		n++
	}
	return records, n
}

// frameOf returns the frame that decodes to msg, if there is one. Text lines and invalid frames
// have none: their position in the stream is not part of their text.
func frameOf(msg wire.Message) (string, bool) {
	switch msg.(type) {
	case *wire.TextLine, *wire.InvalidFrame:
		return "", false
	}
	if raw := msg.Raw(); raw != "" {
		return raw, true
	}
	frame, err := wire.Append(nil, msg)
	return string(frame), err == nil
}
