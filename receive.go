package clew

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/clewdev/clew/wire"
)

// receive reads what the agent says, and what those say that take its place, until there is no other. It is the one
// goroutine that reads.
func (s *Session) receive() {
	l := s.life.Load()
	for next := l; next != nil; next = s.reviver.replace(l) {
		l = next
		l.failure = s.listen(l)
		l.exit = exitError(l.conn.Close())
		s.record.ended(l.exit)
	}
	s.finish(l)
}

// listen reads an agent's output until its end. It serves control frames at once and puts all other messages into the
// backlog, in batches of what one read has brought.
func (s *Session) listen(l *life) error {
	feeder := wire.NewFeeder(s.readerOptions())
	for {
		read, err := feeder.FeedFrom(l.conn)
		s.stir()
		batch := read[:0] // the messages for the caller
		for _, msg := range read {
			if s.take(l, msg) {
				batch = append(batch, msg)
			}
		}
		clear(read[len(batch):])
		s.flush(batch)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// take handles a message that was just read: it serves control frames and keeps what is for the store. It reports
// whether the message is for the caller now. It is not while an agent that takes the place of another is not ready.
func (s *Session) take(l *life, msg wire.Message) bool {
	s.record.received(msg)
	if s.control.Handle(msg) || s.mirror.take(msg) {
		return false
	}
	if bad, ok := msg.(*wire.InvalidFrame); ok {
		s.control.Broken(bad)
	}
	if l.holds(msg) {
		return false
	}
	s.note(msg)
	return true
}

// flush hands over what one read has brought: first to the store, since a result waits for what came before it.
func (s *Session) flush(batch []wire.Message) {
	if s.mirror.pending() {
		s.pushing.Store(true)
		s.mirror.flush()
		s.stir()
		s.pushing.Store(false)
	}
	if len(batch) > 0 {
		s.push(batch)
	}
}

// push adds messages to the backlog. It is for one goroutine at a time.
func (s *Session) push(batch []wire.Message) {
	s.pushing.Store(true)
	s.backlog.Push(batch)
	s.stir()
	s.pushing.Store(false)
}

// note draws conclusions from a message for the caller.
func (s *Session) note(msg wire.Message) {
	if s.progress.see(msg) {
		s.endInputIfOver()
	}
	switch m := msg.(type) {
	case *wire.InitMessage:
		s.checkVersion(m.Version)
	case *wire.ResultMessage:
		if m.UserMessageUUID != "" || len(m.UserMessageUUIDs) > 0 {
			s.changes.forget(rewindSubtype) // what follows a rewind has been written down
		}
	}
}

// finish settles everything once there is no agent any more, and none will come: it tells everybody how the last one
// ended.
func (s *Session) finish(l *life) {
	s.exit = l.exit
	s.settle(l)
	s.out.Fail(s.cause)
	s.control.Fail(s.cause)
	s.callback.mcp.Close()
	s.reviver.wait()
	s.watchdog.stop()
	s.endStore()
	s.backlog.End()
	if timer := s.patience.Load(); timer != nil {
		timer.Stop()
	}
	close(s.ended)
}

// settle finds out how it all ended.
func (s *Session) settle(l *life) {
	exit := l.death()
	switch {
	case s.stalled.Load():
		s.cause, s.verdict = ErrIdle, ErrIdle
	case s.closed.Load():
		s.cause, s.verdict = ErrClosed, nil
	case s.reviver.gaveUp != nil:
		s.cause, s.verdict = s.reviver.gaveUp, s.reviver.gaveUp
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
			l.addStderr(exit)
		}
	}
}

// writeFailed is told that the agent's input is broken. Mostly the agent is dead, and its end says more about it. One
// that lives on can't be controlled any more: it is listened to, or replaced if that is possible.
func (s *Session) writeFailed(err error) {
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-s.ended:
		return
	case <-timer.C:
	}
	if !s.out.Stuck() {
		return // there is another agent
	}
	s.log.Warn("the agent reads no more", "error", err)
	if s.opts.Reconnect != nil {
		l := s.life.Load()
		l.deaf.Store(true)
		l.conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
		return
	}
	s.out.Fail(fmt.Errorf("clew: writing to the agent: %w", err))
	s.control.Fail(&ExitError{Reason: "closed its input: " + err.Error()})
}

// errorOf returns what ended the session in place of an error that only follows from it.
func (s *Session) errorOf(err error) error {
	if end := s.Err(); end != nil {
		return end
	}
	return err
}
