package control

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// A WriteCloser is the agent's input.
type WriteCloser interface {
	io.Writer
	// CloseWrite ends the input.
	CloseWrite() error
}

// An Outbox writes frames to the agent, one after the other, in the order in which they were put.
// Callers don't block on an agent that does not read, unless they wait for a frame. It has a
// goroutine only while there is something to write.
//
// When the agent is gone, the prompts that it did not receive wait for another one: see
// [Conn.Break].
type Outbox struct {
	failed func(error)

	mu     sync.Mutex
	writer *writer // nil without an agent
	queue  []*QueuedFrame
	held   bool  // prompts wait until the agent is ready for them
	ending bool  // the input is to be closed after the frames in the queue
	gone   error // why the agent is gone
	err    error
}

// A writer writes to one agent.
type writer struct {
	dst   WriteCloser
	idle  chan struct{}  // closed when nothing is being written; nil while that is so
	stuck []*QueuedFrame // could not be written, and wait until it is known why
	gone  error          // why the agent is gone
}

// A QueuedFrame is a queued or written frame.
type QueuedFrame struct {
	box       *Outbox
	prompt    string // its id, or empty if it is not a prompt
	frame     []byte
	written   chan struct{}
	err       error
	withdrawn bool
	complete  bool // the agent may have all of it
}

// NewOutbox returns an outbox to dst. When a write fails, failed is called once, and may block. It
// must make sure that Fail or Break is called: the frames that were not written wait for that.
func NewOutbox(dst WriteCloser, failed func(error)) *Outbox {
	return &Outbox{failed: failed, writer: &writer{dst: dst}}
}

// Put queues a frame, a line with its end, and returns at once.
func (o *Outbox) Put(frame []byte) (*QueuedFrame, error) { return o.put(&QueuedFrame{frame: frame}) }

// PutPrompt is like Put, but the frame goes to another agent if there is none, or if this one dies
// before the write starts. The id names the prompt.
func (o *Outbox) PutPrompt(id string, frame []byte) (*QueuedFrame, error) {
	return o.put(&QueuedFrame{prompt: id, frame: frame})
}

func (o *Outbox) put(f *QueuedFrame) (*QueuedFrame, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return nil, o.err
	case o.ending:
		return nil, io.ErrClosedPipe
	case o.writer == nil && f.prompt == "":
		return nil, o.gone
	}
	f.box, f.written = o, make(chan struct{})
	o.queue = append(o.queue, f)
	o.start()
	return f, nil
}

// Wait waits until the agent's pipe has the frame. When ctx ends first, the frame is withdrawn,
// unless its write started: see [QueuedFrame.Withdrawn].
func (f *QueuedFrame) Wait(ctx context.Context) error {
	select {
	case <-f.written:
		return f.err
	case <-ctx.Done():
		f.box.withdraw(f)
		return ContextError(ctx)
	}
}

// ContextError returns the error of a context that ended, joined with its cause if that differs.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Withdrawn reports whether Wait, which must have returned, withdrew the frame. If not, the agent
// may still get the frame.
func (f *QueuedFrame) Withdrawn() bool { return f.withdrawn }

// Reached reports whether the agent may have got the frame, after Wait returned something else than
// the error of its context. A frame that was cut off did not reach it: it lacks its closing brace.
func (f *QueuedFrame) Reached() bool { return f.complete }

func (o *Outbox) withdraw(f *QueuedFrame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.queue, f); i >= 0 {
		o.queue = slices.Delete(o.queue, i, i+1)
		f.withdrawn = true
	}
}

// End closes the agent's input once the queue is written. Further frames are refused, and so are
// prompts that wait for another agent.
func (o *Outbox) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending {
		return
	}
	o.ending = true
	if o.writer == nil {
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
	if o.writer != nil {
		idle = o.writer.idle
	}
	o.mu.Unlock()
	if idle != nil {
		pause.Until(idle, limit)
	}
}

// Stuck reports whether a write failed for a reason that is not known yet.
func (o *Outbox) Stuck() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writer != nil && o.writer.stuck != nil
}

