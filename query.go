package clew

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

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
		if _, err := s.SendMessage(ctx, msg); err != nil {
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
	if !s.opts.needsInput() || s.progress.settled() {
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
