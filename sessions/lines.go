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
	next   int64  // the offset of the next one
	text   []byte // without its end; valid until the next line
	ended  bool
	long   bool // longer than maxEntry: the text is not all of it
}

// entry checks that the line is an entry, and returns its UUID.
func (l *line) entry() (uuid string, err error) {
	if l.long {
		return "", errTooLong
	}
	return entryUUID(l.text)
}

func (l *line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

// readLines returns the lines of a part of a file. An error is the last pair.
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
	l.number++
	l.offset = l.next
	l.text, l.ended, l.long = l.text[:0], false, false
	for {
		piece, err := in.ReadSlice('\n')
		l.next += int64(len(piece))
		if l.long = l.next-l.offset > maxEntry; !l.long {
			l.text = append(l.text, piece...)
		}
		switch {
		case err == nil:
			l.ended = true
			l.text = bytes.TrimSuffix(l.text, []byte("\n"))
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
