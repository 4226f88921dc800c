package backlog

import (
	"errors"
	"io"
	"sync"
)

var (
	errDiskFull   = errors.New("the disk is full")
	errUnreadable = errors.New("the disk cannot be read")
)

// A fakeDisk holds files in memory, and fails when told to.
type fakeDisk struct {
	mu         sync.Mutex
	full       bool
	unreadable bool
	files      []*fakeFile // those that are open
}

func (d *fakeDisk) set(full, unreadable bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.unreadable = full, unreadable
}

func (d *fakeDisk) create() (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &fakeFile{disk: d}
	d.files = append(d.files, f)
	return f, nil
}

type fakeFile struct {
	disk *fakeDisk
	data []byte
}

// WriteAt writes half on a disk that is full.
func (f *fakeFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	var err error
	if f.disk.full {
		p, err = p[:len(p)/2], errDiskFull
	}
	f.data = append(f.data[:off], p...)
	return len(p), err
}

func (f *fakeFile) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.unreadable {
		return 0, errUnreadable
	}
	n := copy(p, f.data[min(off, int64(len(f.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *fakeFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	for i, open := range f.disk.files {
		if open == f {
			f.disk.files = append(f.disk.files[:i], f.disk.files[i+1:]...)
			return nil
		}
	}
	return errors.New("closed twice")
}
