package clew

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew/wire"
)

// Query starts an agent, gives it the prompt, and returns its messages as they come. Nothing starts
// before the loop does, and each loop starts its own agent. opts may be nil.
//
//	for msg, err := range clew.Query(ctx, "Explain this repository", nil) {
//
// The sequence ends when the agent has exited. An error is the last pair: an error of [Connect], a
// [*ResultError] if the last turn failed, an [*ExitError] if the agent died, the error of ctx, or
// that of a prompt that is a sequence with errors. It is joined with a [*StoreError] if entries are
// missing in [Options.Store] and no message has reported that.
//
// Leaving the loop in any way, or the end of ctx, interrupts and ends the agent before the
// statement after the loop runs; store losses from then on are only logged. An agent that has left
// a command running in the background may wait for it long after its result. To avoid that, leave
// the loop at the result.
func Query[P Prompt](ctx context.Context, prompt P, opts *Options) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		s, err := Connect(ctx, opts.withoutReconnect())
		if err != nil {
			yield(nil, err)
			return
		}
		sender := startSender(ctx, s, prompts(prompt))
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
// [*ResultError], and with entries that are missing in [Options.Store] a [*StoreError].
func Run[P Prompt](ctx context.Context, prompt P, opts *Options) (*wire.ResultMessage, error) {
	return outcome(Query(ctx, prompt, opts))
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
	cancel context.CancelCauseFunc
	done   chan struct{}
	limit  time.Duration
	once   sync.Once // for stop
	err    error     // of the prompts, once done
}

// startSender sends prompts in the background. After the last one, the agent's input is closed as
// soon as no callback can be needed any more.
func startSender(ctx context.Context, s *Session, prompts iter.Seq2[*wire.UserMessage, error]) *sender {
	ctx, cancel := context.WithCancelCause(ctx)
	sender := &sender{cancel: cancel, done: make(chan struct{}), limit: s.opts.closeTimeout()}
	go func() {
		defer func() {
			s.oneShot.allSent()
			close(sender.done)
		}()
		sender.err = errNoReturn
		sender.err = sendAll(ctx, s, prompts)
	}()
	return sender
}

// errNoReturn is the error of prompts that ended their goroutine, as t.Fatal does.
var errNoReturn = errors.New("clew: the sequence of prompts did not return")

