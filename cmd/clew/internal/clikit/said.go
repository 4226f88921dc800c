package clikit

import (
	"bytes"
	"strings"
)

// A TurnText collects the text of a turn, message by message.
type TurnText struct{ text []byte }

// Add adds a piece of the current message.
func (s *TurnText) Add(text string) { s.text = append(s.text, text...) }

// Next starts another message.
func (s *TurnText) Next() { s.text = append(s.ended(), '\n') }

// ended returns the text without trailing white space.
func (s *TurnText) ended() []byte { return bytes.TrimRight(s.text, " \t\r\n") }

// String returns the text. Each message starts a new line.
func (s *TurnText) String() string { return strings.TrimSpace(string(s.text)) }

// Has reports whether a text, such as a result, is the end of a message or of one of its lines, so
// that it need not be shown again.
func (s *TurnText) Has(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || bytes.HasSuffix(s.ended(), []byte(text)) || bytes.Contains(s.text, []byte(text+"\n"))
}
