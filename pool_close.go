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
// nil if all agents have ended by themselves, and else an error with an [*ExitError] for each that had to be killed.
func (p *Pool) Close() error {
	p.shut()
	p.tending.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.forced...)
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
