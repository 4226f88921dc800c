package transcript

import (
	"io"
	"iter"

	"github.com/clewdev/clew/wire"
)

// streamWindow is how many chunks a stream holds back, so that a late result finds its call.
const streamWindow = 32

// Stream reads a transcript of any length, and holds no more of it than some dozen chunks. It yields them in the order of
// the file. The error of the reader comes last, with a nil chunk.
//
// What has to be known of the whole is not there: what was left behind by a rewind is among the chunks, an entry that
// comes twice is there twice, entries that were taken back are not hidden, and a result that comes very late is an output
// of its own. Lines that are no entries are passed over, and so are subagents in the same file. For all that there is
// [Read].
func Stream(r io.Reader, opts *ReadOptions) iter.Seq2[*Chunk, error] {
	return func(yield func(*Chunk, error) bool) {
		s := &stream{lines: NewLineSplitter(opts.maxLine()), yield: yield}
		s.classifier.maxResult = opts.maxResult()
		err := s.read(r)
		if !s.left {
			s.lines.Flush(s.addLine, func(InvalidLine) {})
			s.let(len(s.chunker.chunks()))
		}
		if err != nil && !s.left {
			yield(nil, err)
		}
	}
}

// A stream is one loop over the chunks of a transcript.
type stream struct {
	lines      *LineSplitter
	decoder    entryDecoder
	entry      Entry
	begun      bool // an entry of the tree has come
	classifier classifier
	chunker    chunker
	yield      func(*Chunk, error) bool
	left       bool // the loop was left
}

func (s *stream) read(r io.Reader) error {
	buffer := make([]byte, copyBuffer)
	for !s.left {
		n, err := r.Read(buffer)
		s.lines.Feed(buffer[:n], s.addLine, func(InvalidLine) {})
		if n := len(s.chunker.chunks()); n >= 2*streamWindow {
			s.let(n - streamWindow)
		}
		if err == io.EOF { // one that is wrapped says that something broke
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) addLine(line []byte, at wire.Position) {
	e := &s.entry
	if s.decoder.decode(line, e) != nil || !e.Chained() {
		return
	}
	if !s.begun {
		s.begun, s.classifier.sidechain = true, e.IsSidechain
	}
	if d, _ := s.classifier.digest(e, at); d != nil {
		s.chunker.add(d)
	}
}

// let yields the first chunks and forgets them.
func (s *stream) let(n int) {
	chunks := s.chunker.chunks()
	for i := range chunks[:n] {
		if !s.yield(&chunks[i], nil) {
			s.left = true
			return
		}
	}
	s.chunker.drop(n)
}
