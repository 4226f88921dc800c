package markdown

import (
	"bytes"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/highlight"
)

// Render returns the lines of a Markdown text for a terminal. Nothing in the text reaches the
// terminal as an escape sequence. No line is wider than the width, except for code, which is never
// wrapped. Parts that are too long or too complex to be parsed are wrapped as they are.
func Render(text string, opts Options) []string {
	s := NewStream(opts)
	return append(s.Add(text), s.End()...)
}

// A Stream lays out a text that comes in pieces. Its lines are those of [Render] for the whole
// text, however it is cut.
//
// A block is final when it can't go on: at an empty line, or where a list or a block of indented
// code is followed by another block after an empty line. The lines of fenced code are final one by
// one. Each block is laid out once when it is final, and each time that a caller asks for
// [Stream.Open].
//
// It is not safe for concurrent use.
type Stream struct {
	layout  layout
	partial []byte // the line that is not complete
	block   []byte // the complete lines of the open block
	state   state
	blank   bool // the last line of the block is empty
	fence   fence
	scanner highlight.Scanner // of the code in the fence
	htmlEnd []string          // what ends a block of HTML
	written bool              // lines were returned
	inCode  bool              // the last of them is a line of the open fence
}

// NewStream returns an empty stream.
func NewStream(opts Options) *Stream { return &Stream{layout: layout{Options: opts}} }

// Add adds a piece of the text. It returns the lines that have become final.
func (s *Stream) Add(piece string) []string {
	var lines []string
	for {
		head, rest, complete := strings.Cut(piece, "\n")
		s.partial = append(s.partial, head...)
		if !complete {
			return lines
		}
		lines = append(lines, s.line(s.partial)...)
		s.partial, piece = s.partial[:0], rest
	}
}

// Open returns the lines of what is not final yet, as if the text had ended.
func (s *Stream) Open() []string {
	c := *s
	c.block, c.partial = slices.Clip(c.block), slices.Clip(c.partial)
	return c.End()
}

// End ends the text, and returns its last lines.
func (s *Stream) End() []string {
	var lines []string
	if len(s.partial) > 0 {
		lines = s.line(s.partial)
	}
	lines = append(lines, s.flush()...)
	*s = *NewStream(s.layout.Options)
	return lines
}

// line takes a complete line, without its end.
func (s *Stream) line(line []byte) []string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if s.state == inFence {
		return s.fenced(line)
	}
	var lines []string
	if s.endsBefore(line) {
		lines = s.flush()
	}
	if s.state == outside {
		s.begin(line)
	} else {
		s.continued(line)
	}
	if s.state == outside || s.state == inFence {
		return lines
	}
	s.block = append(append(s.block, line...), '\n')
	if s.state == inHTML && containsAny(line, s.htmlEnd) {
		lines = append(lines, s.flush()...)
	}
	return lines
}

// fenced takes a line of fenced code.
func (s *Stream) fenced(line []byte) []string {
	if s.fence.closedBy(line) {
		s.state, s.inCode = outside, false
		return nil
	}
	made := []string{s.layout.codeLine(&s.scanner, string(s.fence.content(line)))}
	if !s.inCode {
		s.inCode = true
		made = s.separated(made)
	}
	return made
}

// flush returns the lines of the open block, which ends.
func (s *Stream) flush() []string {
	block := string(s.block)
	s.block, s.state, s.blank = s.block[:0], outside, false
	if block == "" {
		return nil
	}
	return s.separated(s.layout.text(block))
}

// separated returns the lines of a block, with an empty line before it unless it is the first one.
func (s *Stream) separated(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	if s.written {
		lines = slices.Insert(lines, 0, "")
	}
	s.written = true
	return lines
}
