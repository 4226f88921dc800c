package transcript

import (
	"slices"
	"time"
)

// blockLength is how long a block is, and how long a pause ends one.
const blockLength = 5 * time.Hour

// A Block is a stretch of five hours in which the agent was used, as subscriptions count it, or a gap between two.
type Block struct {
	// Start and End are the bounds. A block begins at a full hour in UTC; a gap begins five hours after the last call.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Gap says that nothing was used.
	Gap bool `json:"gap,omitempty"`
	// Active says that the block goes on.
	Active bool `json:"active,omitempty"`
	// First and Last are the times of the first and the last call.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Totals
	// Burn is how fast the block was used up, from its first call to its last; nil if it has no two times.
	Burn *Burn `json:"burn,omitempty"`
	// Projection is what an active block comes to at its end, if it goes on like this; nil for others.
	Projection *Projection `json:"projection,omitempty"`
}

// Burn is a speed.
type Burn struct {
	TokensPerMinute float64 `json:"tokensPerMinute"`
	CostPerHour     Money   `json:"costPerHour"`
}

// A Projection is what will have been used.
type Projection struct {
	Remaining time.Duration `json:"remaining"`
	Tokens    int           `json:"tokens"`
	Cost      Money         `json:"cost"`
}

// BlockOptions say what calls cost and what time it is. Nil means the default prices, and that no block is active.
type BlockOptions struct {
	// Prices are what models cost; nil means [DefaultPrices].
	Prices *Prices
	// Now is the time that active blocks are judged by. Zero means that none is.
	Now time.Time
}

// Blocks returns the blocks that calls fall into, with the gaps between them, by time. A block begins at the full hour
// before its first call. The next one begins with a call that is more than five hours after that, or more than five
// hours after the call before. Calls may come in any order; those without a time are left out. opts may be nil.
func Blocks(calls []Call, opts *BlockOptions) []Block {
	if opts == nil {
		opts = new(BlockOptions)
	}
	n := pricer{prices: pricesOr(opts.Prices)}
	var blocks []Block
	starts := blockStarts(calls)
	for rest := byTime(calls); len(rest) > 0; {
		start := starts[rest[0]]
		b := Block{Start: start, End: start.Add(blockLength), First: calls[rest[0]].Time}
		var sums account
		for len(rest) > 0 && starts[rest[0]].Equal(start) {
			c := &calls[rest[0]]
			cost, known := n.cost(c)
			sums.add(n.model(c.Model).name, c, cost, known)
			b.Last, rest = c.Time, rest[1:]
		}
		b.Totals = sums.totals()
		b.judge(opts.Now)
		if gap, ok := gapBefore(blocks, &b); ok {
			blocks = append(blocks, gap)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// gapBefore returns the gap between the last block and the next, if there is one.
func gapBefore(blocks []Block, next *Block) (Block, bool) {
	if len(blocks) == 0 {
		return Block{}, false
	}
	last := blocks[len(blocks)-1].Last
	if next.First.Sub(last) <= blockLength {
		return Block{}, false
	}
	return Block{Start: last.Add(blockLength), End: next.First, Gap: true}, true
}

// judge sets what depends on the times of the block.
func (b *Block) judge(now time.Time) {
	b.Active = !now.Before(b.Start) && now.Before(b.End) && now.Sub(b.Last) < blockLength
	took := b.Last.Sub(b.First)
	if took <= 0 {
		return
	}
	tokens := b.Usage.TotalTokens()
	b.Burn = &Burn{
		TokensPerMinute: float64(tokens) / took.Minutes(),
		CostPerHour:     b.Cost.times(int64(time.Hour), int64(took)),
	}
	if !b.Active {
		return
	}
	left := b.End.Sub(now)
	b.Projection = &Projection{
		Remaining: left,
		Tokens:    int(Money(tokens).projected(left, took)),
		Cost:      b.Cost.projected(left, took),
	}
}

// projected returns what an amount, of anything, comes to if it goes on to grow for left as it did for took.
func (m Money) projected(left, took time.Duration) Money {
	return m.plus(m.times(int64(left), int64(took)))
}

// blockStarts returns where the block of each call begins: the zero time for a call without a time.
func blockStarts(calls []Call) []time.Time {
	starts := make([]time.Time, len(calls))
	var start, last time.Time
	for _, i := range byTime(calls) {
		at := calls[i].Time
		if start.IsZero() || at.Sub(start) > blockLength || at.Sub(last) > blockLength {
			start = at.UTC().Round(0).Truncate(time.Hour)
		}
		starts[i], last = start, at
	}
	return starts
}

// byTime returns the indexes of the calls that have a time, by time.
func byTime(calls []Call) []int {
	order := make([]int, 0, len(calls))
	for i := range calls {
		if !calls[i].Time.IsZero() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return calls[a].Time.Compare(calls[b].Time) })
	return order
}
