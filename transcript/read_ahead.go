package transcript

import (
	"io"
	"sync"

	"github.com/clewdev/clew/wire"
)

const (
	// batchBytes and batchLines are how much is decoded before it is added.
	batchBytes = 256 << 10
	batchLines = 256
	// batchCount is how many batches there are. With two of them, the goroutines often wait for each
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
// adds the entries before. When it returns, that goroutine has ended. The error is that of r.
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

// A readAhead is what a call of ReadFrom needs. One batch is filled while the entries of others are
// added.
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

// addLine decodes a line into the batch. A long one is added without a copy, when all before it
// have been added.
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

// flush lets the entries of the batch be added, and begins with a free one.
func (a *readAhead) flush() {
	a.full <- a.batch
	a.batch = <-a.free
}

// settle waits until the entries of all batches before this one have been added.
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
