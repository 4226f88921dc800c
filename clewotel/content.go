package clewotel

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// A part is a part of a message, in the form of the conventions.
type part struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
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
			parts = append(parts, part{Type: "tool_call", ID: b.ID, Name: b.Name, Arguments: s.json(b.Input)})
		}
	}
	return parts
}

// maxParts is how many parts of a message are kept.
const maxParts = 64

// messages returns an attribute with one message.
func (s *session) messages(key attribute.Key, role string, parts []part) attribute.KeyValue {
	text, err := json.Marshal([]any{map[string]any{"role": role, "parts": parts[:min(len(parts), maxParts)]}})
	if err != nil { // it has only strings
		return key.String("")
	}
	return key.String(string(text))
}

// secretBytes is how long a secret may be that is found although the text is cut in it.
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

func (s *session) cut(text string) string {
	if len(text) <= s.MaxTextBytes {
		return text
	}
	return prefix(text, s.MaxTextBytes) + "…"
}

// prefix returns the beginning of a text as valid UTF-8, of at most n bytes.
func prefix(text string, n int) string {
	if len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
