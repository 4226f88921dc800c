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
//
// When the agent is gone, the prompts that it has not got wait for another one: see [Conn.Break].
type Outbox struct {
	failed func(error)

	mu     sync.Mutex
	pen    *pen // nil while there is no agent
	queue  []*Letter
	held   bool  // prompts wait until the agent is ready for them
	ending bool  // the input is to be closed behind what is queued
	gone   error // why there is no agent
	err    error
}

// A pen writes to one agent.
type pen struct {
	dst   WriteCloser
	idle  chan struct{} // closed when nothing is being written; nil while that is so
	stuck []*Letter     // what could not be written, until it is known why
	gone  error         // why the agent is gone
}

// A Letter is a frame on its way.
type Letter struct {
	box     *Outbox
	prompt  string // its id, or empty if it is none
	frame   []byte
	written chan struct{}
	err     error
	back    bool // it was taken back
}

// NewOutbox returns an outbox to dst. When a write fails, failed is told, once, and may take its time. It has to see to
// it that Fail or Break is called, for which those who wait do wait.
func NewOutbox(dst WriteCloser, failed func(error)) *Outbox {
	return &Outbox{failed: failed, pen: &pen{dst: dst}}
}

// Put queues a frame, a line with its end, and returns at once.
func (o *Outbox) Put(frame []byte) (*Letter, error) { return o.put(&Letter{frame: frame}) }

// PutPrompt is Put for a frame that is for another agent if there is none, or if this one dies before writing begins.
// The id names it.
func (o *Outbox) PutPrompt(id string, frame []byte) (*Letter, error) {
	return o.put(&Letter{prompt: id, frame: frame})
}

func (o *Outbox) put(l *Letter) (*Letter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return nil, o.err
	case o.ending:
		return nil, io.ErrClosedPipe
	case o.pen == nil && l.prompt == "":
		return nil, o.gone
	}
	l.box, l.written = o, make(chan struct{})
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

// End closes the agent's input once everything is written. Nothing can be put any more, and prompts that wait for
// another agent are refused.
func (o *Outbox) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending {
		return
	}
	o.ending = true
	if o.pen == nil {
		o.fail(io.ErrClosedPipe)
		return
	}
	if o.held {
		ready := o.take()
		settle(o.queue, io.ErrClosedPipe)
		o.queue = ready
	}
	o.start()
}

// Flush waits until nothing is being written, at most for limit.
func (o *Outbox) Flush(limit time.Duration) {
	o.mu.Lock()
	var idle chan struct{}
	if o.pen != nil {
		idle = o.pen.idle
	}
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

// Stuck reports whether the agent takes nothing any more.
func (o *Outbox) Stuck() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pen != nil && o.pen.stuck != nil
}

// Fail refuses everything from now on, with err.
func (o *Outbox) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail(err)
}

func (o *Outbox) fail(err error) {
	o.err = cmp.Or(o.err, err)
	settle(o.queue, o.err)
	o.queue = nil
	if o.pen != nil {
		settle(o.pen.stuck, o.err)
		o.pen.stuck = nil
	}
}
