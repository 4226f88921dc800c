package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A piece is a part of a line, without the line end, and its place.
type piece struct {
	text []byte
	pos  Position
}

// isPadding reports whether c is white space of JSON or one of the NUL bytes
// that a crash leaves in a file.
func isPadding(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0
}

const byteOrderMark = "\uFEFF"

// paddingLen returns the length of the padding and the byte-order marks that a
// text starts with.
func paddingLen(text []byte) int {
	n := 0
	for n < len(text) {
		switch {
		case text[n] > ' ' && text[n] < utf8.RuneSelf:
			return n
		case isPadding(text[n]):
			n++
		case bytes.HasPrefix(text[n:], []byte(byteOrderMark)):
			n += len(byteOrderMark)
		default:
			return n
		}
	}
	return n
}

// trim drops the padding around a piece, and byte-order marks before it.
func (p *piece) trim() {
	p.drop(paddingLen(p.text))
	for len(p.text) > 0 && isPadding(p.text[len(p.text)-1]) {
		p.text = p.text[:len(p.text)-1]
	}
	p.pos.Bytes = int64(len(p.text))
}

// drop takes n bytes off the front.
func (p *piece) drop(n int) {
	p.text = p.text[n:]
	p.pos.Offset += int64(n)
	p.pos.Bytes = int64(len(p.text))
}

// head returns the first n bytes as a piece.
func (p piece) head(n int) piece {
	p.text = p.text[:n]
	p.pos.Bytes = int64(n)
	return p
}

// step takes one object, or the text that stands there, off the line that is
// being taken apart. NUL bytes separate like line ends, since no JSON has them.
func (f *framer) step() {
	if len(f.segment.text) == 0 {
		f.nextSegment()
		return
	}
	p := f.segment
	f.segment = piece{}
	p.drop(paddingLen(p.text))
	switch {
	case len(p.text) == 0:
	case p.text[0] != '{':
		f.textLine(p)
	default:
		if end := f.objectEnd(p); end > 0 {
			f.deliver(p.head(end))
			p.drop(end)
			f.segment = p
		}
	}
}

// nextSegment goes on behind NUL bytes, which cut off what is open. White space
// at the end may lie inside of a string, except for the carriage return of the
// line end.
func (f *framer) nextSegment() {
	f.abandon()
	f.rest.drop(paddingLen(f.rest.text))
	n := bytes.IndexByte(f.rest.text, 0)
	if n < 0 {
		n = len(f.rest.text)
	}
	f.segment = f.rest.head(n)
	f.rest.drop(n)
	if len(f.rest.text) == 0 {
		f.segment = f.segment.head(len(bytes.TrimSuffix(f.segment.text, []byte("\r"))))
	}
}

// objectEnd returns the length of the object at the start of p. It returns 0 if
// there is none, and then has reported it or given it to the joiner.
func (f *framer) objectEnd(p piece) int {
	f.Reset(p.text)
	f.Skip()
	err := f.Err()
	switch {
	case err == nil:
		return f.Pos()
	case err.Fault == jsonlex.Incomplete:
		f.join.begin(f, p)
	default:
		p.trim()
		f.rejectFrame(p, err)
	}
	return 0
}

// deliver decodes a piece that is one JSON value.
func (f *framer) deliver(p piece) {
	msg, _, err := f.frame(p.text)
	if err != nil {
		f.rejectFrame(p, err)
		return
	}
	f.push(msg, p.pos)
}

// textLine delivers a piece that does not begin like an object.
func (f *framer) textLine(p piece) {
	p.trim()
	if jsonlex.Valid(p.text) == nil {
		f.deliver(p) // JSON, but no object: the decoder says so
		return
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(p.text), "\uFFFD"))
	if f.hideText || text == "" || isRecorderLine(text) {
		return
	}
	f.push(&TextLine{Text: text, Line: p.pos.Line, Offset: p.pos.Offset, raw: string(p.text)}, p.pos)
}

// isRecorderLine reports whether a line comes from the terminal recorder script,
// which frames what it records.
func isRecorderLine(text string) bool {
	return strings.HasPrefix(text, "Script started") || strings.HasPrefix(text, "Script done")
}

func (f *framer) rejectFrame(p piece, err *jsonlex.Error) {
	f.push(f.invalidAt(p.text, p.pos, err), p.pos)
}

func (f *framer) invalidAt(text []byte, pos Position, err *jsonlex.Error) *InvalidFrame {
	msg := f.invalid(text, err)
	msg.Line, msg.Offset = pos.Line, pos.Offset
	return msg
}

// reject delivers a frame that is not decoded at all.
func (f *framer) reject(raw []byte, pos Position, err error) {
	f.push(&InvalidFrame{Line: pos.Line, Offset: pos.Offset, Err: err, raw: string(raw), kind: kindOf(raw)}, pos)
}

func (f *framer) push(msg Message, pos Position) {
	f.queue = append(f.queue, placed{msg, pos})
}
