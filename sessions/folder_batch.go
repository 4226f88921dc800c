package sessions

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// The marks of the lines of an append of several entries.
const (
	firstMark  = entrylex.FirstMark
	middleMark = entrylex.MiddleMark
	lastMark   = entrylex.LastMark
)

// The next append ends a line that was cut with lineEnd, or with tornEnd if it belongs to an
// incomplete append: it may be an entry that lacks only its mark.
const (
	lineEnd = "\n"
	tornEnd = ",\n"
)

// appendLine adds line i of an append of n entries to a text. Line breaks in an entry can only be
// between values. White space around it could be taken for a mark.
func appendLine(text []byte, entry wire.JSON, i, n int) []byte {
	if n > 1 && i == 0 {
		text = append(text, firstMark...)
	}
	text = append(text, strings.TrimSpace(lineBreaks.Replace(string(entry)))...)
	switch {
	case n == 1 || i == 0:
	case i == n-1:
		text = append(text, lastMark...)
	default:
		text = append(text, middleMark...)
	}
	return append(text, lineEnd...)
}

var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")

// mark returns the mark of a line, or "".
func (l *line) mark() string {
	mark := entrylex.Mark(l.text)
	if l.long || mark != firstMark && !l.ended {
		return ""
	}
	return mark
}

// unmarked returns the text of a line without its mark.
func (l *line) unmarked() []byte {
	mark := l.mark()
	if mark == firstMark {
		return l.text[len(mark):]
	}
	return l.text[:len(l.text)-len(mark)]
}

// batches tell which lines of a file belong to incomplete appends. Lines have to be given in order.
type batches struct {
	file io.ReaderAt
	base int64 // the offset at which the lines begin
	size int64 // of the file
	torn bool  // the append that began last is incomplete
	// begun reports whether a line was given.
	begun bool
}

// unfinished reports whether a line belongs to an incomplete append. The lines that are given may
// begin inside one. A line with a mark whose append lost its first line belongs to none.
func (b *batches) unfinished(l *line) (bool, error) {
	mark := l.mark()
	if !b.begun && b.base > 0 && mark == middleMark {
		whole, err := b.ends(b.base + l.offset)
		if err != nil {
			return false, err
		}
		b.torn = !whole
	}
	b.begun = true
	torn := b.torn
	switch mark {
	case "":
		// A part of the last line of an append, perhaps without only the mark. A line that ends
		// without a mark is not of an append, or was its last one.
		b.torn = torn && !l.ended
		return b.torn, nil
	case firstMark:
		whole, err := b.ends(b.base + l.next - 1)
		if err != nil {
			return false, err
		}
		b.torn = !whole
		return b.torn, nil
	case lastMark:
		b.torn = false
	}
	return torn, nil
}

// The sizes of the pieces in which ends reads. Most appends are short.
const (
	minPiece = 4 << 10
	maxPiece = 256 << 10
)

// ends reports whether the append whose first line ends after an offset is complete: its last line
// comes before the first one of another append. A line in between that is damaged is no reason to
// leave out the others.
func (b *batches) ends(from int64) (bool, error) {
	first, last := []byte("\n"+firstMark+"{"), []byte(lastMark+"\n")
	for size := int64(minPiece); from < b.size; size = min(2*size, maxPiece) {
		piece := make([]byte, min(size, b.size-from))
		n, err := b.file.ReadAt(piece, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		piece = piece[:n]
		end, next := bytes.Index(piece, last), bytes.Index(piece, first)
		if end >= 0 || next >= 0 {
			return end >= 0 && (next < 0 || end < next), nil
		}
		if n < len(first) {
			break
		}
		if from += int64(n); from < b.size { // a mark may begin in this piece
			from -= int64(len(first) - 1)
		}
	}
	return false, nil
}
