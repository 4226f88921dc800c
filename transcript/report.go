package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Dimension is what calls are grouped by.
type Dimension int

// The dimensions of reports.
const (
	ByModel Dimension = iota
	ByDay
	ByHour
	ByBlock // of five hours, see [Blocks]
	ByProject
	BySession
	ByAgent // the subagents of all sessions; the main conversations are one group
	ByWeek  // from Monday on
	ByMonth
)

var dimensionNames = [...]string{"model", "day", "hour", "block", "project", "session", "agent", "week", "month"}

// String returns the word for the dimension: model, day, hour, block, project, session, agent, week or month.
func (d Dimension) String() string {
	if d < 0 || int(d) >= len(dimensionNames) {
		return fmt.Sprintf("Dimension(%d)", int(d))
	}
	return dimensionNames[d]
}

// ParseDimension returns the dimension for a word, see [Dimension.String].
func ParseDimension(word string) (Dimension, error) {
	i := slices.Index(dimensionNames[:], word)
	if i < 0 {
		return 0, fmt.Errorf("transcript: %q is none of %s", word, strings.Join(dimensionNames[:], ", "))
	}
	return Dimension(i), nil
}

// ReportOptions say how calls are grouped and what they cost. Nil means one group, in UTC, with the default prices.
type ReportOptions struct {
	// By are the dimensions: calls are in the same row if they are alike in all of them.
	By []Dimension
	// Location is where months, weeks, days and hours begin; nil means UTC.
	Location *time.Location
	// Prices are what models cost; nil means [DefaultPrices].
	Prices *Prices
}

// A Report has sums over groups of calls.
type Report struct {
	// Rows are sorted by time, then by the other parts of their keys.
	Rows []Row `json:"rows"`
	// Total is the sum of all rows.
	Total Totals `json:"total"`
}

// A Row has the sums over a group of calls.
type Row struct {
	Key Key `json:"key"`
	Totals
	// First and Last are the times of the first and the last call, or zero if no call has one.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// A Key says what the calls of a row have in common. Only the dimensions of the report are set.
type Key struct {
	// Month is written as 2026-11, and Day as 2026-11-15; Week is the Monday that it begins with, written as a day. They
	// are empty, and Hour and Block are zero, for calls without a time.
	Month string `json:"month,omitempty"`
	Week  string `json:"week,omitempty"`
	Day   string `json:"day,omitempty"`
	// Hour and Block are the times at which these begin.
	Hour    time.Time `json:"hour,omitzero"`
	Block   time.Time `json:"block,omitzero"`
	Project string    `json:"project,omitempty"`
	Session string    `json:"session,omitempty"`
	// Agent is the ID of a subagent, and empty for the main conversation.
	Agent string `json:"agent,omitempty"`
	// Model is the name as the table of prices has it, or else as the transcript has it.
	Model string `json:"model,omitempty"`
}

// NewReport groups calls and adds them up. Calls may come in any order; each counts, so they should be those of
// a [Tally]. opts may be nil.
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
