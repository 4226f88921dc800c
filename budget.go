package clew

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/wire"
)

// A Budget is an amount of money that several runs share: set [Limits.Budget] of each of them to
// the same one. Sessions and pools are runs as well, and a pool shares its budget between all its
// callers. A Budget may be used from several goroutines, and must not be copied.
//
//	budget := &clew.Budget{LimitUSD: 5}
//	for _, task := range tasks {
//		result, err := clew.Run(ctx, task, &clew.Options{Limits: clew.Limits{Budget: budget}})
//
// Each result adds its cost. Once the budget is spent, no agent starts and no prompt is sent: the
// error is [ErrBudgetSpent]. The limit of a run (--max-budget-usd) is the amount left at its start.
// A run that exceeds it ends with a [*ResultError] whose result is [wire.ResultErrorMaxBudgetUSD].
//
// The agent reports the cost of a turn when the turn is over, and stops after the model call
// that exceeds the limit. So one call can exceed the budget, and so can runs at the same time,
// since each has its own limit. A pool replaces an agent that was started when more than twice as
// much was left. A turn without a result is not counted. All costs are estimates of the agent.
type Budget struct {
	// LimitUSD is the amount, in US dollars. It must be positive, and must not change once the
	// budget is used.
	LimitUSD float64

	mu    sync.Mutex
	spent float64
	used  chan struct{} // closed and removed when nothing is left; nil if nobody waits for that
}

// ErrBudgetSpent is the error of runs and prompts that were refused because their [Budget] is
// spent. It is returned wrapped, with the amounts.
var ErrBudgetSpent = errors.New("clew: the budget is spent")

// SpentUSD returns what the runs have cost so far.
func (b *Budget) SpentUSD() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// LeftUSD returns what is left, which is 0 if the runs have cost as much as the limit or more.
func (b *Budget) LeftUSD() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left()
}

// left is LeftUSD with the lock held.
func (b *Budget) left() float64 {
	const dust = 1e-9 // what adding up leaves, and less than the price of a token
	if left := b.LimitUSD - b.spent; left > dust {
		return left
	}
	return 0
}

func (b *Budget) add(cost float64) {
	if b == nil || math.IsNaN(cost) || cost <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += cost
	if b.used != nil && b.left() == 0 {
		close(b.used)
		b.used = nil
	}
}

// usedUp returns a channel that is closed when nothing is left. Without a budget it is nil.
func (b *Budget) usedUp() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.used
	if used == nil {
		used = make(chan struct{})
	}
	if b.left() == 0 {
		close(used)
		return used
	}
	b.used = used
	return used
}

// err returns an [ErrBudgetSpent] if nothing is left. b may be nil.
func (b *Budget) err() error {
	if b == nil || b.LeftUSD() > 0 {
		return nil
	}
	return fmt.Errorf("%w: %s of %s", ErrBudgetSpent, wording.Dollars(b.SpentUSD()).Fixed(), wording.Dollars(b.LimitUSD).Fixed())
}

// check returns an error if the budget can't be used. b may be nil.
func (b *Budget) check() error {
	switch {
	case b == nil:
		return nil
	case math.IsNaN(b.LimitUSD) || math.IsInf(b.LimitUSD, 0):
		return badOption("Limits.Budget", "LimitUSD is not a number")
	case b.LimitUSD <= 0:
		return badOption("Limits.Budget", "LimitUSD is not positive")
	}
	return nil
}

// maxBudgetUSD returns the limit for an agent that starts now, or 0 for none.
func (o *Options) maxBudgetUSD() float64 {
	if o.Limits.Budget == nil {
		return o.Limits.MaxBudgetUSD
	}
	left := max(o.Limits.Budget.LeftUSD(), 1e-9) // not 0, which would be no limit
	if o.Limits.MaxBudgetUSD == 0 {
		return left
	}
	return min(o.Limits.MaxBudgetUSD, left)
}

// A meter charges a session's results to its budget. The goroutine that reads uses it.
type meter struct {
	budget  *Budget // nil if there is none
	granted float64 // what was left when the agent's start was planned
	total   float64 // the cost of the conversation at its last result
	session string  // the ID of that conversation
}

func newMeter(b *Budget) *meter {
	m := &meter{budget: b}
	if b != nil {
		m.granted = b.LeftUSD()
	}
	return m
}

// stale reports whether the agent may spend much more than is left by now.
func (m *meter) stale() bool { return m.budget != nil && m.granted > 2*m.budget.LeftUSD() }

// restart follows the start of another process, which counts from zero again, even if it continues
// with the same conversation.
func (m *meter) restart() { m.total, m.session = 0, "" }

// see charges what a result has cost. An agent reports the total of its conversation, which starts
// again with another conversation, and newer ones also the difference to the last result.
func (m *meter) see(result *wire.ResultMessage) {
	cost := result.TotalCostUSD
	if result.SessionID == m.session && cost >= m.total {
		cost -= m.total
	}
	if cost > 0 || result.SessionID != m.session {
		m.total, m.session = max(result.TotalCostUSD, 0), result.SessionID
	}
	if result.ModelUsageSinceLastResult != nil {
		cost = 0
		for _, use := range result.ModelUsageSinceLastResult {
			cost += use.CostUSD
		}
	}
	m.budget.add(cost)
}
