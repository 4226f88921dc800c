package clew

import (
	"fmt"
	"io"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// receive reads the output of the agent's process, and then of each process that replaces it. It is
// the only goroutine that reads.
func (s *Session) receive() {
	p := s.agent.process()
	for next := p; next != nil; next = s.agent.reconnector.replace(p) {
		p = next
		p.readError = s.readOutput(p)
		p.outputClosed = p.readError == nil && !s.ending.closing() && p.runsOn()
		p.exit = exitError(p.conn.Close())
		s.record.ended(p.exit)
	}
	s.finish(p)
}

// readOutput reads the output of a process until its end. It serves control frames at once and puts
// all other messages into the backlog, in batches: each holds what one read returned.
func (s *Session) readOutput(p *agentProcess) error {
	feeder := wire.NewFeeder(s.readerOptions())
	for {
		read, err := feeder.FeedFrom(p.conn)
		s.watchdog.markActive()
		p.active.Store(time.Now().UnixNano())
		batch := read[:0] // the messages for the caller
		for _, msg := range read {
			if s.handle(p, msg) {
				batch = append(batch, msg)
			}
		}
		clear(read[len(batch):])
		s.deliver(batch)
		switch {
		case err == io.EOF: //nolint:errorlint // io.Reader promises io.EOF itself; one that is wrapped is a failure
			return nil
		case err != nil:
			return err
		}
	}
}

// handle handles a message that was just read: it serves control frames and keeps entries for the
// store. It reports whether the message is for the caller now. Messages of a process that is not
// ready yet are not.
func (s *Session) handle(p *agentProcess, msg wire.Message) bool {
	if s.ending.closing() && isCut(msg) {
		s.record.cut() // the agent was stopped while it wrote
	} else {
		s.record.received(msg)
	}
	if s.control.Handle(msg) || s.mirror.take(msg) {
		return false
	}
	if bad, ok := msg.(*wire.InvalidFrame); ok {
		s.control.HandleInvalid(bad)
	}
	if p.keepEarly(msg) {
		return false
	}
	s.update(msg)
	return true
}

// update updates the state of the session after a message for the caller.
func (s *Session) update(msg wire.Message) {
	mayBeOver, settled := s.progress.seeSettled(msg)
	s.trace.message(msg)
	if len(settled) > 0 {
		done := new(turn)
		done.end(msg, nil)
		s.trace.settled(done.err(), settled...)
	}
	if mayBeOver {
		s.oneShot.update()
	}
	switch m := msg.(type) {
	case *wire.InitMessage:
		s.agent.checkVersion(m.Version)
	case *wire.ResultMessage:
		s.meter.see(m)
		if m.UserMessageUUID != "" || len(m.UserMessageUUIDs) > 0 {
			s.agent.changes.forget(rewindSubtype) // the transcript now holds what follows the rewind
		}
	}
}

// deliver hands over the messages of one read. Entries for the store go first: a result waits for
// those before it.
func (s *Session) deliver(batch []wire.Message) {
	if s.mirror.pending() {
		s.watchdog.hold()
		s.mirror.flush()
		s.watchdog.release()
	}
	if len(batch) > 0 {
		s.push(batch)
	}
}

// push adds messages to the backlog. A new process is made ready in another goroutine, which pushes
// while the read loop waits for it.
func (s *Session) push(batch []wire.Message) {
	s.watchdog.hold()
	s.backlog.Push(batch)
	s.watchdog.release()
}

// finish ends the session once its last process is gone: it decides how the session ended and fails
// all who wait.
func (s *Session) finish(p *agentProcess) {
	s.ending.settle(p.exit, endState{
		gaveUp:      s.agent.reconnector.gaveUp,
		overdue:     s.oneShot.stop(),
		initialized: s.agent.initialized(),
		failure:     p.failure(),
		exitedLate:  p.outputClosed && p.exit == nil && !p.inputClosed.Load(),
		stderr:      p.stderr(),
		turns:       s.progress.turns(),
	})
	cause := s.ending.calls
	s.out.Fail(cause)
	s.control.Fail(cause)
	s.callback.mcp.Close()
	s.agent.reconnector.wait()
	s.watchdog.stop()
	s.mirror.end()
	s.agent.removeSettings()
	s.trace.end(s.ending.messages)
	s.backlog.End()
	close(s.ending.over)
}

// writeFailed is called when the agent's input is broken. Usually the agent is dead, and its end
// says more about it. One that still runs can't be controlled any more: the session reads what it
// writes until it is silent, or replaces it if that is possible.
func (s *Session) writeFailed(err error) {
	if pause.Until(s.ending.over, exitTimeout) {
		return
	}
	if !s.out.Stuck() {
		return // there is another process
	}
	s.log.Warn("the agent has stopped reading", "error", err)
	if s.opts.Reconnect != nil {
		p := s.agent.process()
		p.inputClosed.Store(true)
		p.close()
		return
	}
	s.out.Fail(fmt.Errorf("clew: the agent closed its input: %w", err))
	s.control.Fail(&ExitError{Reason: "closed its input: " + err.Error()})
	s.endWhenSilent(s.agent.process())
}

// endWhenSilent ends a process that closed its input, when it writes nothing for the time that it
// has to exit: it may wait for an answer that can't reach it.
func (s *Session) endWhenSilent(p *agentProcess) {
	limit := s.opts.closeTimeout()
	for left := limit; left > 0; left = limit - time.Since(time.Unix(0, p.active.Load())) {
		if pause.Until(s.ending.over, left) {
			return
		}
	}
	p.inputClosed.Store(true)
	p.terminate(s.ending.over, limit)
}
