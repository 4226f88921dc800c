package cli

import (
	"bytes"
	"strings"
)

// A speech is what was said in a turn, message by message.
type speech struct{ text []byte }

func (s *speech) add(text string) { s.text = append(s.text, text...) }

// next says that another message begins.
func (s *speech) next() { s.text = append(s.ended(), '\n') }

// ended is the text without white space at its end.
func (s *speech) ended() []byte { return bytes.TrimRight(s.text, " \t\r\n") }

// String returns what was said, each message on lines of its own.
func (s *speech) String() string { return strings.TrimSpace(string(s.text)) }

// has reports whether a text, such as that of a result, is the end of a message, or
// of a line of one: then there is no need to say it again.
func (s *speech) has(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || bytes.HasSuffix(s.ended(), []byte(text)) || bytes.Contains(s.text, []byte(text+"\n"))
}
