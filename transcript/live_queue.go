package transcript

import (
	"encoding/json"
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A liveTurn says how far the agent is with a turn.
type liveTurn uint8

const (
	turnOver liveTurn = iota
	turnAsked
	turnAnswered // the model has said something
)

// follow notes how far the turn is.
func (s *liveState) follow(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.AssistantMessage:
		if msg.ParentToolUseID == "" {
			s.turn = turnAnswered
		}
	case *wire.ResultMessage:
		s.turn = turnOver
	}
}

// take notes that a prompt begins a turn, or joins one, and reports whether it has to wait nevertheless: see hold.
func (s *liveState) take(line *liveLine) (waits bool) {
	if line.typed {
		s.turn, s.asked = max(s.turn, turnAsked), line
	}
	return s.hold(line)
}

// enqueue keeps back a prompt that comes while the agent is at work, and reports whether it did: the agent writes it
// down when it takes it up.
func (s *liveState) enqueue(line *liveLine) bool {
	if !line.typed || line.UUID == "" || s.turn == turnOver {
		return false
	}
	s.queue = append(s.queue, line)
	return true
}

// dequeue returns the prompts that the agent takes up with msg. An older agent does not tell, and takes them up behind
// the turn.
func (s *liveState) dequeue(msg wire.Message) []*liveLine {
	switch msg := msg.(type) {
	case *wire.ResultMessage:
		if !s.tellsQueue {
			queue := s.queue
			s.queue = nil
			return queue
		}
	case *wire.UserMessage:
		if msg.Replay {
			return s.takeUp(msg.UUID)
		}
	case *wire.CommandLifecycleMessage:
		s.tellsQueue = true
		switch msg.State {
		case wire.CommandStateStarted, wire.CommandStateCompleted:
			return s.takeUp(msg.CommandUUID)
		case wire.CommandStateCancelled:
			s.takeUp(msg.CommandUUID)
		}
	}
	return nil
}

// takeUp takes a prompt out of the queue, if it is there.
func (s *liveState) takeUp(uuid string) []*liveLine {
	i := slices.IndexFunc(s.queue, func(l *liveLine) bool { return l.UUID == uuid })
	if i < 0 {
		return nil
	}
	line := s.queue[i]
	s.queue = slices.Delete(s.queue, i, i+1)
	if s.turn == turnAnswered {
		line.join()
	}
	return []*liveLine{line}
}

// A liveAttachment is a prompt that the model gets in the middle of a turn.
type liveAttachment struct {
	Type        string          `json:"type"`
	Prompt      json.RawMessage `json:"prompt"`
	CommandMode string          `json:"commandMode"`
}

// join makes the line that of a prompt in the middle of a turn.
func (l *liveLine) join() {
	l.Attachment = &liveAttachment{"queued_command", jsonlex.Lookup(l.Message, 0, "content"), "prompt"}
	l.Type, l.Message, l.PermissionMode = "attachment", nil, ""
}
