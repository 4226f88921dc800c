package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

const (
	// window is how much of the beginning and of the end of a file a summary is made from.
	window = 64 << 10
	// maxSearch is how far to look for a title if the window has none. A first prompt with many
	// pictures is that long.
	maxSearch = 16 << 20
)

var windows = sync.Pool{New: func() any { return new([window]byte) }}

// summary returns the summary of a session, made from the first and the last entries of its file,
// and the size of the file. Titles and the state of the last turn are at the end; the working
// directory and the first prompt are at the beginning. So the middle of a long file is not needed.
func (f *Folder) summary(ctx context.Context, key wire.SessionKey) (summary Summary, size int64, err error) {
	root, err := f.project(key.Project)
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
	read, err := summary.addStart(ctx, file, size)
	if err == nil {
		err = summary.addEnd(file, read, size)
	}
	if err != nil {
		return Summary{}, size, fmt.Errorf("sessions: read %s: %w", key, err)
	}
	return summary, size, nil
}

// addStart adds the first entries, and returns the offset at which they end. It continues until
// there is a title: there may be many entries before the first prompt, and the prompt may contain
// pictures.
func (s *Summary) addStart(ctx context.Context, file *os.File, size int64) (read int64, err error) {
	buffer := windows.Get().(*[window]byte) //nolint:forcetypeassert // nothing else is in there
	defer windows.Put(buffer)
	text, err := readAt(file, buffer[:min(size, window)], 0)
	if err != nil {
		return 0, err
	}
	if int64(len(text)) < size {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	if err := s.addLines(text, &batches{file: file, size: size}); err != nil {
		return 0, err
	}
	read = int64(len(text))
	if read == size || read > 0 && s.Title() != "" {
		return read, ctx.Err()
	}
	return s.addMore(ctx, file, read, size)
}

// addMore adds entries until there is a title, and returns the offset at which they end.
func (s *Summary) addMore(ctx context.Context, file *os.File, start, size int64) (read int64, err error) {
	read = start
	b := batches{file: file, base: start, size: size}
	for l, err := range readLines(io.NewSectionReader(file, start, min(size-start, maxSearch))) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		if !l.ended && start+l.next < size { // the line is longer than the part that is read
			break
		}
		torn, err := b.unfinished(l)
		if err != nil {
			return 0, err
		}
		if !torn {
			s.add(l.text)
		}
		if read = start + l.next; read >= window && s.Title() != "" {
			break
		}
	}
	return read, nil
}

// addEnd adds the last entries of a file whose first entries were already added. If there is a gap
// between them, the results of calls before the gap may be in it, so these calls no longer count as
// open.
func (s *Summary) addEnd(file *os.File, read, size int64) error {
	buffer := windows.Get().(*[window]byte) //nolint:forcetypeassert // nothing else is in there
	defer windows.Put(buffer)
	start := max(read, size-window)
	text, err := readAt(file, buffer[:size-start], start)
	if err != nil {
		return err
	}
	if start > read { // begins in the middle of a line
		cut := bytes.IndexByte(text, '\n') + 1
		text, start = text[cut:], start+int64(cut)
		s.Unfinished = ""
	}
	return s.addLines(text, &batches{file: file, base: start, size: size})
}

// addLines adds the entries in a part of a file, except those of incomplete appends.
func (s *Summary) addLines(text []byte, b *batches) error {
	if bytes.IndexByte(text, '\t') < 0 { // no marks, as in all files of agents
		for line := range entrylex.Lines(bytes.TrimPrefix(text, []byte(entrylex.ByteOrderMark))) {
			s.add(line)
		}
		return nil
	}
	for l, err := range readLines(io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text)))) {
		if err != nil {
			return err
		}
		torn, err := b.unfinished(l)
		if err != nil {
			return err
		}
		if !torn {
			s.add(l.text)
		}
	}
	return nil
}

// readAt reads a part of a file, or less if the file has become shorter.
func readAt(file *os.File, buffer []byte, offset int64) ([]byte, error) {
	n, err := file.ReadAt(buffer, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buffer[:n], nil
}
