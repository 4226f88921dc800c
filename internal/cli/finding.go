package cli

import (
	"encoding/json"

	"github.com/clewdev/clew/wire"
)

// A finding is what there is to say about one frame.
type finding struct {
	pos     wire.Position
	kind    wire.Kind
	known   bool
	invalid error  // the frame does not decode
	text    string // the line is no frame, but this text
	isText  bool

	unknownFields []string
	unknownBlocks []string
	unknownEvent  string
	invalidBlocks []error
}

func examine(msg wire.Message, pos wire.Position) finding {
	f := finding{pos: pos, kind: msg.Kind(), known: wire.Known(msg.Kind())}
	switch msg := msg.(type) {
	case *wire.InvalidFrame:
		f.invalid = msg.Err
		return f
	case *wire.TextLine:
		f.text, f.isText = msg.Text, true
		return f
	case *wire.SystemMessage, *wire.UnknownMessage:
		return f // all of its fields would be unknown
	case *wire.AssistantMessage:
		f.blocks(msg.Content)
	case *wire.UserMessage:
		f.blocks(msg.Content)
	case *wire.StreamEventMessage:
		f.event(msg.Event)
	}
	f.unknownFields = wire.UnknownFields(msg)
	return f
}

func (f *finding) blocks(content wire.Content) {
	for _, b := range content {
		f.block(b)
	}
}

func (f *finding) block(b wire.Block) {
	switch b := b.(type) {
	case *wire.UnknownBlock:
		f.unknownBlocks = append(f.unknownBlocks, b.BlockType())
	case *wire.InvalidBlock:
		f.invalidBlocks = append(f.invalidBlocks, b.Err())
	}
}

func (f *finding) event(e wire.Event) {
	switch e := e.(type) {
	case *wire.MessageStartEvent:
		if e.Message != nil {
			f.blocks(e.Message.Content)
		}
	case *wire.ContentBlockStartEvent:
		f.block(e.ContentBlock)
	case *wire.UnknownEvent:
		f.unknownEvent = eventName(e)
	}
}

// eventName returns the event's type, and behind a slash the delta's if it is
// that which is unknown.
func eventName(e *wire.UnknownEvent) string {
	var event struct {
		Delta struct {
			Type string `json:"type"`
		} `json:"delta"`
	}
	if json.Unmarshal([]byte(e.Raw()), &event) != nil || event.Delta.Type == "" {
		return e.EventType()
	}
	return e.EventType() + "/" + event.Delta.Type
}
