package clew

import (
	"context"
	"slices"
	"time"
)

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
