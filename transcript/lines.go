package transcript

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// ErrLineTooLong is wrapped by the error of an [InvalidLine] that is longer than
// [ReadOptions.MaxLineBytes].
var ErrLineTooLong = errors.New("transcript: line too long")

const (
	// defaultMaxLine is twice what the API takes as one request: so much has a result with its
	// structured twin. Longer lines are progress of tools, which repeats what others said.
	defaultMaxLine = 64 << 20
	// headBytes is the number of bytes of a bad line that are kept.
	headBytes = 1 << 10
	// keepBytes is the maximum size of a buffer that waits for the next line.
	keepBytes = 1 << 20

	// uncounted is the maximum number of bytes of a line that its length leaves out: a byte-order
	// mark and a carriage return.
	uncounted = len(entrylex.ByteOrderMark) + len("\r")
)

// A LineSplitter cuts the bytes of a transcript into lines, in bounded memory. The lines don't
// depend on the pieces in which the bytes arrive.
//
// NUL bytes end a line as a line feed does, but don't count as one: the texts before and after them
// are separate lines with the same number. A crash can leave megabytes of them in a file. Carriage
// returns at the end of a line, a byte-order mark at the beginning of the file and blank lines are
// left out.
//
// The lines of an append of several entries, which a store that is a directory marks with white
// space, come when all of them are there. See [ErrUnfinished] for an incomplete one.
//
// A LineSplitter must not be used by several goroutines at once. Create one with [NewLineSplitter].
//
//	s := transcript.NewLineSplitter(0)
//	s.Feed(data, func(line []byte, at wire.Position) {
//		entry, err := transcript.DecodeEntry(line) // valid until the function returns
//		…
//	}, func(bad transcript.InvalidLine) {
//		log.Print(bad.Position.Line, bad.Err)
//	})
type LineSplitter struct {
	max   int
	ends  int    // line feeds so far
	next  int64  // offset of the byte that comes next
	start int64  // offset of the line whose end has not come
	held  []byte // that line, or its head if it is long
	long  *longLine
	batch *lineBatch // an append that is not complete, or nil
}

// A longLine describes a line that is longer than the limit, apart from its head.
type longLine struct {
	blank bool // what is behind the head
	last  byte
}

// NewLineSplitter returns a splitter for the beginning of a file. maxLine is the length of the
// longest line in bytes; 0 or less means 64 MiB.
func NewLineSplitter(maxLine int) *LineSplitter {
	if maxLine <= 0 {
		maxLine = defaultMaxLine
	}
	return &LineSplitter{max: maxLine}
}

// Feed adds the next bytes, and calls yield with each line that they complete. A line is valid
// until yield returns. Feed calls bad for a line that is too long, when its end arrives. The
// position has the number of the line, from 1, its offset in the file and its length without the
// line end.
func (s *LineSplitter) Feed(p []byte, yield func(line []byte, at wire.Position), bad func(InvalidLine)) {
	to := lineSink{yield, bad}
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.hold(s.pass(p, to))
			return
		}
		s.complete(s.pass(p[:end], to), to)
		s.skip(1)
		s.ends++
		p = p[end+1:]
	}
}

// Flush yields the last line if it has no line feed but is a complete JSON object. Otherwise it
// calls bad with a torn line, and the line continues to wait for its rest, as does an append that
// is not complete. Call it when no more bytes are expected for now; Feed may follow.
func (s *LineSplitter) Flush(yield func(line []byte, at wire.Position), bad func(InvalidLine)) {
	if s.batch != nil { // what follows may belong to it
		torn := s.batch.unfinished(len(s.batch.lines))
		torn.Torn = true
		bad(torn)
		return
	}
	line, at := s.place(s.held)
	if s.isBlank(line) {
		return
	}
	err := s.check(at)
	if err == nil {
		err = checkObject(line)
	}
	if err == nil && begins(line) {
		err = ErrUnfinished
	}
	if err != nil {
		bad(InvalidLine{Position: at, Err: err, Head: lineHead(line), Torn: true})
		return
	}
	yield(line, at)
	s.begin()
}

// Offset returns the offset at which the incomplete last line or append starts. A reader that
// starts there misses nothing.
func (s *LineSplitter) Offset() int64 {
	if s.batch != nil {
		return s.batch.lines[0].at.Offset
	}
	return s.start
}

// Lines returns the number of line feeds before that offset.
func (s *LineSplitter) Lines() int {
	if s.batch != nil {
		return s.batch.lines[0].at.Line - 1
	}
	return s.ends
}

// A lineSink receives lines.
type lineSink struct {
	yield func(line []byte, at wire.Position)
	bad   func(InvalidLine)
}

