package clew

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A poolAgent is an agent of a pool. Its state, its uses and the time belong to the pool's lock; who has the agent in
// use, or cleans it, has the rest.
type poolAgent struct {
	session *Session // nil while it starts
	state   agentState
	uses    int           // conversations so far
	since   time.Time     // when it was ready last
	nudge   chan struct{} // has who tends it look at its state
	memory
}

// An agentState is what an agent of a pool is at.
type agentState int

const (
	agentStarting agentState = iota
	agentWarm
	agentInUse
	agentCleaning // it forgets a conversation
	agentEnding
)

// dismiss has an agent end. The lock is held.
func (p *Pool) dismiss(a *poolAgent) {
	a.state = agentEnding
	a.wake()
}

func (a *poolAgent) wake() {
	select {
	case a.nudge <- struct{}{}:
	default:
	}
}

// ready notes that an agent waits for a caller from now on. The lock is held.
func (p *Pool) ready(a *poolAgent) {
	a.state, a.since = agentWarm, time.Now()
}

// tend starts an agent and looks after it until it is gone.
func (p *Pool) tend(a *poolAgent) {
	session, err := Connect(p.life, p.opts)
	if err == nil {
		err = a.meet(p.life, session, p.config.MaxUses)
	}
	if err != nil {
		p.failed(a, err)
		return
	}
	session.mortal.Store(true) // until it is somebody's own
	p.mu.Lock()
	a.session = session
	if a.state == agentStarting { // and not dismissed meanwhile
		p.ready(a)
		p.warm = append(p.warm, a)
		p.balance()
	}
	p.mu.Unlock()
	p.gone(a, p.watch(a))
}

// watch looks after an agent that has come up until it is gone. It returns the error of [Session.Close].
func (p *Pool) watch(a *poolAgent) error {
	health := time.NewTicker(p.config.HealthInterval)
	defer health.Stop()
	idle := time.NewTimer(p.config.IdleTimeout)
	defer idle.Stop()
	checked := false
	for {
		switch state := p.stateOf(a); {
		case state == agentEnding:
			return a.session.Close()
		case state == agentCleaning:
			p.clean(a)
			continue
		case state == agentWarm && !checked:
			checked = true
			p.checkHealth(a)
			continue
		}
		select {
		case <-a.session.ended:
			return p.bury(a)
		case <-a.nudge:
		case <-health.C:
			p.recovered()
			p.checkHealth(a)
		case <-idle.C:
			idle.Reset(p.checkIdle(a))
		}
	}
}

func (p *Pool) stateOf(a *poolAgent) agentState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return a.state
}

// healthTimeout is how long an agent may take to answer while it has nothing else to do.
const healthTimeout = 10 * time.Second

// checkHealth asks an agent that waits for a caller something, and dismisses it if it does not answer. The question
// has the agent put together what a prompt goes with, and needs no model: the first turn is faster when it was asked
// before.
func (p *Pool) checkHealth(a *poolAgent) {
	if p.stateOf(a) != agentWarm {
		return
	}
	ctx, cancel := context.WithTimeout(p.life, healthTimeout)
	defer cancel()
	_, err := a.session.request(ctx, "get_context_usage", contextRequest{"summary"})
	_, refused := errors.AsType[*ControlError](err)
	if err == nil || refused || a.session.Err() != nil || p.life.Err() != nil {
		return
	}
	p.log.Warn("an agent of the pool does not answer", "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.state == agentWarm {
		p.discard(a)
		p.troubled()
	}
}

// checkIdle dismisses an agent that nobody has come for, and returns when to look again.
func (p *Pool) checkIdle(a *poolAgent) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.state != agentWarm {
		return p.config.IdleTimeout
	}
	rest := p.config.IdleTimeout - time.Since(a.since)
	if rest <= 0 {
		p.discard(a)
		p.wanted = min(p.wanted, len(p.warm)+p.coming())
	}
	return max(rest, 0)
}

// discard dismisses an agent that is ready. The lock is held.
func (p *Pool) discard(a *poolAgent) {
	p.warm = slices.DeleteFunc(p.warm, func(other *poolAgent) bool { return other == a })
	p.dismiss(a)
}

// bury frees what is left of an agent that has ended by itself. The session of a caller is the caller's to close: there
// may be messages left to read.
func (p *Pool) bury(a *poolAgent) error {
	switch p.stateOf(a) {
	case agentInUse:
		return nil
	case agentWarm:
		p.log.Warn("an agent of the pool has died", "error", a.session.Err())
	}
	return a.session.Close()
}

// failed takes note of an agent that could not be started.
func (p *Pool) failed(a *poolAgent, err error) {
	if p.life.Err() == nil {
		p.log.Warn("an agent of the pool could not be started", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.agents, a)
	if p.closed {
		return
	}
	p.stats.Failed++
	p.backOff()
	p.refuse(err)
	p.balance()
}

// gone takes note of an agent that has ended.
func (p *Pool) gone(a *poolAgent, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.agents, a)
	p.regret(failure)
	if p.closed {
		return
	}
	if a.state == agentWarm {
		p.discard(a)
		p.troubled()
	}
	p.balance()
}
