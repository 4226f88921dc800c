package clew

import "time"

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
