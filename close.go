package clew

import "time"

// flushTimeout is how long the agent may take to read what was written when the session is closed.
const flushTimeout = time.Second

// Close ends the session: it interrupts the agent's work, also in the background, ends its input and waits until the
// agent is gone, with signals for one that does not go by itself. It may be called from anywhere, any number of times, and
// is bounded by twice [Options.CloseTimeout] and a second or two. It leaves no process and no goroutine behind, unless a
// callback of the caller's does not return when its context ends: Close waits for callbacks, too, for one CloseTimeout at
// most, and so for the one that calls it, and for [Options.Store], for one [Options.StoreTimeout] at most. It returns nil
// if the agent has ended by itself, with its transcript written, an [*ExitError] if the agent had to be killed, and a
// [*StoreError] if something is not in the store and no message has said so.
func (s *Session) Close() error {
	if !s.closed.Swap(true) {
		s.shutDown()
	}
	<-s.closeDone
	lost := s.mirror.untold()
	if s.exit != nil && s.exit.Forced {
		return join(s.exit, lost)
	}
	return lost
}

// closeForLosses closes a session of which only the losses of the store are of interest that nobody was told of.
func (s *Session) closeForLosses() error {
	s.Close() //nolint:errcheck // how the agent ended after all was said is of no interest
	return s.mirror.untold()
}

func (s *Session) shutDown() {
	defer close(s.closeDone)
	s.reviver.stop()
	if s.control.Ready() && s.progress.working() {
		s.stopWork()
	}
	s.out.End()
	s.out.Flush(flushTimeout)
	s.backlog.Close()
	s.mirror.wake()
	s.out.Fail(s.closeCause())
	s.control.Fail(s.closeCause())
	s.callback.mcp.end()
	cancelled := time.Now()
	s.life.Load().conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
	<-s.ended
	s.watchdog.stop()
	left := func() time.Duration { return s.opts.closeTimeout() - time.Since(cancelled) }
	if !s.control.Wait(left()) || !s.callback.mcp.wait(left()) {
		s.log.Warn("a callback has not returned although its context has ended")
	}
}

// closeCause returns what calls return once the session is being closed.
func (s *Session) closeCause() error {
	if s.stalled.Load() {
		return ErrIdle
	}
	return ErrClosed
}

// stopWork interrupts whatever the agent is at. If its input has ended, a request does not reach it any more.
func (s *Session) stopWork() {
	conn, ok := s.life.Load().conn.(interrupter)
	if s.tell("interrupt", interruptRequest{CancelQueued: true}) || !ok {
		return
	}
	if err := conn.Interrupt(); err != nil {
		s.log.Debug("the agent was not interrupted", "error", err)
	}
}

// abandon ends an agent that has not come up. It has nothing to finish, so it is interrupted at once.
func (s *Session) abandon() {
	s.life.Load().interrupt()
	s.Close() //nolint:errcheck // why it has not come up says more
}
