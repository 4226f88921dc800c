package clewtest

import (
	"errors"
	"io"
	"os"

	"github.com/clewdev/clew/internal/simagent"
)

// A Conn is an agent that runs in memory, as seen by its host. As with a process, what is written
// waits in a buffer of 64 KiB, and a full buffer blocks its writer.
type Conn struct {
	// Stdin is the agent's input, for the host to write to. Closing it is the end of the agent's
	// input.
	Stdin io.WriteCloser
	// Stdout and Stderr are the agent's output. They end when it does. If the host closes one, the
	// agent's next write to it fails.
	Stdout, Stderr io.ReadCloser

	engine *simagent.Conn
}

// An ExitError reports that an agent in memory has not ended with code 0.
type ExitError struct {
	// Code is the exit code, or -1 when a signal ended the agent.
	Code int
	// Signal is the signal that ended the agent, or nil.
	Signal os.Signal
}

// Error describes how the agent ended, in the words of os/exec, such as "exit status 1" or "signal:
// killed".
func (e *ExitError) Error() string { return (*simagent.ExitError)(e).Error() }

// ExitCode returns e.Code. The method has the same name as in [os.ProcessState], for hosts that
// look for it.
func (e *ExitError) ExitCode() int { return e.Code }

// exitError returns the error of the engine with the type of this package.
func exitError(err error) error {
	var exit *simagent.ExitError
	if errors.As(err, &exit) {
		return (*ExitError)(exit)
	}
	return err
}

// Conn starts the agent in memory. It ends with the test at the latest.
//
// Within a bubble of testing/synctest, give [NewAgent] the bubble's own t: the bubble waits for the
// agent, and that t ends it. The agent of a test around the bubble works as well if it ends by
// itself before the bubble does. If it does not, the bubble ends in a deadlock, as with any
// goroutine that is left, and the test explains why.
func (a *Agent) Conn() *Conn {
	c := simagent.Start(a.scenario, a.start(nil))
	a.t.Cleanup(func() {
		a.t.Helper()
		if err := c.Stop(); err != nil {
			a.t.Errorf("clewtest: %v: give NewAgent the t of the bubble", err)
		}
	})
	return &Conn{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, engine: c}
}

// Wait blocks until the agent ends. It returns nil for code 0, and an [*ExitError] otherwise.
// Unlike with a process, the rest of the output can be read afterwards. Wait may be called more
// than once.
func (c *Conn) Wait() error { return exitError(c.engine.Wait()) }

// Signal ends the agent by a signal, without waiting for it. Signal 0 only checks whether the agent
// is running, and SIGTERM does nothing after [IgnoreSIGTERM]. The error is [os.ErrProcessDone] when
// the agent ends.
func (c *Conn) Signal(sig os.Signal) error { return c.engine.Signal(sig) }

// Read reads the agent's output. With Write, CloseWrite and Close it makes the Conn a connection
// that a session of package clew can run over: return it from a transport there. Read drops what
// the agent writes to Stderr.
func (c *Conn) Read(p []byte) (int, error) { return c.engine.Read(p) }

// Write writes to the agent's input. It blocks while the agent does not read and the buffer is
// full.
func (c *Conn) Write(p []byte) (int, error) { return c.engine.Write(p) }

// CloseWrite ends the agent's input.
func (c *Conn) CloseWrite() error { return c.engine.CloseWrite() }

// Close ends the agent as a host should: it ends the input, waits up to 5 seconds, sends SIGTERM,
// waits as long again, and kills the agent. It returns the error of [Conn.Wait].
func (c *Conn) Close() error { return exitError(c.engine.Close()) }
