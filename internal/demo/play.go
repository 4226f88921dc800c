package demo

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"sync"
	"testing"

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
