package clewtest

import (
	"io"
	"os"
	"syscall"
	"time"
)

// closeTimeout is how long an agent in memory may take to end, once its input has ended and again after SIGTERM.
const closeTimeout = 5 * time.Second

// Read reads the agent's output. With Write, CloseWrite and Close it makes the connection one that a session of package
// clew can run over: return it from a transport there. What the agent writes to Stderr is dropped then.
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

// Close ends the agent as a host should: it ends the input, waits, sends SIGTERM, waits, and kills it. It returns what
// Wait does.
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

// ExitCode returns e.Code.
func (e *ExitError) ExitCode() int { return e.Code }
