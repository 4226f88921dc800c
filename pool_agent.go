package clew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// A poolAgent is an agent of a pool. The pool's lock protects state, uses and since. The other
// fields belong to the goroutine that uses or clears the agent.
type poolAgent struct {
	session *Session // nil while it starts
	state   agentState
	uses    int           // conversations so far
	since   time.Time     // when it was ready last
	changed chan struct{} // one slot: the state may have changed
	baseline
}

// An agentState is the state of an agent of a pool.
type agentState int

const (
	agentStarting agentState = iota
	agentWarm
	agentInUse
	agentClearing // it runs /clear after a conversation
	agentEnding
)

// dismiss asks an agent to end. The lock is held.
func (p *Pool) dismiss(a *poolAgent) {
	a.state = agentEnding
	a.wake()
}

func (a *poolAgent) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// ready marks an agent as waiting for a caller. The lock is held.
func (p *Pool) ready(a *poolAgent) {
	a.state, a.since = agentWarm, time.Now()
}

// runAgent starts an agent and watches it until it is gone.
func (p *Pool) runAgent(a *poolAgent) {
	session, err := Connect(p.open, p.opts)
	if err == nil {
		err = a.record(p.open, session, p.config.MaxUses)
	}
	if err != nil {
		p.failed(a, err)
		return
	}
	session.agent.noReconnect.Store(true) // until a caller owns the session
	p.mu.Lock()
	a.session = session
	if a.state == agentStarting { // it was not dismissed meanwhile
		p.ready(a)
		p.warm = append(p.warm, a)
		p.balance()
	}
	p.mu.Unlock()
	p.gone(a, p.watch(a))
}

