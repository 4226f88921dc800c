package transcript

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

const (
	// batchBytes and batchLines limit the amount that is decoded before it is added.
	batchBytes = 256 << 10
	batchLines = 256
	// batchCount is the number of batches. With two of them, the goroutines often wait for each
	// other.
	batchCount = 5
)

// A batch has decoded lines, in order.
type batch struct {
	text  []byte // the lines, whose memory the entries share
	lines []batchLine
}

// A batchLine is an entry, or a line that is none.
type batchLine struct {
	entry Entry
	bad   *InvalidLine
}

// ReadFrom adds everything that r has, as Write does. It reads and decodes while a second goroutine
// adds the entries before. When it returns, that goroutine ended. The error is the error of r.
func (b *Builder) ReadFrom(r io.Reader) (int64, error) {
	b.assembly.dropTorn()
	a := readAhead{
		Builder: b, full: make(chan *batch, batchCount), free: make(chan *batch, batchCount), batch: new(batch),
	}
	for range batchCount - 1 {
		a.free <- new(batch)
	}
	var adding sync.WaitGroup
	adding.Go(a.addBatches)
	defer adding.Wait()
	defer close(a.full)
	n, err := io.CopyBuffer(writerFunc(a.feed), struct{ io.Reader }{r}, make([]byte, copyBuffer))
	a.full <- a.batch
	return n, err
}

// A readAhead is the state of a call to ReadFrom. One batch is filled while the entries of others
// are added.
type readAhead struct {
	*Builder
	batch *batch      // that is being filled
	full  chan *batch // to be added
	free  chan *batch // to be filled
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func (a *readAhead) feed(p []byte) { a.lines.Feed(p, a.addLine, a.addInvalid) }

// addLine decodes a line into the batch. A long one is added without a copy, when all before it are
// added.
func (a *readAhead) addLine(line []byte, at wire.Position) {
	if len(line) > keepBytes {
		a.flush()
		a.settle()
		a.Builder.addLine(line, at)
		return
	}
	start := len(a.batch.text)
	a.batch.text = append(a.batch.text, line...)
	next := a.batch.next()
	if err := a.decoder.decode(a.batch.text[start:], &next.entry); err != nil {
		next.bad = &InvalidLine{Position: at, Err: err, Head: lineHead(line)}
	} else {
		next.entry.Position = at
		next.entry.ownMessage()
	}
	a.flushIfFull()
}

func (a *readAhead) addInvalid(bad InvalidLine) {
	a.batch.next().bad = &bad
	a.flushIfFull()
}

// next returns the place for another line.
func (b *batch) next() *batchLine {
	n := len(b.lines)
	if n == cap(b.lines) {
		b.lines = append(b.lines, batchLine{})
	}
	b.lines = b.lines[:n+1]
	b.lines[n].bad = nil
	return &b.lines[n]
}

func (a *readAhead) flushIfFull() {
	if len(a.batch.text) >= batchBytes || len(a.batch.lines) >= batchLines {
		a.flush()
	}
}

// flush lets the entries of the batch be added, and starts with a free one.
func (a *readAhead) flush() {
	a.full <- a.batch
	a.batch = <-a.free
}

// settle waits until the entries of all batches before this one are added.
func (a *readAhead) settle() {
	var others [batchCount - 1]*batch
	for i := range others {
		others[i] = <-a.free
	}
	for _, other := range others {
		a.free <- other
	}
}

// addBatches adds the entries of batches until there are no more.
func (a *readAhead) addBatches() {
	for batch := range a.full {
		for i := range batch.lines {
			if line := &batch.lines[i]; line.bad != nil {
				a.assembly.addInvalid(*line.bad)
			} else {
				a.add(&line.entry, "")
			}
		}
		batch.text, batch.lines = batch.text[:0], batch.lines[:0]
		a.free <- batch
	}
}

// ErrUnfinished is the error of an [InvalidLine] that stands for the entries of an append that was
// not completed. A store that is a directory marks the lines of an append of several entries with
// white space, since all of them count or none does.
var ErrUnfinished = errors.New("transcript: an append of several entries was not completed, and none of them counts")

// A lineBatch has the lines of an append whose last line has not come.
type lineBatch struct {
	text  []byte
	lines []heldLine
}

// A heldLine is a line of a batch.
type heldLine struct {
	at   wire.Position
	mark string
	end  int // in the text of the batch
}

// heldBytes is the memory that a line takes beside its text: a heldLine, and anything that grows
// with it.
const heldBytes = 64

// size returns about how many bytes of memory the batch takes.
func (b *lineBatch) size() int { return len(b.text) + len(b.lines)*heldBytes }

func (b *lineBatch) add(line []byte, at wire.Position, mark string) {
	b.text = append(b.text, line...)
	b.lines = append(b.lines, heldLine{at, mark, len(b.text)})
}

// each calls yield with the lines from the ith on.
func (b *lineBatch) each(i int, yield func(line []byte, at wire.Position)) {
	for ; i < len(b.lines); i++ {
		start := 0
		if i > 0 {
			start = b.lines[i-1].end
		}
		yield(b.text[start:b.lines[i].end], b.lines[i].at)
	}
}

// unfinished returns what stands for the first n lines.
func (b *lineBatch) unfinished(n int) InvalidLine {
	at, last := b.lines[0].at, b.lines[n-1].at
	at.Bytes = last.Offset + last.Bytes - at.Offset
	return InvalidLine{Position: at, Err: ErrUnfinished, Head: lineHead(b.text[:b.lines[0].end])}
}

// take takes a line that starts an append, or comes while one is not complete. An append is
// complete with its last line. It is not if an entry follows that does not belong to it; a line
// that is not an entry may be a damaged part of it. Of an append that takes more memory than the
// longest line, the lines are let go.
func (s *LineSplitter) take(line []byte, at wire.Position, to lineSink) {
	mark := entrylex.Mark(line)
	switch {
	case mark == entrylex.FirstMark:
		s.dropBatch(to)
		s.batch = new(lineBatch)
	case mark == "" && checkObject(line) == nil:
		s.dropBatch(to)
		to.yield(line, at)
		return
	}
	s.batch.add(line, at, mark)
	if mark == entrylex.LastMark || s.batch.size() > s.max {
		complete := s.batch
		s.batch = nil
		complete.each(0, to.yield)
	}
}

// dropBatch ends an append that was not completed. A line after one without a mark does not
// belong to it.
func (s *LineSplitter) dropBatch(to lineSink) {
	b := s.batch
	if s.batch = nil; b == nil {
		return
	}
	n := slices.IndexFunc(b.lines, func(l heldLine) bool { return l.mark == "" })
	if n < 0 {
		n = len(b.lines)
	}
	to.bad(b.unfinished(n))
	b.each(n, to.yield)
}

// begins reports whether a line is the first of an append of several entries.
func begins(line []byte) bool { return bytes.HasPrefix(line, []byte(entrylex.FirstMark)) }
