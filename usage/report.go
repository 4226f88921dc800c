package usage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Dimension is a property by which calls are grouped. Several can be combined, see
// [ReportOptions.By].
type Dimension int

// The dimensions of reports.
const (
	// ByModel groups by the name that the table of prices has for the model.
	ByModel Dimension = iota
	// ByDay groups by day, in [ReportOptions.Location].
	ByDay
	// ByHour groups by hour. Where clocks are set back, an hour comes twice.
	ByHour
	ByBlock // of five hours, see [FiveHourBlocks]
	// ByProject groups by [Call.Project].
	ByProject
	// BySession groups by session. Subagents belong to the session that started them.
	BySession
	ByAgent // the subagents of all sessions; the main conversations are one group
	ByWeek  // from Monday on
	// ByMonth groups by month.
	ByMonth
)

var dimensionNames = [...]string{"model", "day", "hour", "block", "project", "session", "agent", "week", "month"}

// String returns the word for the dimension: model, day, hour, block, project, session, agent, week
// or month.
func (d Dimension) String() string {
	if d < 0 || int(d) >= len(dimensionNames) {
		return fmt.Sprintf("Dimension(%d)", int(d))
	}
	return dimensionNames[d]
}

// ParseDimension returns the dimension for a word, see [Dimension.String]. The error lists the
// words.
func ParseDimension(word string) (Dimension, error) {
	i := slices.Index(dimensionNames[:], word)
	if i < 0 {
		return 0, fmt.Errorf("usage: unknown dimension %q: must be one of %s", word, strings.Join(dimensionNames[:], ", "))
	}
	return Dimension(i), nil
}

// ReportOptions configure the grouping and the prices of calls. Nil means one group, in UTC, with
// the default prices.
type ReportOptions struct {
	// By are the dimensions: calls are in the same row if they are alike in all of them.
	By []Dimension
	// Location is the time zone of months, weeks, days and hours; nil means UTC.
	Location *time.Location
	// Prices are the prices of models; nil means [DefaultPrices].
	Prices *Prices
}

// A Report has sums over groups of calls. [NewReport] returns it. As JSON it is
// {"rows":[…],"total":{…}}.
type Report struct {
	// Rows are sorted by time, then by the other parts of their keys.
	Rows []Row `json:"rows"`
	// Total is the sum of all rows.
	Total Totals `json:"total"`
}

// A Row has the sums over a group of calls.
type Row struct {
	// Key identifies the calls of the row.
	Key Key `json:"key"`
	Totals
	// First is the time of the first call, or the zero time if no call has one.
	First time.Time `json:"first,omitzero"`
	// Last is the time of the last call, or the zero time if no call has one.
	Last time.Time `json:"last,omitzero"`
}

// A Key has the properties that the calls of a row have in common. Only the dimensions of the
// report are set. Two rows of a report never have the same key.
type Key struct {
	// Month is written as "2026-11". It is "" for calls without a time.
	Month string `json:"month,omitempty"`
	// Week is the Monday that the week starts with, written as a day. It is "" for calls without a
	// time.
	Week string `json:"week,omitempty"`
	// Day is written as "2026-11-15". It is "" for calls without a time.
	Day string `json:"day,omitempty"`
	// Hour is the time at which the hour starts. It is the zero time for calls without a time.
	Hour time.Time `json:"hour,omitzero"`
	// Block is the time at which the block starts, see [FiveHourBlock.Start]. It is the zero time
	// for calls without a time.
	Block time.Time `json:"block,omitzero"`
	// Project is the name of the project, as in [Call.Project], such as "-home-me-code".
	Project string `json:"project,omitempty"`
	// Session is the ID of the session, as in [Call.SessionID].
	Session string `json:"session,omitempty"`
	// Agent is the ID of a subagent, and empty for the main conversation.
	Agent string `json:"agent,omitempty"`
	// Model is the name as the table of prices has it, or else as the transcript has it.
	Model string `json:"model,omitempty"`
}

// NewReport groups calls and adds them up. Calls may come in any order; each counts, so they should
// come from a [Tally]. opts may be nil. A call whose cost is not known counts with its tokens, and
// sets UnknownCost of its row and of the total.
func NewReport(calls []Call, opts *ReportOptions) *Report {
	g := newGrouping(calls, opts)
	groups := make(map[Key]*group)
	var all account
	for i := range calls {
		c := &calls[i]
		key := g.key(i, c)
		if groups[key] == nil {
			groups[key] = &group{row: Row{Key: key}}
		}
		cost, known := g.cost(c)
		name := g.model(c.Model).name
		groups[key].add(name, c, cost, known)
		all.add(name, c, cost, known)
	}
	r := &Report{Rows: make([]Row, 0, len(groups)), Total: all.totals()}
	for _, group := range groups {
		group.row.Totals = group.totals()
		r.Rows = append(r.Rows, group.row)
	}
	slices.SortFunc(r.Rows, func(a, b Row) int { return a.Key.compare(&b.Key) })
	return r
}

// A group is a row that grows.
type group struct {
	account
	row Row
}

