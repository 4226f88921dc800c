package transcript

import (
	"bytes"
	"errors"
	"slices"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// ErrUnfinished is the error of an [InvalidLine] that stands for the entries of an append that was
// not completed. A store that is a directory marks the lines of an append of several entries with
// white space, since all of them count or none does.
var ErrUnfinished = errors.New("transcript: an append of several entries was not completed, and none of them counts")

// A lineBatch has the lines of an append whose last line has not come.
type lineBatch struct {
	text  []byte
	lines []heldLine
}

// A heldLine is a line of a batch.
type heldLine struct {
	at   wire.Position
	mark string
	end  int // in the text of the batch
}

// heldBytes is how much memory a line takes beside its text: a heldLine, and what grows with it.
const heldBytes = 64

// size returns about how many bytes of memory the batch takes.
func (b *lineBatch) size() int { return len(b.text) + len(b.lines)*heldBytes }

func (b *lineBatch) add(line []byte, at wire.Position, mark string) {
	b.text = append(b.text, line...)
	b.lines = append(b.lines, heldLine{at, mark, len(b.text)})
}

// each calls yield with the lines from the ith on.
func (b *lineBatch) each(i int, yield func(line []byte, at wire.Position)) {
	for ; i < len(b.lines); i++ {
		start := 0
		if i > 0 {
			start = b.lines[i-1].end
		}
		yield(b.text[start:b.lines[i].end], b.lines[i].at)
	}
}

// unfinished returns what stands for the first n lines.
func (b *lineBatch) unfinished(n int) InvalidLine {
	at, last := b.lines[0].at, b.lines[n-1].at
	at.Bytes = last.Offset + last.Bytes - at.Offset
	return InvalidLine{Position: at, Err: ErrUnfinished, Head: lineHead(b.text[:b.lines[0].end])}
}

// take takes a line that begins an append, or comes while one is not complete. An append is
// complete with its last line. It is not if an entry follows that does not belong to it; a line
// that is no entry may be a damaged one of it. Of an append that takes more memory than the longest
// line, the lines are let go.
func (s *LineSplitter) take(line []byte, at wire.Position, to lineSink) {
	mark := entrylex.Mark(line)
	switch {
	case mark == entrylex.FirstMark:
		s.dropBatch(to)
		s.batch = new(lineBatch)
	case mark == "" && checkObject(line) == nil:
		s.dropBatch(to)
		to.yield(line, at)
		return
	}
	s.batch.add(line, at, mark)
	if mark == entrylex.LastMark || s.batch.size() > s.max {
		complete := s.batch
		s.batch = nil
		complete.each(0, to.yield)
	}
}

// dropBatch ends an append that was not completed. What follows a line without a mark does not
// belong to it.
func (s *LineSplitter) dropBatch(to lineSink) {
	b := s.batch
	if s.batch = nil; b == nil {
		return
	}
	n := slices.IndexFunc(b.lines, func(l heldLine) bool { return l.mark == "" })
	if n < 0 {
		n = len(b.lines)
	}
	to.bad(b.unfinished(n))
	b.each(n, to.yield)
}

// begins reports whether a line is the first of an append of several entries.
func begins(line []byte) bool { return bytes.HasPrefix(line, []byte(entrylex.FirstMark)) }
