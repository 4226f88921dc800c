package clew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew/wire"
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
	session.agent.noReconnect.Store(true) // until a caller owns the session
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
		case <-a.session.ending.over:
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
	_, err := a.session.request(ctx, "get_context_usage", map[string]string{"detail": "summary"})
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

// A waiter is a caller that waits in line for an agent.
type waiter struct {
	done  chan struct{} // closed when one of the others is set
	agent *poolAgent
	err   error
}

// settle ends the wait. The pool's lock is held.
func (w *waiter) settle(a *poolAgent, err error) {
	w.agent, w.err = a, err
	close(w.done)
}

// take waits for an agent and has others made ready.
func (p *Pool) take(ctx context.Context) (*poolAgent, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	begin := time.Now()
	a, err := p.await(ctx, p.join(p.config.Warm))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.WaitTime += time.Since(begin)
	if err == nil {
		p.stats.Served++
		if a.uses > 1 {
			p.stats.Reused++
		}
	}
	return a, err
}

// join gets in line, and has so many agents made ready besides. It never blocks: who can be served at once has been.
func (p *Pool) join(wanted int) *waiter {
	w := &waiter{done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining {
		w.settle(nil, ErrPoolClosed)
		return w
	}
	p.wanted = wanted
	p.line = append(p.line, w)
	p.balance()
	return w
}

// await waits until it is the waiter's turn. One that gives up leaves the line, and an agent that it got just then goes
// to the next one.
func (p *Pool) await(ctx context.Context, w *waiter) (*poolAgent, error) {
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, w); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
		p.balance() // it may be the last one that a drain waits for
		return nil, context.Cause(ctx)
	}
	if w.err == nil && ctx.Err() != nil {
		p.putBack(w.agent)
		return nil, context.Cause(ctx)
	}
	return w.agent, w.err
}

// putBack returns an agent that was not used. The lock is held.
func (p *Pool) putBack(a *poolAgent) {
	if a.state != agentInUse { // the pool was closed meanwhile
		return
	}
	a.uses--
	p.ready(a)
	a.wake()
	p.warm = slices.Insert(p.warm, 0, a)
	p.balance()
}

// serve gives agents that are ready to those who wait, in order. The lock is held.
func (p *Pool) serve() {
	for len(p.line) > 0 && len(p.warm) > 0 {
		a := p.warm[0]
		p.warm = p.warm[1:]
		if a.session.Err() != nil {
			continue // who tends it will notice, too
		}
		if p.failures > 0 || p.refill == nil {
			p.failures = 0
			p.pause(headStart)
		}
		a.state = agentInUse
		a.uses++
		p.line[0].settle(a, nil)
		p.line = p.line[1:]
	}
}

// refuse tells the first one in line that an agent could not be started, unless there are others on their way for all
// who wait. The lock is held.
func (p *Pool) refuse(err error) {
	if len(p.line) > p.coming() {
		p.line[0].settle(nil, err)
		p.line = p.line[1:]
	}
}

const (
	// headStart is how long an agent that was taken works before the start of the next one competes with it, unless it has
	// answered before.
	headStart = 500 * time.Millisecond
	// The pause before an agent is made ready after others did not live to serve anybody.
	minRestart = 500 * time.Millisecond
	maxRestart = 30 * time.Second
)

// balance serves who waits, and starts what is missing. It is called with the lock held whenever something has changed.
func (p *Pool) balance() {
	p.serve()
	if p.draining && len(p.line) == 0 {
		p.wind()
		return
	}
	missing := len(p.line) + p.wanted - len(p.warm) - p.coming()
	if pause := time.Until(p.notBefore); pause > 0 {
		missing = min(missing, len(p.line)-p.coming()) // the pause is not for those who wait
		if p.refill == nil {
			p.refill = time.AfterFunc(pause, p.endPause)
		}
	}
	for range min(missing, p.config.MaxAgents-len(p.agents)) {
		p.start()
	}
}

// wind ends what nobody will need any more.
func (p *Pool) wind() {
	for _, a := range p.warm {
		p.dismiss(a)
	}
	p.warm = nil
	if p.count(agentInUse) == 0 {
		p.drained.Do(func() { close(p.idle) })
	}
}

// pause has no agents started for a while but for those who wait. The lock is held.
func (p *Pool) pause(length time.Duration) {
	p.notBefore = time.Now().Add(length)
	if p.refill != nil {
		p.refill.Stop()
		p.refill = nil
	}
}

// underWay ends the head start of an agent.
func (p *Pool) underWay() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures == 0 {
		p.pause(0)
		p.balance()
	}
}