func (g *group) add(model string, c *Call, cost Money, known bool) {
	g.account.add(model, c, cost, known)
	if at := c.Time; !at.IsZero() {
		if g.row.First.IsZero() || at.Before(g.row.First) {
			g.row.First = at
		}
		if at.After(g.row.Last) {
			g.row.Last = at
		}
	}
}

func (k *Key) compare(o *Key) int {
	return cmp.Or(
		cmp.Compare(k.Month, o.Month), cmp.Compare(k.Week, o.Week), cmp.Compare(k.Day, o.Day),
		k.Hour.Compare(o.Hour), k.Block.Compare(o.Block),
		cmp.Compare(k.Project, o.Project), cmp.Compare(k.Session, o.Session), cmp.Compare(k.Agent, o.Agent),
		cmp.Compare(k.Model, o.Model),
	)
}

// A grouping knows the group of each call, and its cost.
type grouping struct {
	pricer
	by     []Dimension
	in     *time.Location
	blocks []time.Time // where the block of each call begins, if that is asked for
}

func newGrouping(calls []Call, opts *ReportOptions) *grouping {
	if opts == nil {
		opts = new(ReportOptions)
	}
	g := &grouping{pricer: pricer{prices: pricesOr(opts.Prices)}, by: opts.By, in: opts.Location}
	if g.in == nil {
		g.in = time.UTC
	}
	for _, d := range g.by {
		if d == ByBlock {
			g.blocks = blockStarts(calls)
		}
	}
	return g
}

func pricesOr(p *Prices) Prices {
	if p == nil {
		return DefaultPrices()
	}
	return *p
}

// key returns the key of call i.
func (g *grouping) key(i int, c *Call) Key {
	var k Key
	for _, d := range g.by {
		switch d {
		case ByModel:
			k.Model = g.model(c.Model).name
		case ByDay:
			k.Day = g.day(c.Time)
		case ByWeek:
			k.Week = g.week(c.Time)
		case ByMonth:
			k.Month = g.month(c.Time)
		case ByHour:
			k.Hour = g.hour(c.Time)
		case ByBlock:
			k.Block = g.blocks[i]
		case ByProject:
			k.Project = c.Project
		case BySession:
			k.Session = c.SessionID
		case ByAgent:
			k.Agent = c.AgentID
		}
	}
	return k
}

func (g *grouping) day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(g.in).Format(time.DateOnly)
}

