package wire

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A framer cuts a stream into lines and lines into frames.
//
// Nearly every line is one frame, and goes directly from the buffer to the decoder. Any other line
// (several objects, a part of an object, text) is split step by step.
type framer struct {
	decoder
	max      int
	hideText bool

	buf     []byte // what was read and not yet taken
	start   int    // the first byte of buf that is not taken
	scanned int    // up to here, buf has no line end after start
	base    int64  // the stream's offset of buf[0]
	line    int    // how many line ends lie before start
	ended   bool   // the stream has ended
	err     error  // the read error that ended the stream, or nil

	skip    *oversize // the line at start is too long, and is being dropped
	segment piece     // of the line that is being split
	rest    piece     // what follows the segment
	join    joiner
	queue   []placed
	last    Position
}

// placed is a message and its place.
type placed struct {
	msg Message
	pos Position
}

const (
	minBuffer = 64 << 10
	// maxIdleBuffer is the largest buffer that is kept after the frame it grew for.
	maxIdleBuffer = 1 << 20
	// largeBuffer is the size from which a buffer grows fourfold.
	largeBuffer = 4 << 20
)

func (f *framer) configure(opts *ReaderOptions) {
	f.decoder.configure(opts)
	f.max = DefaultMaxFrameBytes
	if opts != nil {
		f.hideText = opts.HideText
		if opts.MaxFrameBytes > 0 {
			f.max = opts.MaxFrameBytes
		}
	}
}

// reset forgets the stream and keeps the options and the buffers.
func (f *framer) reset() {
	f.join.reset()
	*f = framer{
		decoder: f.decoder, max: f.max, hideText: f.hideText,
		buf: f.buf[:0], join: f.join, queue: f.queue[:0],
	}
}

// space returns room at the end of the buffer to read into: at least one byte, and want bytes if
// that does not pass the limit of a frame.
func (f *framer) space(want int) []byte {
	if f.start == len(f.buf) && !f.join.active() || len(f.buf) == cap(f.buf) {
		f.makeRoom(min(want, f.max))
	}
	return f.buf[len(f.buf):cap(f.buf)]
}

