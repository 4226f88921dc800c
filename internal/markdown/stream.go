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

// A Stream lays out a text that comes in pieces. Its lines equal [Render]'s for the whole text,
// however it is cut.
//
// A block is final when it can't continue: at an empty line or where another block starts, for a
// list and for indented code only in the latter case. The lines of fenced code are final one by
// one. Each block is laid out once when it is final, and each time that a caller asks for
// [Stream.Open].
//
// It is not safe for concurrent use.
type Stream struct {
	layout  layout
	partial []byte // the line that is not complete
	block   []byte // the complete lines of the open block, unless it is fenced code
	split   splitter
	scanner highlight.Scanner // of fenced code
	inCode  bool              // a line of the open fence was returned
	written bool              // any line was returned
}

// NewStream returns an empty stream.
func NewStream(opts Options) *Stream { return &Stream{layout: newLayout(opts)} }

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

// Open returns the lines of the unfinished block, as if the text ended there.
func (s *Stream) Open() []string {
	c := *s
	c.block, c.split = slices.Clone(c.block), *c.split.clone()
	return c.End()
}

// End ends the text, and returns its last lines.
func (s *Stream) End() []string {
	var lines []string
	if len(s.partial) > 0 {
		lines = s.line(s.partial)
	}
	lines = append(lines, s.flush()...)
	*s = Stream{layout: s.layout}
	return lines
}

// line takes a complete line, without its end.
func (s *Stream) line(line []byte) []string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if s.split.state == inFence {
		return s.fenced(line)
	}
	var lines []string
	before, after := s.split.next(line)
	if before {
		lines = s.flush()
	}
	switch {
	case s.split.state == inFence:
		s.inCode, s.scanner = false, *highlight.NewScanner(highlight.Find(s.split.fence.language))
		return lines
	case s.split.state == outside && !after:
		return lines // an empty line
	}
	s.block = append(append(s.block, line...), '\n')
	if after {
		lines = append(lines, s.flush()...)
	}
	return lines
}

// fenced takes a line of fenced code.
func (s *Stream) fenced(line []byte) []string {
	code := string(s.split.fence.content(line))
	if _, end := s.split.next(line); end {
		return nil
	}
	made := []string{s.layout.codeLine(&s.scanner, code)}
	if !s.inCode {
		s.inCode = true
		made = s.separated(made)
	}
	return made
}

// flush returns the lines of a block that ended.
func (s *Stream) flush() []string {
	block := string(s.block)
	s.block = s.block[:0]
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
