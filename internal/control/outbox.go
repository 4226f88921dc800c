package control

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// A WriteCloser is the agent's input.
type WriteCloser interface {
	io.Writer
	// CloseWrite ends the input.
	CloseWrite() error
}

// An Outbox writes frames to the agent, one after the other, in the order in which they were put. Nobody blocks on an
// agent that does not read, unless they ask to. It has a goroutine only while there is something to write.
type Outbox struct {
	dst    WriteCloser
	failed func(error)

	mu      sync.Mutex
	queue   []*Letter
	writing bool
	ending  bool          // the input is to be closed behind what is queued
	idle    chan struct{} // closed when nothing is being written; nil while that is so
	err     error
}

// A Letter is a frame on its way.
type Letter struct {
	box     *Outbox
	frame   []byte
	written chan struct{}
	err     error
	back    bool // it was taken back
}

// NewOutbox returns an outbox to dst. When a write fails, failed is told, once, and may take its time.
func NewOutbox(dst WriteCloser, failed func(error)) *Outbox { return &Outbox{dst: dst, failed: failed} }

// Put queues a frame, a line with its end, and returns at once.
func (o *Outbox) Put(frame []byte) (*Letter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return nil, o.err
	case o.ending:
		return nil, io.ErrClosedPipe
	}
	l := &Letter{box: o, frame: frame, written: make(chan struct{})}
	o.queue = append(o.queue, l)
	o.start()
	return l, nil
}

// Wait waits until the agent's pipe has the frame. When ctx ends first, the frame is taken back, unless writing it has
// begun: see [Letter.TakenBack].
func (l *Letter) Wait(ctx context.Context) error {
	select {
	case <-l.written:
		return l.err
	case <-ctx.Done():
		l.box.takeBack(l)
		return context.Cause(ctx)
	}
}

// TakenBack reports whether Wait, which must have returned, has taken the frame back. If it has not, the agent may get
// the frame after all.
func (l *Letter) TakenBack() bool { return l.back }

func (o *Outbox) takeBack(l *Letter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.queue, l); i >= 0 {
		o.queue = slices.Delete(o.queue, i, i+1)
		l.back = true
	}
}

// End closes the agent's input once everything is written. Nothing can be put any more.
func (o *Outbox) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ending {
		o.ending = true
		o.start()
	}
}

// Flush waits until nothing is being written, at most for limit.
func (o *Outbox) Flush(limit time.Duration) {
	o.mu.Lock()
	idle := o.idle
	o.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

// Fail refuses everything from now on, with err.
func (o *Outbox) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail(err)
}

func (o *Outbox) fail(err error) {
	if o.err == nil {
		o.err = err
	}
	for _, l := range o.queue {
		l.settle(o.err)
	}
	o.queue = nil
}

// start lets a goroutine write what is queued, unless one does.
func (o *Outbox) start() {
	if !o.writing {
		o.writing = true
		o.idle = make(chan struct{})
		go o.run()
	}
}

// run writes until there is nothing left.
func (o *Outbox) run() {
	var failure error
	for letters := o.next(); letters != nil; letters = o.next() {
		_, err := o.dst.Write(join(letters))
		for _, l := range letters {
			l.settle(err)
		}
		if err != nil {
			o.Fail(err)
			failure = err
		}
	}
	if failure != nil {
		o.failed(failure)
	}
}

// next takes all that is queued. With nothing left, it closes the input if that is to be done, and says that nobody
// writes any more.
func (o *Outbox) next() []*Letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	letters := o.queue
	if o.queue = nil; len(letters) > 0 {
		return letters
	}
	if o.ending && o.err == nil {
		o.fail(cmp.Or(o.dst.CloseWrite(), io.ErrClosedPipe))
	}
	o.writing = false
	close(o.idle)
	o.idle = nil
	return nil
}

func join(letters []*Letter) []byte {
	if len(letters) == 1 {
		return letters[0].frame
	}
	var all []byte
	for _, l := range letters {
		all = append(all, l.frame...)
	}
	return all
}

func (l *Letter) settle(err error) {
	l.err = err
	close(l.written)
}
