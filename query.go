package clew

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// Query starts an agent, gives it the prompt, and returns its messages as they come. Nothing starts
// before the loop does, and each loop starts its own agent.
//
//	for msg, err := range clew.Query(ctx, "Explain this repository", nil) {
//
// That holds for [*Options] and nil. With a [*Session] or a [*Pool], Query is the same as
// [Session.Turn] or [Pool.Query], except that the prompt can be a string. A sequence of prompts is
// an error there.
//
// The sequence ends when the agent exits. An error is the last pair: an error of [Connect], a
// [*ResultError] if the last turn failed, an [*ExitError] if the agent died, ctx's error, or
// the error of a prompt sequence. It is joined with a [*StoreError] if entries are missing in
// [StoreOptions.Store] and no message reported that.
//
// Leaving the loop in any way, or the end of ctx, interrupts and ends the agent before the
// statement after the loop runs; store losses from then on are only logged.
//
// A subagent or a workflow in the background is waited for, however long it takes: the agent starts
// another turn when it ends, with another result. An agent that answered, has nothing of that kind
// to wait for and does not exit within [Limits.CloseTimeout] is ended, which is not an error. So a
// command that it left running in the background is not waited for; a [Session] can do that.
func Query[P Prompt](ctx context.Context, prompt P, on Runner) iter.Seq2[wire.Message, error] {
	return runner(on).query(ctx, promptOf(prompt))
}

// query runs a prompt on a new agent. o may be nil.
func (o *Options) query(ctx context.Context, prompt anyPrompt) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		s, err := connect(ctx, o.withoutReconnect(), prompt.isOne())
		if err != nil {
			yield(nil, err)
			return
		}
		sender := startSender(ctx, s, prompt.many)
		defer sender.stop()
		defer s.Close() //nolint:errcheck // the run is over, so how the agent ends does not matter
		for msg, err := range s.Messages(ctx) {
			if err != nil {
				lost := s.closeForLosses()
				yield(nil, join(sender.addError(ctx, err), lost))
				return
			}
			if !yield(msg, nil) {
				return
			}
		}
		if err := sender.addError(ctx, nil); err != nil {
			yield(nil, err)
		}
	}
}

// withoutReconnect returns options for a run that ends with its agent. o may be nil.
func (o *Options) withoutReconnect() *Options {
	if o == nil || o.Reconnect == nil {
		return o
	}
	run := *o
	run.Reconnect = nil
	return &run
}

// Run is like [Query] but returns only the last result. With a failed result it also returns a
// [*ResultError], and with entries that are missing in [StoreOptions.Store] a [*StoreError].
//
//	result, err := clew.Run(ctx, "Explain this repository", nil)
//	result, err = clew.Run(ctx, "Which file should I read first?", session)
func Run[P Prompt](ctx context.Context, prompt P, on Runner) (*wire.ResultMessage, error) {
	return outcome(Query(ctx, prompt, on))
}

// A Runner runs the prompt of [Query], [Run] and [RunAs]: nil or *[Options] for a new agent, a
// *[Pool] or a *[Session].
type Runner interface {
	query(ctx context.Context, prompt anyPrompt) iter.Seq2[wire.Message, error]
	// runShaped returns the messages of a run whose answer is a value of the type, and its shape.
	runShaped(ctx context.Context, t reflect.Type, prompt anyPrompt) (iter.Seq2[wire.Message, error], *outputShape, error)
}

// runner returns the runner of a run that has none if on is nil.
func runner(on Runner) Runner {
	if on == nil {
		return (*Options)(nil)
	}
	return on
}

func (s *Session) query(ctx context.Context, prompt anyPrompt) iter.Seq2[wire.Message, error] {
	return prompt.alone(ctx, s.Turn)
}

func (p *Pool) query(ctx context.Context, prompt anyPrompt) iter.Seq2[wire.Message, error] {
	return prompt.alone(ctx, p.Query)
}

