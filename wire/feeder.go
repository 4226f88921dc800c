package wire

import "sync"

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
