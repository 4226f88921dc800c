package process

import (
	"os"
	"os/exec"
	"sync"
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
