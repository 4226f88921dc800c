package demo

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

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