// pass completes a line at each run of NUL bytes in text, and returns the text after the last one.
func (s *LineSplitter) pass(text []byte, to lineSink) []byte {
	for {
		nul := bytes.IndexByte(text, 0)
		if nul < 0 {
			return text
		}
		s.complete(text[:nul], to)
		rest := entrylex.TrimNULs(text[nul:])
		s.skip(len(text) - nul - len(rest))
		text = rest
	}
}

// complete adds the last piece of a line and lets the line go.
func (s *LineSplitter) complete(piece []byte, to lineSink) {
	line := piece
	if s.next > s.start {
		s.hold(piece)
		line = s.held
	} else {
		s.next += int64(len(piece))
	}
	s.emit(line, to)
	s.begin()
}

// emit yields a complete line. Of a long one it gets the head.
func (s *LineSplitter) emit(line []byte, to lineSink) {
	line, at := s.place(line)
	if s.isBlank(line) {
		return
	}
	if err := s.check(at); err != nil {
		to.bad(InvalidLine{Position: at, Err: err, Head: lineHead(line)})
		return
	}
	if s.batch != nil || begins(line) {
		s.take(line, at, to)
		return
	}
	to.yield(line, at)
}

// place returns the current line, or its head, without the bytes that don't count, and its
// position.
func (s *LineSplitter) place(line []byte) ([]byte, wire.Position) {
	at := wire.Position{Line: s.ends + 1, Offset: s.start, Bytes: s.next - s.start}
	if s.start == 0 && bytes.HasPrefix(line, []byte(entrylex.ByteOrderMark)) {
		line = line[len(entrylex.ByteOrderMark):]
		at.Offset += int64(len(entrylex.ByteOrderMark))
		at.Bytes -= int64(len(entrylex.ByteOrderMark))
	}
	if s.endsWithReturn(line) {
		at.Bytes--
	}
	return line[:min(int64(len(line)), at.Bytes)], at
}

// endsWithReturn reports whether the current line ends with a carriage return. Of a long line only
// the head is here, so its last byte was noted.
func (s *LineSplitter) endsWithReturn(line []byte) bool {
	if s.long != nil {
		return s.long.last == '\r'
	}
	return bytes.HasSuffix(line, []byte("\r"))
}

// isBlank reports whether the current line is blank, of which line is the whole or the head.
func (s *LineSplitter) isBlank(line []byte) bool {
	return isBlank(line) && (s.long == nil || s.long.blank)
}

// check returns an error for a line that is longer than the limit.
func (s *LineSplitter) check(at wire.Position) error {
	if at.Bytes <= int64(s.max) {
		return nil
	}
	return fmt.Errorf("%w: %d bytes, at most %d", ErrLineTooLong, at.Bytes, s.max)
}

// hold keeps a piece of a line whose end has not come, or only the line's head once it is too long.
// It needs at most about the memory of the longest line.
func (s *LineSplitter) hold(piece []byte) {
	s.next += int64(len(piece))
	switch {
	case s.long != nil:
		s.drop(piece)
	case len(s.held)+len(piece) <= s.max+uncounted:
		s.reserve(len(piece))
		s.held = append(s.held, piece...)
	default:
		begun := s.held
		s.held, s.long = nil, &longLine{blank: true}
		s.drop(begun)
		s.drop(piece)
	}
}

// reserve makes room for a piece. It doubles the buffer, which makes less garbage than append does
// for long lines, but never takes more than the longest line needs.
func (s *LineSplitter) reserve(n int) {
	need := len(s.held) + n
	if need <= cap(s.held) {
		return
	}
	larger := make([]byte, len(s.held), max(need, min(2*cap(s.held), s.max+uncounted)))
	copy(larger, s.held)
	s.held = larger
}

// drop keeps of a piece of a long line what belongs to the line's head.
func (s *LineSplitter) drop(piece []byte) {
	if len(piece) == 0 {
		return
	}
	s.long.last = piece[len(piece)-1]
	n := min(len(piece), headBytes+uncounted-len(s.held))
	s.held = append(s.held, piece[:n]...)
	s.long.blank = s.long.blank && isBlank(piece[n:])
}

// begin starts another line.
func (s *LineSplitter) begin() {
	s.start, s.long = s.next, nil
	s.held = s.held[:0]
	if cap(s.held) > keepBytes {
		s.held = nil
	}
}

// skip passes over bytes between lines.
func (s *LineSplitter) skip(n int) {
	s.next += int64(n)
	s.start = s.next
}

// isBlank reports whether a text has nothing but spaces, tabs and carriage returns.
func isBlank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// checkObject returns an error unless line is one JSON object.
func checkObject(line []byte) error {
	var l jsonlex.Lexer
	l.Reset(line)
	for _, ok := l.FirstKey(); ok; _, ok = l.NextKey() {
		l.Skip()
	}
	l.End()
	if err := l.Err(); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return nil
}

// lineHead returns the beginning of a line, up to headBytes, in whole characters.
func lineHead(line []byte) string { return string(clip.Bytes(line, headBytes)) }
