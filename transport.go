package clew

import (
	"context"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/clewdev/clew/internal/process"
	"github.com/clewdev/clew/internal/redact"
)

// A Transport starts agents. Nil in [Options] means the agent binary as a child process of this one; others drive an
// agent in a container, on another machine, or in memory.
type Transport interface {
	// Connect starts an agent. The context bounds the start, not the life of the agent.
	Connect(ctx context.Context, launch *Launch) (Connection, error)
}

// A TransportFunc is a function that is a [Transport].
type TransportFunc func(ctx context.Context, launch *Launch) (Connection, error)

// Connect calls f.
func (f TransportFunc) Connect(ctx context.Context, launch *Launch) (Connection, error) {
	return f(ctx, launch)
}

// A Connection is a running agent. Read is called by one goroutine at a time and so is Write; Close may be called at
// any time, also while they block, and any number of times.
//
// A Connection may also be an [Interrupter].
type Connection interface {
	// Read reads what the agent writes to its standard output. It returns [io.EOF] at the end, also if the agent died.
	Read(p []byte) (int, error)
	// Write writes to the agent's standard input.
	Write(p []byte) (int, error)
	// CloseWrite ends the agent's input, on which an agent ends in order.
	CloseWrite() error
	// Close ends the agent, frees all it used, and says how it ended: nil for an orderly end, an [*ExitError] or another
	// error with a method ExitCode, such as that of os/exec, or any error for a connection that was lost. It must be
	// bounded in time, and let Read and Write return.
	Close() error
}

// An Interrupter is a [Connection] that can interrupt its agent after the input has been closed. Without
// it, an agent that is still working when a one-shot run is left early has to be ended by Close.
type Interrupter interface {
	// Interrupt interrupts the agent. It is called before Close, and must not block.
	Interrupt() error
}

// A Launch is how an agent is to be started.
type Launch struct {
	// Path is the agent binary, and Args are its arguments without the name of the program.
	Path string
	Args []string
	// Env is the whole environment, as in [os/exec.Cmd].
	Env []string
	// Dir is the working folder, or empty for that of this process.
	Dir string
	// Stderr gets what the agent writes to its standard error, line by line; nil keeps only the end of it for errors.
	Stderr func(line string)
	// CloseTimeout is how long an agent may take to end by itself once its input has ended, and again how long once it
	// was told to terminate.
	CloseTimeout time.Duration
}

// A ProcessTransport runs the agent as a child process. It ends with this process, and what it has started ends with
// it: on Unix it has a process group of its own, on Linux the kernel tells it when this process dies, and on Windows it
// is in a job.
type ProcessTransport struct {
	// Wrap, if it is not nil, may change how the agent is started: to run it in a container or on another machine, make
	// Path the program that does so, a path or a name to look up in PATH, and put what was there behind its arguments. If
	// no agent is installed here, the Path that Wrap sees is [Options.AgentPath] or "claude".
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if filepath.Base(l.Path) == l.Path {
		path, err := exec.LookPath(l.Path)
		if err != nil {
			return nil, startError(err)
		}
		l.Path = path
	}
	p, err := process.Start(&process.Spec{
		Path: l.Path, Args: l.Args, Env: l.Env, Dir: l.Dir, Stderr: l.Stderr, CloseTimeout: l.CloseTimeout,
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
	if exit.Code == 0 && exit.Signal == nil && !exit.Killed {
		return nil
	}
	return &ExitError{Code: exit.Code, Signal: exit.Signal, Stderr: redact.Mask(exit.Stderr), Forced: exit.Killed}
}

// stderr returns the end of what the agent wrote to its standard error, once it has ended.
func (c *processConnection) stderr() string { return redact.Mask(c.Process.Close().Stderr) }
