package clew

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/clewdev/clew/wire"
)

// Turn sends a prompt and returns the messages until the result that answers it, which is the last one. Whatever else
// comes in between, such as the result of a background task, is among them, and so is what came since the last turn.
// If the result is a failure, a [*ResultError] follows it, and the session lives on.
//
// Turns may be started while others run: each prompt goes to the agent at once, and each sequence waits until those
// before it have ended. When the agent answers several prompts at once, each of their turns ends with that result.
// Don't loop over a turn inside of the loop over another one of the same session: the inner one waits for the outer
// one, which waits for it, until ctx ends. Give the agent more to do from there with [Session.Send].
//
// When ctx ends, the turn is interrupted. A loop that is left early, on the other hand, leaves the turn running: call
// [Session.Interrupt] to stop it. What is left of such a turn is dropped by the next one, and seen by
// [Session.Messages]. A prompt that is cancelled in the queue ends its turn with [ErrCancelled].
//
// With [Options.Reconnect], a turn that the death of the agent has cut ends with a [*LostError], behind the
// [wire.SessionReconnectedMessage], and a turn that begins while there is no agent waits for one.
func (s *Session) Turn(ctx context.Context, prompt string) iter.Seq2[wire.Message, error] {
	return s.TurnMessage(ctx, NewUserMessage(Text(prompt)))
}

// TurnMessage is like Turn for a prompt with images or documents.
func (s *Session) TurnMessage(ctx context.Context, prompt *wire.UserMessage) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		if prompt != nil && prompt.ShouldQuery != nil && !*prompt.ShouldQuery {
			yield(nil, errors.New("clew: a prompt with ShouldQuery set to false has no turn: use SendMessage"))
			return
		}
		t := newTurn()
		letter, id, err := s.post(ctx, prompt, t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.readers.leave(t)
		err = s.posted(ctx, letter, id)
		if err == nil || isLost(err) {
			err = s.readTurn(ctx, t, yield) // also if it is lost: there is something to read before that
		}
		if err == nil || errors.Is(err, errLeft) {
			return
		}
		if ctx.Err() != nil {
			s.giveUp(id)
		}
		yield(nil, err)
	}
}

// giveUp stops what the agent does about a prompt whose context has ended, if it does anything.
func (s *Session) giveUp(id string) {
	switch s.progress.place(id) {
	case -1:
	case 0:
		s.tell("interrupt", nil)
	default:
		s.tell("cancel_async_message", cancelPromptRequest{id})
	}
}

// errLeft says that the caller left the loop.
var errLeft = errors.New("the loop was left")

// readTurn yields the messages of a turn once it is its time.
func (s *Session) readTurn(ctx context.Context, t *turn, yield func(wire.Message, error) bool) error {
	select {
	case <-t.first:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closeDone: // the turn before this one may not be read to its end
		return s.cause
	}
	if result, over := s.readers.outcome(t); over {
		if result != nil && !yield(result, nil) {
			return errLeft
		}
		return t.err()
	}
	left := false
	err := s.read(ctx, func(msg wire.Message) (more bool) {
		wanted, over := s.readers.see(t, msg)
		left = wanted && !yield(msg, nil)
		return !left && !over
	})
	switch {
	case left:
		return errLeft
	case t.over:
		return t.err()
	case errors.Is(err, io.EOF):
		return s.deathOf()
	}
	return err
}

// deathOf returns why a turn has no result although there are no more messages.
func (s *Session) deathOf() error {
	<-s.ended
	return s.cause
}

// read takes messages from the backlog and shows them one by one, until show wants no more or ctx has ended. What was
// taken and not shown goes back. The error is io.EOF when there are no more messages.
func (s *Session) read(ctx context.Context, show func(wire.Message) (more bool)) error {
	for ctx.Err() == nil {
		batch, err := s.backlog.Take(ctx)
		if err != nil && ctx.Err() == nil {
			s.mirror.tellRest(show)
			return err
		}
		if !s.show(ctx, batch, show) {
			return nil
		}
	}
	return context.Cause(ctx)
}

func (s *Session) show(ctx context.Context, batch []wire.Message, show func(wire.Message) bool) (more bool) {
	shown := 0
	defer func() { s.backlog.Return(batch[shown:]) }() // also when the caller's loop panics
	for shown < len(batch) {
		msg, err := s.mirror.next(ctx, batch[shown])
		if err != nil {
			break
		}
		if msg == batch[shown] {
			shown++
		}
		if !show(msg) {
			return false
		}
	}
	return true
}

// Messages returns every message of the session, in order, from where reading stopped: results do not end it. It ends
// when the session is closed or the agent has ended, with an error if that is the agent's failure: [*ResultError] if it
// ended with a failed turn, and else [*ExitError]. A loop that is left early can be started again. While it runs, Turn
// is refused with [ErrReading]: send with [Session.Send].
func (s *Session) Messages(ctx context.Context) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		if err := s.readers.joinAlone(); err != nil {
			yield(nil, err)
			return
		}
		defer s.readers.leaveAlone()
		err := s.read(ctx, func(msg wire.Message) bool {
			s.readers.pass(msg)
			return yield(msg, nil)
		})
		if errors.Is(err, io.EOF) {
			<-s.ended
			err = s.verdict
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
