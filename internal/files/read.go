package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The errors of [ReadSmall] and [OpenRegular] wrap these for files that they don't read.
var (
	ErrNotRegular = errors.New("it is not a regular file")
	ErrTooLarge   = errors.New("it is too large")
)

// ReadSmall reads a regular file of at most limit bytes. It does not block on a named pipe, even if
// that takes the place of a file in between. Its errors are [fs.PathError] values.
func ReadSmall(path string, limit int64) ([]byte, error) {
	return readSmall(system{}, path, limit)
}

// ReadSmallIn is like [ReadSmall] for a file in a directory that no link leads out of.
func ReadSmallIn(root *os.Root, name string, limit int64) ([]byte, error) {
	return readSmall(root, name, limit)
}

// OpenRegular opens a regular file to read it, as [ReadSmall] does.
func OpenRegular(path string) (*os.File, error) { return openRegular(system{}, path) }

// OpenRegularIn is like [OpenRegular] for a file in a directory that no link leads out of.
func OpenRegularIn(root *os.Root, name string) (*os.File, error) { return openRegular(root, name) }

// A readTree has the files that a path names. An [os.Root] is one.
type readTree interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
}

// Stat is [os.Stat].
func (system) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func openRegular(t readTree, name string) (*os.File, error) {
	// Opening a device may do something, and opening a pipe wakes its writer.
	if info, err := t.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, unread(name, ErrNotRegular)
	}
	file, err := t.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = unread(name, ErrNotRegular)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func readSmall(t readTree, name string, limit int64) ([]byte, error) {
	file, err := openRegular(t, name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, tooLarge(name, limit)
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // one more read finds the end
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, tooLarge(name, limit)
	}
	return data.Bytes(), nil
}

func tooLarge(name string, limit int64) error {
	return unread(name, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit))
}

func unread(name string, err error) error { return &fs.PathError{Op: "read", Path: name, Err: err} }