// stop cancels the prompts and waits for them, only once and not longer than the limit.
func (s *sender) stop() {
	s.once.Do(func() {
		s.cancel(ErrClosed)
		timer := time.NewTimer(s.limit)
		defer timer.Stop()
		select {
		case <-s.done:
		case <-timer.C:
		}
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
	switch {
	case s.err == nil, err != nil && ctx.Err() != nil, errors.Is(err, s.err), errors.Is(s.err, ErrClosed):
		return err
	}
	return errors.Join(err, s.err)
}

// sendAll sends prompts until one can't be sent.
func sendAll(ctx context.Context, s *Session, prompts iter.Seq2[*wire.UserMessage, error]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("clew: panic in the sequence of prompts: %v", p)
		}
	}()
	for msg, err := range prompts {
		if err != nil {
			return fmt.Errorf("clew: the sequence of prompts: %w", err)
		}
		if _, err := s.Send(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

// exitTimeout is how long a one-shot run waits for an agent that has answered every prompt and does
// not exit.
const exitTimeout = 10 * time.Minute

// A oneShot ends a run whose prompts are all known: it closes the agent's input when nothing can
// come that needs an answer, and ends an agent that has answered everything and does not exit. It
// does nothing before allSent is called, and so nothing for a session without an end. It has its
// own state and lock.
type oneShot struct {
	log        *slog.Logger
	progress   *progress
	needsInput bool   // callbacks may have to be answered
	endInput   func() // closes the agent's input
	endAgent   func() // ends the agent

	mu      sync.Mutex
	sent    bool        // the last prompt was sent
	stopped bool        // the session ends in another way
	overdue bool        // the agent was ended because it did not exit
	timer   *time.Timer // runs from the last answer on
}

func newOneShot(s *Session) *oneShot {
	return &oneShot{
		log: s.log, progress: &s.progress, needsInput: needsInput(s.opts),
		endInput: s.out.End, endAgent: func() { s.agent.process().close() },
	}
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
	if !o.needsInput || o.progress.settled() {
		o.endInput()
	}
	switch {
	case !o.progress.answered():
	case o.timer == nil:
		o.timer = time.AfterFunc(exitTimeout, o.expire)
	default:
		o.timer.Reset(exitTimeout)
	}
}

// expire ends an agent that does not exit.
func (o *oneShot) expire() {
	if o.markOverdue() {
		o.log.Warn("the agent has answered and does not exit", "for", exitTimeout)
		o.endAgent()
	}
}

func (o *oneShot) markOverdue() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
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
	if o.timer != nil {
		o.timer.Stop()
	}
	return o.overdue
}

// RunAs is like [Run] but decodes the answer into a value of type T: the agent gets the JSON schema
// of T and answers in that form. T is usually a struct whose fields have json and jsonschema tags,
// see [jsonschema.For]. Other types are sent as the only field of an object.
//
//	plan, result, err := clew.RunAs[Plan](ctx, "Plan the release", nil)
//
// If the answer does not fit T, RunAs returns the result and an [*OutputError]. If the only error
// is a [*StoreError], the answer is valid.
func RunAs[T any, P Prompt](ctx context.Context, prompt P, opts *Options) (T, *wire.ResultMessage, error) {
	var answer T
	shape, err := newOutputShape[T]()
	if err != nil {
		return answer, nil, err
	}
	opts = opts.clone()
	opts.OutputSchema = shape.text
	result, lost, err := outcomeAndLoss(Query(ctx, prompt, opts))
	if err != nil {
		return answer, result, join(err, lost)
	}
	if err := shape.read(result, &answer); err != nil {
		return answer, result, join(&OutputError{Raw: result.StructuredOutput, Text: result.Result, Err: err}, lost)
	}
	return answer, result, lost
}

// An outputShape is the schema of a structured answer.
type outputShape struct {
	text    wire.JSON
	schema  *jsonschema.Resolved
	wrapped bool // the answer is the field "value" of an object, because agents answer only in objects
}

func newOutputShape[T any]() (*outputShape, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("clew: %T has no JSON schema: %w", *new(T), err)
	}
	shape := &outputShape{wrapped: schema.Type != "object"}
	if shape.wrapped {
		schema = &jsonschema.Schema{
			Type:                 "object",
			Properties:           map[string]*jsonschema.Schema{"value": schema},
			Required:             []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if shape.schema, err = schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("clew: the JSON schema of %T: %w", *new(T), err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("clew: the JSON schema of %T: %w", *new(T), err)
	}
	shape.text = wire.JSON(text)
	return shape, nil
}

// read decodes the answer of a result into out, if it fits.
func (s *outputShape) read(result *wire.ResultMessage, out any) error {
	raw := result.StructuredOutput
	if raw == "" {
		return errors.New("the result has no structured output")
	}
	var value any
	if err := raw.Decode(&value); err != nil {
		return err
	}
	if err := s.schema.Validate(value); err != nil {
		return err
	}
	if !s.wrapped {
		return raw.Decode(out)
	}
	var wrapper struct {
		Value wire.JSON `json:"value"`
	}
	if err := raw.Decode(&wrapper); err != nil {
		return err
	}
	return wrapper.Value.Decode(out)
}

// An OutputError reports that a structured answer is missing or does not fit its type.
type OutputError struct {
	// Raw is the answer as the agent sent it, or empty if there is none.
	Raw wire.JSON
	// Text is the text of the result.
	Text string
	// Err says what is wrong.
	Err error
}

func (e *OutputError) Error() string { return "clew: the structured answer: " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *OutputError) Unwrap() error { return e.Err }

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
	panic(fmt.Sprintf("clew: a prompt of type %T", prompt)) // the constraint has no other
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
		stamped.UUID = newUUID()
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

// newUUID returns a random UUID, of version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