// outcome returns the last result of a run.
func outcome(messages iter.Seq2[wire.Message, error]) (*wire.ResultMessage, error) {
	result, lost, err := outcomeAndLoss(messages)
	return result, join(err, lost)
}

// outcomeAndLoss is like outcome but returns the losses of the store separately from other errors.
func outcomeAndLoss(messages iter.Seq2[wire.Message, error]) (last *wire.ResultMessage, lost, err error) {
	for msg, err := range messages {
		if err != nil {
			return last, lost, err
		}
		switch m := msg.(type) {
		case *wire.ResultMessage:
			last = m
		case *wire.MirrorErrorMessage:
			lost = join(lost, lossOf(m))
		}
	}
	if last == nil { // there was no prompt
		return nil, lost, &ExitError{Reason: "ended without a result"}
	}
	return last, lost, nil
}

// A sender sends the prompts of a one-shot run.
type sender struct {
	session *Session
	cancel  context.CancelCauseFunc
	done    chan struct{}
	limit   time.Duration
	once    sync.Once // for stop
	sent    bool      // a prompt has reached the agent; known once done
	err     error     // of the prompts, once done
}

// startSender sends prompts in the background. After the last one, the agent's input is closed as
// soon as it can't be needed any more.
func startSender(ctx context.Context, s *Session, prompts iter.Seq2[*wire.UserMessage, error]) *sender {
	ctx, cancel := context.WithCancelCause(ctx)
	sender := &sender{session: s, cancel: cancel, done: make(chan struct{}), limit: s.opts.closeTimeout()}
	go func() {
		defer func() {
			s.oneShot.allSent()
			close(sender.done)
		}()
		sender.err = errNoReturn
		sender.err = sender.sendAll(ctx, prompts)
	}()
	return sender
}

// errNoReturn is the error of prompts that ended their goroutine, as t.Fatal does.
var errNoReturn = errors.New("clew: the sequence of prompts did not return")

// stop cancels the prompts and waits for them, only once and not longer than the limit.
func (s *sender) stop() {
	s.once.Do(func() {
		s.cancel(ErrClosed)
		pause.Until(s.done, s.limit)
	})
}

// addError adds the error of the prompts to err, which may be nil. Errors that only follow from the
// end of ctx or of the session add nothing.
func (s *sender) addError(ctx context.Context, err error) error {
	s.stop()
	select {
	case <-s.done:
	default:
		return err
	}
	onlyContext := err != nil && ctx.Err() != nil && errors.Is(s.err, ctx.Err())
	switch {
	case s.err == nil, onlyContext, errors.Is(err, s.err):
		return err
	case errors.Is(s.err, ErrClosed): // the agent was faster
		if err == nil && !s.sent {
			return s.session.agent.process().unexpectedEnd()
		}
		return err
	}
	return errors.Join(err, s.err)
}

// sendAll sends prompts until one can't be sent.
func (s *sender) sendAll(ctx context.Context, prompts iter.Seq2[*wire.UserMessage, error]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("clew: panic in the sequence of prompts: %v", p)
		}
	}()
	for msg, err := range prompts {
		if err != nil {
			return fmt.Errorf("clew: the sequence of prompts: %w", err)
		}
		if _, err := s.session.Send(ctx, msg); err != nil {
			return err
		}
		if s.sent {
			s.session.oneShot.severalSent()
		}
		s.sent = true
	}
	return nil
}

// turnTimeout is the time a one-shot run waits for the result of a turn that the agent started by
// itself after it had answered every prompt, and for the turn of a prompt that has none.
const turnTimeout = 10 * time.Minute

