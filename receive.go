package clew

import (
	"errors"
	"fmt"
	"time"

	"github.com/clewdev/clew/wire"
)

// receive reads the agent's output until its end. It serves control frames at once and puts all other messages into the
// backlog, in batches of what one read has brought. It is the one goroutine that reads.
func (s *Session) receive() {
	p := &pump{session: s}
	var failure error
	for msg, err := range wire.NewReader(p, s.readerOptions()).Messages() {
		if err != nil {
			failure = err
			break
		}
		p.take(msg)
	}
	p.flush()
	s.finish(failure)
}

// A pump is the reader under the decoder: it hands over what was decoded before it waits for more.
type pump struct {
	session *Session
	batch   []wire.Message
}

func (p *pump) Read(b []byte) (int, error) {
	p.flush()
	n, err := p.session.conn.Read(b)
	p.session.stir()
	return n, err
}

func (p *pump) flush() {
	s := p.session
	if len(p.batch) > 0 {
		s.pushing.Store(true)
		s.backlog.Push(p.batch)
		p.batch = nil
		s.stir()
		s.pushing.Store(false)
	}
}

// take sorts a message: control frames are served, all others are for the caller.
func (p *pump) take(msg wire.Message) {
	s := p.session
	s.record.received(msg)
	if s.control.Handle(msg) {
		return
	}
	if s.progress.see(msg) {
		s.endInputIfOver()
	}
	switch m := msg.(type) {
	case *wire.InitMessage:
		s.checkVersion(m.Version)
	case *wire.InvalidFrame:
		s.control.Broken(m)
	}
	p.batch = append(p.batch, msg)
}

// finish settles everything once the agent has no more to say: it waits for the agent's end and tells everybody.
func (s *Session) finish(failure error) {
	s.exit = exitError(s.conn.Close())
	s.settle(failure)
	s.record.ended(s.exit)
	s.out.Fail(s.cause)
	s.control.Fail(s.cause)
	s.callback.mcp.end()
	s.backlog.End()
	s.watchdog.stop()
	if timer := s.patience.Load(); timer != nil {
		timer.Stop()
	}
	close(s.ended)
}

// settle finds out how it all ended.
func (s *Session) settle(failure error) {
	exit := s.exit
	if failure != nil && exit == nil {
		exit = &ExitError{Code: -1, Reason: "can't be read from: " + failure.Error()}
	}
	switch {
	case s.stalled.Load():
		s.cause, s.verdict = ErrIdle, ErrIdle
	case s.closed.Load():
		s.cause, s.verdict = ErrClosed, nil
	default:
		if s.overdue.Load() {
			exit = nil
		}
		s.verdict = s.progress.verdict(exit)
		s.cause = s.verdict
		if exit != nil && s.ready.Load() {
			s.cause = exit // a turn that failed earlier has been told of
		}
		if s.cause == nil {
			s.cause = &ExitError{Reason: "has ended"}
		}
		if exit, died := errors.AsType[*ExitError](s.cause); died {
			s.addStderr(exit)
		}
	}
}

// addStderr completes the error about an agent that ended where it should not have, but in order.
func (s *Session) addStderr(exit *ExitError) {
	if conn, ok := s.conn.(*processConnection); ok && exit.Stderr == "" {
		exit.Stderr = conn.stderr()
	}
}

// writeFailed is told that the agent's input is broken. Mostly the agent is dead, and finish says more about it. One
// that lives on can't be controlled any more.
func (s *Session) writeFailed(err error) {
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		s.log.Warn("the agent reads no more", "error", err)
		s.control.Fail(&ExitError{Reason: "closed its input: " + err.Error()})
	}
}

// errorOf returns what ended the session in place of an error that only follows from it.
func (s *Session) errorOf(err error) error {
	if end := s.Err(); end != nil {
		return end
	}
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-s.ended:
		return s.cause
	case <-timer.C:
		return fmt.Errorf("clew: writing to the agent: %w", err)
	}
}
