package clew

import (
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/process"
	"github.com/clewdev/clew/redact"
)

// A Transport starts agents. With nil in [Options.Transport], the agent binary runs as a child
// process. Other transports run an agent in a container, on another machine, or in memory.
type Transport interface {
	// Connect starts an agent. The context bounds only the start: the agent runs until its
	// connection is closed.
	Connect(ctx context.Context, launch *Launch) (Connection, error)
}

// A TransportFunc is a function that implements [Transport].
type TransportFunc func(ctx context.Context, launch *Launch) (Connection, error)

// Connect calls f.
func (f TransportFunc) Connect(ctx context.Context, launch *Launch) (Connection, error) {
	return f(ctx, launch)
}

// A Connection is a running agent. Read is called by one goroutine at a time, and so is Write.
// Close may be called at any time, even while they block, and any number of times.
//
// A Connection may also be an [Interrupter].
type Connection interface {
	// Read reads from the agent's standard output. It returns [io.EOF] at the end, even if the
	// agent died.
	Read(p []byte) (int, error)
	// Write writes to the agent's standard input.
	Write(p []byte) (int, error)
	// CloseWrite closes the agent's standard input. An agent exits normally when its input ends.
	CloseWrite() error
	// Close ends the agent and releases its resources. It returns nil if the agent exited normally,
	// an [*ExitError] or another error with a method ExitCode, such as the one in os/exec, if it
	// failed, or any other error if the connection was lost. It must return within a bounded time,
	// and make Read and Write return.
	Close() error
}

// An Interrupter is a [Connection] that can interrupt its agent after the input is closed. Without
// it, an agent that is still working when a one-shot run is left early has to be ended by Close.
type Interrupter interface {
	// Interrupt interrupts the agent. It is called before Close, and must not block.
	Interrupt() error
}

// A Launch describes how to start an agent.
type Launch struct {
	// Path is the agent binary, and Args are its arguments without the name of the program.
	Path string
	Args []string
	// Env is the whole environment, as in [os/exec.Cmd].
	Env []string
	// Dir is the working directory. If it is empty, the agent gets the working directory of this
	// process.
	Dir string
	// Stderr gets the agent's standard error line by line. With nil, only the end of it is kept,
	// for errors.
	Stderr func(line string)
	// CloseTimeout is the time an agent may take to exit after its input ends. After that it gets a
	// signal to terminate, and the same time again before it is killed.
	CloseTimeout time.Duration
	// KeepBackground allows processes that the agent leaves running to stay: see
	// [Options.KeepBackground].
	KeepBackground bool
}

// A ProcessTransport runs the agent as a child process. The agent ends when this process ends, and
// so does everything that the agent started: on Unix it has its own process group, on Linux the
// kernel signals it when this process dies, and on Windows it runs in a job.
//
// Commands of the agent leave its group. Linux and macOS show the environment of a process, so
// background commands are found by a variable, CLEW_FAMILY, and ended with the agent, unless
// [Options.KeepBackground] is set. A command that cleared its environment, or that runs as another
// user, is not found.
type ProcessTransport struct {
	// Wrap, if it is not nil, may change how the agent is started. To run the agent in a container
	// or on another machine, set Path to the program that does so, a path or a name to look up in
	// PATH, and append the old Path and Args to its arguments. If no agent is installed on this
	// machine, Wrap gets [Options.AgentPath] or "claude" as Path.
	Wrap func(launch *Launch) error
}

// Connect starts the process.
func (t *ProcessTransport) Connect(ctx context.Context, launch *Launch) (Connection, error) {
	l := *launch
	if t.Wrap != nil {
		if err := t.Wrap(&l); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, control.ContextError(ctx)
	}
	if filepath.Base(l.Path) == l.Path {
		path, err := exec.LookPath(l.Path)
		if err != nil {
			return nil, startError(err)
		}
		l.Path = path
	}
	p, err := process.Start(&process.Spec{
		Path: l.Path, Args: l.Args, Env: l.Env, Dir: l.Dir, Stderr: l.Stderr,
		CloseTimeout: l.CloseTimeout, KeepBackground: l.KeepBackground,
	})
	if err != nil {
		return nil, startError(err)
	}
	return &processConnection{p}, nil
}

// A processConnection is a [Connection] to a child process.
type processConnection struct{ *process.Process }

// Close ends the process; see [Connection].
func (c *processConnection) Close() error {
	exit := c.Process.Close()
	if exit.Code == 0 || exit.Killed && exit.Code == terminatedCode {
		return nil
	}
	return &ExitError{Code: exit.Code, Signal: exit.Signal, Stderr: redact.Mask(exit.Stderr), Forced: exit.Killed}
}

// terminatedCode is the exit code of an agent that shut down cleanly on SIGTERM. Older agents need
// the signal if they have a command in the background.
const terminatedCode = 128 + int(syscall.SIGTERM)

// stderr returns the tail of the agent's standard error, once it ends.
func (c *processConnection) stderr() string { return redact.Mask(c.Process.Close().Stderr) }
