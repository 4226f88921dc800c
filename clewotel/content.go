package clewotel

import (
	"encoding/json"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// A part is a part of a message, in the form of the conventions.
type part struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments any    `json:"arguments,omitempty"` // a JSON value, or a text if that is not whole
}

// parts returns the texts of a message. Images and documents are left out.
func (s *session) parts(content wire.Content) []part {
	var parts []part
	for _, block := range content {
		switch b := block.(type) {
		case *wire.TextBlock:
			parts = append(parts, part{Type: "text", Content: s.text(b.Text)})
		case *wire.ThinkingBlock:
			parts = append(parts, part{Type: "reasoning", Content: s.text(b.Thinking)})
		case *wire.ToolUseBlock:
			parts = append(parts, part{Type: "tool_call", ID: b.ID, Name: b.Name, Arguments: s.arguments(b.Input)})
		}
	}
	return parts
}

// maxParts is the maximum number of parts of a message that are kept.
const maxParts = 64

// A message is a message, in the form of the conventions.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"` // of answers, which have to have one
}

// attribute returns the message as an attribute.
func (m message) attribute(key attribute.Key) attribute.KeyValue {
	m.Parts = m.Parts[:min(len(m.Parts), maxParts)]
	text, err := json.Marshal([]message{m})
	if err != nil { // it has only strings, and JSON that is valid
		return key.String("")
	}
	return key.String(string(text))
}

// finishReason returns why an answer ended, in the words of the conventions if they have one.
// Without [clew.Options.IncludePartialMessages] the agent reports it only for the last answer of a
// turn: others ended with a call, or because there was nothing left to say.
func finishReason(c *chat) string {
	called := slices.ContainsFunc(c.parts, func(p part) bool { return p.Type == "tool_call" })
	switch reason := wire.StopReason(c.finish); {
	case c.failure != "":
		return "error"
	case reason == wire.StopReasonToolUse, reason == "" && called:
		return "tool_call"
	case reason == wire.StopReasonEndTurn, reason == wire.StopReasonStopSequence, reason == "":
		return "stop"
	case reason == wire.StopReasonMaxTokens:
		return "length"
	case reason == wire.StopReasonRefusal:
		return "content_filter"
	}
	return c.finish
}

// secretBytes is the maximum length of a secret that is found although the text is cut in it.
const secretBytes = 16 << 10

// text returns a text without secrets, cut to its limit.
func (s *session) text(text string) string {
	return s.cut(redact.Mask(prefix(text, s.MaxTextBytes+secretBytes)))
}

// json is like text for a JSON value.
func (s *session) json(value wire.JSON) string {
	if len(value) > s.MaxTextBytes+secretBytes {
		return s.text(string(value))
	}
	return s.cut(redact.MaskJSON(string(value)))
}

// arguments returns the tool input without secrets: the value if it is whole, or else its
// beginning as a text.
func (s *session) arguments(input wire.JSON) any {
	text := s.json(input)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

func (s *session) cut(text string) string {
	if len(text) <= s.MaxTextBytes {
		return text
	}
	return prefix(text, s.MaxTextBytes) + "…"
}

// prefix returns the beginning of a text as valid UTF-8, of at most n bytes.
func prefix(text string, n int) string { return strings.ToValidUTF8(clip.Bytes(text, n), "\uFFFD") }
