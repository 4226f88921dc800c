package wire

import (
	"io"
	"iter"
	"sync"
)

// ReaderOptions configures a [Reader], a [Feeder] or a [Decoder].
type ReaderOptions struct {
	// MaxFrameBytes is the length of the longest frame that is decoded; 0 and less means
	// [DefaultMaxFrameBytes]. A longer one is passed over in bounded memory, and
	// comes as an [*InvalidFrame] that wraps [ErrFrameTooLarge]. Several frames on
	// a line count as one, and so does a frame on several lines.
	MaxFrameBytes int
	// DiscardRaw saves memory and time: messages don't keep the text that they
	// were read from, nor, with it, the fields that this package does not know.
	// Raw returns "" then, except where nothing else has what was read: of what
	// could not be decoded, of what is unknown, and of control requests.
	DiscardRaw bool
	// HideText drops the lines that are not JSON, for the sake of clean pipes.
	HideText bool
	// Registry holds decoders for further kinds of frames; nil means none.
	Registry *Registry
}

// DefaultMaxFrameBytes is the limit of a frame where none is set.
const DefaultMaxFrameBytes = 64 << 20

// A Reader reads the messages of a stream. It starts no goroutine, and is for
// one goroutine at a time.
type Reader struct {
	src    io.Reader
	framer framer
	first  [512]byte // what is read into while there is nothing to take
	more   bool      // the last read took all it had room for, so that there may be more at once
}

// NewReader returns a reader of r. opts may be nil.
func NewReader(r io.Reader, opts *ReaderOptions) *Reader {
	reader := &Reader{src: r}
	reader.framer.configure(opts)
	return reader
}

// Reset makes r read src from its start, with the options it has.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.more = src, false
	r.framer.reset()
}

// maxEmptyReads is how many reads in a row may bring nothing.
const maxEmptyReads = 100

// Messages returns the messages, in order. It blocks in reads of the underlying
// reader, and ends where that ends. If that fails, the error comes last, with a
// nil message. Bad data never ends the stream: it comes as [*InvalidFrame],
// [*TextLine] or an unknown variant.
//
// A caller that stops early can call Messages again to go on behind the message
// it saw last.
func (r *Reader) Messages() iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			for msg, ok := r.framer.next(); ok; msg, ok = r.framer.next() {
				if !yield(msg, nil) {
					return
				}
			}
			if r.framer.ended {
				if err := r.framer.err; err != nil {
					r.framer.err = nil
					yield(nil, err)
				}
				return
			}
			r.fill()
		}
	}
}

// fill reads once into the framer's buffer. While there is nothing to take, it has no buffer and waits with a small one,
// so that a stream that is silent for hours costs next to nothing.
func (r *Reader) fill() {
	parked := !r.more && r.framer.park()
	dst := r.first[:]
	if !parked {
		dst = r.framer.space(1)
	}
	n, err := r.read(dst)
	r.more = n == len(dst)
	if parked && n > 0 {
		copy(r.framer.space(n), dst[:n])
	}
	r.framer.filled(n)
	if err != nil {
		r.framer.end(err)
	}
}

// read reads until something comes, an error included.
func (r *Reader) read(dst []byte) (int, error) {
	for range maxEmptyReads {
		if n, err := r.src.Read(dst); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// A Position is a place in a stream.
type Position struct {
	Line   int   // counted from 1
	Offset int64 // in bytes, counted from 0
	Bytes  int64 // how many bytes there are, line ends inside included
}

// Position returns where in the stream the message lies that came last.
func (r *Reader) Position() Position { return r.framer.last }

// A Feeder turns bytes into messages for a caller that owns the read loop. What
// comes out does not depend on how the bytes are cut. It may be used from
// several goroutines: each call is one step.
type Feeder struct {
	mu     sync.Mutex
	framer framer
}

// NewFeeder returns an empty feeder. opts may be nil.
func NewFeeder(opts *ReaderOptions) *Feeder {
	f := new(Feeder)
	f.framer.configure(opts)
	return f
}

// Feed takes the next piece of the stream, of any size, and returns the messages
// that it completes. The feeder keeps no reference to chunk.
func (f *Feeder) Feed(chunk []byte) []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Message
	for len(chunk) > 0 {
		n := copy(f.framer.space(len(chunk)), chunk)
		f.framer.filled(n)
		chunk = chunk[n:]
		all = f.collect(all)
	}
	return all
}

// Drain ends the stream and returns the messages that were still to come: a last
// line without a line end, and, as an [*InvalidFrame], a frame that was cut off.
// The feeder is as new then.
func (f *Feeder) Drain() []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.framer.end(nil)
	all := f.collect(nil)
	f.framer.reset()
	return all
}

// Reset drops what has been fed and makes f as new.
func (f *Feeder) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.framer.reset()
}

func (f *Feeder) collect(all []Message) []Message {
	for msg, ok := f.framer.next(); ok; msg, ok = f.framer.next() {
		all = append(all, msg)
	}
	return all
}
