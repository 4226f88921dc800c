package transcript

import "time"

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

// hour returns the beginning of the hour. It goes back from the time, as far as the clocks were not set meanwhile: where
// they are set back, an hour comes twice.
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
