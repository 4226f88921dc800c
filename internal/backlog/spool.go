package backlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// pieceBytes is the approximate size of a read or write.
const pieceBytes = 64 << 10

// A spool is a queue of records on disk, as a series of files. Each file is removed after it is
// read, so that the queue does not grow while it is read as fast as it is written.
type spool struct {
	create    func() (file, error)
	fileBytes int64 // a file of this size is followed by another
	files     []*spoolFile
	size      int64 // of all files
}

// A spoolFile is a file whose unread records are between two offsets.
type spoolFile struct {
	file
	start, end int64
}

// write adds records: all of them, or none if there is an error.
func (s *spool) write(records []byte) error {
	f, err := s.last()
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(records, f.end); err != nil {
		if f.end == 0 { // the file is empty
			s.files = s.files[:len(s.files)-1]
			remove(f)
		}
		return err
	}
	f.end += int64(len(records))
	s.size += int64(len(records))
	return nil
}

// last returns the file to write to.
func (s *spool) last() (*spoolFile, error) {
	if n := len(s.files); n > 0 && s.files[n-1].end < s.fileBytes {
		return s.files[n-1], nil
	}
	f, err := s.create()
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, &spoolFile{file: f})
	return s.files[len(s.files)-1], nil
}

// read takes the next records: at least one, and as many as fit into a piece and into limit bytes.
func (s *spool) read(limit int64) ([]byte, error) {
	f := s.files[0]
	records, err := f.records(min(limit, f.end-f.start))
	if err != nil {
		return nil, fmt.Errorf("read of a temporary file: %w", err)
	}
	f.start += int64(len(records))
	if f.start == f.end {
		s.size -= f.end
		s.files = slices.Delete(s.files, 0, 1)
		remove(f)
	}
	return records, nil
}

func (s *spool) clear() {
	for _, f := range s.files {
		remove(f)
	}
	s.files, s.size = nil, 0
}

// remove closes a file, which removes it. There is nothing to do about an error.
func remove(f io.Closer) { _ = f.Close() }

var errDamaged = errors.New("the file was changed")

// records reads the next records, of at most limit bytes.
func (f *spoolFile) records(limit int64) ([]byte, error) {
	piece, err := f.bytes(min(limit, pieceBytes))
	if err != nil {
		return nil, err
	}
	if n := wholeRecords(piece); n > 0 {
		return piece[:n], nil
	}
	length, width := binary.Uvarint(piece)
	if width <= 0 || length > uint64(limit)-uint64(width) {
		return nil, errDamaged
	}
	return f.bytes(int64(width) + int64(length))
}

// bytes reads the next n bytes.
func (f *spoolFile) bytes(n int64) ([]byte, error) {
	buf := make([]byte, n)
	_, err := io.ReadFull(io.NewSectionReader(f, f.start, n), buf)
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return buf, err
}

// A file is a file of records.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// A tempFile is removed when it is closed, if not before.
type tempFile struct {
	*os.File
	named bool
}

// createTemp creates a file that only this user can read. It removes the name at once, so that the
// file goes with the process, however that ends. On Windows an open file can't be removed, and
// keeps its name until it is closed.
func createTemp(dir string) (file, error) {
	f, err := os.CreateTemp(dir, "clew-backlog-*")
	if err != nil {
		return nil, err
	}
	return &tempFile{File: f, named: os.Remove(f.Name()) != nil}, nil
}

// Close closes the file and removes it.
func (f *tempFile) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// appendRecord appends a record: the length of a frame, and the frame.
func appendRecord(dst []byte, frame string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(frame))), frame...)
}

// cutRecord returns the frame in the first record and the bytes after the record, if the record is
// complete.
func cutRecord(records []byte) (frame, rest []byte, ok bool) {
	length, width := binary.Uvarint(records)
	if width <= 0 || length > uint64(len(records)-width) {
		return nil, nil, false
	}
	end := width + int(length)
	return records[width:end], records[end:], true
}

// wholeRecords returns the length of the complete records at the start of piece.
func wholeRecords(piece []byte) int {
	rest := piece
	for {
		_, next, ok := cutRecord(rest)
		if !ok {
			return len(piece) - len(rest)
		}
		rest = next
	}
}
