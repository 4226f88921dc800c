package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// recentBlocks is how far --recent goes back.
const recentBlocks = 3 * 24 * time.Hour

// byBlock reports whether the answers are grouped by block and nothing else.
func byBlock(list []usage.Dimension) bool {
	return slices.Equal(list, []usage.Dimension{usage.ByBlock})
}

// keepBlocks keeps the active block or recent ones, if that is asked for, and counts nothing else.
func (r *statsReport) keepBlocks(active, recent bool) {
	if !active && !recent {
		return
	}
	wanted := map[time.Time]bool{}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		wanted[b.Start] = !b.Gap && (b.Active || !active && b.End.After(r.now.Add(-recentBlocks)))
	}
	r.keep(func(row *statsRow) bool { return wanted[row.Key.Block] })
}

// trimBlocks removes the blocks whose rows were removed, and the gaps at both ends of the rest.
func (r *statsReport) trimBlocks() {
	rows := map[time.Time]bool{}
	for i := range r.Rows {
		rows[r.Rows[i].Key.Block] = true
	}
	blocks := slices.DeleteFunc(r.Blocks, func(b usage.FiveHourBlock) bool { return !b.Gap && !rows[b.Start] })
	for len(blocks) > 0 && blocks[0].Gap {
		blocks = blocks[1:]
	}
	for len(blocks) > 0 && blocks[len(blocks)-1].Gap {
		blocks = blocks[:len(blocks)-1]
	}
	r.Blocks = blocks
}

// describeBlocks adds to groups by block what is known of the blocks, and the gaps between them if
// the groups are in the order of time.
func (r *statsReport) describeBlocks(groups []*statsGroup) []*statsGroup {
	byName := map[string]*statsGroup{}
	for _, g := range groups {
		byName[g.name] = g
	}
	inOrder := r.order == "" || r.order == "name"
	var all, gap []*statsGroup
	for i := range r.Blocks {
		b := &r.Blocks[i]
		g := byName[r.clock(b.Start)]
		switch {
		case b.Gap:
			gap = []*statsGroup{{gap: true, label: "  nothing for " + render.Duration(b.End.Sub(b.Start))}}
			continue
		case g == nil:
			continue
		}
		g.label = r.clock(b.Start) + b.End.In(r.zone).Format("-15:04")
		if g.active = b.Active; b.Active {
			g.label = r.clock(b.Start) + "-now"
		}
		g.rate = blockRate(b)
		if len(all) > 0 {
			all = append(all, gap...)
		}
		all = append(all, g)
		delete(byName, g.name)
	}
	if !inOrder {
		return groups
	}
	for _, g := range groups { // answers without a time are in no block
		if byName[g.name] != nil {
			all = append([]*statsGroup{g}, all...)
		}
	}
	return all
}

// leastSpan is how long a block must be used before its rate says something.
const leastSpan = 10 * time.Minute

// blockRate returns the cost of a block per hour, or 0 if it is not known.
func blockRate(b *usage.FiveHourBlock) usage.Money {
	if b.Burn == nil || b.Last.Sub(b.First) < leastSpan {
		return 0
	}
	return b.Burn.CostPerHour
}

// current writes about the block that goes on, and about limits that were reached.
func (r *statsReport) current(w *strings.Builder, on canvas) {
	var lines [][]field
	for i := range r.Blocks {
		if r.Blocks[i].Active {
			lines = append(lines, r.nowFields(&r.Blocks[i]))
		}
	}
	if limits := r.limitFields(); len(limits) > 0 {
		lines = append(lines, limits)
	}
	mark := tty.Title.Paint("NOW", on.color) + "  "
	for i, fields := range lines {
		if i == 0 {
			w.WriteString("\n")
		}
		mark = flow(w, fields, mark, on)
	}
}

// A field is a part of a line that is not broken if possible.
type field struct {
	text  string
	style tty.Style
}

// nowFields says how far the active block is, and what it will come to.
func (r *statsReport) nowFields(b *usage.FiveHourBlock) []field {
	cents := b.Cost >= usage.Dollar
	length := b.End.Sub(b.Start)
	fields := []field{
		{b.Start.In(r.zone).Format("15:04") + b.End.In(r.zone).Format("-15:04"), tty.Plain},
		{fmt.Sprintf("%d %% of the time", int(100*r.now.Sub(b.Start)/length)), tty.Plain},
		{shownCost(&b.Totals, cents) + " so far", tty.Cost},
	}
	if b.Projection == nil || b.Last.Sub(b.First) < leastSpan {
		return fields
	}
	projected := shownMoney(b.Projection.Cost, cents) + " and " + render.Count(b.Projection.Tokens) + " tokens"
	return append(fields,
		field{shownMoney(b.Burn.CostPerHour, cents) + "/h", tty.Cost},
		field{render.Count(int(b.Burn.TokensPerMinute+0.5)) + " tokens/min", tty.Plain},
		field{"projected " + projected, tty.Waiting})
}

// limitFields names the limits that were reached and have not started again.
func (r *statsReport) limitFields() []field {
	latest := map[wire.RateLimitType]time.Time{}
	for _, l := range r.limits {
		if l.ResetsAt.After(r.now) && l.ResetsAt.After(latest[l.Type]) {
			latest[l.Type] = l.ResetsAt
		}
	}
	var fields []field
	for i := range r.limits {
		l := &r.limits[i]
		if at, ok := latest[l.Type]; ok && at.Equal(l.ResetsAt) {
			fields = append(fields, field{limitName(l) + " reached (resets " + r.soon(at) + ")", tty.Failure})
			delete(latest, l.Type)
		}
	}
	return fields
}

// soon returns a time with its day, unless that is today.
func (r *statsReport) soon(at time.Time) string {
	if at = at.In(r.zone); at.Format(time.DateOnly) == r.now.In(r.zone).Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

func limitName(l *sessions.ReachedLimit) string {
	switch l.Type {
	case wire.RateLimitFiveHour:
		return "five-hour limit"
	case wire.RateLimitSevenDay, wire.RateLimitSevenDayOverageIncluded:
		return "weekly limit"
	case wire.RateLimitSevenDayOpus:
		return "weekly limit of Opus"
	case wire.RateLimitSevenDaySonnet:
		return "weekly limit of Sonnet"
	case wire.RateLimitOverage:
		return "limit of extra usage"
	}
	return "usage limit"
}

// flow writes fields into lines, of which the first begins with a mark of five columns. It returns
// the space that further lines begin with.
func flow(w *strings.Builder, fields []field, mark string, on canvas) string {
	indent := strings.Repeat(" ", 5)
	if on.width > 0 && on.width < 4*len(indent) { // there is no room for it
		mark, indent = "", ""
	}
	room := max(on.width-len(indent), 0)
	used := 0 // columns of the line
	for _, f := range fields {
		for i, part := range tty.Wrap(f.text, room) {
			width := tty.Width(part)
			switch {
			case used == 0:
			case i == 0 && (room == 0 || used+fieldGap+width <= room):
				mark = strings.Repeat(" ", fieldGap)
				used += fieldGap
			default:
				mark, used = "\n"+indent, 0
			}
			w.WriteString(mark + f.style.Paint(part, on.color))
			used += width
		}
	}
	w.WriteString("\n")
	return indent
}

// fieldGap is the space between fields.
const fieldGap = 3
