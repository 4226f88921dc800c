package clew

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A reviver puts another agent in the place of one that has died. Its fields but alive belong to the goroutine that
// receives.
type reviver struct {
	session *Session
	opts    ReconnectOptions

	alive    context.Context //nolint:containedctx // it is the session's own, and ends when that is closed
	stop     context.CancelFunc
	greeting sync.WaitGroup

	attempts int // in a row, without a turn that has ended in order
	outage   outage
	gaveUp   *ReconnectError
}

// An outage is the time from the death of an agent until another one is up.
type outage struct {
	began    time.Time
	exit     *ExitError // how the agent died
	lost     []string   // the prompts that died with it
	attempts int
	last     error // why there is still no agent
}

func newReviver(s *Session) *reviver {
	r := &reviver{session: s}
	r.alive, r.stop = context.WithCancel(context.Background())
	if s.opts.Reconnect != nil {
		r.opts = s.opts.Reconnect.withDefaults()
	}
	return r
}

// wait waits until nobody greets an agent any more.
func (r *reviver) wait() {
	r.stop()
	r.greeting.Wait()
}

// replace starts another agent in place of one that has ended. It returns nil if there is to be none.
func (r *reviver) replace(l *life) *life {
	s := r.session
	if s.opts.Reconnect == nil || s.mortal.Load() || s.closed.Load() || !s.ready.Load() || r.orderly(l) {
		return nil
	}
	lost := &LostError{Exit: s.causeOfDeath(l)}
	prompts := s.lose(lost)
	switch err := r.fate(l); {
	case err == nil:
		r.outage = outage{began: time.Now(), exit: lost.Exit, lost: prompts, last: lost.Exit}
	case r.outage.exit == nil:
		return nil // it was the first agent, and never up
	case isLost(err) || errors.Is(err, errGone):
		r.outage.last = l.words(lost.Exit)
	default:
		r.outage.last = err
	}
	if s.progress.restart() {
		r.attempts = 0
	}
	s.log.Warn("the agent has died", "error", r.outage.last)
	r.drain()
	return r.next()
}

// drain has what the agent has written taken to the store before another one writes to the same files, unless that
// takes too long.
func (r *reviver) drain() {
	ctx, cancel := context.WithTimeout(r.alive, r.session.opts.storeTimeout())
	defer cancel()
	r.session.mirror.drain(ctx.Done())
}

// orderly reports whether an agent that was up has ended as it should: by itself, between turns.
func (r *reviver) orderly(l *life) bool {
	return l.up.Load() && l.death() == nil && !r.session.progress.atWork()
}

// fate waits until it is known whether an agent that is gone had come up, and returns why not.
func (r *reviver) fate(l *life) error {
	select {
	case err := <-l.greeted:
		return err
	case <-r.alive.Done():
		return ErrClosed
	}
}

// next makes attempts until an agent has been started. It returns nil if there are none left, or the session is closed.
func (r *reviver) next() *life {
	for r.alive.Err() == nil {
		if r.attempts == r.opts.MaxAttempts {
			r.gaveUp = &ReconnectError{Attempts: r.attempts, Exit: r.outage.exit, Last: r.outage.last}
			return nil
		}
		r.attempts++
		r.outage.attempts++
		if !sleep(r.alive, r.opts.pause(r.attempts)) {
			return nil
		}
		l, err := r.start()
		if err == nil {
			return l
		}
		r.session.log.Warn("the agent can't be started", "attempt", r.attempts, "error", err)
		r.outage.last = err
	}
	return nil
}

// sleep waits for a while. It reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// start starts an agent, and has it greeted while it is listened to.
func (r *reviver) start() (l *life, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("clew: panic while the agent was started: %s", mask(fmt.Sprint(p)))
		}
	}()
	s, opts := r.session, r.options()
	conn, err := start(r.alive, opts)
	if err != nil {
		return nil, err
	}
	s.record.started(opts)
	l = newLife(conn, s.record)
	l.open = s.control.Attach(l.input)
	s.life.Store(l)
	if s.closed.Load() { // Close may have seen the one before
		conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
	}
	down := r.outage
	r.greeting.Go(func() { l.greeted <- s.welcome(l, opts, &down) })
	return l, nil
}

// options returns how the next agent is started: it resumes the conversation, if there was one. The first turn may not
// have been written down when the agent died, and then every other attempt begins anew under the same id. The agent
// refuses that if there is something to resume.
func (r *reviver) options() *Options {
	o := *r.session.opts
	talk := r.session.progress.conversation()
	switch anew := talk.answers <= 1 && r.outage.attempts%2 == 0; {
	case talk.id == "":
		return &o
	case anew && !talk.reset:
		if o.ForkSession || o.Resume == "" && !o.Continue {
			o.SessionID = talk.id
		}
		return &o
	case anew:
		o.Resume, o.SessionID = "", talk.id
	default:
		o.Resume, o.SessionID = talk.id, ""
	}
	o.Continue, o.ForkSession, o.ResumeAt, o.ResumeDropsTurn = false, false, "", nil
	o.Title = "" // the session has it, or a newer one
	return &o
}
