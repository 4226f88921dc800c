package clew

import (
	"slices"

	"github.com/clewdev/clew/wire"
)

// A ledger holds the prompts that were sent and not answered, oldest first, and crosses them off as frames answer them.
// An agent that knows the ids of prompts names them; the results of others answer one prompt each, in order.
type ledger struct {
	open   []string
	states map[string]wire.CommandState // of those in open, as far as the agent has told
	told   bool                         // the agent is one that tells
}

func (l *ledger) sent(uuid string) { l.open = append(l.open, uuid) }

// see returns the prompts that msg settles.
func (l *ledger) see(msg wire.Message) []string {
	switch m := msg.(type) {
	case *wire.ResultMessage:
		if !goesOn(m) {
			return l.cross(slices.Concat(l.answered(m), l.ended()))
		}
	case *wire.SessionStateChangedMessage:
		if m.State == wire.SessionStateIdle {
			return l.cross(l.ended())
		}
	case *wire.CommandLifecycleMessage:
		return l.follow(m)
	case *wire.SessionReconnectedMessage:
		return l.cross(m.LostPrompts)
	}
	return nil
}

// follow notes what becomes of a prompt. One that is cancelled in the queue is settled. One that was taken up in the
// middle of a turn ends before the result that answers it, and waits for that.
func (l *ledger) follow(m *wire.CommandLifecycleMessage) []string {
	l.told = true
	uuid := m.CommandUUID
	switch {
	case !slices.Contains(l.open, uuid):
		return nil
	case m.State == wire.CommandStateCancelled && l.states[uuid] != wire.CommandStateStarted:
		return l.cross([]string{uuid})
	case l.states == nil:
		l.states = make(map[string]wire.CommandState)
	}
	l.states[uuid] = m.State
	return nil
}

// ended returns the prompts that the agent is done with and that wait for their result.
func (l *ledger) ended() []string {
	var ended []string
	for _, uuid := range l.open {
		switch l.states[uuid] {
		case wire.CommandStateCompleted, wire.CommandStateCancelled:
			ended = append(ended, uuid)
		}
	}
	return ended
}

// goesOn reports whether a result says that its turn goes on in the background: it answers nothing yet.
func goesOn(m *wire.ResultMessage) bool {
	return m.TerminalReason == wire.TerminalReasonBackgroundRequested && m.UserMessageUUID != ""
}

// answered returns the prompts that a result answers. An agent may take up several at once.
func (l *ledger) answered(m *wire.ResultMessage) []string {
	switch {
	case len(m.UserMessageUUIDs) > 0:
		return m.UserMessageUUIDs
	case m.UserMessageUUID != "":
		return []string{m.UserMessageUUID}
	case len(l.open) > 0 && prompted(m) && l.begun(l.open[0]):
		return l.open[:1]
	}
	return nil
}

// begun reports whether the agent may have begun with a prompt. Of one that tells, nothing may have been read yet that
// it says about this prompt, while results of its own are still to be read.
func (l *ledger) begun(uuid string) bool {
	return l.states[uuid] == wire.CommandStateStarted || l.states[uuid] == "" && !l.told
}

// prompted reports whether a result that names no prompt can belong to one: not if a finished task or a schedule was
// its origin.
func prompted(m *wire.ResultMessage) bool { return m.Origin == nil || m.Origin.Kind == "human" }

// cross removes prompts, and returns those that were there.
func (l *ledger) cross(uuids []string) []string {
	var crossed []string
	for _, uuid := range uuids {
		if i := slices.Index(l.open, uuid); i >= 0 {
			crossed = append(crossed, uuid)
			l.open = slices.Delete(l.open, i, i+1)
			delete(l.states, uuid)
		}
	}
	return crossed
}
