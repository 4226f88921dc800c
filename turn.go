package clew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// Turn sends a prompt and yields the messages until the result that answers it, which is the last
// one. Other messages that come in between are among them, such as the result of a background task,
// and so are those since the last turn. If the result is a failure, a [*ResultError] follows it,
// and the session continues. [Text] and [NewUserMessage] make prompts.
//
// Turns may be started while others run: each prompt goes to the agent at once, and each sequence
// waits until those before it end. If the agent answers several prompts at once, each of their
// turns ends with that result. Don't loop over a turn inside the loop over another one of the same
// session: the inner one waits for the outer one, which waits for it, until ctx ends. Use
// [Session.Send] there to give the agent more to do.
//
// A result that can't be read, such as a truncated or overlong one, ends its turn with an error
// that wraps the [*wire.InvalidFrame]. A field of it that does not fit does not: see
// [wire.Misfits].
//
// When ctx ends, the turn is interrupted. Leaving the loop early does not stop the turn: call
// [Session.Interrupt] for that. The next turn drops the remaining messages of such a turn, and
// [Session.Messages] yields them. A prompt that is canceled in the queue ends its turn with
// [ErrCanceled].
//
// With [Options.Reconnect], a turn that was cut off by the death of the agent ends with a
// [*LostError], after the [wire.SessionReconnectedMessage]. A turn that starts while no agent runs
// waits for one.
func (s *Session) Turn(ctx context.Context, prompt *wire.UserMessage) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		if prompt != nil && prompt.ShouldQuery != nil && !*prompt.ShouldQuery {
			yield(nil, errors.New("clew: a prompt with ShouldQuery set to false has no turn: use Send"))
			return
		}
		t := newTurn()
		frame, id, err := s.queuePrompt(ctx, prompt, t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.readers.leave(t)
		err = s.waitSent(ctx, frame, id)
		if err == nil || isLost(err) {
			err = s.readTurn(ctx, t, yield) // also if it is lost: there are messages to read before that
		}
		if err == nil || errors.Is(err, errLeft) {
			return
		}
		if ctx.Err() != nil {
			s.stopPrompt(id) //nolint:contextcheck // ctx has ended
		}
		yield(nil, err)
	}
}

// stopPrompt stops the agent's work on a prompt whose context ended, or takes the prompt out of its
// queue.
func (s *Session) stopPrompt(id string) {
	switch s.progress.position(id) {
	case -1:
	case 0:
		s.notify("interrupt", nil)
	default:
		s.takeBack(id)
	}
}

// errLeft reports that the caller left the loop.
var errLeft = errors.New("the loop was left")

// readTurn yields the messages of a turn once the turns before it are read.
func (s *Session) readTurn(ctx context.Context, t *turn, yield func(wire.Message, error) bool) error {
	select {
	case <-t.mayRead:
	case <-ctx.Done():
		return s.contextError(ctx)
	case <-s.ending.closeDone: // the turn before this one may never be read to its end
		return s.ending.wait()
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
		return s.ending.wait()
	}
	return err
}

// read takes messages from the backlog and shows them one by one, until show wants no more or ctx
// ends. Messages that were taken and not shown go back. The error is io.EOF when there are no more
// messages.
func (s *Session) read(ctx context.Context, show func(wire.Message) (more bool)) error {
	for ctx.Err() == nil {
		batch, err := s.backlog.Take(ctx)
		if err != nil && ctx.Err() == nil {
			s.mirror.reportRest(show)
			return err
		}
		if !s.show(ctx, batch, show) {
			return nil
		}
	}
	return s.contextError(ctx)
}

