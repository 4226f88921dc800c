package clew

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// Turn sends a prompt, such as [Text] or [NewUserMessage] returns, and yields the messages until the result that answers it, which is the last one. Whatever else
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
func (s *Session) Turn(ctx context.Context, prompt *wire.UserMessage) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		if prompt != nil && prompt.ShouldQuery != nil && !*prompt.ShouldQuery {
			yield(nil, errors.New("clew: a prompt with ShouldQuery set to false has no turn: use Send"))
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

// Send gives the agent a prompt and returns its id, which the result will name, without waiting for an answer. A prompt
// that comes while the agent is at work waits in the agent's queue; several that wait there may be answered at once.
// Send blocks until the agent's pipe has taken the prompt. Read the answers with [Session.Messages].
//
// With [Options.Reconnect], a prompt that comes while there is no agent waits for one, until ctx ends. The error is a
// [*LostError] if the agent dies while the prompt is being written. One that dies later is known from
// [wire.SessionReconnectedMessage.LostPrompts].
//
// The prompt may have a priority, and a UUID that the caller has chosen: that is its id then.
func (s *Session) Send(ctx context.Context, prompt *wire.UserMessage) (id string, err error) {
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

// readers keeps those who read a session in line: turns, in the order of their prompts, or one reader of everything.
// It follows the prompts as the messages reach the caller.
type readers struct {
	mu      sync.Mutex
	line    []*turn // the first one reads
	alone   bool    // somebody reads everything
	prompts ledger
	left    []string              // turns that were left before their result, whose messages nobody wants
	lost    map[string]*LostError // prompts that died with an agent, until that is read
}

// A turn is a prompt whose messages somebody reads.
type turn struct {
	id     string
	first  chan struct{} // closed when it is this turn's time to read
	over   bool
	result *wire.ResultMessage // what ended it, or nil
	cancel bool                // its prompt was cancelled in the queue
	lost   *LostError          // its prompt died with an agent
}

func newTurn() *turn { return &turn{first: make(chan struct{})} }

// err returns how the turn went.
func (t *turn) err() error {
	switch {
	case t.lost != nil:
		return t.lost
	case t.result != nil && t.result.Failed():
		return &ResultError{Result: t.result}
	case t.result == nil && t.cancel:
		return ErrCancelled
	}
	return nil
}

// end notes the message that settled the turn's prompt, which an agent may have answered although it was given up as lost.
func (t *turn) end(msg wire.Message, lost *LostError) {
	t.over = true
	switch m := msg.(type) {
	case *wire.ResultMessage:
		t.result = m
	case *wire.CommandLifecycleMessage:
		t.cancel = m.State == wire.CommandStateCancelled
	case *wire.SessionReconnectedMessage:
		t.lost = lost
	}
}

func (r *readers) join(t *turn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alone {
		return ErrReading
	}
	r.line = append(r.line, t)
	if len(r.line) == 1 {
		close(t.first)
	}
	return nil
}

// leave takes a turn out of the line and lets the next one read. It may be nil.
func (r *readers) leave(t *turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.line, t)
	if i < 0 {
		return
	}
	r.line = slices.Delete(r.line, i, i+1)
	if !t.over && slices.Contains(r.prompts.open, t.id) {
		r.left = append(r.left, t.id)
	}
	if i == 0 && len(r.line) > 0 {
		close(r.line[0].first)
	}
}

func (r *readers) joinAlone() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alone || len(r.line) > 0 {
		return ErrReading
	}
	r.alone = true
	r.left = nil
	return nil
}

func (r *readers) leaveAlone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alone = false
}

func (r *readers) sent(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompts.sent(id)
}

func (r *readers) unsent(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompts.cross([]string{id})
}

// lose notes prompts that died with an agent. Their turns end with the message that says so.
func (r *readers) lose(ids []string, err *LostError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = make(map[string]*LostError)
	}
	for _, id := range ids {
		if slices.Contains(r.prompts.open, id) {
			r.lost[id] = err
		}
	}
}

// pass notes a message that goes to a reader of everything.
func (r *readers) pass(msg wire.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(msg)
}

// settle returns the prompts that a message settles, and ends their turns.
func (r *readers) settle(msg wire.Message) []string {
	settled := r.prompts.see(msg)
	for _, waiting := range r.line {
		if slices.Contains(settled, waiting.id) {
			waiting.end(msg, r.lost[waiting.id])
		}
	}
	for _, id := range settled {
		delete(r.lost, id)
	}
	return settled
}

// see notes a message that the turn t has come to. It reports whether t wants it, and whether t is over with it.
func (r *readers) see(t *turn, msg wire.Message) (wanted, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	skipping := r.behindLeft(t)
	settled := r.settle(msg)
	r.left = slices.DeleteFunc(r.left, func(id string) bool { return slices.Contains(settled, id) })
	return !skipping || t.over || forWhoeverReads(msg), t.over
}

// forWhoeverReads reports whether a message is about the session as a whole, and not for the turn alone that it comes in.
func forWhoeverReads(msg wire.Message) bool {
	switch msg.(type) {
	case *wire.SessionReconnectedMessage, *wire.MirrorErrorMessage:
		return true
	}
	return false
}

// behindLeft reports whether the agent has yet to answer a prompt before that of t whose turn was left.
func (r *readers) behindLeft(t *turn) bool {
	for _, id := range r.prompts.open {
		if id == t.id {
			return false
		}
		if slices.Contains(r.left, id) {
			return true
		}
	}
	return false
}

// outcome reports whether the turn is over already, with a result that came while an earlier turn was being read.
func (r *readers) outcome(t *turn) (*wire.ResultMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.result, t.over
}
