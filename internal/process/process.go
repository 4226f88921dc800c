// Package process starts, feeds, drains and stops the agent binary and its children.
//
// [Find] returns the path of the agent binary, and [Start] runs it. A [Process] is read and written
// like a pipe. [Process.Close] ends it and returns how it ended.
//
// # How an agent ends
//
// Reads return everything that the agent wrote before it died, and only then the end. The agent
// leads a process group (a job on Windows); when it exits, for whatever reason, the rest of the
// group is killed. Processes that left the group, as commands of the agent's tools do, are found by
// a variable that they inherit, on Linux and macOS: they get SIGTERM, and SIGKILL two seconds later
// or if the agent was killed. With [Spec.KeepBackground] they stay if the agent exits by itself. A
// process that stays, or that is not found, may hold the agent's output open: once the agent is
// gone, a read that finds nothing for a second returns the end.
//
// An agent ends with this process. If this process dies, Linux sends SIGTERM to the agent, Windows
// ends its job, and on all systems its input ends. On Linux a shell that runs beside the agents
// then ends their leftovers after 5 seconds, except for agents with [Spec.KeepBackground].
//
// # Cost
//
// An idle process costs two goroutines, one of which holds a thread, and three pipes. On Linux all
// of them together cost one shell, which waits.
package process

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// A Spec describes how to start an agent.
type Spec struct {
	// Path is the agent binary, an absolute path, and Args are its arguments without the name of
	// the program.
	Path string
	Args []string
	// Env is the whole environment, as in [exec.Cmd]; nil means this process's.
	Env []string
	// Dir is the working directory, or empty for this process's.
	Dir string
	// Stderr gets the agent's standard error, line by line and in order, without blanks at the end
	// of a line and without blank lines. If it is nil, only the end is kept, see [Exit]. It is
	// called by one goroutine at a time and may be slow: the agent does not wait for it. If more
	// than a megabyte is waiting for it, lines are left out, and a line in their place has their
	// number. Its first panic is written to [Exit.Stderr], and it is called again for later lines.
	Stderr func(line string)
	// KeepBackground keeps the leftover processes of an agent that exits by itself. See the package
	// documentation.
	KeepBackground bool
	// CloseTimeout is the time that [Process.Close] waits for the agent to end by itself, and then
	// again after the signal to terminate. 0 means 5 seconds.
	CloseTimeout time.Duration
}

// defaultCloseTimeout is the timeout of a [Spec] without one.
const defaultCloseTimeout = 5 * time.Second

// A Process is an agent, running or ended. Its methods may be called from several goroutines at
// once.
type Process struct {
	cmd          *exec.Cmd
	closeTimeout time.Duration
	// signalTimeout is the time that an agent has to end after SIGTERM.
	signalTimeout time.Duration
	keep          bool // what the agent leaves running

	stdin  *input
	stdout *output
	stderr *stderr

	descendants *descendants
	gone        chan struct{} // closed after the wait for the agent
	exited      chan struct{} // closed when its descendants are gone as well

	groupLock  sync.Mutex
	group      *group    // nil after the agent's end: its ID may belong to somebody else then
	terminated time.Time // when [Process.Terminate] was called

	closing sync.Once
	exit    Exit // set by closing
}

// Start starts an agent. The error names the working directory or the binary, whichever can't be
// used, and then nothing is left to clean up. The caller must close the process.
func Start(spec *Spec) (*Process, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	host, child, err := openPipes()
	if err != nil {
		return nil, spec.startError(err)
	}
	p := newProcess(spec, host)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = child[0], child[1], child[2]

	started := make(chan error)
	go p.run(func() { closeAll(child) }, started)
	if err = <-started; err != nil {
		closeAll(host)
		return nil, spec.startError(err)
	}
	go p.stderr.drain()
	return p, nil
}

func newProcess(spec *Spec, host pipeEnds) *Process {
	exited := make(chan struct{})
	p := &Process{
		cmd: &exec.Cmd{
			Path: spec.Path, Args: append([]string{spec.Path}, spec.Args...),
			Env: spec.Env, Dir: spec.Dir, SysProcAttr: groupAttributes(),
		},
		closeTimeout: cmp.Or(spec.CloseTimeout, defaultCloseTimeout),
		keep:         spec.KeepBackground,
		gone:         make(chan struct{}),
		exited:       exited,
		stdin:        &input{file: host[0], exited: exited},
		stdout:       &output{file: host[1], exited: exited},
		stderr:       newStderr(&output{file: host[2], exited: exited}, spec.Stderr),
	}
	p.signalTimeout = p.closeTimeout
	p.descendants = markDescendants(p.cmd, p.keep)
	return p
}

// run starts the agent, reports that on started, and waits for its end. It calls closeFiles when the
// agent has its files, or did not start.
func (p *Process) run(closeFiles func(), started chan<- error) {
	if err := startCommand(p.cmd, closeFiles); err != nil {
		started <- err
		return
	}
	p.group = newGroup(p.cmd.Process)
	started <- nil

	wait(p.cmd, p.endGroup)
	close(p.gone)
	p.endDescendants()
	commandGone()
	close(p.exited)
	_ = p.stdin.Close()
	p.stdout.expire()
	p.stderr.source.expire()
}

// endDescendants ends the leftovers outside the group of an agent that exited. An agent that was
// killed could not end its tools: they have nothing to finish.
func (p *Process) endDescendants() {
	if _, sig := p.status(); sig != nil {
		p.descendants.kill()
	} else if !p.keep {
		p.descendants.end()
	}
}

// endGroup kills the processes that are left in the group. No signal is sent after that.
func (p *Process) endGroup() {
	p.groupLock.Lock()
	defer p.groupLock.Unlock()
	p.group.kill()
	p.group.release()
	p.group = nil
}

