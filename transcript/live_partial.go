package transcript

import "github.com/clewdev/clew/wire"

// stream follows the text of a block that is being streamed.
func (s *liveState) stream(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.AssistantMessage:
		if msg.ParentToolUseID == "" {
			s.open = s.open[:0]
		}
	case *wire.ResultMessage:
		s.open = s.open[:0]
	case *wire.StreamEventMessage:
		if msg.ParentToolUseID == "" {
			s.event(msg.Event)
		}
	}
}

func (s *liveState) event(event wire.Event) {
	switch event := event.(type) {
	case *wire.MessageStartEvent:
		s.open = s.open[:0]
	case *wire.ContentBlockStartEvent:
		s.open = s.open[:0]
		if block, ok := event.ContentBlock.(*wire.TextBlock); ok {
			s.open = append(s.open, block.Text...)
		}
	case *wire.TextDeltaEvent:
		s.open = append(s.open, event.Text...)
	}
}
