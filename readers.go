package clew

import (
	"slices"
	"sync"

	"github.com/clewdev/clew/wire"
)

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
