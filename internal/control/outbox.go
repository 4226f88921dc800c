package control

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// requestFrame returns a control request as a line. The body is a JSON object.
func requestFrame(id string, body []byte) []byte {
	return envelope(`{"type":"control_request","request_id":`, id, `,"request":`, body, "}")
}

// cancelFrame returns the withdrawal of a request as a line.
func cancelFrame(id string) []byte {
	return envelope(`{"type":"control_cancel_request","request_id":`, id, "}", nil, "")
}

// answerFrame returns a successful answer as a line.
func answerFrame(id string, body []byte) []byte {
	return envelope(`{"type":"control_response","response":{"subtype":"success","request_id":`, id, `,"response":`, body, "}}")
}

// A coder is an error with a code for the other side.
type coder interface {
	error
	Code() string
}

// refusalFrame returns an error answer as a line.
func refusalFrame(id string, err error) []byte {
	middle := `,"error":` + string(quote(err.Error()))
	if with, ok := errors.AsType[coder](err); ok {
		middle += `,"error_code":` + string(quote(with.Code()))
	}
	return envelope(`{"type":"control_response","response":{"subtype":"error","request_id":`, id, middle, nil, "}}")
}

func envelope(head, id, middle string, body []byte, tail string) []byte {
	frame := append([]byte(head), quote(id)...)
	frame = append(frame, middle...)
	frame = append(frame, body...)
	frame = append(frame, tail...)
	return append(frame, '\n')
}

// marshal returns value as one line of JSON, with the characters of HTML as they are.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func quote(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return data
}

// start lets a goroutine write what is queued, unless one does.
func (o *Outbox) start() {
	if p := o.pen; p != nil && p.idle == nil && p.stuck == nil {
		p.idle = make(chan struct{})
		go o.run(p)
	}
}

// run writes to one agent until there is nothing left, or the agent takes no more.
func (o *Outbox) run(p *pen) {
	for letters := o.next(p); letters != nil; letters = o.next(p) {
		if _, err := p.dst.Write(join(letters)); err != nil {
			if o.broke(p, letters) {
				o.failed(err)
			}
			return
		}
		settle(letters, nil)
	}
}

// next takes all that can be written. With nothing left, it closes the input if that is to be done, and says that
// nobody writes any more.
func (o *Outbox) next(p *pen) []*Letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pen == p {
		if letters := o.take(); len(letters) > 0 {
			return letters
		}
		if o.ending && o.err == nil {
			o.fail(cmp.Or(p.dst.CloseWrite(), io.ErrClosedPipe))
		}
	}
	p.rest()
	return nil
}

// take takes the letters out of the queue that the agent is ready for.
func (o *Outbox) take() []*Letter {
	ready, held := o.queue, []*Letter(nil)
	if o.held {
		ready = nil
		for _, l := range o.queue {
			if l.prompt == "" {
				ready = append(ready, l)
			} else {
				held = append(held, l)
			}
		}
	}
	o.queue = held
	return ready
}

// broke notes that letters could not be written. It reports whether it is not known why: they wait for that.
func (o *Outbox) broke(p *pen, letters []*Letter) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.rest()
	if why := cmp.Or(o.err, p.gone); why != nil {
		settle(letters, why)
		return false
	}
	p.stuck = letters
	return true
}

func (p *pen) rest() {
	close(p.idle)
	p.idle = nil
}

// detach takes the agent away. Prompts that were not begun stay in the queue, and their ids are returned; all else is
// refused with err, as is what can't be written any more.
func (o *Outbox) detach(err error) (kept []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = true
	settle(o.take(), err)
	for _, l := range o.queue {
		kept = append(kept, l.prompt)
	}
	if p := o.pen; p != nil {
		p.gone = err
		settle(p.stuck, err)
	}
	o.pen, o.gone = nil, err
	return kept
}

// attach brings another agent. Prompts wait until release.
func (o *Outbox) attach(dst WriteCloser) *pen {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pen, o.held = &pen{dst: dst}, true
	return o.pen
}

// release lets prompts go to an agent, unless that is gone. It reports whether it is not.
func (o *Outbox) release(p *pen) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pen != p {
		return false
	}
	o.held = false
	o.start()
	return true
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

func settle(letters []*Letter, err error) {
	for _, l := range letters {
		l.err = err
		close(l.written)
	}
}
