package clew

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/clewdev/clew/internal/process"
)

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
	return &ExitError{Code: exit.Code, Signal: exit.Signal, Stderr: mask(exit.Stderr), Forced: exit.Killed}
}

// stderr returns the end of what the agent wrote to its standard error, once it has ended.
func (c *processConnection) stderr() string { return mask(c.Process.Close().Stderr) }
