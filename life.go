package clew

import (
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/wire"
)

// A life is one agent of a session: the first, or one that has taken the place of another.
type life struct {
	conn    Connection
	input   Connection  // the same, recorded
	greeted chan error  // gets how the greeting went
	open    func() bool // lets prompts and calls go to it, if it is still there; nil for the first, which needs none

	up    atomic.Bool // its messages are for the caller
	mu    sync.Mutex
	early []wire.Message // what it has said before

	// How it ended.
	deaf    atomic.Bool // it was ended because it took nothing any more
	exit    *ExitError  // nil if in order
	failure error       // of reading
}

func newLife(conn Connection, rec *recorder) *life {
	return &life{conn: conn, input: rec.input(conn), greeted: make(chan error, 1)}
}

// holds keeps a message of an agent that is not up yet. It reports whether it did.
func (l *life) holds(msg wire.Message) bool {
	if l.up.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up.Load() {
		return false
	}
	l.early = append(l.early, msg)
	return true
}

// rise hands over what the agent has said so far. What it says meanwhile comes behind that.
func (l *life) rise(deliver func(early []wire.Message)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	deliver(l.early)
	l.early = nil
	l.up.Store(true)
}

// death returns how the agent ended if that was not in order, and else nil.
func (l *life) death() *ExitError {
	switch {
	case l.exit == nil && l.failure != nil:
		return &ExitError{Code: -1, Reason: "can't be read from: " + l.failure.Error()}
	case l.exit == nil && l.deaf.Load():
		return &ExitError{Reason: "closed its input"}
	}
	return l.exit
}

// lastResult returns the last failed result of an agent that never was up.
func (l *life) lastResult() *wire.ResultMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.early) - 1; i >= 0; i-- {
		if result, ok := l.early[i].(*wire.ResultMessage); ok && result.Failed() {
			return result
		}
	}
	return nil
}

// addStderr completes the error about an agent that ended where it should not have, but in order.
func (l *life) addStderr(exit *ExitError) {
	if conn, ok := l.conn.(*processConnection); ok && exit.Stderr == "" {
		exit.Stderr = conn.stderr()
	}
}

// interrupt stops whatever the agent is at, if it can be interrupted.
func (l *life) interrupt() {
	if conn, ok := l.conn.(interrupter); ok {
		_ = conn.Interrupt() // it may be gone
	}
}
