package cli

import (
	"context"
	"io"
)

// A patient reader waits for its source, a pipe or a terminal, only as long as
// its context lasts.
type patient struct {
	ctx     context.Context
	src     io.Reader
	buf     []byte
	pending []byte // what was read and not yet handed out
	err     error
}

// Read reads from the source into a buffer of its own: a read that is given up
// may still end, and must not write to p then.
func (r *patient) Read(p []byte) (int, error) {
	if len(r.pending) == 0 && r.err == nil {
		r.fill()
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, r.err
}

func (r *patient) fill() {
	if r.buf == nil {
		r.buf = make([]byte, 64<<10)
	}
	n, err := await(r.ctx, func() (int, error) { return r.src.Read(r.buf) })
	r.pending, r.err = r.buf[:n], err
}

// await returns what f returns, or the zero value and the context's error if
// that is done first; f runs on then, and what it returns is lost.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
