package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/clewdev/clew/wire"
)

// window is how much of the beginning and of the end of a file a summary is made from, at least.
const window = 64 << 10

// summary returns the summary of a session from the first and the last entries of its file, and the file's size.
func (f *Folder) summary(ctx context.Context, key wire.SessionKey) (summary Summary, size int64, err error) {
	root, err := f.root()
	if err == nil && root == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return summary, 0, err
	}
	defer root.Close()
	file, size, err := f.open(root, key)
	if err != nil {
		return summary, 0, fmt.Errorf("sessions: read %s: %w", key, err)
	}
	defer file.Close()
	read, err := summary.addStart(ctx, io.NewSectionReader(file, 0, size))
	if err == nil {
		err = summary.addEnd(file, read, size)
	}
	if err != nil {
		return Summary{}, size, fmt.Errorf("sessions: read %s: %w", key, err)
	}
	return summary, size, nil
}

// addStart adds the first entries, and returns where they end. It goes on until there is a title: in front of the first
// prompt may be more than usual, and the prompt itself may have pictures.
func (s *Summary) addStart(ctx context.Context, file *io.SectionReader) (read int64, err error) {
	for l, err := range readLines(file) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		s.add(l.text)
		if read = l.next; read >= window && s.Title() != "" {
			break
		}
	}
	return read, nil
}

// addEnd adds the last entries of a file, of which the first ones were read.
func (s *Summary) addEnd(file *os.File, read, size int64) error {
	start := max(read, size-window)
	text := make([]byte, size-start)
	n, err := file.ReadAt(text, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	text = text[:n]
	if start > read { // in the middle of a line
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		s.add(line)
	}
	return nil
}