func (p *Pool) endPause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.notBefore) { // there is another pause by now
		return
	}
	p.refill = nil
	p.balance()
}

func (p *Pool) count(state agentState) int {
	n := 0
	for a := range p.agents {
		if a.state == state {
			n++
		}
	}
	return n
}

// coming counts the agents that will be ready soon.
func (p *Pool) coming() int { return p.count(agentStarting) + p.count(agentCleaning) }

func (p *Pool) start() {
	a := &poolAgent{nudge: make(chan struct{}, 1)}
	p.agents[a] = struct{}{}
	p.stats.Started++
	p.tending.Go(func() { p.tend(a) })
}

// recovered notes that an agent has lived for a while.
func (p *Pool) recovered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
}

// troubled notes that an agent did not live to serve anybody. The more there are in a row, the longer is the pause
// before another one is made ready; the first has none. The lock is held.
func (p *Pool) troubled() {
	p.stats.Died++
	p.backOff()
}

func (p *Pool) backOff() {
	p.failures++
	if p.failures > 1 {
		p.pause(min(minRestart<<min(p.failures-2, 10), maxRestart))
	}
}

// cleanTimeout is how long an agent may take to forget a conversation.
const cleanTimeout = 10 * time.Second

// A memory is what has to be as before when an agent has forgotten a conversation.
type memory struct {
	rules wire.JSON // of permissions, as the agent told them before its first conversation
	face  string    // what it said of itself in its first turn
}

// meet takes note of an agent that has come up.
func (m *memory) meet(ctx context.Context, s *Session, uses int) error {
	if uses == 1 {
		return nil
	}
	rules, err := s.request(ctx, "list_permission_rules", nil)
	if _, refused := errors.AsType[*ControlError](err); err != nil && !refused {
		s.Close() //nolint:errcheck // why it does not answer says more
		return err
	}
	m.rules = rules
	return nil
}

// faceOf returns what an agent says of itself that a conversation may change.
func faceOf(m *wire.InitMessage) string {
	return fmt.Sprintf("%q", []any{m.CWD, m.AdditionalDirectories, m.Model, m.PermissionMode, m.OutputStyle, m.Tools})
}

// giveBack returns an agent whose conversation is over, to be used again once it has forgotten it. It reports whether
// the pool wants it.
func (p *Pool) giveBack(a *poolAgent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.session.Err() != nil || a.state != agentInUse || p.draining && len(p.line) == 0 {
		return false
	}
	a.state = agentCleaning
	a.wake()
	return true
}

// clean has an agent forget its conversation and makes it ready again. One that can't is dismissed.
func (p *Pool) clean(a *poolAgent) {
	ctx, cancel := context.WithTimeout(p.life, cleanTimeout)
	defer cancel()
	err := a.forget(ctx)
	if err != nil && p.life.Err() == nil {
		p.log.Warn("an agent of the pool is not used again", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case a.state != agentCleaning: // the pool was closed meanwhile
	case err != nil:
		p.regret(err)
		p.dismiss(a)
	default:
		p.ready(a)
		p.warm = slices.Insert(p.warm, 0, a)
	}
	p.balance()
}

// forget has the agent forget its conversation, and makes sure that it has.
func (a *poolAgent) forget(ctx context.Context) error {
	old := a.session.ID()
	if err := a.clear(ctx); err != nil {
		return err
	}
	if id := a.session.ID(); id == old || id == "" {
		return fmt.Errorf("the session is still %q", id)
	}
	rules, err := a.session.request(ctx, "list_permission_rules", nil)
	if err == nil && rules != a.rules {
		err = errors.New("the permission rules have changed")
	}
	return err
}

// clear runs the command /clear.
func (a *poolAgent) clear(ctx context.Context) error {
	id, err := a.session.Send(ctx, Text("/clear"))
	if err != nil {
		return err
	}
	var seen progress
	seen.sent(id)
	reset, face, lost := false, "", error(nil)
	for msg, err := range a.session.Messages(ctx) {
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *wire.ConversationResetMessage:
			reset = true
		case *wire.InitMessage:
			face = faceOf(m)
		case *wire.MirrorErrorMessage:
			lost = join(lost, lossOf(m))
		}
		if seen.see(msg) && seen.settled() {
			break
		}
	}
	switch err := join(seen.turns().err(nil), lost); {
	case err != nil:
		return err
	case !reset:
		return errors.New("the conversation was not reset")
	case face != a.face:
		return fmt.Errorf("the agent was %s and is %s", a.face, face)
	}
	return nil
}
