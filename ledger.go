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
}

func (l *ledger) sent(uuid string) { l.open = append(l.open, uuid) }

// see returns the prompts that msg settles.
func (l *ledger) see(msg wire.Message) []string {
	switch m := msg.(type) {
	case *wire.ResultMessage:
		return l.cross(l.answered(m))
	case *wire.CommandLifecycleMessage:
		return l.follow(m)
	}
	return nil
}

// follow notes what becomes of a prompt.
func (l *ledger) follow(m *wire.CommandLifecycleMessage) []string {
	uuid := m.CommandUUID
	switch {
	case m.State == wire.CommandStateCompleted || m.State == wire.CommandStateCancelled:
		return l.cross([]string{uuid})
	case !slices.Contains(l.open, uuid):
		return nil
	case l.states == nil:
		l.states = make(map[string]wire.CommandState)
	}
	l.states[uuid] = m.State
	return nil
}

// answered returns the prompts that a result answers. An agent may take up several at once. A result that says that its
// turn goes on in the background answers nothing yet.
func (l *ledger) answered(m *wire.ResultMessage) []string {
	switch {
	case m.TerminalReason == wire.TerminalReasonBackgroundRequested && m.UserMessageUUID != "":
		return nil
	case len(m.UserMessageUUIDs) > 0:
		return m.UserMessageUUIDs
	case m.UserMessageUUID != "":
		return []string{m.UserMessageUUID}
	case len(l.open) > 0 && l.begun(l.open[0]) && prompted(m):
		return l.open[:1]
	}
	return nil
}

// begun reports whether the agent may be at work on a prompt: not if it says that the prompt is still in its queue, as
// behind a tool call of the resumed session that it takes up by itself.
func (l *ledger) begun(uuid string) bool { return l.states[uuid] != wire.CommandStateQueued }

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
