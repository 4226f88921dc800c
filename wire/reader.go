package wire

import (
	"io"
	"iter"
	"sync"
)

// ReaderOptions configures a [Reader], a [Feeder] or a [Decoder].
type ReaderOptions struct {
	// MaxFrameBytes is the length of the longest frame that is decoded. If it is 0 or less, the
	// limit is [DefaultMaxFrameBytes]. A longer frame is skipped in bounded memory, and comes as an
	// [*InvalidFrame] that wraps [ErrFrameTooLarge]. Several frames on a line count as one, and so
	// does a frame on several lines.
	MaxFrameBytes int
	// DiscardRaw saves memory and time. Messages don't keep the text that they were read from, and
	// lose the fields that this package does not know. Raw then returns "", except for frames,
	// blocks and events that are invalid or unknown, for control requests, and for
	// [*AutocompactStateMessage].
	DiscardRaw bool
	// HideText drops the lines that are not JSON. By default they come as [*TextLine].
	HideText bool
	// Registry holds decoders for further kinds of frames; nil means none.
	Registry *Registry
}

// DefaultMaxFrameBytes is the default of [ReaderOptions.MaxFrameBytes].
const DefaultMaxFrameBytes = 64 << 20

// A Reader reads the messages of a stream. It starts no goroutine, and is for one goroutine at a
// time.
type Reader struct {
	src io.Reader
	input
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

// Messages returns the messages, in order. The iterator blocks while it reads from the underlying
// reader, and ends when that ends. If a read fails, the error comes last, with a nil message. Bad
// data never ends the stream: it comes as an [*InvalidFrame], a [*TextLine] or an unknown variant.
//
// A caller that stops early can call Messages again to continue after the last message it saw.
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
			_ = r.fill(r.src) // the framer keeps the error until all messages before it are taken
		}
	}
}

// A Position is a place in a stream.
type Position struct {
	Line   int   // counted from 1
	Offset int64 // in bytes, counted from 0
	Bytes  int64 // the length in bytes, including line ends inside
}

// Position returns the place of the last message in the stream.
func (r *Reader) Position() Position { return r.framer.last }

// A Feeder turns bytes into messages for a caller that owns the read loop: the caller reads and
// feeds, or lets FeedFrom do one read, and handles the messages of that read before the next one.
// The messages do not depend on how the bytes are cut. A Feeder may be used from several
// goroutines: each call is one step.
type Feeder struct {
	mu sync.Mutex
	input
}

// NewFeeder returns an empty feeder. opts may be nil.
func NewFeeder(opts *ReaderOptions) *Feeder {
	f := new(Feeder)
	f.framer.configure(opts)
	return f
}

// Feed takes the next piece of the stream, of any size, and returns the messages that it completes.
// The feeder keeps no reference to chunk.
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

// FeedFrom reads from src once, directly into the feeder's buffer, and returns the messages that
// the read completes. The list may be empty, because a frame can take several reads. At the end of
// src the error is io.EOF; if src fails, FeedFrom returns its error. In both cases the messages
// include the ones from Drain, and the feeder is empty again. While a read blocks, so do the
// feeder's other methods.
func (f *Feeder) FeedFrom(src io.Reader) ([]Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.fill(src)
	all := f.collect(nil)
	if err != nil {
		f.reset()
	}
	return all, err
}

// Drain ends the stream and returns the remaining messages: a last line without a line end, and a
// frame that was cut off, as an [*InvalidFrame]. The feeder is then empty and can be used for
// another stream.
func (f *Feeder) Drain() []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.framer.end(nil)
	all := f.collect(nil)
	f.reset()
	return all
}

// Reset discards everything that was fed. The feeder can then be used for another stream.
func (f *Feeder) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset()
}

func (f *Feeder) collect(all []Message) []Message {
	for msg, ok := f.framer.next(); ok; msg, ok = f.framer.next() {
		all = append(all, msg)
	}
	return all
}

// An input reads a stream into its framer.
type input struct {
	framer framer
	first  [512]byte // the buffer of a read while the framer has none
	more   bool      // the last read filled its buffer, so more bytes may be waiting
}

// reset makes the input ready for another stream.
func (in *input) reset() {
	in.framer.reset()
	in.more = false
}

// fill reads from src once, into the framer's buffer, and returns the error of the read. A framer
// without pending bytes has no buffer. Then fill reads the first bytes into a small one, so that an
// idle stream needs almost no memory.
func (in *input) fill(src io.Reader) error {
	parked := !in.more && in.framer.park()
	dst := in.first[:]
	if !parked {
		dst = in.framer.space(1)
	}
	n, err := readSome(src, dst)
	in.more = n == len(dst)
	if parked && n > 0 {
		copy(in.framer.space(n), dst[:n])
	}
	in.framer.filled(n)
	if err != nil {
		in.framer.end(err)
	}
	return err
}

// maxEmptyReads limits the consecutive reads that return neither bytes nor an error.
const maxEmptyReads = 100

// readSome reads until there are bytes or an error.
func readSome(src io.Reader, dst []byte) (int, error) {
	for range maxEmptyReads {
		if n, err := src.Read(dst); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
