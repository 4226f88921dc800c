package clew

import "cmp"

// lose takes leave of an agent that has died: calls fail, callbacks end, and the prompts that it had got are lost. It
// returns their ids. Prompts that it had not got wait for the next agent.
func (s *Session) lose(err *LostError) (prompts []string) {
	s.sending.Lock()
	defer s.sending.Unlock()
	kept := s.control.Break(err)
	prompts = s.progress.lose(kept)
	s.readers.lose(prompts, err)
	return prompts
}

// causeOfDeath returns how an agent has died, also if its exit code does not show it.
func (s *Session) causeOfDeath(l *life) *ExitError {
	exit := cmp.Or(l.death(), &ExitError{Reason: "ended without a result"})
	l.addStderr(exit)
	return exit
}

// words returns why an agent has died that never was up, in its own words if it has said some.
func (l *life) words(exit *ExitError) error {
	if result := l.lastResult(); result != nil {
		return &ResultError{Result: result, Exit: exit}
	}
	return exit
}

// orVerdict returns how the session has ended in place of an error about an agent that was lost while it came up.
func (s *Session) orVerdict(err error) error {
	if !isLost(err) {
		return err
	}
	<-s.ended
	return s.cause
}
