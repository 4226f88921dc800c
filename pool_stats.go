package clew

import "time"

// PoolStats count what a [Pool] has and has done.
type PoolStats struct {
	// Warm agents are ready, Starting ones come up or forget their last conversation, InUse ones serve a caller, and
	// Ending ones are told to end.
	Warm, Starting, InUse, Ending int
	// Waiting callers are in line.
	Waiting int

	// Started counts the agents that were started, and Failed those of them that did not come up. Died counts those that
	// ended, or did not answer any more, while they waited for a caller.
	Started, Failed, Died int
	// Served counts the callers that got an agent, and Reused those of them whose agent had served others before.
	Served, Reused int
	// WaitTime is how long all callers together have waited for their agents.
	WaitTime time.Duration
}

// Stats returns the counters as they are now.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Warm, stats.Starting = p.count(agentWarm), p.coming()
	stats.InUse, stats.Ending = p.count(agentInUse), p.count(agentEnding)
	stats.Waiting = len(p.line)
	return stats
}