// A oneShot ends a run whose prompts are all known: it closes the agent's input when nothing can
// come that needs an answer, and ends an agent that answered everything and does not exit. It does
// nothing before allSent is called, and so nothing for a session without an end. It has its own
// state and lock.
type oneShot struct {
	log        *slog.Logger
	progress   *progress
	needsInput bool          // callbacks may have to be answered
	endInput   func()        // closes the agent's input
	endAgent   func()        // ends the agent
	grace      time.Duration // how long an agent without work may take to exit

	mu       sync.Mutex
	several  bool        // more than one prompt was sent
	sent     bool        // the last prompt was sent
	stopped  bool        // the session ends in another way
	overdue  bool        // the agent was ended because it did not exit
	answered time.Time   // when the last answer came
	timer    *time.Timer // runs from the last answer on
	idle     *time.Timer // runs while prompts wait
}

func newOneShot(s *Session) *oneShot {
	grace := s.opts.closeTimeout()
	return &oneShot{
		log: s.log, progress: &s.progress, needsInput: needsInput(s.opts), grace: grace,
		endInput: s.out.End, endAgent: func() { s.agent.process().terminate(s.ending.over, grace) },
	}
}

// severalSent notes that more than one prompt was sent. Then the agent's input stays open until all
// are answered: some versions of the agent drop the prompts that wait when their input is closed.
func (o *oneShot) severalSent() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.several = true
}

// allSent notes that the last prompt was sent.
func (o *oneShot) allSent() {
	o.mu.Lock()
	o.sent = true
	o.mu.Unlock()
	o.update()
}

// update acts on the progress of the agent. It is called whenever that may have finished something.
func (o *oneShot) update() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sent || o.stopped {
		return
	}
	answered := o.progress.answered()
	if !o.needsInput && (answered || !o.several) || o.progress.settled() {
		o.endInput()
	}
	if !answered {
		restart(&o.idle, turnTimeout, o.giveUp)
		return
	}
	o.answered = time.Now()
	restart(&o.timer, o.grace, o.expire)
}

// restart starts a timer, again if it exists.
func restart(timer **time.Timer, after time.Duration, do func()) {
	if *timer == nil {
		*timer = time.AfterFunc(after, do)
	} else {
		(*timer).Reset(after)
	}
}

// giveUp closes the input of an agent that has prompts and does nothing: it does not answer them,
// or has not said that it did.
func (o *oneShot) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped || o.progress.answered() {
		return
	}
	if idle, _ := o.progress.rest(); !idle {
		o.idle.Reset(turnTimeout)
		return
	}
	o.log.Warn("the agent has prompts and does nothing", "for", turnTimeout)
	o.endInput()
}

// expire ends an agent that does not exit, unless there is something to wait for.
func (o *oneShot) expire() {
	if o.markOverdue() {
		o.log.Warn("the agent has answered and does not exit", "for", o.grace)
		o.endAgent()
	}
}

func (o *oneShot) markOverdue() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return false
	}
	idle, background := o.progress.rest()
	if background {
		o.answered = time.Now() // from its end on, the turn for it has its time
	}
	if background || !idle && time.Since(o.answered) < turnTimeout {
		o.timer.Reset(o.grace)
		return false
	}
	o.overdue = true
	return true
}

// stop ends the watch over the run. It reports whether the agent was ended because it did not exit.
func (o *oneShot) stop() (overdue bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	for _, timer := range []*time.Timer{o.timer, o.idle} {
		if timer != nil {
			timer.Stop()
		}
	}
	return o.overdue
}

// A Prompt is a text, a message, which may have images or documents, or a sequence of messages. The
// messages of a sequence are sent as it yields them, without waiting for answers. An error of the
// sequence ends the prompts, but not the turn that is running.
type Prompt interface {
	string | *wire.UserMessage | iter.Seq[*wire.UserMessage] | iter.Seq2[*wire.UserMessage, error]
}