// Buffers of the two usual sizes, shared by all framers.
var (
	smallBuffers = sync.Pool{New: func() any { return new([minBuffer]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([maxIdleBuffer]byte) }}
)

// newBuffer returns an empty buffer with room for size bytes.
func newBuffer(size int) []byte {
	switch {
	case size <= minBuffer:
		return smallBuffers.Get().(*[minBuffer]byte)[:0] //nolint:forcetypeassert // nothing else is in there
	case size <= maxIdleBuffer:
		return largeBuffers.Get().(*[maxIdleBuffer]byte)[:0] //nolint:forcetypeassert // nothing else is in there
	}
	return make([]byte, 0, size)
}

// freeBuffer returns a buffer of newBuffer to its pool. The caller must not use it afterwards.
func freeBuffer(buf []byte) {
	switch cap(buf) {
	case minBuffer:
		smallBuffers.Put((*[minBuffer]byte)(buf[:minBuffer]))
	case maxIdleBuffer:
		largeBuffers.Put((*[maxIdleBuffer]byte)(buf[:maxIdleBuffer]))
	}
}

// park frees the buffer if its bytes are no longer needed, and reports whether it did.
func (f *framer) park() bool {
	if f.start < len(f.buf) || f.join.active() || f.skip != nil {
		return false
	}
	f.unload()
	f.names.free()
	freeBuffer(f.buf)
	f.base += int64(len(f.buf))
	f.buf, f.start, f.scanned = nil, 0, 0
	f.join.reset()
	f.join.batch = nil
	return true
}

// makeRoom moves the bytes that are still needed, the text of an open object and the bytes that are
// not taken, to the start of the buffer, or into a larger one if they fill more than half of it. A
// large buffer grows fourfold, because growing costs copying.
func (f *framer) makeRoom(want int) {
	open, rest := f.join.text, f.buf[f.start:]
	need := len(open) + len(rest)
	to := f.buf[:0]
	switch {
	case need > cap(f.buf)/2 || cap(f.buf) == 0:
		factor := 2
		if cap(f.buf) >= largeBuffer {
			factor = 4
		}
		size := min(factor*cap(f.buf), len(open)+f.max+minBuffer)
		to = newBuffer(max(need+want, size))
	case cap(f.buf) > maxIdleBuffer && need < minBuffer/2:
		to = newBuffer(minBuffer)
	}
	shift := f.start - len(open)
	old := f.buf
	to = append(to, open...)
	f.join.text = to
	to = append(to, rest...)
	f.buf = to
	if cap(f.buf) != cap(old) {
		freeBuffer(old)
	}
	f.start -= shift
	f.scanned -= shift
	f.base += int64(shift)
}

// filled records that n bytes of the space were filled.
func (f *framer) filled(n int) { f.buf = f.buf[:len(f.buf)+n] }

// end records that nothing follows.
func (f *framer) end(err error) {
	f.ended = true
	if err != io.EOF { //nolint:errorlint // io.Reader promises io.EOF itself
		f.err = err
	}
}

// next returns the next message, or false when more input is needed or, once the stream ends, when
// there is none.
func (f *framer) next() (Message, bool) {
	for {
		switch {
		case len(f.queue) > 0:
			first := f.queue[0]
			f.queue = f.queue[1:]
			f.last = first.pos
			return first.msg, true
		case len(f.segment.text) > 0 || len(f.rest.text) > 0:
			f.step()
			continue
		}
		if msg := f.frameAhead(); msg != nil {
			return msg, true
		}
		f.queue = nil
		if f.join.active() && f.skip == nil {
			f.resumeLines()
		}
		if line, ok := f.nextLine(); ok {
			f.take(line)
		} else if len(f.queue) == 0 {
			return nil, false
		}
	}
}

// frameAhead takes the next line if it is one frame, as nearly every line is.
func (f *framer) frameAhead() Message {
	nl := bytes.IndexByte(f.buf[f.scanned:], '\n')
	if nl < 0 || f.join.active() || f.skip != nil {
		return nil
	}
	end := f.scanned + nl
	line := bytes.TrimSuffix(f.buf[f.start:end], []byte("\r"))
	if len(line) == 0 || len(line) > f.max || line[0] != '{' {
		return nil
	}
	msg, n, err := f.frame(line)
	if n < len(line) || err != nil && err.Syntax() {
		return nil
	}
	f.last = f.position(f.start, f.start+n)
	if err != nil {
		msg = f.invalidAt(line, f.last, err)
	}
	f.pass(end)
	return msg
}

// pass moves past the line that ends at end.
func (f *framer) pass(end int) {
	f.start, f.scanned = end+1, end+1
	f.line++
}

// take starts with a line. If an object is open, the line continues it.
func (f *framer) take(line piece) {
	if f.join.active() {
		f.resume(line)
		return
	}
	f.rest = line
}

// nextLine takes the next line out of the buffer. At the end of the stream it settles what is left,
// and returns false when that is done.
func (f *framer) nextLine() (piece, bool) {
	nl := bytes.IndexByte(f.buf[f.scanned:], '\n')
	if nl < 0 {
		f.scanned = len(f.buf)
		if !f.ended {
			f.bound()
			return piece{}, false
		}
		return f.lastLine()
	}
	end := f.scanned + nl
	line := piece{f.buf[f.start:end], f.position(f.start, end)}
	f.pass(end)
	return f.admit(line), true
}

func (f *framer) position(start, end int) Position {
	return Position{Line: f.line + 1, Offset: f.base + int64(start), Bytes: int64(end - start)}
}

// lastLine takes what follows the last line end, and then what a joiner holds.
func (f *framer) lastLine() (piece, bool) {
	if f.start < len(f.buf) || f.skip != nil {
		line := piece{f.buf[f.start:], f.position(f.start, len(f.buf))}
		f.start = len(f.buf)
		return f.admit(line), true
	}
	if f.join.active() {
		f.abandon()
		return piece{}, true
	}
	return piece{}, false
}

// An oversize is a line longer than the limit, of which only the head is kept.
type oversize struct {
	pos  Position
	head []byte
}

// headBytes is the number of bytes of a too large frame that are kept to show.
const headBytes = 1 << 10

// bound keeps the buffer from growing past the limit: it drops the padding at the start of a line,
// and all but the head of a line that is too long.
func (f *framer) bound() {
	if f.skip == nil {
		f.start += f.lead(f.buf[f.start:])
		rest := f.buf[f.start:]
		if !f.exceeds(rest) || bytes.HasPrefix([]byte(byteOrderMark), rest) {
			return
		}
		f.skip = f.oversize(rest, f.position(f.start, f.start))
	}
	f.skip.pos.Bytes += int64(len(f.buf) - f.start)
	f.start = len(f.buf)
}

// admit lets a line through unless it is too long; then it reports that, and lets an empty line
// through.
func (f *framer) admit(line piece) piece {
	if f.skip == nil && !f.exceeds(line.text) {
		return line
	}
	over := f.skip
	f.skip = nil
	if over == nil {
		line.drop(f.lead(line.text))
		if !f.exceeds(line.text) {
			return line
		}
		over = f.oversize(line.text, line.pos)
		over.pos.Bytes = 0
	}
	over.pos.Bytes += int64(len(line.text))
	f.abandon()
	f.reject(over.head, over.pos, &TooLargeError{Size: over.pos.Bytes, Limit: f.max})
	return piece{}
}

// exceeds reports whether a line is too long, no matter what follows. The carriage return of a line
// end does not count.
func (f *framer) exceeds(line []byte) bool {
	n := len(line)
	return n > f.max+1 || n == f.max+1 && line[n-1] != '\r'
}

func (f *framer) oversize(line []byte, pos Position) *oversize {
	return &oversize{pos, bytes.Clone(line[:min(headBytes, f.max)])}
}

// lead returns the length of the padding at the start of a line. It is 0 while an object is open,
// because the line may continue inside a string, unless a NUL byte shows that the line cannot
// continue the object.
func (f *framer) lead(line []byte) int {
	n := paddingLen(line)
	if f.join.active() {
		nul := bytes.IndexByte(line[:n], 0)
		if nul < 0 || f.exceeds(line[:nul]) {
			return 0
		}
		f.abandon()
	}
	return n
}

// A piece is a part of a line, without the line end, and its place.
type piece struct {
	text []byte
	pos  Position
}

// isPadding reports whether c is white space of JSON or one of the NUL bytes that a crash leaves in
// a file.
func isPadding(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0
}

const byteOrderMark = "\uFEFF"

// paddingLen returns the length of the padding and the byte-order marks that a text starts with.
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

// step takes one object, or one text, off the line that is being split. NUL bytes separate like
// line ends, because JSON cannot contain them.
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
	case p.text[0] == escape && p.frameAfterEscapes():
		f.segment = p
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

// frameAfterEscapes drops the escape sequences at the start of a piece if a whole object follows
// them, and reports whether one does. Old agents reset the terminal before their first frame.
func (p *piece) frameAfterEscapes() bool {
	n := escapesLen(p.text)
	if n == len(p.text) || p.text[n] != '{' || jsonlex.Valid(p.text[n:]) != nil {
		return false
	}
	p.drop(n)
	return true
}

const escape = 0x1b

// escapesLen returns the length of the escape sequences that a text starts with: control sequences
// such as ESC [ ? 25 h, commands to the system such as ESC ] 0 ; title BEL, and short ones.
func escapesLen(text []byte) int {
	n := 0
	for n+1 < len(text) && text[n] == escape {
		end := n + 2
		switch text[n+1] {
		case '[':
			for end < len(text) && (text[end] < '@' || text[end] > '~') {
				end++
			}
			end++
		case ']':
			for end < len(text) && text[end] != '\a' && text[end] != escape {
				end++
			}
			if end < len(text) && text[end] == escape {
				end++ // the terminator is ESC and a backslash
			}
			end++
		}
		if end > len(text) {
			return n
		}
		n = end
	}
	return n
}

// nextSegment continues after NUL bytes, which cut off an open object. White space at the end may
// be part of a string, except for the carriage return of the line end.
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

// objectEnd returns the length of the object at the start of p. It returns 0 if there is none, and
// then has reported it or given it to the joiner.
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

// textLine delivers a piece that does not start like an object.
func (f *framer) textLine(p piece) {
	p.trim()
	if jsonlex.Valid(p.text) == nil {
		f.deliver(p) // JSON, but not an object: the decoder reports that
		return
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(p.text), "\uFFFD"))
	if f.hideText || text == "" || isRecorderLine(text) {
		return
	}
	f.push(&TextLine{Text: text, Line: p.pos.Line, Offset: p.pos.Offset, raw: string(p.text)}, p.pos)
}

// isRecorderLine reports whether a line comes from the terminal recorder script, which frames what
// it records.
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
	f.push(&InvalidFrame{Line: pos.Line, Offset: pos.Offset, Err: err, raw: string(raw), kind: invalidKind(raw)}, pos)
}

func (f *framer) push(msg Message, pos Position) {
	f.queue = append(f.queue, placed{msg, pos})
}