// signal calls send with the group, unless the agent ended. It reports whether it did.
func (p *Process) signal(send func(*group)) bool {
	p.groupLock.Lock()
	defer p.groupLock.Unlock()
	if p.group == nil {
		return false
	}
	send(p.group)
	return true
}

// PID returns the ID of the agent's process. After the agent exits, the system may give it to
// another process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Interrupt sends SIGINT to the agent. The agent then stops its work, writes its transcript and
// exits, whether or not its input is closed. Interrupt fails if the agent exited, and on Windows,
// which has no signals.
func (p *Process) Interrupt() error { return p.cmd.Process.Signal(os.Interrupt) }

// Terminate asks the agent to end. It ends the agent's input and sends SIGTERM to its group, and
// [Process.Close] does not wait again before it kills the agent. Unlike Close it leaves the agent's
// output to be read. On Windows it kills the agent.
func (p *Process) Terminate() {
	_ = p.CloseWrite()
	p.signal(func(g *group) {
		p.terminated = time.Now()
		g.terminate()
	})
}

// terminatedFor returns how long ago Terminate was called, and whether it was.
func (p *Process) terminatedFor() (time.Duration, bool) {
	p.groupLock.Lock()
	defer p.groupLock.Unlock()
	return time.Since(p.terminated), !p.terminated.IsZero()
}

// InputClosed reports whether a running agent closed its input, as far as the system knows.
func (p *Process) InputClosed() bool {
	return !isDone(p.gone) && hasNoReader(p.stdin.file)
}

// ExitsWithin waits for the agent to exit, and reports whether it has.
func (p *Process) ExitsWithin(limit time.Duration) bool { return pause.Until(p.gone, limit) }

// Done returns a channel that is closed when the agent and its leftovers ended. The agent's output
// may still have to be read.
func (p *Process) Done() <-chan struct{} { return p.exited }

// Read reads the agent's standard output. It blocks until there is some, and returns [io.EOF] at
// the end, even if the agent died. After [Process.Close] it returns an [os.ErrClosed].
func (p *Process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write writes to the agent's standard input. It blocks while the agent does not read, until the
// agent exits, which gives an [os.ErrProcessDone], or [Process.CloseWrite] or [Process.Close] is
// called, which gives an [os.ErrClosed]. Other errors come from an agent that closed its input.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseWrite ends the agent's input, and the agent then exits normally. A Write that is blocked
// returns. CloseWrite may be called more than once.
func (p *Process) CloseWrite() error { return p.stdin.Close() }

// killTimeout is the time that a killed agent has to end. Only the system itself can delay that.
const killTimeout = 10 * time.Second

// An Exit describes how an agent ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the agent or it is not known how it ended.
	Code int
	// Signal is the signal that ended the agent, or nil.
	Signal os.Signal
	// Stderr is the end of the agent's standard error: the last 8 KB or a little more. It starts
	// with a whole line, unless that is longer than 4 KB.
	Stderr string
	// Killed reports that the agent did not exit at the end of its input and got a signal.
	Killed bool
}

// Close ends the agent, releases its resources and returns its exit. It ends the agent's input and
// waits for the exit, then sends SIGTERM to its group and waits again, then sends SIGKILL. On
// Windows, which has no signals, it kills after the first wait. Meanwhile it reads and drops the
// agent's output, so that a full pipe can't block the exit; a concurrent Read may still get some of
// it.
//
// Blocked reads and writes return. Concurrent Close calls wait for the same end, and later ones
// return at once. When Close returns, the process, its goroutines and its files are gone, with two
// exceptions: a process that the system does not end within 10 seconds of SIGKILL, and a call of
// [Spec.Stderr] that does not return within a second.
func (p *Process) Close() Exit {
	p.closing.Do(p.stop)
	return p.exit
}

func (p *Process) stop() {
	_ = p.CloseWrite()
	var dropping sync.WaitGroup
	dropping.Go(func() { _, _ = io.Copy(io.Discard, p.stdout) })
	killed := p.end()
	p.stdout.Close()
	dropping.Wait()

	p.exit = Exit{Code: -1, Stderr: p.stderr.finish(), Killed: killed}
	if isDone(p.exited) {
		p.exit.Code, p.exit.Signal = p.status()
	}
}

// end waits for the agent to exit, and sends stronger signals until it does. It reports whether a
// signal was needed.
func (p *Process) end() (killed bool) {
	ago, killed := p.terminatedFor()
	if !killed {
		if pause.Until(p.exited, p.closeTimeout) {
			return false
		}
		ago, killed = 0, p.signal((*group).terminate)
	}
	if pause.Until(p.exited, p.signalTimeout-ago) {
		return killed
	}
	killed = p.signal((*group).kill) || killed
	pause.Until(p.exited, killTimeout)
	return killed
}

// status returns the exit code and the signal of an agent that exited. Its state is missing if
// other code in this process waited for it.
func (p *Process) status() (int, os.Signal) {
	state := p.cmd.ProcessState
	if state == nil {
		return -1, nil
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, status.Signal()
	}
	return state.ExitCode(), nil
}

// isBatch reports whether Windows may treat path as a batch file. It runs those in a shell, which
// reads their arguments by different rules. Windows ignores dots and spaces at the end of a name,
// and a colon starts the name of a stream. Every element of the path is checked, which saves a rule
// for the start of the name.
func isBatch(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(`\/:`, r) }) {
		part = strings.ToLower(strings.TrimRight(part, ". "))
		if strings.HasSuffix(part, ".bat") || strings.HasSuffix(part, ".cmd") {
			return true
		}
	}
	return false
}