// week returns the Monday before the time, or of it.
func (g *grouping) week(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	at = at.In(g.in)
	sinceMonday := (int(at.Weekday()) + 6) % 7
	return time.Date(at.Year(), at.Month(), at.Day()-sinceMonday, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

func (g *grouping) month(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(g.in).Format("2006-01")
}

// hour returns the beginning of the hour. It goes back from the time, as far as the clocks were not
// set meanwhile: where they are set back, an hour comes twice.
func (g *grouping) hour(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	at = at.In(g.in).Round(0) // without what tells equal times apart
	begin := at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second -
		time.Duration(at.Nanosecond()))
	if set, _ := at.ZoneBounds(); begin.Before(set) {
		return set
	}
	return begin
}

// Totals are sums over calls. Models has them by model.
type Totals struct {
	// Calls is the number of calls.
	Calls int `json:"calls"`
	// Usage counts the tokens and searches of all calls, including calls of unknown cost.
	Usage Sum `json:"usage"`
	// Cost is the cost of the calls whose cost is known.
	Cost Money `json:"cost"`
	// UnknownCost reports whether Cost is not all: the price of a model is not known.
	UnknownCost bool `json:"unknownCost,omitempty"`
	// Models are the same sums by model, sorted by name.
	Models []ModelCost `json:"models,omitempty"`
}

// Plus returns the sum of both. It changes neither of them.
func (t Totals) Plus(o Totals) Totals {
	var sum account
	for _, m := range slices.Concat(t.Models, o.Models) {
		sum.at(m.Model).plus(&m)
	}
	t.Models = sum.totals().Models
	t.Calls += o.Calls
	t.Usage = t.Usage.plus(o.Usage, 1)
	t.Cost = t.Cost.plus(o.Cost)
	t.UnknownCost = t.UnknownCost || o.UnknownCost
	return t
}

// A ModelCost is the usage and cost of one model.
type ModelCost struct {
	// Model is the name as the table of prices has it, or else as the transcript has it.
	Model string `json:"model"`
	// Calls is the number of model calls.
	Calls int `json:"calls"`
	// Usage counts their tokens and searches.
	Usage Sum `json:"usage"`
	// Cost is their cost, as far as it is known.
	Cost Money `json:"cost"`
	// UnknownCost reports whether the price of the model is not known: calls whose cost the agent
	// did not write down are not in Cost.
	UnknownCost bool `json:"unknownCost,omitempty"`
}

// An account adds calls up.
type account struct{ models map[string]*ModelCost }

func (a *account) add(model string, c *Call, cost Money, known bool) {
	a.at(model).plus(&ModelCost{Calls: 1, Usage: sumOf(&c.Usage), Cost: cost, UnknownCost: !known})
}

// at returns the sums of a model.
func (a *account) at(model string) *ModelCost {
	m := a.models[model]
	if m == nil {
		m = &ModelCost{Model: model}
		if a.models == nil {
			a.models = make(map[string]*ModelCost)
		}
		a.models[model] = m
	}
	return m
}

// plus adds o.
func (m *ModelCost) plus(o *ModelCost) {
	m.Calls += o.Calls
	m.Usage = m.Usage.plus(o.Usage, 1)
	m.Cost = m.Cost.plus(o.Cost)
	m.UnknownCost = m.UnknownCost || o.UnknownCost
}

func (a *account) totals() Totals {
	var t Totals
	for _, m := range a.models {
		t.Models = append(t.Models, *m)
		t.Calls += m.Calls
		t.Usage = t.Usage.plus(m.Usage, 1)
		t.Cost = t.Cost.plus(m.Cost)
		t.UnknownCost = t.UnknownCost || m.UnknownCost
	}
	slices.SortFunc(t.Models, func(a, b ModelCost) int { return cmp.Compare(a.Model, b.Model) })
	return t
}

// blockLength is the length of a block, and of a pause that ends one.
const blockLength = 5 * time.Hour

// A FiveHourBlock is a stretch of five hours in which the agent was used, as subscriptions count
// it, or a gap between two. [FiveHourBlocks] returns both, in one list. A gap has no calls, so its
// totals are zero.
type FiveHourBlock struct {
	// Start is the start of the block: a full hour in UTC. A gap starts at the end of the block
	// before.
	Start time.Time `json:"start"`
	// End is the end: five hours after Start for a block, and the start of the next block for a
	// gap.
	End time.Time `json:"end"`
	// Gap reports whether nothing was used.
	Gap bool `json:"gap,omitempty"`
	// Active reports whether the block continues, by [FiveHourBlockOptions.Now]. At most one does.
	Active bool `json:"active,omitempty"`
	// First is the time of the first call, or the zero time for a gap.
	First time.Time `json:"first,omitzero"`
	// Last is the time of the last call, or the zero time for a gap.
	Last time.Time `json:"last,omitzero"`
	Totals
	// Burn is the rate of use of the block, from its first call to its last; nil if it has no two
	// times.
	Burn *Burn `json:"burn,omitempty"`
	// Projection is the total of an active block at its end, if it continues like this; nil for
	// others.
	Projection *Projection `json:"projection,omitempty"`
}

// Burn is a speed. It covers a block from its first call to its last.
type Burn struct {
	// TokensPerMinute is the number of tokens in a minute, cached or not.
	TokensPerMinute float64 `json:"tokensPerMinute"`
	// CostPerHour is the cost in an hour. It is too low if [Totals.UnknownCost] is set.
	CostPerHour Money `json:"costPerHour"`
}

// A Projection is the total of an active block at its end, if it continues like this.
type Projection struct {
	// Remaining is the time from [FiveHourBlockOptions.Now] to the end of the block. In JSON it is
	// in nanoseconds.
	Remaining time.Duration `json:"remaining"`
	// Tokens is the number of tokens at the end of the block, including those used so far.
	Tokens int `json:"tokens"`
	// Cost is the cost at the end of the block, including the cost of the calls so far.
	Cost Money `json:"cost"`
}

// FiveHourBlockOptions configure the prices of calls and the current time. Nil means the default
// prices, and that no block is active.
type FiveHourBlockOptions struct {
	// Prices are the prices of models; nil means [DefaultPrices].
	Prices *Prices
	// Now is the time that active blocks are judged by. Zero means that none is.
	Now time.Time
}

// FiveHourBlocks returns the blocks that calls fall into, with the gaps between them, by time. A
// block starts at the full hour before its first call. The next one starts with a call that is more
// than five hours after that, or more than five hours after the call before. Calls may come in any
// order; those without a time are left out. opts may be nil.
func FiveHourBlocks(calls []Call, opts *FiveHourBlockOptions) []FiveHourBlock {
	if opts == nil {
		opts = new(FiveHourBlockOptions)
	}
	n := pricer{prices: pricesOr(opts.Prices)}
	var blocks []FiveHourBlock
	starts := blockStarts(calls)
	for rest := byTime(calls); len(rest) > 0; {
		start := starts[rest[0]]
		b := FiveHourBlock{Start: start, End: start.Add(blockLength), First: calls[rest[0]].Time}
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

// gapBefore returns the gap between the end of the last block and the start of the next, if there is
// one.
func gapBefore(blocks []FiveHourBlock, next *FiveHourBlock) (FiveHourBlock, bool) {
	if len(blocks) == 0 {
		return FiveHourBlock{}, false
	}
	end := blocks[len(blocks)-1].End
	return FiveHourBlock{Start: end, End: next.Start, Gap: true}, next.Start.After(end)
}

// judge sets what depends on the times of the block.
func (b *FiveHourBlock) judge(now time.Time) {
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

// projected returns what an amount, of anything, comes to if it continues to grow for left as it
// did for took.
func (m Money) projected(left, took time.Duration) Money {
	return m.plus(m.times(int64(left), int64(took)))
}

// blockStarts returns where the block of each call starts: the zero time for a call without a time.
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
