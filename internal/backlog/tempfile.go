package backlog

import (
	"errors"
	"io"
	"os"
)

// A file is where records are written, and from where they are read.
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

// createTemp creates a file that only this user can read. A file without a name goes with the process, whichever way
// that ends. Windows does not allow it for an open file, which keeps its name until it is closed.
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