// prompts returns the messages of a prompt.
func prompts[P Prompt](prompt P) iter.Seq2[*wire.UserMessage, error] {
	switch p := any(prompt).(type) {
	case string:
		return one(Text(p))
	case *wire.UserMessage:
		return one(p)
	case iter.Seq[*wire.UserMessage]:
		return func(yield func(*wire.UserMessage, error) bool) {
			for msg := range p {
				if !yield(msg, nil) {
					return
				}
			}
		}
	case iter.Seq2[*wire.UserMessage, error]:
		return p
	}
	panic(fmt.Sprintf("clew: unexpected prompt of type %T", prompt)) // the constraint has no other
}

// An anyPrompt is a [Prompt] of any type: one message, or a sequence.
type anyPrompt struct {
	one  *wire.UserMessage // nil for a sequence
	many iter.Seq2[*wire.UserMessage, error]
}

func promptOf[P Prompt](prompt P) anyPrompt {
	switch p := any(prompt).(type) {
	case string:
		return anyPrompt{one: Text(p), many: prompts(prompt)}
	case *wire.UserMessage:
		return anyPrompt{one: p, many: prompts(prompt)}
	}
	return anyPrompt{many: prompts(prompt)}
}

// isOne reports whether a prompt is one message, for an agent of any version.
func (p anyPrompt) isOne() bool { return p.one != nil && fitsAll(p.one) }

var errOneMessage = errors.New("clew: a session and a pool take one message, not a sequence")

// alone runs a prompt that is one message.
func (p anyPrompt) alone(ctx context.Context, run func(context.Context, *wire.UserMessage) iter.Seq2[wire.Message, error],
) iter.Seq2[wire.Message, error] {
	if p.one == nil {
		return func(yield func(wire.Message, error) bool) { yield(nil, errOneMessage) }
	}
	return run(ctx, p.one)
}

func one(msg *wire.UserMessage) iter.Seq2[*wire.UserMessage, error] {
	return func(yield func(*wire.UserMessage, error) bool) { yield(msg, nil) }
}

// Text returns a prompt that is only text:
//
//	for msg, err := range session.Turn(ctx, clew.Text("Explain this repository"))
//
// [NewUserMessage] returns one with images or documents.
func Text(text string) *wire.UserMessage { return NewUserMessage(&wire.TextBlock{Text: text}) }

// NewUserMessage returns a prompt with these blocks, such as an [Image] and a [TextBlock] with a
// question about it. Its other fields may be set before it is sent.
func NewUserMessage(blocks ...wire.Block) *wire.UserMessage {
	return &wire.UserMessage{APIMessage: wire.APIMessage{Role: wire.RoleUser, Content: blocks}}
}

// Image returns a block with an image, such as a PNG file of type "image/png".
func Image(mediaType string, data []byte) *wire.ImageBlock {
	return &wire.ImageBlock{Source: encoded(mediaType, data)}
}

// Document returns a block with a document, such as a PDF file of type "application/pdf".
func Document(mediaType string, data []byte) *wire.DocumentBlock {
	if mediaType == "text/plain" {
		return &wire.DocumentBlock{Source: &wire.Source{Type: "text", MediaType: mediaType, Data: string(data)}}
	}
	return &wire.DocumentBlock{Source: encoded(mediaType, data)}
}

func encoded(mediaType string, data []byte) *wire.Source {
	return &wire.Source{Type: "base64", MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(data)}
}

// promptFrame returns the frame of a message, and the ID that its result will name. It does not
// change the message.
func promptFrame(msg *wire.UserMessage, verbatim bool) (frame []byte, uuid string, err error) {
	if msg == nil {
		return nil, "", fmt.Errorf("clew: the prompt is a nil message")
	}
	stamped := *msg
	if stamped.UUID == "" {
		stamped.UUID = newid.UUID()
	}
	if stamped.Role == "" {
		stamped.Role = wire.RoleUser
	}
	stamped.ClientComposed = stamped.ClientComposed || verbatim
	frame, err = wire.Append(nil, &stamped)
	if err != nil {
		return nil, "", fmt.Errorf("clew: encoding the prompt: %w", err)
	}
	return append(frame, '\n'), stamped.UUID, nil
}
