package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/simagent"
	"github.com/clewdev/clew/wire"
)

// A Player is a [clew.Transport] to a simulated agent that plays a recording: [DeniedRecording] if
// the host denies the change, and [AllowedRecording] otherwise. An interrupt kills the agent. The
// zero value is ready to use.
type Player struct {
	failures failures

	mu      sync.Mutex
	playing Recording
}

// Recording returns the recording that is played, or was played last.
func (p *Player) Recording() Recording {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.playing
}

// Err returns an error if a host sent frames that are not in the recording, or ended before its
// end.
func (p *Player) Err() error { return p.failures.err() }

// Connect starts an agent.
func (p *Player) Connect(context.Context, *clew.Launch) (clew.Connection, error) {
	agent, err := p.start(AllowedRecording)
	if err != nil {
		return nil, err
	}
	return &connection{player: p, agent: agent}, nil
}

// start starts an agent that plays r.
func (p *Player) start(r Recording) (*agent, error) {
	s, err := r.scenario()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.playing = r
	p.mu.Unlock()
	a := &agent{}
	a.Conn = simagent.Start(s, simagent.NewRun(s, nil, func(text string) {
		if !a.replaced.Load() {
			p.failures.Errorf("%s: %s", r, text)
		}
	}))
	a.output = bufio.NewReader(a.Conn)
	return a, nil
}

// An agent is a simulated agent, with a buffer for its output.
type agent struct {
	*simagent.Conn
	output   *bufio.Reader
	replaced atomic.Bool // by another one: it does not play its recording to the end
}

// A connection is a [clew.Connection] to an agent, which it replaces by another when the host
// denies the change.
type connection struct {
	player *Player
	sent   [][]byte // by the host

	mu    sync.Mutex
	agent *agent
}

func (c *connection) current() *agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent
}

// Read reads the output of the agent, or of its replacement.
func (c *connection) Read(p []byte) (int, error) {
	for {
		agent := c.current()
		n, err := agent.output.Read(p)
		if n > 0 || c.current() == agent {
			return n, err
		}
	}
}

// Write sends a frame of the host to the agent.
func (c *connection) Write(p []byte) (int, error) {
	agent := c.current()
	switch {
	case isInterrupt(p):
		return len(p), agent.Signal(os.Kill)
	case isDenial(p):
		return len(p), c.replace(agent)
	}
	c.sent = append(c.sent, bytes.Clone(p))
	return agent.Write(p)
}

// isInterrupt reports whether the host interrupts the agent.
func isInterrupt(frame []byte) bool { return bytes.Contains(frame, []byte(`"subtype":"interrupt"`)) }

// isDenial reports whether the host denies the agent something.
func isDenial(frame []byte) bool { return bytes.Contains(frame, []byte(`"behavior":"deny"`)) }

// replace starts the agent whose change is denied. It gets the frames that the host has sent so
// far, and the recorded denial in place of the host's. The host reads its output from there on.
func (c *connection) replace(old *agent) error {
	next, err := c.player.start(DeniedRecording)
	if err != nil {
		return err
	}
	if err := c.catchUp(next); err != nil {
		return errors.Join(err, next.Stop())
	}
	c.mu.Lock()
	c.agent = next
	c.mu.Unlock()
	old.replaced.Store(true)
	return old.Signal(os.Kill)
}

// catchUp brings an agent to the denial.
func (c *connection) catchUp(next *agent) error {
	for _, p := range c.sent {
		if _, err := next.Write(p); err != nil {
			return err
		}
	}
	if err := awaitQuestion(next.output); err != nil {
		return err
	}
	denial, err := DeniedRecording.denial()
	if err != nil {
		return err
	}
	_, err = next.Write(denial)
	return err
}

// awaitQuestion reads up to the agent's question.
func awaitQuestion(output *bufio.Reader) error {
	for {
		line, err := output.ReadBytes('\n')
		if err != nil {
			return err
		}
		if _, ok := wire.Decode(bytes.TrimSpace(line)).(*wire.ControlRequestMessage); ok {
			return nil
		}
	}
}

// CloseWrite ends the agent's input.
func (c *connection) CloseWrite() error { return c.current().CloseWrite() }

// Close ends the agent.
func (c *connection) Close() error { return c.current().Close() }

// AtPace returns a transport with pauses between the messages of its agents, so that people can
// read them. An interrupt ends the output.
func AtPace(t clew.Transport) clew.Transport {
	return clew.TransportFunc(func(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
		conn, err := t.Connect(ctx, launch)
		if err != nil {
			return nil, err
		}
		return &pacedConnection{Connection: conn, lines: bufio.NewReader(conn), done: make(chan struct{})}, nil
	})
}

// A pacedConnection is a [clew.Connection] whose Read pauses before each line.
type pacedConnection struct {
	clew.Connection
	lines *bufio.Reader
	rest  []byte // of the current line
	once  sync.Once
	done  chan struct{} // closed when Read must not wait any longer
}

// Read waits before each line.
func (c *pacedConnection) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		line, err := c.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		if pause.Until(c.done, delay(line)) {
			return 0, io.EOF
		}
		c.rest = line
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Write ends the output when the host has interrupted the agent.
func (c *pacedConnection) Write(p []byte) (int, error) {
	n, err := c.Connection.Write(p)
	if isInterrupt(p) {
		c.stop()
	}
	return n, err
}

// Close ends the agent.
func (c *pacedConnection) Close() error {
	c.stop()
	return c.Connection.Close()
}

func (c *pacedConnection) stop() { c.once.Do(func() { close(c.done) }) }

// How long to wait before an answer, and before each piece of its text.
const (
	beforeAnswer = 700 * time.Millisecond
	beforeText   = 35 * time.Millisecond
)

// pause returns how long to wait before a message.
func delay(line []byte) time.Duration {
	switch m := wire.Decode(bytes.TrimSpace(line)).(type) {
	case *wire.StreamEventMessage:
		switch m.Event.(type) {
		case *wire.MessageStartEvent:
			return beforeAnswer
		case *wire.TextDeltaEvent:
			return beforeText
		}
	case *wire.UserMessage:
		return 800 * time.Millisecond
	case *wire.ControlRequestMessage:
		return 300 * time.Millisecond
	}
	return 0
}