// watch watches a started agent until it is gone. It returns the error of [Session.Close].
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
		case state == agentClearing:
			p.recycle(a)
			continue
		case state == agentWarm && !checked:
			checked = true
			p.checkHealth(a)
			continue
		}
		select {
		case <-a.session.ending.over:
			return p.closeEnded(a)
		case <-a.changed:
		case <-health.C:
			p.resetFailures()
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

// isRefusal reports whether err is a refusal of an agent that answers.
func isRefusal(err error) bool {
	refused, ok := errors.AsType[*ControlError](err)
	return ok && refused.Code != codeNoAnswer
}

// checkHealth sends a request to an agent that waits for a caller, and dismisses the agent if it
// does not answer. The request needs no model. For its answer the agent prepares the context of a
// prompt, which makes the first turn faster.
func (p *Pool) checkHealth(a *poolAgent) {
	if p.stateOf(a) != agentWarm {
		return
	}
	_, err := a.session.request(p.open, "get_context_usage", map[string]string{"detail": "summary"})
	if err == nil || isRefusal(err) || a.session.Err() != nil || p.open.Err() != nil {
		return
	}
	p.log.Warn("an agent of the pool does not answer", "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.state == agentWarm {
		p.discard(a)
		p.countDeath()
	}
}

// checkIdle dismisses an agent that waited too long for a caller, and returns when to check again.
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

// closeEnded closes the session of an agent that ended by itself. A session in use is left to its
// caller, who may have messages to read.
func (p *Pool) closeEnded(a *poolAgent) error {
	switch p.stateOf(a) {
	case agentInUse:
		return nil
	case agentWarm:
		p.log.Warn("an agent of the pool has died", "error", a.session.Err())
	}
	return a.session.Close()
}

// failed removes an agent that could not be started.
func (p *Pool) failed(a *poolAgent, err error) {
	if p.open.Err() == nil {
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

// gone removes an agent that ended.
func (p *Pool) gone(a *poolAgent, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.agents, a)
	p.keepError(failure)
	if p.closed {
		return
	}
	if a.state == agentWarm {
		p.discard(a)
		p.countDeath()
	}
	p.balance()
}

// A waiter is a caller that waits for an agent.
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

// take waits for an agent, and makes the pool start others.
func (p *Pool) take(ctx context.Context) (*poolAgent, error) {
	if ctx.Err() != nil {
		return nil, control.ContextError(ctx)
	}
	begin := time.Now()
	a, err := p.await(ctx, p.join(p.config.Warm)) //nolint:contextcheck // agents live as long as the pool
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

// join adds a waiter and sets how many more agents should be ready. It never blocks. A waiter that
// can be served at once is served when it returns.
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

// await waits until the waiter has an agent. When ctx ends first, or the budget is spent, the
// waiter leaves the line, and an agent that it has just got goes to the next one.
func (p *Pool) await(ctx context.Context, w *waiter) (*poolAgent, error) {
	select {
	case <-w.done:
	case <-ctx.Done():
	case <-p.opts.Limits.Budget.usedUp():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, w); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
		// Drain may wait for this one.
		p.balance() //nolint:contextcheck // agents live as long as the pool
		if ctx.Err() == nil {
			return nil, p.opts.Limits.Budget.err()
		}
		return nil, control.ContextError(ctx)
	}
	if w.err == nil && ctx.Err() != nil {
		p.putBack(w.agent) //nolint:contextcheck // agents live as long as the pool
		return nil, control.ContextError(ctx)
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

// returnUnused returns an agent that got nothing from its caller. It reports whether the agent
// still runs.
func (p *Pool) returnUnused(a *poolAgent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.session.Err() != nil {
		return false
	}
	p.putBack(a)
	return true
}

// serve gives ready agents to the waiters, in order. The lock is held.
func (p *Pool) serve() {
	for len(p.line) > 0 && len(p.warm) > 0 {
		a := p.warm[0]
		p.warm = p.warm[1:]
		if a.session.Err() != nil {
			continue // its own goroutine removes it
		}
		if a.session.meter.stale() {
			p.dismiss(a)
			continue
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

// extraStarts is the number of starts that may fail in a row, apart from starts that fail at the
// same time, before callers get the reason.
const extraStarts = 8

// refuse fails the first waiter because an agent could not be started, unless enough others are
// being started, or another start may succeed. The lock is held.
func (p *Pool) refuse(err error) {
	if len(p.line) <= p.coming() {
		return
	}
	if p.opened && !isFinal(err) {
		if p.failures < p.config.MaxAgents+extraStarts {
			return
		}
		err = fmt.Errorf("clew: agents of the pool can't be started, %d in a row failed: %w", p.failures, err)
	}
	p.line[0].settle(nil, err)
	p.line = p.line[1:]
}

// isFinal reports whether a start failed for a reason that does not pass.
func isFinal(err error) bool {
	_, unfit := errors.AsType[*OptionsError](err)
	_, missing := errors.AsType[*NotFoundError](err)
	return unfit || missing
}

const (
	// headStart is the time the pool waits before it starts the next agent, so that the start does
	// not slow down the agent that was just taken. The first answer of that agent ends it.
	headStart = 500 * time.Millisecond
	// The pause before another start after agents die before they served a caller.
	minRestart = 500 * time.Millisecond
	maxRestart = 30 * time.Second
)

// balance serves the waiters, and starts agents that are missing, unless the budget is spent: then
// no caller can come who needs one. It is called with the lock held after every change.
func (p *Pool) balance() {
	p.serve()
	if p.draining && len(p.line) == 0 {
		p.dismissWarm()
		return
	}
	if p.opts.Limits.Budget.err() != nil {
		return
	}
	missing := len(p.line) + p.wanted - len(p.warm) - p.coming()
	if pause := time.Until(p.notBefore); pause > 0 {
		missing = min(missing, len(p.line)-p.coming()) // the pause does not hold up waiters
		if p.refill == nil {
			p.refill = time.AfterFunc(pause, p.endPause)
		}
	}
	for range min(missing, p.config.MaxAgents-len(p.agents)) {
		p.startAgent()
	}
}

// dismissWarm dismisses the agents that no caller will need any more. The lock is held.
func (p *Pool) dismissWarm() {
	for _, a := range p.warm {
		p.dismiss(a)
	}
	p.warm = nil
	if p.count(agentInUse) == 0 {
		p.drained.Do(func() { close(p.idle) })
	}
}

// pause lets the pool start agents only for waiters for a while. The lock is held.
func (p *Pool) pause(length time.Duration) {
	p.notBefore = time.Now().Add(length)
	if p.refill != nil {
		p.refill.Stop()
		p.refill = nil
	}
}

// endHeadStart ends the head start of an agent that answered.
func (p *Pool) endHeadStart() {
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
func (p *Pool) coming() int { return p.count(agentStarting) + p.count(agentClearing) }

func (p *Pool) startAgent() {
	a := &poolAgent{changed: make(chan struct{}, 1)}
	p.agents[a] = struct{}{}
	p.stats.Started++
	p.running.Go(func() { p.runAgent(a) })
}

// resetFailures ends the count of failures after an agent has run for a while.
func (p *Pool) resetFailures() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
}

// countDeath counts an agent that died before it served a caller. The lock is held.
func (p *Pool) countDeath() {
	p.stats.Died++
	p.backOff()
}

// backOff counts a failure. From the second one in a row, the pool pauses before it starts another
// agent, longer each time. The lock is held.
func (p *Pool) backOff() {
	p.failures++
	if p.failures > 1 {
		p.pause(min(minRestart<<min(p.failures-2, 10), maxRestart))
	}
}

// A baseline is the state of an agent that must be the same again after /clear.
type baseline struct {
	rules    wire.JSON // the permission rules before the first conversation
	onlyOnce bool      // the agent does not report them
	profile  string    // what the agent reported about itself in its first turn
}

// record records the permission rules of an agent that started. It does nothing for an agent with a
// single use.
func (b *baseline) record(ctx context.Context, s *Session, uses int) error {
	if uses == 1 {
		return nil
	}
	rules, err := s.request(ctx, "list_permission_rules", nil)
	refused := isRefusal(err)
	if err != nil && !refused {
		s.Close() //nolint:errcheck // why the agent does not answer says more
		return err
	}
	if refused {
		s.log.Warn("the agent is used only once: it can't show that nothing of a conversation is left", "error", err)
	}
	b.rules, b.onlyOnce = rules, refused
	return nil
}

// profileOf returns the state that an agent reports and that a conversation may change.
func profileOf(m *wire.InitMessage) string {
	return fmt.Sprintf("%q", []any{m.CWD, m.AdditionalDirectories, m.Model, m.PermissionMode, m.OutputStyle, m.Tools})
}

// giveBack returns an agent whose conversation is over, to be cleared and used again. It reports
// whether the pool wants the agent.
func (p *Pool) giveBack(a *poolAgent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.session.Err() != nil || a.state != agentInUse || p.draining && len(p.line) == 0 {
		return false
	}
	a.state = agentClearing
	a.wake()
	return true
}

// recycle clears an agent and makes it ready again. An agent that can't be cleared is dismissed.
func (p *Pool) recycle(a *poolAgent) {
	ctx, cancel := context.WithTimeout(p.open, p.opts.controlTimeout())
	defer cancel()
	err := a.clear(ctx)
	if err != nil && p.open.Err() == nil {
		p.log.Warn("an agent of the pool is not used again", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case a.state != agentClearing: // the pool was closed meanwhile
	case err != nil:
		p.keepError(err)
		p.dismiss(a)
	default:
		p.ready(a)
		p.warm = slices.Insert(p.warm, 0, a)
	}
	p.balance()
}

// clear clears the agent, and checks that it is in the same state as before its first conversation.
func (a *poolAgent) clear(ctx context.Context) error {
	old := a.session.ID()
	if err := a.sendClear(ctx); err != nil {
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

// sendClear runs the command /clear.
func (a *poolAgent) sendClear(ctx context.Context) error {
	id, err := a.session.Send(ctx, Text("/clear"))
	if err != nil {
		return err
	}
	var seen progress
	seen.sent(id)
	reset, profile, lost := false, "", error(nil)
	for msg, err := range a.session.Messages(ctx) {
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *wire.ConversationResetMessage:
			reset = true
		case *wire.InitMessage:
			profile = profileOf(m)
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
	case profile != a.profile:
		return fmt.Errorf("the state of the agent was %s and is now %s", a.profile, profile)
	}
	return nil
}
