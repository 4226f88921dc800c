package record

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Shape is what all recordings of a scenario have in common: the labels of the frames of each direction, in order, and
// the exit code.
//
// What depends on timing is not part of it. Control requests are answered in any order, so their answers stand apart.
// And how many there are of some frames in a row is left to chance: the deltas of a block, the counts of thinking tokens,
// and the progress of a task each count as one.
type Shape struct {
	Host, Agent  []string
	HostAnswers  []string
	AgentAnswers []string
	Exit         string
}

// ShapeOf returns the shape of a recording.
func ShapeOf(r *Recording) Shape {
	var s Shape
	s.Host, s.HostAnswers = labels(r.Frames(fromHost))
	s.Agent, s.AgentAnswers = labels(r.Frames(fromAgent))
	for _, text := range r.Frames(prose) {
		if strings.HasPrefix(text, "exit ") {
			s.Exit = text
		}
	}
	return s
}

// repeated are the labels of frames whose number depends on timing.
var repeated = []string{"stream_event content_block_delta", "system/thinking_tokens", "system/task_progress"}

// labels returns the labels of frames in order, and those of control responses, sorted.
func labels(frames []string) (others, answers []string) {
	for _, frame := range frames {
		msg := wire.Decode([]byte(frame))
		text := label(msg)
		if _, ok := msg.(*wire.ControlResponseMessage); ok {
			answers = append(answers, text)
			continue
		}
		if n := len(others); n > 0 && others[n-1] == text && slices.Contains(repeated, text) {
			continue
		}
		others = append(others, text)
	}
	slices.Sort(answers)
	return others, answers
}

// label names a frame: its kind, and behind it what tells frames of the kind apart.
func label(msg wire.Message) string {
	kind := msg.Kind().String()
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		return kind + blockTypes(m.Content) + within(m.ParentToolUseID)
	case *wire.UserMessage:
		return kind + blockTypes(m.Content) + within(m.ParentToolUseID)
	case *wire.StreamEventMessage:
		return kind + " " + m.Event.EventType() + within(m.ParentToolUseID)
	case *wire.ControlRequestMessage:
		return kind + " " + m.Request.Subtype
	case *wire.ControlResponseMessage:
		return kind + " " + m.Response.Subtype
	case *wire.InvalidFrame:
		return fmt.Sprintf("%T", m)
	}
	return kind
}

// blockTypes returns the types of blocks, each behind a blank.
func blockTypes(content wire.Content) string {
	var b strings.Builder
	for _, block := range content {
		b.WriteString(" " + block.BlockType())
	}
	return b.String()
}

// within tells the frames of a subagent from others.
func within(parent string) string {
	if parent == "" {
		return ""
	}
	return " of a subagent"
}
