// Package process finds, starts, feeds, drains and stops the agent binary and its children.
//
// [Find] says where the agent binary is, and [Start] runs it. A [Process] is read and written like a pipe, until
// [Process.Close] ends it and says how it ended.
//
// # Ends
//
// What the agent wrote before it died is read first, and its end is seen after that. The agent leads a process group (a
// job on Windows); when it has exited, for whatever reason, the rest of the group is killed. A process that left the
// group may still hold the agent's output open: once the agent is gone, a read that finds nothing for a second is at
// the end.
//
// An agent does not outlive this process. On Linux it gets SIGTERM when this process dies, on Windows its job ends, and
// everywhere its input does.
//
// # Cost
//
// A process that has nothing to say costs two goroutines, one of which holds a thread, and three pipes.
package process

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Spec is how an agent is to be started.
type Spec struct {
	// Path is the agent binary, an absolute path, and Args are its arguments without the name of the program.
	Path string
	Args []string
	// Env is the whole environment, as in [exec.Cmd]; nil means that of this process.
	Env []string
	// Dir is the working folder, or empty for that of this process.
	Dir string
	// Stderr gets what the agent writes to its standard error, line by line and in order, without blanks at the end of a
	// line and without blank lines. Nil keeps only the end of it, see [Exit]. It is called by one goroutine at a time
	// and may take its time: the agent does not wait for it. If it falls behind by a megabyte, lines are left out, and a
	// line in their place says how many. Its first panic is noted in
	// [Exit.Stderr], and it is called again.
	Stderr func(line string)
	// CloseTimeout is how long [Process.Close] waits for the agent to end by itself, and again how long after it has told
	// the agent to terminate. 0 means 5 seconds.
	CloseTimeout time.Duration
}

// defaultCloseTimeout is what a [Spec] without one has.
const defaultCloseTimeout = 5 * time.Second

// A Process is a running agent, or one that has ended. Its methods may be called from several goroutines at once.
type Process struct {
	cmd          *exec.Cmd
	closeTimeout time.Duration

	stdin  *input
	stdout *output
	stderr *stderr

	family *family
	exited chan struct{} // closed when the agent has been reaped

	groupLock sync.Mutex
	group     *group // nil when the agent has ended: its ID may belong to somebody else then

	closing sync.Once
	exit    Exit // set by closing
}

// Start starts an agent. The error names the working folder or the binary, whichever can't be used; nothing is left
// behind then. Whoever starts a process must close it.
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
	go p.run(started)
	err = <-started
	closeAll(child)
	if err != nil {
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
		closeTimeout: spec.CloseTimeout,
		exited:       exited,
		stdin:        &input{file: host[0], exited: exited},
		stdout:       &output{file: host[1], exited: exited},
		stderr:       newStderr(&output{file: host[2], exited: exited}, spec.Stderr),
	}
	if p.closeTimeout == 0 {
		p.closeTimeout = defaultCloseTimeout
	}
	p.family = newFamily(p.cmd)
	return p
}

// run starts the agent, says so, and waits for its end.
func (p *Process) run(started chan<- error) {
	if err := fork(p.cmd); err != nil {
		started <- err
		return
	}
	p.group = newGroup(p.cmd.Process)
	started <- nil

	reap(p.cmd, p.disband)
	if _, sig := p.status(); sig != nil {
		p.family.kill()
	}
	close(p.exited)
	_ = p.stdin.Close()
	p.stdout.expire()
	p.stderr.source.expire()
}

// disband kills what is left of the group. No signal is sent after that.
func (p *Process) disband() {
	p.groupLock.Lock()
	defer p.groupLock.Unlock()
	p.group.kill()
	p.group.release()
	p.group = nil
}

// signal does something to the group, and reports whether there was one.
func (p *Process) signal(send func(*group)) bool {
	p.groupLock.Lock()
	defer p.groupLock.Unlock()
	if p.group == nil {
		return false
	}
	send(p.group)
	return true
}

// PID returns the ID of the agent's process. When the agent has exited, the system may give it to another one.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Interrupt sends SIGINT to the agent, on which it stops its work, writes its transcript and exits, whether or not its
// input has ended. It is an error if the agent has exited, and on Windows, which has no signals.
func (p *Process) Interrupt() error { return p.cmd.Process.Signal(os.Interrupt) }

// Done returns a channel that is closed when the agent itself has exited. What it wrote may still wait to be read.
func (p *Process) Done() <-chan struct{} { return p.exited }

// Read reads what the agent writes to its standard output. It blocks until there is something, and returns [io.EOF] at
// the end, also if the agent died. After [Process.Close] it returns an [os.ErrClosed].
func (p *Process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write writes to the agent's standard input. It blocks while the agent does not read, until the agent has exited,
// which gives an [os.ErrProcessDone], or [Process.CloseWrite] or [Process.Close] is called, which gives an
// [os.ErrClosed]. Other errors come from an agent that has closed its input.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseWrite ends the agent's input, on which an agent ends in order. A Write that blocks meanwhile is cut short. It
// may be called more than once.
func (p *Process) CloseWrite() error { return p.stdin.Close() }

// reapTimeout is how long a killed agent may take to go. Only the system itself can hold it up.
const reapTimeout = 10 * time.Second

// An Exit is how an agent ended.
type Exit struct {
	// Code is the exit code, or -1 when a signal ended the agent or nobody knows how it ended.
	Code int
	// Signal is the signal that ended the agent, or nil.
	Signal os.Signal
	// Stderr is the end of what the agent wrote to its standard error, 8 KB or more if there was so much. It begins with
	// a whole line, unless that is longer than 4 KB.
	Stderr string
	// Killed says that the agent did not end by itself when its input had ended, and got a signal.
	Killed bool
}

// Close ends the agent, frees all it used and says how it ended. It ends the agent's input and waits for its exit, then
// sends SIGTERM to its group and waits again, then SIGKILL; on Windows, which has no signals, it kills right after the
// first wait. What the agent writes meanwhile is read and dropped, so that a full pipe does not keep it from its end; a
// Read at the same time may still get some of it.
//
// Reads and writes that block return. All calls of Close wait for the same end, and later ones return at once. The
// process, its goroutines and its files are gone then, but for a process that the system does not let go within 10
// seconds of SIGKILL, and for a call of [Spec.Stderr] that does not return within a second.
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

// end waits for the agent to exit and makes it, ever more firmly. It reports whether a signal was needed.
func (p *Process) end() (killed bool) {
	if doneWithin(p.exited, p.closeTimeout) {
		return false
	}
	killed = p.signal((*group).terminate)
	if doneWithin(p.exited, p.closeTimeout) {
		return killed
	}
	killed = p.signal((*group).kill) || killed
	doneWithin(p.exited, reapTimeout)
	return killed
}

// status returns the exit code and the signal of an agent that has exited. Its state is missing if somebody else has
// waited for it.
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

// isBatch reports whether Windows may take path for a batch file. It starts those with a shell, which reads their
// arguments by its own rules. It drops dots and spaces at the end of a name, and a colon begins the name of a stream.
// Folders count as well, rather than one rule more for where the name begins.
func isBatch(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(`\/:`, r) }) {
		part = strings.ToLower(strings.TrimRight(part, ". "))
		if strings.HasSuffix(part, ".bat") || strings.HasSuffix(part, ".cmd") {
			return true
		}
	}
	return false
}