// Fail refuses all frames from now on, with err.
func (o *Outbox) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail(err)
}

func (o *Outbox) fail(err error) {
	o.err = cmp.Or(o.err, err)
	settle(o.queue, o.err)
	o.queue = nil
	if o.writer != nil {
		settle(o.writer.stuck, o.err)
		o.writer.stuck = nil
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

// A coder is an error with a code for the agent.
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

// marshal returns value as one line of JSON. It does not escape HTML characters.
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
		panic(err) // a string can always be encoded
	}
	return data
}

// start starts a goroutine that writes the queue, unless there is one.
func (o *Outbox) start() {
	if w := o.writer; w != nil && w.idle == nil && w.stuck == nil {
		w.idle = make(chan struct{})
		go o.run(w)
	}
}

// run writes to one agent until there is nothing left, or a write fails.
func (o *Outbox) run(w *writer) {
	for frames := o.next(w); frames != nil; frames = o.next(w) {
		n, err := w.dst.Write(join(frames))
		markComplete(frames, n)
		if err != nil {
			if o.writeFailed(w, frames) {
				o.failed(err)
			}
			return
		}
		settle(frames, nil)
	}
}

// next takes all frames that can be written. If there are none, it closes the input when that is
// due, and marks the writer idle.
func (o *Outbox) next(w *writer) []*QueuedFrame {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writer == w {
		if frames := o.take(); len(frames) > 0 {
			return frames
		}
		if o.ending && o.err == nil {
			o.fail(cmp.Or(w.dst.CloseWrite(), io.ErrClosedPipe))
		}
	}
	w.markIdle()
	return nil
}

// take removes and returns the frames of the queue that the agent is ready for.
func (o *Outbox) take() []*QueuedFrame {
	ready, held := o.queue, []*QueuedFrame(nil)
	if o.held {
		ready = nil
		for _, f := range o.queue {
			if f.prompt == "" {
				ready = append(ready, f)
			} else {
				held = append(held, f)
			}
		}
	}
	o.queue = held
	return ready
}

// writeFailed handles frames that could not be written. It reports whether the reason is still
// unknown: then the frames wait for it.
func (o *Outbox) writeFailed(w *writer, frames []*QueuedFrame) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.markIdle()
	if why := cmp.Or(o.err, w.gone); why != nil {
		settle(frames, why)
		return false
	}
	w.stuck = frames
	return true
}

func (w *writer) markIdle() {
	close(w.idle)
	w.idle = nil
}

// detach removes the agent. Unwritten prompts stay in the queue, and their ids are returned. All
// other frames are refused with err, including frames whose write failed.
func (o *Outbox) detach(err error) (kept []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = true
	settle(o.take(), err)
	for _, f := range o.queue {
		kept = append(kept, f.prompt)
	}
	if w := o.writer; w != nil {
		w.gone = err
		settle(w.stuck, err)
	}
	o.writer, o.gone = nil, err
	return kept
}

// attach adds another agent. Prompts wait until release.
func (o *Outbox) attach(dst WriteCloser) *writer {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writer, o.held = &writer{dst: dst}, true
	return o.writer
}

// release lets prompts go to an agent. It reports whether that agent is still attached.
func (o *Outbox) release(w *writer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writer != w {
		return false
	}
	o.held = false
	o.start()
	return true
}

func join(frames []*QueuedFrame) []byte {
	if len(frames) == 1 {
		return frames[0].frame
	}
	var all []byte
	for _, f := range frames {
		all = append(all, f.frame...)
	}
	return all
}

// markComplete marks the frames that the first n bytes of all of them contain. A frame without its
// line end counts.
func markComplete(frames []*QueuedFrame, n int) {
	for _, f := range frames {
		f.complete = n >= len(f.frame)-1
		n -= len(f.frame)
	}
}

func settle(frames []*QueuedFrame, err error) {
	for _, f := range frames {
		f.err = err
		close(f.written)
	}
}
