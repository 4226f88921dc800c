package clew

import (
	"context"
	"errors"
)

// ErrPoolClosed is what callers of a [Pool] get once it was drained or closed.
var ErrPoolClosed = errors.New("clew: pool closed")

// Drain ends the pool in order: it takes no more callers, serves those that wait in line, waits until all that is in
// use was given back, and closes the pool. When ctx ends first, it returns the error of ctx, and the rest goes on
// until [Pool.Close].
func (p *Pool) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.draining, p.wanted = true, 0
	p.balance()
	p.mu.Unlock()
	select {
	case <-p.idle:
		return p.Close()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends all agents of the pool, also those in use, and waits until they are gone. Who waits in line gets
// [ErrPoolClosed]. It may be called from anywhere, any number of times, and is bounded like [Session.Close]. It returns
// nil if all agents have ended by themselves, and else an error with an [*ExitError] for each that had to be killed. With
// [Options.Store], the error has a [*StoreError] for what was lost without a caller to tell.
func (p *Pool) Close() error {
	p.shut()
	p.tending.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.regrets...)
}

// maxRegrets bounds what a pool whose store is broken for long remembers of it.
const maxRegrets = 100

// regret keeps an error of an agent for Close, if it matters by then: that the agent had to be killed does once the pool
// is closed, and that something is not in the store always. The lock is held.
func (p *Pool) regret(err error) {
	_, lost := errors.AsType[*StoreError](err)
	if err != nil && (p.closed || lost) && len(p.regrets) < maxRegrets {
		p.regrets = append(p.regrets, err)
	}
}

// shut tells everybody that the pool is closed.
func (p *Pool) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for _, w := range p.line {
		w.settle(nil, ErrPoolClosed)
	}
	p.line, p.wanted, p.draining = nil, 0, true
	for a := range p.agents {
		p.dismiss(a)
	}
	p.wind()
	p.closed = true
	p.end(ErrPoolClosed)
	p.pause(0)
}
