package process

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

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
