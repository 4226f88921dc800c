package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// check finds mistakes in s before anything is started, if the system's own error would be
// misleading.
func (s *Spec) check() error {
	switch {
	case !filepath.IsAbs(s.Path):
		return fmt.Errorf("process: the path of the agent is not absolute: %q", s.Path)
	case runtime.GOOS == "windows" && isBatch(s.Path):
		return fmt.Errorf("process: %s is a batch file, and a shell would read its arguments as commands; "+
			"name the .exe instead", s.Path)
	case s.Dir == "":
		return nil
	}
	info, err := os.Stat(s.Dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return fmt.Errorf("process: working directory %s: %w", s.Dir, withoutPath(err))
	}
	return nil
}

// startError returns an error with the agent and the reason why it did not start.
func (s *Spec) startError(err error) error {
	what, err := s.Path, withoutPath(err)
	if s.Dir != "" {
		what += " in " + s.Dir
	}
	if isTooLong(err) {
		return fmt.Errorf("process: start %s: its arguments and environment are too long, %d bytes: %w", what, s.size(), syscall.E2BIG)
	}
	if _, missing := os.Stat(s.Path); missing == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("process: start %s: the file exists, but the interpreter or loader "+
			"that it needs does not: %w", what, err)
	}
	return fmt.Errorf("process: start %s: %w", what, err)
}

// size returns the bytes of the arguments and of the environment.
func (s *Spec) size() int {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	size := len(s.Path)
	for _, list := range [][]string{s.Args, env} {
		for _, text := range list {
			size += len(text) + 1
		}
	}
	return size
}

// If the agent exited and another process holds its output open, a read waits for linger and all
// reads together for maxLinger. Output that comes later is read up to lateBytes, which is more than
// a pipe holds.
const (
	linger    = time.Second
	maxLinger = 3 * linger
	lateBytes = 1 << 20
)

var (
	errClosed = fmt.Errorf("process: the agent was closed: %w", os.ErrClosed)
	errExited = fmt.Errorf("process: the agent has exited: %w", os.ErrProcessDone)
)

// pipeEnds are one side of the agent's standard input, output and error.
type pipeEnds [3]*os.File

// openPipes returns both sides of three pipes.
func openPipes() (host, child pipeEnds, err error) {
	for i := range host {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(host)
			closeAll(child)
			return host, child, err
		}
		host[i], child[i] = r, w
	}
	host[0], child[0] = child[0], host[0]
	return host, child, nil
}

func closeAll(files pipeEnds) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// An input is the host's end of the pipe that the agent reads.
type input struct {
	file   *os.File
	exited <-chan struct{}
}

func (in *input) Write(b []byte) (int, error) {
	n, err := in.file.Write(b)
	switch {
	case err == nil:
		return n, nil
	case isDone(in.exited):
		return n, errExited
	case errors.Is(err, os.ErrClosed):
		return n, errClosed
	}
	return n, fmt.Errorf("process: write to the agent: %w", withoutPath(err))
}

// Close also ends a Write that blocks.
func (in *input) Close() error {
	if err := in.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("process: close the agent's input: %w", withoutPath(err))
	}
	return nil
}

// An output is the host's end of a pipe that the agent writes.
type output struct {
	file   *os.File
	exited <-chan struct{}
	// reading is held during a read, so that one read does not extend the deadline of another.
	reading sync.Mutex
	late    int // bytes read after limit

	mu    sync.Mutex
	limit time.Time // when the last read ends, set when the agent exits
}

// Read returns [io.EOF] at the end of the pipe. After the agent exits, the pipe also ends when
// nothing is written for the linger time.
func (o *output) Read(b []byte) (int, error) {
	o.reading.Lock()
	defer o.reading.Unlock()
	if isDone(o.exited) {
		o.expire()
	}
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The deadline may pass before the read looks into the pipe.
		n, err = readNow(o.file, b)
		if o.late += n; o.late > lateBytes {
			return 0, io.EOF
		}
	}
	if errors.Is(err, os.ErrClosed) {
		return n, errClosed
	}
	return n, err
}

// expire makes reads, even a blocked one, end after the linger time. Pipes have no deadlines on
// Windows, but there no process can leave the agent's job and hold them open.
func (o *output) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.limit.IsZero() {
		o.limit = now.Add(maxLinger)
	}
	deadline := now.Add(linger)
	if deadline.After(o.limit) {
		deadline = o.limit
	}
	_ = o.file.SetReadDeadline(deadline)
}

// Close also ends a Read that blocks.
func (o *output) Close() { _ = o.file.Close() }

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// withoutPath returns the error inside an error that names a file.
func withoutPath(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
