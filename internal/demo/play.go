package demo

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A Player is a [clew.Transport] to a simulated agent that plays the recordings: the one in which the change was denied if
// the host denies it, and else the other. An interrupt ends it.
type Player struct {
	tb testing.TB

	mu      sync.Mutex
	playing Recording
}

// NewPlayer returns a player whose agents end with tb; see [clewtest.Outside].
func NewPlayer(tb testing.TB) *Player { return &Player{tb: tb, playing: AllowedRecording} }

// Recording returns the one that is played, or was played last.
func (p *Player) Recording() Recording {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.playing
}

// Connect starts an agent.
func (p *Player) Connect(context.Context, *clew.Launch) (clew.Connection, error) {
	agent, err := p.start(AllowedRecording)
	if err != nil {
		return nil, err
	}
	return &actor{player: p, agent: agent, output: bufio.NewReader(agent)}, nil
}

func (p *Player) start(r Recording) (*clewtest.Conn, error) {
	s, err := r.scenario()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.playing = r
	p.mu.Unlock()
	return clewtest.NewAgent(p.tb, s).Conn(), nil
}

// An actor is a [clew.Connection] to an agent, which it replaces by another when the host denies the change.
type actor struct {
	player *Player
	said   [][]byte // by the host

	mu     sync.Mutex
	agent  *clewtest.Conn
	output *bufio.Reader
}

func (a *actor) current() (*clewtest.Conn, *bufio.Reader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.agent, a.output
}

// Read reads what the agent says, or the one that has taken its place.
func (a *actor) Read(p []byte) (int, error) {
	for {
		_, output := a.current()
		n, err := output.Read(p)
		if _, now := a.current(); n > 0 || now == output {
			return n, err
		}
	}
}

// Write tells the agent what the host says.
func (a *actor) Write(p []byte) (int, error) {
	agent, _ := a.current()
	switch {
	case isInterrupt(p):
		return len(p), agent.Signal(os.Kill)
	case isDenial(p):
		return len(p), a.replace(agent)
	}
	a.said = append(a.said, bytes.Clone(p))
	return agent.Write(p)
}

// isInterrupt reports whether the host interrupts the agent.
func isInterrupt(frame []byte) bool { return bytes.Contains(frame, []byte(`"subtype":"interrupt"`)) }

// isDenial reports whether the host denies the agent something.
func isDenial(frame []byte) bool { return bytes.Contains(frame, []byte(`"behavior":"deny"`)) }

// replace starts the agent whose change is denied. It hears what the host has said so far, and the recorded denial in
// place of the host's, and is heard from there on.
func (a *actor) replace(old *clewtest.Conn) error {
	agent, err := a.player.start(DeniedRecording)
	if err != nil {
		return err
	}
	for _, p := range a.said {
		if _, err := agent.Write(p); err != nil {
			return err
		}
	}
	output := bufio.NewReader(agent)
	if err := awaitQuestion(output); err != nil {
		return err
	}
	denial, err := DeniedRecording.denial()
	if err != nil {
		return err
	}
	if _, err := agent.Write(denial); err != nil {
		return err
	}
	a.mu.Lock()
	a.agent, a.output = agent, output
	a.mu.Unlock()
	return old.Signal(os.Kill)
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
func (a *actor) CloseWrite() error {
	agent, _ := a.current()
	return agent.CloseWrite()
}

// Close ends the agent.
func (a *actor) Close() error {
	agent, _ := a.current()
	return agent.Close()
}

// AtPace returns a transport whose agents can be read along: their messages come one after the other, with time to read
// them. An interrupt ends the output.
func AtPace(t clew.Transport) clew.Transport {
	return clew.TransportFunc(func(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
		conn, err := t.Connect(ctx, launch)
		if err != nil {
			return nil, err
		}
		return &paced{Connection: conn, lines: bufio.NewReader(conn), left: make(chan struct{})}, nil
	})
}

// A paced is a [clew.Connection] that takes its time.
type paced struct {
	clew.Connection
	lines *bufio.Reader
	rest  []byte // of the line that is being read
	once  sync.Once
	left  chan struct{} // closed when nobody wants to read
}

// Read waits before each line.
func (c *paced) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		line, err := c.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		if !c.wait(pause(line)) {
			return 0, io.EOF
		}
		c.rest = line
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// wait reports whether anybody still wants to read.
func (c *paced) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.left:
		return false
	case <-timer.C:
		return true
	}
}

// Write ends the reading when the host interrupts the agent.
func (c *paced) Write(p []byte) (int, error) {
	if isInterrupt(p) {
		c.leave()
	}
	return c.Connection.Write(p)
}

// Close ends the agent.
func (c *paced) Close() error {
	c.leave()
	return c.Connection.Close()
}

func (c *paced) leave() { c.once.Do(func() { close(c.left) }) }

// How long to wait before an answer, and before each piece of its text.
const (
	beforeAnswer = 700 * time.Millisecond
	beforeText   = 35 * time.Millisecond
)

// pause returns how long to wait before a message.
func pause(line []byte) time.Duration {
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
