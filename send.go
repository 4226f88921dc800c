package clew

import (
	"context"
	"errors"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// Send gives the agent a prompt and returns its id, which the result will name, without waiting for an answer. A prompt
// that comes while the agent is at work waits in the agent's queue; several that wait there may be answered at once.
// Send blocks until the agent's pipe has taken the prompt. Read the answers with [Session.Messages].
//
// With [Options.Reconnect], a prompt that comes while there is no agent waits for one, until ctx ends. The error is a
// [*LostError] if the agent dies while the prompt is being written. One that dies later is known from
// [wire.SessionReconnectedMessage.LostPrompts].
func (s *Session) Send(ctx context.Context, prompt string) (id string, err error) {
	return s.SendMessage(ctx, NewUserMessage(Text(prompt)))
}

// SendMessage is like Send for a prompt with images or documents, a priority, or an id of the caller's own.
func (s *Session) SendMessage(ctx context.Context, prompt *wire.UserMessage) (id string, err error) {
	letter, id, err := s.post(ctx, prompt, nil)
	if err != nil {
		return "", err
	}
	return id, s.posted(ctx, letter, id)
}

// post puts a prompt into the outbox, and its turn, if it has one, in line with the others.
func (s *Session) post(ctx context.Context, prompt *wire.UserMessage, t *turn) (*control.Letter, string, error) {
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	frame, id, err := promptFrame(prompt, s.opts.VerbatimPrompts)
	if err != nil {
		return nil, "", err
	}
	if t != nil {
		t.id = id
	}
	answered := prompt.ShouldQuery == nil || *prompt.ShouldQuery
	letter, err := s.enqueue(frame, id, answered, t)
	if err != nil && !errors.Is(err, ErrReading) {
		err = s.errorOf(err)
	}
	return letter, id, err
}

// enqueue takes note of a prompt and puts its frame into the outbox, in the same order everywhere.
func (s *Session) enqueue(frame []byte, id string, answered bool, t *turn) (*control.Letter, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	if t != nil {
		if err := s.readers.join(t); err != nil {
			return nil, err
		}
	}
	s.stir()
	if answered { // noted now: the answer may come before Put returns
		s.progress.sent(id)
		s.readers.sent(id)
	}
	letter, err := s.out.PutPrompt(id, frame)
	if err != nil {
		s.unsend(id)
		s.readers.leave(t)
	}
	return letter, err
}

// unsend takes note that a prompt does not reach the agent.
func (s *Session) unsend(id string) {
	s.progress.unsent(id)
	s.readers.unsent(id)
}

// posted waits until a prompt is on its way.
func (s *Session) posted(ctx context.Context, letter *control.Letter, id string) error {
	err := letter.Wait(ctx)
	if err == nil || isLost(err) {
		return err
	}
	gaveUp := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if !gaveUp || letter.TakenBack() {
		s.unsend(id)
	}
	if gaveUp {
		return err
	}
	return s.errorOf(err)
}
