package simagent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Conn is a simulated agent that runs in memory, as seen by its host. [Start] makes one.
type Conn struct {
	// Stdin is the agent's input, which the host writes. Closing it ends the input.
	Stdin io.WriteCloser
	// Stdout and Stderr are the agent's output. They end when the agent does.
	Stdout, Stderr io.ReadCloser

	m     *memory
	drain sync.Once // of Stderr, for Read
}

// An ExitError reports that an agent in memory did not end with code 0.
type ExitError struct {
	Code   int       // the exit code, or -1 when a signal ended the agent
	Signal os.Signal // the signal that ended the agent, or nil
}

// Error describes the agent's end as os/exec does.
func (e *ExitError) Error() string {
	if e.Signal != nil {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ExitCode returns e.Code.
func (e *ExitError) ExitCode() int { return e.Code }

// Start starts an agent in memory, which reports to run. The caller has to end it, by one of Close,
// Signal and Stop.
func Start(s *Scenario, run *Run) *Conn {
	m := &memory{
		stdin: newPipe(), stdout: newPipe(), stderr: newPipe(),
		run: run, quit: make(chan struct{}), done: make(chan struct{}), bubble: bubble(),
	}
	go m.play(s)
	return &Conn{Stdin: writeEnd{m.stdin}, Stdout: readEnd{m.stdout}, Stderr: readEnd{m.stderr}, m: m}
}

// Wait blocks until the agent has ended. It returns nil for code 0, and an [*ExitError] otherwise.
func (c *Conn) Wait() error {
	<-c.m.done
	if end := c.m.end; end.Signal != nil {
		return &ExitError{-1, end.Signal}
	} else if end.Code != 0 {
		return &ExitError{Code: end.Code}
	}
	return nil
}

// Signal ends the agent by a signal, without waiting for it. Signal 0 does nothing, and neither
// does SIGTERM to an agent that ignores it. The error is [os.ErrProcessDone] when the agent has
// ended.
func (c *Conn) Signal(sig os.Signal) error { return c.m.signal(sig) }

// Stop ends the agent and waits for it. An agent that has input left reads it first, so that a host
// which has sent everything does not fail. Calling it again does nothing.
//
// An agent that was started in a bubble of testing/synctest can only be stopped in the same bubble.
// Elsewhere Stop returns [ErrOtherBubble] if the agent has not ended by itself.
func (c *Conn) Stop() error { return c.m.stop() }

// ErrOtherBubble is the error of [Conn.Stop] for an agent that runs in another bubble.
var ErrOtherBubble = errors.New("the agent was started within a synctest bubble and has not ended with it")

// closeTimeout is the time that Close waits for an agent to end, first after the end of its input
// and again after SIGTERM.
const closeTimeout = 5 * time.Second

// Read reads the agent's output. It drops what the agent writes to Stderr.
func (c *Conn) Read(p []byte) (int, error) {
	c.drain.Do(func() { go io.Copy(io.Discard, c.Stderr) }) //nolint:errcheck // it ends with the agent
	n, err := c.Stdout.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// Write writes to the agent's input.
func (c *Conn) Write(p []byte) (int, error) { return c.Stdin.Write(p) }

// CloseWrite ends the agent's input.
func (c *Conn) CloseWrite() error { return c.Stdin.Close() }

// Close ends the agent as a host should: it ends the input, waits, sends SIGTERM, waits, and kills
// the agent. It returns Wait's error.
func (c *Conn) Close() error {
	_ = c.Stdin.Close() // it may be closed already
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Kill} {
		if c.endsWithin(closeTimeout) {
			break
		}
		_ = c.Signal(sig) // it may have ended just now
	}
	err := c.Wait()
	c.m.stdout.closeWrite()
	return err
}

func (c *Conn) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.m.done:
		return true
	case <-timer.C:
		return false
	}
}

// A memory is the [Process] of an agent that is a goroutine.
type memory struct {
	stdin, stdout, stderr *pipe
	run                   *Run
	quit, done            chan struct{}
	bubble                string // the bubble that it was started in

	mu             sync.Mutex
	ignoresSIGTERM bool
	holdsStdout    bool // stdout stays open when the agent ends
	stopped        bool // quit is closed
	killedBy       os.Signal
	end            Ending // valid when ended is set
	ended          bool
}

func (m *memory) play(s *Scenario) {
	end := Play(s, Environment{
		Stdin: m.stdin, Stdout: m.stdout, Stderr: m.stderr, Process: m, Recorder: m.run, Quit: m.quit,
	})
	m.mu.Lock()
	if m.killedBy != nil {
		end.Signal = m.killedBy
	}
	m.end, m.ended = end, true
	m.closePipes()
	m.mu.Unlock()
	m.run.End(m.reason())
	close(m.done)
}

