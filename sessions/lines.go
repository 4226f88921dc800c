package sessions

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/clewdev/clew/wire"
)

// maxEntry is the length of the longest entry that a [Folder] takes and reads.
const maxEntry = 256 << 20

var errTooLong = errors.New("sessions: the entry is longer than 256 MiB")

// A SkippedLine is a line of a transcript file that is not an entry, and that a [Folder] leaves out.
type SkippedLine struct {
	Key wire.SessionKey
	// Line is the number of the line, from 1, and 0 for the file beside a subagent's transcript.
	Line int
	// Offset is where the line begins in the file.
	Offset int64
	// Torn says that it is the last line and has no end: somebody writes it at this moment, or was stopped.
	Torn bool
	Err  error
}

// A line is one of a transcript file.
type line struct {
	number int
	offset int64
	next   int64  // the offset of what is behind it
	text   []byte // without its end; valid until the next line
	ended  bool
	long   bool // longer than maxEntry: the text is not all of it
	feeds  int  // line feeds so far
}

// entry checks that the line is an entry, and returns its UUID.
func (l *line) entry() (uuid string, err error) {
	if l.long {
		return "", errTooLong
	}
	return entryUUID(l.text)
}

func (l *line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

// readLines returns the lines of a part of a file. NUL bytes, which a crash leaves in files by the megabyte, end a line like
// a line feed, but don't count as one. An error is the last pair.
func readLines(part *io.SectionReader) iter.Seq2[*line, error] {
	return func(yield func(*line, error) bool) {
		in := bufio.NewReaderSize(part, int(min(part.Size(), 64<<10)))
		l := new(line)
		for {
			err := l.read(in)
			if l.next > l.offset && !yield(l, nil) {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// read takes the next line from in.
func (l *line) read(in *bufio.Reader) error {
	l.number, l.offset = l.feeds+1, l.next
	l.text, l.ended, l.long = l.text[:0], false, false
	if err := l.passNULs(in); err != nil {
		return err
	}
	for !l.ended {
		piece, err := buffered(in)
		if err != nil {
			return err
		}
		end := lineEnd(piece)
		l.ended = end < len(piece)
		l.add(piece[:end])
		if l.ended && piece[end] == '\n' {
			end++
			l.feeds++
		}
		l.pass(in, end)
	}
	return nil
}

// passNULs drops NUL bytes in front of a line. Those at the end of a file are a line without text.
func (l *line) passNULs(in *bufio.Reader) error {
	for {
		piece, err := buffered(in)
		if err != nil {
			return err
		}
		rest := bytes.TrimLeft(piece, "\x00")
		l.pass(in, len(piece)-len(rest))
		if len(rest) > 0 {
			l.offset = l.next
			return nil
		}
	}
}

func (l *line) pass(in *bufio.Reader, n int) {
	n, _ = in.Discard(n) // they are buffered
	l.next += int64(n)
}

// add adds a piece to the text, without the mark with which editors begin a file.
func (l *line) add(piece []byte) {
	if l.next == 0 {
		piece = bytes.TrimPrefix(piece, []byte(byteOrderMark))
	}
	if l.long = l.next-l.offset+int64(len(piece)) > maxEntry; !l.long {
		l.text = append(l.text, piece...)
	}
}

const byteOrderMark = "\ufeff"

// buffered returns what in has in memory, at least a byte.
func buffered(in *bufio.Reader) ([]byte, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	return in.Peek(in.Buffered())
}

// lineEnd returns the index of the first line feed or NUL byte, or the length of the text.
func lineEnd(text []byte) int {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	if end := bytes.IndexByte(text, 0); end >= 0 {
		return end
	}
	return len(text)
}
