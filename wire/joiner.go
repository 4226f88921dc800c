package wire

import (
	"bytes"
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A joiner joins an object that is spread over several lines. It does not parse the text again for
// every line: a tracker follows the structure line by line, and the decoder runs once, on the whole
// object. Only the batch of lines in which an object ends, or breaks off, is tracked twice.
//
// Lines are joined without their line ends, so an object may be cut anywhere: between tokens, as a
// pretty-printer does, or inside a string, as a terminal does. They are joined in place: the text
// of an open object is in the framer's buffer, before the bytes that are not taken, and each line
// moves up to its end.
type joiner struct {
	tracker jsonlex.Tracker
	text    []byte   // the lines so far, as long as they are within the limit
	size    int      // how long text would be without the limit
	pos     Position // of the object
	whole   []wholeLine
	batch   []byte // see resumeLines
	single  bool   // lines are taken one by one
	nests   bool   // the object is of a kind that holds frames
}

// A wholeLine is a later line of an open object that is an object by itself.
type wholeLine struct {
	object     piece
	start, end int      // of the line in the joiner's text
	before     int64    // the stream's offset of the end of the line before it
	next       Position // of the line after it
}

// maxWholeLines is the number of them that are remembered. If the lines have to be reported one by
// one, those after the limit come in one piece.
const maxWholeLines = 10_000

func (j *joiner) active() bool { return j.size > 0 }

func (j *joiner) reset() {
	j.tracker.Reset()
	*j = joiner{tracker: j.tracker, batch: j.batch[:0]}
}

// begin takes the first line of an object.
func (j *joiner) begin(f *framer, p piece) {
	j.reset()
	j.pos = p.pos
	j.text = p.text[:0]
	j.nests = kindOf(p.text).Type == "transcript_mirror"
	if n, status := j.tracker.Feed(p.text); status != jsonlex.Open {
		f.reject(bytes.Clone(p.text), p.pos, &SyntaxError{Offset: n, Reason: "unexpected end of JSON"})
		j.reset()
		return
	}
	j.add(p, f.max)
}

func (j *joiner) add(p piece, limit int) {
	if n := len(j.whole); n > 0 && j.whole[n-1].end == j.size {
		j.whole[n-1].next = p.pos
	}
	j.size += len(p.text)
	if j.size <= limit {
		j.text = append(j.text, p.text...)
	}
	j.pos.Bytes = p.pos.Offset + p.pos.Bytes - j.pos.Offset
}

// keep remembers that the line that comes next, of n bytes, is an object by itself.
func (j *joiner) keep(object piece, n int) {
	object.text = bytes.Clone(object.text)
	j.whole = append(j.whole, wholeLine{
		object: object, start: j.size, end: j.size + n, before: j.pos.Offset + j.pos.Bytes,
	})
}

// resume takes a line while an object is open. The line continues the object if possible. If the
// line is itself a frame of a known kind, the open object was cut off, and the frame is delivered
// at once.
func (f *framer) resume(line piece) {
	j := &f.join
	if n := len(line.text); n > 0 && line.text[n-1] == '\r' {
		line = line.head(n - 1)
	}
	alone, complete := line.frame()
	if complete && !j.nests && f.isKnown(alone.text) {
		f.abandon()
		f.deliver(alone)
		return
	}
	n, status := j.tracker.Feed(line.text)
	switch status {
	case jsonlex.Open:
		if complete && j.size <= f.max && len(j.whole) < maxWholeLines {
			j.keep(alone, len(line.text))
		}
		j.add(line, f.max)
	case jsonlex.Complete:
		j.add(line.head(n), f.max)
		f.finish()
		line.drop(n)
		f.rest = line
	case jsonlex.Broken:
		f.abandon()
		f.rest = line
	}
}

// frame returns the piece without the padding around it, and reports whether it is one JSON object
// that can be a frame.
func (p piece) frame() (piece, bool) {
	if isInner(p.text) {
		return piece{}, false
	}
	p.trim()
	return p, len(p.text) > 0 && jsonlex.Valid(p.text) == nil
}

// isInner reports whether a line cannot be a frame by itself, and can only be a part of an object,
// or text: it has no type, or not the brackets of an object.
func isInner(line []byte) bool {
	if len(line) > 0 && line[0] > ' ' && line[0] < '{' {
		return true
	}
	first := paddingLen(line)
	if first == len(line) || line[first] != '{' {
		return true
	}
	last := len(line) - 1
	for isPadding(line[last]) {
		last--
	}
	return line[last] != '}' || !bytes.Contains(line, []byte(`"type"`))
}

// isKnown reports whether a frame is of a kind that this package, or the registry, knows.
func (f *framer) isKnown(text []byte) bool {
	kind := kindOf(text)
	if kind.Type == "system" {
		return kind.Subtype != ""
	}
	kind.Subtype = ""
	return Known(kind) || f.registry.lookup(kind) != nil
}

// minBatch and maxBatch limit the bytes that resumeLines takes at once: about as many as the joiner
// holds, so that a failed batch about doubles the work.
const (
	minBatch = 1 << 10
	maxBatch = 64 << 10
)

// resumeLines adds the next lines of the buffer to the open object, all at once, as far as resume
// would only add them. It leaves the lines that end or break the object to resume.
func (f *framer) resumeLines() {
	j := &f.join
	for !j.single && j.size+maxBatch <= f.max {
		end, lines := f.collectLines(min(max(j.size, minBatch), maxBatch))
		if lines == 0 {
			return
		}
		before := j.tracker.Clone()
		if _, status := j.tracker.Feed(j.batch); status != jsonlex.Open {
			j.tracker, j.single = before, true
			return
		}
		if n := len(j.whole); n > 0 && j.whole[n-1].end == j.size {
			j.whole[n-1].next = f.position(f.start, f.start)
		}
		j.text = append(j.text, j.batch...)
		j.size = len(j.text)
		j.pos.Bytes = f.base + int64(trimReturn(f.buf, end)) - j.pos.Offset
		f.line += lines
		f.start, f.scanned = end+1, end+1
	}
}

// collectLines puts the next lines together in the batch: at most limit bytes, and none that could
// be something else than a part of the object. It returns where in the buffer the last of them
// ends, and how many they are.
func (f *framer) collectLines(limit int) (end, lines int) {
	batch := slices.Grow(f.join.batch[:0], limit)
	for start := f.start; ; start = end + 1 {
		nl := bytes.IndexByte(f.buf[start:], '\n')
		if nl <= 0 || len(batch)+nl > limit || f.buf[start] == 0 || !isInner(f.buf[start:start+nl]) {
			f.join.batch = batch
			return end, lines
		}
		end = start + nl
		lines++
		batch = append(batch, f.buf[start:trimReturn(f.buf, end)]...)
	}
}

// trimReturn returns where the line ends whose line feed is at end: before the carriage return, if
// there is one.
func trimReturn(buf []byte, end int) int {
	if end > 0 && buf[end-1] == '\r' {
		return end - 1
	}
	return end
}

// finish delivers the object that the joiner completed.
func (f *framer) finish() {
	if f.join.size > f.max {
		f.abandon()
		return
	}
	f.deliver(piece{f.join.text, f.join.pos})
	f.join.reset()
}

// abandon gives up the open object, if there is one: its lines are reported as invalid, but lines
// that are objects by themselves are delivered.
func (f *framer) abandon() {
	j := &f.join
	if !j.active() {
		return
	}
	if j.size > f.max {
		f.reject(bytes.Clone(j.text[:min(headBytes, len(j.text))]), j.pos, &TooLargeError{Size: int64(j.size), Limit: f.max})
	} else {
		f.salvage()
	}
	j.reset()
}

// salvage reports the joiner's lines in order: invalid runs of lines, and the objects between them.
func (f *framer) salvage() {
	j := &f.join
	from, pos := 0, j.pos
	report := func(to int, end int64) {
		if from < to {
			pos.Bytes = end - pos.Offset
			f.reject(bytes.Clone(j.text[from:to]), pos, &SyntaxError{Offset: to - from, Truncated: true, Reason: "unexpected end of JSON"})
		}
	}
	for _, line := range j.whole {
		report(line.start, line.before)
		f.deliver(line.object)
		from, pos = line.end, line.next
	}
	report(len(j.text), j.pos.Offset+j.pos.Bytes)
}
