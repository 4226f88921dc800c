package record

import (
	"encoding/json"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// Faults returns a sentence for everything in the frames of the recording that package wire does not know.
func Faults(r *Recording) []string {
	var faults []string
	for _, frame := range append(r.Frames(fromHost), r.Frames(fromAgent)...) {
		for _, fault := range frameFaults(frame) {
			faults = append(faults, fmt.Sprintf("%s: %.300s", fault, frame))
		}
	}
	return faults
}

// frameFaults returns what is unknown about a frame.
func frameFaults(frame string) []string {
	msg := wire.Decode([]byte(frame))
	if invalid, ok := msg.(*wire.InvalidFrame); ok {
		return []string{"invalid: " + invalid.Err.Error()}
	}
	faults := unknownParts(msg)
	if !wire.Known(msg.Kind()) {
		faults = append(faults, "unknown kind "+msg.Kind().String())
	}
	if fields := wire.UnknownFields(msg); len(fields) > 0 {
		faults = append(faults, fmt.Sprintf("unknown fields %q", fields))
	}
	if !json.Valid([]byte(frame)) {
		faults = append(faults, "not JSON")
	}
	return faults
}

// unknownParts returns what is unknown inside of a message.
func unknownParts(msg wire.Message) []string {
	var content wire.Content
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		content = m.Content
	case *wire.UserMessage:
		content = m.Content
	case *wire.StreamEventMessage:
		if _, ok := m.Event.(*wire.UnknownEvent); ok {
			return []string{"unknown event " + m.Event.EventType()}
		}
	}
	var faults []string
	for _, block := range content {
		if _, ok := block.(*wire.UnknownBlock); ok {
			faults = append(faults, "unknown block "+block.BlockType())
		}
	}
	return faults
}
