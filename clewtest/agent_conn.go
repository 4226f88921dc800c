package clewtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// A Conn is an agent that runs in memory, as seen by its host. Like with a process, what is written waits in a buffer of 64
// KiB, and a full one blocks its writer.
type Conn struct {
	// Stdin is what the host writes to. Closing it is the end of the agent's input.
	Stdin io.WriteCloser
	// Stdout and Stderr are what the agent writes. They end when it does. Closing one lets the agent fail at its next
	// write.
	Stdout, Stderr io.ReadCloser

	m     *memory
	drain sync.Once // of Stderr, for Read
}

// An ExitError says that an agent in memory has not ended with code 0.
type ExitError struct {
	// Code is the exit code, or -1 when a signal ended the agent.
	Code int
	// Signal is the signal that ended the agent, or nil.
	Signal os.Signal
}

// Error says how the agent ended, in the words of os/exec.
func (e *ExitError) Error() string {
	if e.Signal != nil {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Conn starts the agent in memory. It ends with the test at the latest.
//
// Within a bubble of testing/synctest, give [NewAgent] the bubble's own t: the bubble waits for the agent, which that t
// ends. The agent of a test around the bubble works as well if it has ended by itself before the bubble does. If not, the
// bubble ends in a deadlock, as with any goroutine that is left, and the test says why.
func (a *Agent) Conn() *Conn {
	m := &memory{
		stdin: newPipe(), stdout: newPipe(), stderr: newPipe(),
		run: a.start(nil), quit: make(chan struct{}), done: make(chan struct{}), bubble: bubble(),
	}
	a.t.Cleanup(m.stop)
	go m.play(a.scenario.steps)
	return &Conn{Stdin: writeEnd{m.stdin}, Stdout: readEnd{m.stdout}, Stderr: readEnd{m.stderr}, m: m}
}

// Wait blocks until the agent has ended. It returns nil for code 0 and else an [*ExitError]. Unlike with a process, the
// rest of the output can be read afterwards. Wait may be called more than once.
func (c *Conn) Wait() error {
	<-c.m.done
	if end := c.m.end; end.signal != nil {
		return &ExitError{-1, end.signal}
	} else if end.code != 0 {
		return &ExitError{Code: end.code}
	}
	return nil
}

// Signal ends the agent by a signal, without waiting for it. Signal 0 only asks whether it lives, and SIGTERM does nothing
// after [IgnoreSIGTERM]. The error is [os.ErrProcessDone] when the agent has ended.
func (c *Conn) Signal(sig os.Signal) error {
	return c.m.signal(sig)
}

// A memory is the body of an agent that is a goroutine.
type memory struct {
	stdin, stdout, stderr *pipe
	run                   *run
	quit, done            chan struct{}
	bubble                string // where it was started

	mu       sync.Mutex
	deaf     bool // to SIGTERM
	hold     bool // stdout stays open when the agent ends
	stopped  bool // quit is closed
	killedBy os.Signal
	end      ending // valid when ended is set
	ended    bool
}

func (m *memory) play(steps []step) {
	p := &player{
		steps: steps, stdin: bufio.NewReader(m.stdin), stdout: m.stdout, stderr: m.stderr,
		body: m, rec: m.run, quit: m.quit, ids: newIDTable(),
	}
	end := p.run()
	m.mu.Lock()
	if m.killedBy != nil {
		end.signal = m.killedBy
	}
	m.end, m.ended = end, true
	m.closePipes()
	m.mu.Unlock()
	m.run.end(m.reason())
	close(m.done)
}

// reason says why the agent ended before its scenario did.
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
	if m.hold {
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
	if m.stopped || sig == syscall.Signal(0) || sig == syscall.SIGTERM && m.deaf {
		return nil
	}
	m.killedBy, m.stopped = sig, true
	close(m.quit)
	m.closePipes()
	return nil
}

// stop ends the agent with the test. An agent that has something left to read reads it first, so that a host which has
// done its part is not blamed.
func (m *memory) stop() {
	m.run.t.Helper()
	if bubble() != m.bubble {
		m.checkEnded()
		return
	}
	m.mu.Lock()
	for _, p := range []*pipe{m.stdin, m.stdout, m.stderr} {
		p.drain()
	}
	if !m.stopped {
		m.stopped = true
		close(m.quit)
	}
	m.mu.Unlock()
	<-m.done
	m.stdout.closeWrite()
}

// checkEnded is stop from outside the bubble, from where the runtime lets nobody use its channels.
func (m *memory) checkEnded() {
	m.run.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		m.run.t.Errorf("clewtest: the agent was started within a synctest bubble and has not ended with it: " +
			"give NewAgent the t of the bubble")
	}
}

func (m *memory) closeStdout() error {
	m.stdout.closeWrite()
	return nil
}

func (m *memory) ignoreSIGTERM() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deaf = true
}

func (m *memory) leaveGrandchild() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold = true
	return nil
}

// kill leaves it to the player to end with the signal.
func (m *memory) kill(os.Signal) error { return nil }

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

// bubble returns a name of the synctest bubble that the calling goroutine is in, or "". The runtime tells nobody but the
// reader of a stack trace, whose first line is "goroutine 7 [running, synctest bubble 1]:".
func bubble() string {
	buf := make([]byte, 128)
	line, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "\n")
	_, name, found := strings.Cut(line, "synctest bubble ")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "]:")
}
