package cli

import (
	"bufio"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/wire"
)

const (
	// maxBatchBytes is where a batch is full: a single read can bring much, after a
	// long frame has made the buffer large.
	maxBatchBytes = 128 << 10
	// maxPendingBytes bounds what was read and is not yet reported. A longer frame
	// goes alone.
	maxPendingBytes = 2 << 20
)

// A pipeline examines frames and reports them in order. To examine a frame takes
// longer than to decode it, so that is done on several processors at once, in
// batches of what a single read has brought.
type pipeline struct {
	rep report
	out *bufio.Writer

	open    batch       // collects frames, and is not yet on its way
	work    chan *batch // to the goroutines that examine
	queue   chan *batch // to the one that reports, in order
	pending *allowance  // of the bytes on their way
	ended   chan struct{}
	err     error // of the report, once ended is closed
	failed  atomic.Bool
}

type batch struct {
	frames   []frame
	bytes    int64
	findings []finding
	examined chan struct{}
}

type frame struct {
	msg wire.Message
	pos wire.Position
}

func newPipeline(rep report, out *bufio.Writer) *pipeline {
	workers := min(maxProcessors, runtime.GOMAXPROCS(0))
	p := &pipeline{
		rep:     rep,
		out:     out,
		work:    make(chan *batch, workers),
		queue:   make(chan *batch, 2*workers), // bounds how far reading runs ahead
		pending: newAllowance(maxPendingBytes),
		ended:   make(chan struct{}),
	}
	for range workers {
		go p.examine()
	}
	go p.report()
	return p
}

// add takes the next frame. It returns false when the report has failed, and
// further frames would be for nothing.
func (p *pipeline) add(msg wire.Message, pos wire.Position) bool {
	if p.open.bytes+pos.Bytes > maxBatchBytes {
		p.dispatch()
	}
	p.open.frames = append(p.open.frames, frame{msg, pos})
	p.open.bytes += pos.Bytes
	return !p.failed.Load()
}

// dispatch sends what was added on its way. It is called before each read,
// because a read may have to wait, and the frames must not. After a batch that
// takes the whole allowance, it waits until that is reported: the memory that
// the next read needs is then free.
func (p *pipeline) dispatch() {
	if len(p.open.frames) == 0 {
		return
	}
	b := &batch{frames: p.open.frames, bytes: p.open.bytes, examined: make(chan struct{})}
	p.open = batch{}
	p.pending.take(b.bytes)
	p.queue <- b
	p.work <- b
	if b.bytes >= maxPendingBytes {
		p.pending.take(0)
	}
}

// close waits until everything is reported, and returns the report's error.
func (p *pipeline) close() error {
	p.dispatch()
	close(p.work)
	close(p.queue)
	<-p.ended
	return p.err
}

func (p *pipeline) examine() {
	for b := range p.work {
		b.findings = make([]finding, len(b.frames))
		for i, f := range b.frames {
			b.findings[i] = examine(f.msg, f.pos, p.rep.maxErrors())
			b.frames[i].msg = nil // the finding is much smaller
		}
		close(b.examined)
	}
}

// report reports the batches. When none is waiting, the output is flushed: it may
// take long until the next one comes.
func (p *pipeline) report() {
	defer close(p.ended)
	for b := range p.queue {
		<-b.examined
		for _, f := range b.findings {
			if p.err == nil {
				p.err = p.rep.add(f)
			}
		}
		p.pending.giveBack(b.bytes)
		if p.err == nil && len(p.queue) == 0 {
			p.err = p.out.Flush()
		}
		p.failed.Store(p.err != nil)
	}
}

// An allowance is a number of bytes that may be in use at once.
type allowance struct {
	total int64

	mu       sync.Mutex
	used     int64
	returned sync.Cond
}

func newAllowance(total int64) *allowance {
	a := &allowance{total: total}
	a.returned.L = &a.mu
	return a
}

// take waits until there is room for n bytes. More than the total there is room
// for when nothing else is in use.
func (a *allowance) take(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.used > 0 && a.used+n > a.total {
		a.returned.Wait()
	}
	a.used += n
}

// giveBack makes room for others.
func (a *allowance) giveBack(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= n
	a.returned.Broadcast()
}

const (
	// maxProcessors bounds what the runtime sets aside: its caches of free memory,
	// and how much is allocated while it collects, grow with the processors.
	maxProcessors = 4
	// softLimit is where the collector begins to work harder. Nothing fails when a
	// long frame needs more.
	softLimit = 32 << 20
)

// beFrugal makes the process use little memory, whatever the machine has, and
// returns what undoes it. Stricter settings stay as they are.
func beFrugal() (undo func()) {
	processors := runtime.GOMAXPROCS(0)
	if processors > maxProcessors {
		runtime.GOMAXPROCS(maxProcessors)
	}
	limit := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, softLimit))
	return func() {
		debug.SetMemoryLimit(limit)
		if processors > maxProcessors {
			runtime.GOMAXPROCS(processors)
		}
	}
}
