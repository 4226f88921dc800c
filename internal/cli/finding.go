package cli

import (
	"encoding/json"
	"fmt"
	"strings"

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
	invalidBlocks int
	blockErrors   []error // of the first invalid blocks
	maxErrors     int     // how many of these to keep; each costs a walk through the frame
}

func examine(msg wire.Message, pos wire.Position, maxErrors int) finding {
	f := finding{pos: pos, kind: msg.Kind(), known: wire.Known(msg.Kind()), maxErrors: maxErrors}
	switch msg := msg.(type) {
	case *wire.InvalidFrame:
		f.invalid = msg.Err
		return f
	case *wire.TextLine:
		f.text, f.isText = clip(msg.Text), true
		return f
	case *wire.SystemMessage:
		return f // all of its fields would be unknown
	case *wire.UnknownMessage:
		f.kind.Subtype = subtypeOf(msg)
		return f
	case *wire.AssistantMessage:
		f.blocks(msg.Content)
	case *wire.UserMessage:
		f.blocks(msg.Content)
	case *wire.StreamEventMessage:
		f.event(msg.Event)
	case *wire.ResultMessage:
		f.known = knownResult(msg.Subtype)
	case *wire.ControlRequestMessage:
		f.kind.Subtype = msg.Request.Subtype
	case *wire.ControlResponseMessage:
		f.kind.Subtype = msg.Response.Subtype
	}
	f.unknownFields = wire.UnknownFields(msg)
	return f
}

// subtypeOf returns the subtype that a frame of an unknown type has, or "".
func subtypeOf(msg *wire.UnknownMessage) string {
	var frame struct {
		Subtype string `json:"subtype"`
	}
	// A subtype that is no string is left out, and the error says no more.
	_ = json.Unmarshal([]byte(msg.Raw()), &frame)
	return frame.Subtype
}

// knownResult reports whether there is a constant for the subtype of a result.
func knownResult(subtype wire.ResultSubtype) bool {
	switch subtype {
	case wire.ResultSuccess, wire.ResultErrorDuringExecution, wire.ResultErrorMaxTurns,
		wire.ResultErrorMaxBudgetUSD, wire.ResultErrorMaxStructuredOutputRetries:
		return true
	}
	return false
}

func (f *finding) blocks(content wire.Content) {
	for _, b := range content {
		f.block(b)
		switch b := b.(type) {
		case *wire.ToolResultBlock:
			f.inside(b.Content)
		case *wire.MCPToolResultBlock:
			f.inside(b.Content)
		}
	}
}

func (f *finding) block(b wire.Block) {
	switch b := b.(type) {
	case *wire.UnknownBlock:
		f.unknownBlocks = append(f.unknownBlocks, b.BlockType())
	case *wire.InvalidBlock:
		f.invalidBlock(b.Err)
	}
}

// inside looks at the blocks of a tool's result, and not at what those contain.
// A result that is a text has none.
func (f *finding) inside(result wire.JSON) {
	if strings.HasPrefix(string(result), `"`) {
		return
	}
	content, err := wire.DecodeContent(result)
	if err != nil {
		f.invalidBlock(func() error { return fmt.Errorf("in a tool result: %w", err) })
	}
	for _, b := range content {
		if bad, ok := b.(*wire.InvalidBlock); ok {
			f.invalidBlock(func() error { return fmt.Errorf("in a tool result: %w", bad.Err()) })
			continue
		}
		f.block(b)
	}
}

func (f *finding) invalidBlock(err func() error) {
	f.invalidBlocks++
	if len(f.blockErrors) < f.maxErrors {
		f.blockErrors = append(f.blockErrors, err())
	}
}

func (f *finding) event(e wire.Event) {
	switch e := e.(type) {
	case *wire.MessageStartEvent:
		if e.Message != nil {
			f.blocks(e.Message.Content)
		}
	case *wire.ContentBlockStartEvent:
		f.blocks(wire.Content{e.ContentBlock})
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
