package clewtest

import (
	"errors"
	"io"
	"sync"
)

// pipeBytes is what a pipe holds before its writer blocks, as with a pipe of the operating system.
const pipeBytes = 64 << 10

// errTestEnded is what the agent meets where it waits for a host that is gone.
var errTestEnded = errors.New("the test ended")

// A pipe joins a writer and a reader in memory. Unlike [io.Pipe] it has room, so that a host which writes before it reads
// does not block where it would not with a process.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	eof     bool // the reader sees the end when buf is empty
	noWrite bool // writing fails
	noRead  bool // the reader is gone: reading and writing fail
	drained bool // the test has ended: writing is for nothing, reading ends
}

func newPipe() *pipe {
	p := &pipe{}
	p.changed.L = &p.mu
	return p
}

// Read blocks until there is something to read, the end, or a reason why nothing will come.
func (p *pipe) Read(dst []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(dst) > 0 {
		switch {
		case p.noRead:
			return 0, io.ErrClosedPipe
		case len(p.buf) > 0:
			n := copy(dst, p.buf)
			p.buf = p.buf[n:]
			p.changed.Broadcast()
			return n, nil
		case p.eof:
			return 0, io.EOF
		case p.drained:
			return 0, errTestEnded
		}
		p.changed.Wait()
	}
	return 0, nil
}

// Write blocks while the pipe is full.
func (p *pipe) Write(src []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := 0; ; {
		room := pipeBytes - len(p.buf)
		switch {
		case p.noWrite || p.noRead:
			return n, io.ErrClosedPipe
		case p.drained:
			return len(src), nil
		case n == len(src):
			return n, nil
		case room > 0:
			k := min(room, len(src)-n)
			p.buf = append(p.buf, src[n:n+k]...)
			n += k
			p.changed.Broadcast()
		default:
			p.changed.Wait()
		}
	}
}

func (p *pipe) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.changed.Broadcast()
}

// closeWrite ends what is written: the reader gets the rest, and then the end.
func (p *pipe) closeWrite() { p.change(func() { p.eof, p.noWrite = true, true }) }

// stopWrite lets writing fail, while the reader waits on.
func (p *pipe) stopWrite() { p.change(func() { p.noWrite = true }) }

// closeRead lets reading and writing fail.
func (p *pipe) closeRead() { p.change(func() { p.noRead, p.buf = true, nil }) }

// drain unblocks both ends for good.
func (p *pipe) drain() { p.change(func() { p.drained = true }) }

// A writeEnd is what the writer of a pipe holds.
type writeEnd struct{ p *pipe }

func (w writeEnd) Write(src []byte) (int, error) { return w.p.Write(src) }

// Close ends what is written.
func (w writeEnd) Close() error {
	w.p.closeWrite()
	return nil
}

// A readEnd is what the reader of a pipe holds.
type readEnd struct{ p *pipe }

func (r readEnd) Read(dst []byte) (int, error) { return r.p.Read(dst) }

// Close lets the writer fail.
func (r readEnd) Close() error {
	r.p.closeRead()
	return nil
}
