package clew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew/wire"
)

// cleanTimeout is how long an agent may take to forget a conversation.
const cleanTimeout = 10 * time.Second

// A memory is what has to be as before when an agent has forgotten a conversation.
type memory struct {
	rules wire.JSON // of permissions, as the agent told them before its first conversation
	face  string    // what it said of itself in its first turn
}

// meet takes note of an agent that has come up.
func (m *memory) meet(ctx context.Context, s *Session, uses int) error {
	if uses == 1 {
		return nil
	}
	rules, err := s.request(ctx, "list_permission_rules", nil)
	if _, refused := errors.AsType[*ControlError](err); err != nil && !refused {
		s.Close() //nolint:errcheck // why it does not answer says more
		return err
	}
	m.rules = rules
	return nil
}

// faceOf returns what an agent says of itself that a conversation may change.
func faceOf(m *wire.InitMessage) string {
	return fmt.Sprintf("%q", []any{m.CWD, m.AdditionalDirectories, m.Model, m.PermissionMode, m.OutputStyle, m.Tools})
}

// giveBack returns an agent whose conversation is over, to be used again once it has forgotten it. It reports whether
// the pool wants it.
func (p *Pool) giveBack(a *poolAgent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.session.Err() != nil || a.state != agentInUse || p.draining && len(p.line) == 0 {
		return false
	}
	a.state = agentCleaning
	a.wake()
	return true
}

// clean has an agent forget its conversation and makes it ready again. One that can't is dismissed.
func (p *Pool) clean(a *poolAgent) {
	ctx, cancel := context.WithTimeout(p.life, cleanTimeout)
	defer cancel()
	err := a.forget(ctx)
	if err != nil && p.life.Err() == nil {
		p.log.Warn("an agent of the pool is not used again", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case a.state != agentCleaning: // the pool was closed meanwhile
	case err != nil:
		p.regret(err)
		p.dismiss(a)
	default:
		p.ready(a)
		p.warm = slices.Insert(p.warm, 0, a)
	}
	p.balance()
}

// forget has the agent forget its conversation, and makes sure that it has.
func (a *poolAgent) forget(ctx context.Context) error {
	old := a.session.ID()
	if err := a.clear(ctx); err != nil {
		return err
	}
	if id := a.session.ID(); id == old || id == "" {
		return fmt.Errorf("the session is still %q", id)
	}
	rules, err := a.session.request(ctx, "list_permission_rules", nil)
	if err == nil && rules != a.rules {
		err = errors.New("the permission rules have changed")
	}
	return err
}

// clear runs the command /clear.
func (a *poolAgent) clear(ctx context.Context) error {
	id, err := a.session.Send(ctx, "/clear")
	if err != nil {
		return err
	}
	var seen progress
	seen.sent(id)
	reset, face, lost := false, "", error(nil)
	for msg, err := range a.session.Messages(ctx) {
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *wire.ConversationResetMessage:
			reset = true
		case *wire.InitMessage:
			face = faceOf(m)
		case *wire.MirrorErrorMessage:
			lost = join(lost, lossOf(m))
		}
		if seen.see(msg) && seen.settled() {
			break
		}
	}
	switch err := join(seen.verdict(nil), lost); {
	case err != nil:
		return err
	case !reset:
		return errors.New("the conversation was not reset")
	case face != a.face:
		return fmt.Errorf("the agent was %s and is %s", a.face, face)
	}
	return nil
}