// reason returns why the agent ended before its scenario did.
func (m *memory) reason() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.killedBy != nil:
		return fmt.Sprintf("the host ended the agent by a signal (%v)", m.killedBy)
	case m.stopped:
		return "the test ended"
	}
	return "the host closed the agent's output"
}

// closePipes ends the agent's side of all pipes. The caller holds the lock.
func (m *memory) closePipes() {
	m.stdin.closeRead()
	m.stderr.closeWrite()
	if m.holdsStdout {
		m.stdout.stopWrite()
	} else {
		m.stdout.closeWrite()
	}
}

func (m *memory) signal(sig os.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.done:
		return os.ErrProcessDone
	default:
	}
	if m.stopped || sig == syscall.Signal(0) || sig == syscall.SIGTERM && m.ignoresSIGTERM {
		return nil
	}
	m.killedBy, m.stopped = sig, true
	close(m.quit)
	m.closePipes()
	return nil
}

func (m *memory) stop() error {
	if bubble() != m.bubble {
		return m.checkEnded()
	}
	m.mu.Lock()
	m.stdin.abandon()
	m.stdout.discard()
	m.stderr.discard()
	if !m.stopped {
		m.stopped = true
		close(m.quit)
	}
	m.mu.Unlock()
	<-m.done
	m.stdout.closeWrite()
	return nil
}

// checkEnded is stop for another bubble, from which the runtime does not let anybody use the
// channels of this one.
func (m *memory) checkEnded() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		return ErrOtherBubble
	}
	return nil
}

// CloseStdout ends what the host reads.
func (m *memory) CloseStdout() error {
	m.stdout.closeWrite()
	return nil
}

// IgnoreSIGTERM makes signal do nothing for SIGTERM.
func (m *memory) IgnoreSIGTERM() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ignoresSIGTERM = true
}

// LeaveGrandchild keeps stdout open until the agent is closed or stopped.
func (m *memory) LeaveGrandchild() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holdsStdout = true
	return nil
}

// Kill returns nil: the player ends with the signal.
func (m *memory) Kill(os.Signal) error { return nil }

// pipeBytes is the number of bytes that a pipe holds before its writer blocks. Pipes of Linux hold
// as much.
const pipeBytes = 64 << 10

// errTestEnded is returned to an agent that reads after its host is gone.
var errTestEnded = errors.New("the test ended")

// A pipe connects a writer and a reader in memory. Unlike [io.Pipe] it has a buffer: a host that
// writes before it reads must not block where it would not with a process.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	eof     bool // the reader sees the end when buf is empty
	noWrite bool // writing fails
	noRead  bool // the reader is gone: reading and writing fail
	dropped bool // nobody will read: writing succeeds, and the data is dropped
	noMore  bool // nobody will write: the reader gets errTestEnded when buf is empty
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
		case p.noMore:
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
		case p.dropped:
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

// closeWrite ends the data: the reader gets the rest, and then io.EOF.
func (p *pipe) closeWrite() { p.change(func() { p.eof, p.noWrite = true, true }) }

// stopWrite makes writing fail. The reader keeps waiting.
func (p *pipe) stopWrite() { p.change(func() { p.noWrite = true }) }

// closeRead makes reading and writing fail.
func (p *pipe) closeRead() { p.change(func() { p.noRead, p.buf = true, nil }) }

// discard unblocks the writer for good. The reader keeps waiting: for it, the end comes with
// closeWrite, and must be io.EOF whichever of the two goroutines runs first.
func (p *pipe) discard() { p.change(func() { p.dropped = true }) }

// abandon unblocks both ends for good. The reader gets the rest, and then errTestEnded.
func (p *pipe) abandon() { p.change(func() { p.dropped, p.noMore = true, true }) }

// A writeEnd is the writer's end of a pipe.
type writeEnd struct{ p *pipe }

func (w writeEnd) Write(src []byte) (int, error) { return w.p.Write(src) }

// Close ends the data.
func (w writeEnd) Close() error {
	w.p.closeWrite()
	return nil
}

// A readEnd is the reader's end of a pipe.
type readEnd struct{ p *pipe }

func (r readEnd) Read(dst []byte) (int, error) { return r.p.Read(dst) }

// Close makes the writer fail.
func (r readEnd) Close() error {
	r.p.closeRead()
	return nil
}

// bubble returns a name of the synctest bubble that the calling goroutine is in, or "". No function
// of the runtime returns it, but it is in the first line of a stack trace, "goroutine 7 [running,
// synctest bubble 1]:".
func bubble() string {
	buf := make([]byte, 128)
	line, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "\n")
	_, name, found := strings.Cut(line, "synctest bubble ")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "]:")
}