// contextError returns the error of a context that ended while the agent was waited for. If the
// agent closed its input, the error mentions it: the wait was in vain.
func (s *Session) contextError(ctx context.Context) error {
	err := control.ContextError(ctx)
	if s.agent.process().hasClosedInput() {
		return fmt.Errorf("clew: the agent has closed its input: %w", err)
	}
	return err
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

// Messages yields every message of the session, in order, from where reading stopped: results do
// not end it. It ends when the session is closed or the agent exits. If the agent failed, an error
// is the last pair: a [*ResultError] if the last turn failed, and otherwise an [*ExitError]. A loop
// that is left early can be started again. While it runs, Turn returns [ErrReading]: send prompts
// with [Session.Send].
func (s *Session) Messages(ctx context.Context) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		if err := s.readers.joinAlone(); err != nil {
			yield(nil, err)
			return
		}
		defer s.readers.leaveAlone()
		err := s.read(ctx, func(msg wire.Message) bool {
			return !s.readers.pass(msg) || yield(msg, nil)
		})
		if errors.Is(err, io.EOF) {
			<-s.ending.over
			err = s.ending.messages
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Send gives the agent a prompt and returns its ID without waiting for an answer. The result that
// answers the prompt names that ID. A prompt that comes while the agent is working waits in the
// agent's queue, and several that wait there may be answered at once. Send blocks until the agent's
// pipe takes the prompt. Read the answers with [Session.Messages]. To choose the ID, set the UUID
// of the prompt.
//
// With [Options.Reconnect], a prompt that comes while no agent runs waits for one, until ctx ends.
// The error is a [*LostError] if the agent dies while the prompt is being written. If the agent
// dies later, the prompt is in [wire.SessionReconnectedMessage.LostPrompts]. It is an
// [*OptionsError], and nothing is sent, if the version of the agent would ignore a part of the
// prompt, such as ClientComposed.
func (s *Session) Send(ctx context.Context, prompt *wire.UserMessage) (id string, err error) {
	id, _, err = s.send(ctx, prompt)
	return id, err
}

// send is like Send, and also reports whether the agent may have got the prompt.
func (s *Session) send(ctx context.Context, prompt *wire.UserMessage) (id string, reached bool, err error) {
	frame, id, err := s.queuePrompt(ctx, prompt, nil)
	if err != nil {
		return "", false, err
	}
	err = s.waitSent(ctx, frame, id)
	if err != nil && ctx.Err() != nil { // it may be on its way
		return id, !frame.Withdrawn(), err
	}
	return id, frame.Reached(), err
}

// queuePrompt queues a prompt for the agent, and its turn, if it has one, among the readers.
func (s *Session) queuePrompt(ctx context.Context, prompt *wire.UserMessage, t *turn) (*control.QueuedFrame, string, error) {
	if ctx.Err() != nil {
		return nil, "", control.ContextError(ctx)
	}
	if err := s.opts.Limits.Budget.err(); err != nil {
		return nil, "", err
	}
	frame, id, err := promptFrame(prompt, s.opts.VerbatimPrompts)
	if err == nil {
		err = s.agent.checkPrompt(prompt, id)
	}
	if err != nil {
		return nil, "", err
	}
	if t != nil {
		t.id = id
	}
	answered := prompt.ShouldQuery == nil || *prompt.ShouldQuery
	s.sending.Lock()
	defer s.sending.Unlock()
	if answered {
		s.trace.prompt(ctx, prompt, id)
	}
	queued, err := s.queueFrame(frame, id, answered, t)
	if err != nil && !errors.Is(err, ErrReading) {
		err = s.errorOf(err)
	}
	if err != nil && answered {
		s.trace.settled(err, id)
	}
	return queued, id, err
}

// queueFrame registers a prompt and puts its frame into the outbox, in the same order everywhere.
// The sending lock is held.
func (s *Session) queueFrame(frame []byte, id string, answered bool, t *turn) (*control.QueuedFrame, error) {
	if t != nil {
		if err := s.readers.join(t); err != nil {
			s.agent.forgetPrompt(func(other string) bool { return other == id })
			return nil, err
		}
	}
	s.watchdog.markActive()
	if answered { // before PutPrompt: the answer may come before that returns
		s.progress.sent(id)
		s.readers.sent(id)
	}
	queued, err := s.out.PutPrompt(id, frame)
	if err != nil {
		s.unsend(id)
		s.readers.leave(t)
	}
	return queued, err
}

// unsend removes a prompt that does not reach the agent.
func (s *Session) unsend(id string) {
	s.progress.unsent(id)
	s.readers.unsent(id)
	s.agent.forgetPrompt(func(other string) bool { return other == id })
}

// waitSent waits until a prompt is written.
func (s *Session) waitSent(ctx context.Context, frame *control.QueuedFrame, id string) error {
	err := frame.Wait(ctx)
	if err == nil || isLost(err) {
		return err
	}
	gaveUp := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
	if !gaveUp || frame.Withdrawn() {
		s.unsend(id)
		defer func() { s.trace.settled(err, id) }()
	}
	if !gaveUp {
		err = s.errorOf(err)
	}
	return err
}

// readers keeps the readers of a session in order: turns, in the order of their prompts, or one
// reader of everything. It follows the prompts as the messages reach the caller.
type readers struct {
	mu      sync.Mutex
	line    []*turn // the first one reads
	alone   bool    // one reader reads everything
	hides   bool    // prompts that the agent sends back are not for the caller
	prompts ledger
	left    []string              // turns that were left before their result: their messages are dropped
	lost    map[string]*LostError // prompts that were lost with an agent, until the caller has read that
}

// A turn is a prompt whose messages are read until its result.
type turn struct {
	id       string
	mayRead  chan struct{} // closed when the turns before this one have been read
	over     bool
	result   *wire.ResultMessage // ended the turn, or nil
	unread   *wire.InvalidFrame  // the result, if it could not be read
	canceled bool                // its prompt was canceled in the queue
	lost     *LostError          // its prompt was lost with an agent
}

func newTurn() *turn { return &turn{mayRead: make(chan struct{})} }

// err returns how the turn went.
func (t *turn) err() error {
	switch {
	case t.lost != nil:
		return t.lost
	case t.result != nil && t.result.Failed():
		return &ResultError{Result: t.result}
	case t.unread != nil:
		return unreadError(t.unread)
	case t.result == nil && t.canceled:
		return ErrCanceled
	}
	return nil
}

// end ends the turn with the message that settled its prompt. That may be a result although the
// prompt counted as lost.
func (t *turn) end(msg wire.Message, lost *LostError) {
	t.over = true
	switch m := msg.(type) {
	case *wire.ResultMessage:
		t.result = m
	case *wire.InvalidFrame:
		t.unread = m
	case *wire.CommandLifecycleMessage:
		t.canceled = m.State == wire.CommandStateCanceled
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
		close(t.mayRead)
	}
	return nil
}

// leave removes a turn, which may be nil, and lets the next one read.
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
		close(r.line[0].mayRead)
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
	r.prompts.remove([]string{id})
}

// lose marks prompts that were lost with an agent. Their turns end with the message that reports
// it.
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

// pass follows a message that goes to a reader of everything. It reports whether the caller gets
// it.
func (r *readers) pass(msg wire.Message) (wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(msg)
	return !r.hidden(msg)
}

// hidden reports whether a message is only for this package.
func (r *readers) hidden(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.UserMessage:
		return m.Replay && r.hides && slices.Contains(r.prompts.open, m.UUID)
	case *wire.CommandLifecycleMessage:
		return isOwnReport(m)
	}
	return false
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

// see follows a message that the turn t read. It reports whether the caller gets it, and whether t
// is over with it.
func (r *readers) see(t *turn, msg wire.Message) (wanted, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	skipping := r.afterLeft(t)
	settled := r.settle(msg)
	r.left = slices.DeleteFunc(r.left, func(id string) bool { return slices.Contains(settled, id) })
	return (!skipping || t.over || forAllReaders(msg)) && !r.hidden(msg), t.over
}

// forAllReaders reports whether a message is about the whole session, and not only about the turn
// that it comes in.
func forAllReaders(msg wire.Message) bool {
	switch msg.(type) {
	case *wire.SessionReconnectedMessage, *wire.MirrorErrorMessage:
		return true
	}
	return false
}

// afterLeft reports whether the agent has yet to answer an earlier prompt, whose turn was left.
func (r *readers) afterLeft(t *turn) bool {
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

// outcome reports whether the turn is over already, with a result that came while an earlier turn
// was being read.
func (r *readers) outcome(t *turn) (*wire.ResultMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.result, t.over
}
