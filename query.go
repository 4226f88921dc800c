package clew

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew/wire"
)

// Query starts an agent, gives it the prompt, and returns its messages as they come. Nothing starts before the loop
// does, and each loop starts an agent of its own. opts may be nil.
//
// The sequence ends when the agent has ended. An error is the last pair: those of [Connect], and then [*ResultError] if
// the last turn failed, [*ExitError] if the agent died, and that of ctx, or of a prompt that is a sequence with errors,
// joined with a [*StoreError] if something is not in [Options.Store] and no message has said so.
// Leaving the loop in whatever way, or the end of ctx, interrupts the agent and ends it, before the statement behind
// the loop runs; what the store loses from then on is in the log alone. An agent that has left a command running in the
// background may wait for it long after its result: leave the loop at the result if that is not wanted.
func Query[P Prompt](ctx context.Context, prompt P, opts *Options) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		s, err := Connect(ctx, opts.oneShot())
		if err != nil {
			yield(nil, err)
			return
		}
		source := s.feed(ctx, prompts(prompt))
		defer source.stop()
		defer s.Close() //nolint:errcheck // how the agent ended after all was said is of no interest
		for msg, err := range s.Messages(ctx) {
			if err != nil {
				lost := s.closeForLosses()
				yield(nil, join(source.with(ctx, err), lost))
				return
			}
			if !yield(msg, nil) {
				return
			}
		}
		if err := source.with(ctx, nil); err != nil {
			yield(nil, err)
		}
	}
}

// oneShot returns options for a run that ends with its agent.
func (o *Options) oneShot() *Options {
	if o == nil || o.Reconnect == nil {
		return o
	}
	run := *o
	run.Reconnect = nil
	return &run
}

// Run is Query for who wants the outcome alone. It returns the last result, and beside it a [*ResultError] if that is a
// failure, and a [*StoreError] if part of the session is not in [Options.Store].
func Run[P Prompt](ctx context.Context, prompt P, opts *Options) (*wire.ResultMessage, error) {
	return outcome(Query(ctx, prompt, opts))
}

// outcome returns the last result of a run.
func outcome(messages iter.Seq2[wire.Message, error]) (*wire.ResultMessage, error) {
	result, lost, err := outcomeAndLoss(messages)
	return result, join(err, lost)
}

// outcomeAndLoss is outcome with what the store has lost apart from other errors.
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

// A source sends the prompts of a one-shot run.
type source struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	limit  time.Duration
	once   sync.Once // for stop
	err    error     // of the prompts, once done
}

// feed sends prompts in the background, and ends the agent's input behind the last one as soon as no callback can be
// needed any more.
func (s *Session) feed(ctx context.Context, prompts iter.Seq2[*wire.UserMessage, error]) *source {
	ctx, cancel := context.WithCancelCause(ctx)
	src := &source{cancel: cancel, done: make(chan struct{}), limit: s.opts.closeTimeout()}
	go func() {
		defer func() {
			s.saidLast()
			close(src.done)
		}()
		src.err = errNoReturn
		src.err = s.sendAll(ctx, prompts)
	}()
	return src
}

// errNoReturn is the error of prompts that ended their goroutine, as the Fatal of a test does.
var errNoReturn = errors.New("clew: the sequence of prompts did not return")

// stop lets the prompts end and waits for them, but not for ever, and only once.
func (src *source) stop() {
	src.once.Do(func() {
		src.cancel(ErrClosed)
		timer := time.NewTimer(src.limit)
		defer timer.Stop()
		select {
		case <-src.done:
		case <-timer.C:
		}
	})
}

// with adds what went wrong with the prompts to an error, which may be nil. What follows from the end of ctx or of the
// session adds nothing.
func (src *source) with(ctx context.Context, err error) error {
	src.stop()
	select {
	case <-src.done:
	default:
		return err
	}
	switch {
	case src.err == nil, err != nil && ctx.Err() != nil, errors.Is(err, src.err), errors.Is(src.err, ErrClosed):
		return err
	}
	return errors.Join(err, src.err)
}

// sendAll sends prompts until one can't be sent.
func (s *Session) sendAll(ctx context.Context, prompts iter.Seq2[*wire.UserMessage, error]) (err error) {
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

// patience is how long a one-shot run waits for an agent that has answered every prompt and does not end.
const patience = 10 * time.Minute

// saidLast notes that the last prompt of a one-shot run was sent.
func (s *Session) saidLast() {
	s.lastWord.Store(true)
	s.endInputIfOver()
}

// endInputIfOver closes the agent's input when the last prompt was sent and nothing can come that needs an answer. An
// agent that has answered everything must end some day.
func (s *Session) endInputIfOver() {
	if !s.lastWord.Load() || s.Err() != nil {
		return
	}
	if !needsInput(s.opts) || s.progress.settled() {
		s.out.End()
	}
	if s.progress.answered() {
		s.impatient.Do(func() { s.patience.Store(time.AfterFunc(patience, s.losePatience)) })
		s.patience.Load().Reset(patience)
	}
}

// losePatience ends an agent that has said all it had to say.
func (s *Session) losePatience() {
	s.log.Warn("the agent has answered and does not end", "for", patience)
	s.overdue.Store(true)
	s.life.Load().conn.Close() //nolint:errcheck // how it ends is of no interest any more
}

// RunAs is Run with an answer of type T: the agent is given the JSON schema of T and answers in it. T is mostly a
// struct, whose fields are described by the tags json and jsonschema, see [jsonschema.For]; anything else is sent as the
// one field of an object. An answer that does not fit T is an [*OutputError], beside the result. A [*StoreError]
// alone comes with the answer.
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

// An outputShape is what a structured answer must look like.
type outputShape struct {
	text    wire.JSON
	schema  *jsonschema.Resolved
	wrapped bool // the answer is the field "value" of an object: agents answer in objects only
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

// An OutputError says that a structured answer is missing or does not fit its type.
type OutputError struct {
	// Raw is the answer as it came, or empty if there is none.
	Raw wire.JSON
	// Text is the text of the result.
	Text string
	// Err says what is wrong.
	Err error
}

func (e *OutputError) Error() string { return "clew: the structured answer: " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *OutputError) Unwrap() error { return e.Err }

// A Prompt is what an agent can be asked: a text, a message with images or documents, or a sequence of messages. The
// messages of a sequence are sent as it yields them, without waiting for answers. The error of a sequence with errors
// ends the prompts, not the turn that runs.
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

// NewUserMessage returns a prompt with these blocks, such as an [Image] and a [TextBlock] with a question about it. Its
// other fields may be set before it is sent.
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

// promptFrame returns the frame of a message and the id that its result will name. The caller's message is not changed.
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
		return nil, "", fmt.Errorf("clew: the prompt has no JSON form: %w", err)
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
