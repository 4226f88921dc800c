package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/stats"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// usageFor is the time for which the usage of all sessions counts as current. It takes a read of
// all transcripts.
const usageFor = 30 * time.Second

// A usageCache keeps the usage of all sessions for a moment, so that another table of the same does
// not read everything again. One request reads; others wait for it.
type usageCache struct {
	mu    sync.Mutex
	scan  *sessions.UsageScan
	calls []usage.Call
	at    time.Time
}

// read returns the usage of all sessions. The caller must not change it.
func (c *usageCache) read(ctx context.Context, now time.Time) (*sessions.UsageScan, []usage.Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scan != nil && now.Sub(c.at) < usageFor {
		return c.scan, c.calls, nil
	}
	scan, err := sessions.ScanUsage(ctx, &sessions.UsageOptions{Tools: true})
	if err != nil {
		return nil, nil, err
	}
	c.scan, c.calls, c.at = scan, scan.Tally.Calls(), now
	time.AfterFunc(2*usageFor, func() { c.forget(scan) })
	return c.scan, c.calls, nil
}

// forget frees a scan.
func (c *usageCache) forget(scan *sessions.UsageScan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scan == scan {
		c.scan, c.calls = nil, nil
	}
}

// A usageQuery is a request for a usage report.
type usageQuery struct {
	by           string
	since, until time.Time
}

// usage answers with the tokens and costs of all sessions.
func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	q, err := s.parseUsage(r.URL.Query())
	if err != nil {
		return err
	}
	scan, calls, err := s.used.read(r.Context(), s.opts.Now())
	if err != nil {
		return err
	}
	var m markup
	d := usageDrawer{markup: &m, s: s, q: q, scan: scan, prices: usage.DefaultPrices()}
	d.calls = slices.DeleteFunc(slices.Clone(calls), func(c usage.Call) bool { return !q.has(c.Time) })
	d.draw(r.Context())
	return reply(w, fragment{m.String()})
}

func (s *Server) parseUsage(values url.Values) (*usageQuery, error) {
	q := &usageQuery{by: cmp.Or(values.Get("by"), "day")}
	if !slices.Contains([]string{"day", "model", "project", "tool", "block"}, q.by) {
		return nil, refused(http.StatusBadRequest, "by must be day, model, project, tool or block")
	}
	var err error
	if q.since, err = s.parseDay(values, "since"); err != nil {
		return nil, err
	}
	if q.until, err = s.parseDay(values, "until"); err != nil {
		return nil, err
	}
	if !q.until.IsZero() {
		q.until = q.until.AddDate(0, 0, 1) // the day is included
	}
	return q, nil
}

// parseDay reads a day, or returns the zero time.
func (s *Server) parseDay(values url.Values, name string) (time.Time, error) {
	text := values.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, s.opts.Zone)
	if err != nil {
		return time.Time{}, refused(http.StatusBadRequest, "%s must be a day such as 2026-11-17", name)
	}
	return at, nil
}

// has reports whether a time is in the span that is asked for.
func (q *usageQuery) has(at time.Time) bool {
	return !at.Before(q.since) && (q.until.IsZero() || at.Before(q.until))
}

// A usageDrawer writes a table of usage, and its plot.
type usageDrawer struct {
	*markup
	s      *Server
	q      *usageQuery
	scan   *sessions.UsageScan
	calls  []usage.Call
	prices usage.Prices
}

func (d *usageDrawer) draw(ctx context.Context) {
	if len(d.calls) == 0 && d.q.by != "tool" {
		d.element("p", "missing", "No answers in that period.")
		return
	}
	switch d.q.by {
	case "tool":
		d.tools()
	case "block":
		d.blocks()
	case "model":
		d.groups(usage.ByModel, d.modelNames())
	case "project":
		d.groups(usage.ByProject, d.projectNames(ctx))
	default:
		d.groups(usage.ByDay, nil)
	}
	d.element("p", "note", "Costs are at list prices of "+d.prices.Date+", unless the transcript has the cost.")
	if n := len(d.scan.Unread); n > 0 {
		d.element("p", "missing", "Files that could not be read and do not count: "+wording.Number(n)+".")
	}
}

// A usageRow is a row in the table.
type usageRow struct {
	name  string
	note  string
	rate  string
	total usage.Totals
}

// groups writes the usage by a dimension. names has the names that differ from the keys.
func (d *usageDrawer) groups(by usage.Dimension, names map[string]string) {
	report := usage.NewReport(d.calls, &usage.ReportOptions{By: []usage.Dimension{by}, Location: d.s.opts.Zone, Prices: &d.prices})
	list := make([]usageRow, 0, len(report.Rows))
	for i := range report.Rows {
		key := keyOf(&report.Rows[i].Key, by)
		list = append(list, usageRow{name: cmp.Or(names[key], key, "(unknown)"), total: report.Rows[i].Totals})
	}
	if by == usage.ByDay {
		slices.SortFunc(list, func(a, b usageRow) int { return cmp.Compare(a.name, b.name) })
	} else {
		slices.SortStableFunc(list, func(a, b usageRow) int {
			return cmp.Or(cmp.Compare(b.total.Cost, a.total.Cost), cmp.Compare(b.total.Usage.TotalTokens(), a.total.Usage.TotalTokens()))
		})
	}
	d.plot("Cost by "+by.String(), list)
	if by == usage.ByDay {
		slices.Reverse(list) // the newest day is read first
	}
	d.table("Usage by "+by.String(), by.String(), list, &report.Total)
}

// keyOf returns the part of a key that a dimension is.
func keyOf(k *usage.Key, by usage.Dimension) string {
	switch by {
	case usage.ByDay:
		return k.Day
	case usage.ByProject:
		return k.Project
	}
	return k.Model
}

// modelNames returns the short names of models, unless several share one.
func (d *usageDrawer) modelNames() map[string]string {
	names := map[string]string{}
	for i := range d.calls {
		names[d.calls[i].Model] = render.ShortModel(d.calls[i].Model)
	}
	return distinct(names, nil)
}

// projectNames returns the names of projects in lists. For projects that share a name it returns
// the directories.
func (d *usageDrawer) projectNames(ctx context.Context) map[string]string {
	names, directories := map[string]string{}, map[string]string{}
	l := d.s.listing
	if l.open(ctx) == nil {
		for _, p := range l.list.Projects() {
			names[p.Name], directories[p.Name] = p.Shown(), p.Directory
		}
		l.mu.Unlock()
	}
	return distinct(names, directories)
}

// distinct replaces the names that several keys share by longer ones, or by nothing.
func distinct(names, longer map[string]string) map[string]string {
	shared := stats.Shared(names)
	for key, name := range names {
		if shared[name] {
			names[key] = longer[key]
		}
	}
	return names
}

// blocks writes the five-hour blocks, the newest first, and the current one.
func (d *usageDrawer) blocks() {
	now := d.s.opts.Now()
	blocks := usage.FiveHourBlocks(d.calls, &usage.FiveHourBlockOptions{Prices: &d.prices, Now: now})
	var list []usageRow
	var total usage.Totals
	for i := range blocks {
		b := &blocks[i]
		if b.Gap {
			continue
		}
		start, end := b.Start.In(d.s.opts.Zone), b.End.In(d.s.opts.Zone)
		row := usageRow{name: start.Format("2006-01-02 15:04") + "–" + end.Format("15:04"), total: b.Totals}
		if rate := stats.BlockRate(b); rate > 0 {
			row.rate = wording.Money(rate) + "/h"
		}
		if b.Active {
			row.note = "now"
			d.active(b)
		}
		list = append(list, row)
		total = total.Plus(b.Totals)
	}
	for _, l := range stats.OpenLimits(d.scan.Limits, now) {
		d.element("p", "flag", stats.LimitName(&l)+" reached; it resets "+l.ResetsAt.In(d.s.opts.Zone).Format("2006-01-02 15:04"))
	}
	d.plot("Cost by block", list)
	slices.Reverse(list)
	d.table("Usage by five-hour block", "block", list, &total)
}

// active describes the progress of the current block and its projection.
func (d *usageDrawer) active(b *usage.FiveHourBlock) {
	d.raw(`<dl class="figures">`)
	figure(d.markup, "this block", wording.CostOf(&b.Totals).Long(), "so far")
	if b.Projection != nil && stats.BlockRate(b) > 0 {
		figure(d.markup, "rate", wording.Money(b.Burn.CostPerHour)+"/h", wording.Rounded(int(b.Burn.TokensPerMinute+0.5))+" tokens/min")
		figure(d.markup, "projected", wording.Money(b.Projection.Cost), wording.Tokens(b.Projection.Tokens))
	}
	d.raw("</dl>")
}

// plot writes a plot of costs.
func (d *usageDrawer) plot(title string, list []usageRow) {
	p := &plot{title: title}
	for i := range list[max(len(list)-maxBars, 0):] {
		row := &list[max(len(list)-maxBars, 0)+i]
		p.bars = append(p.bars, bar{label: row.name, value: int64(row.total.Cost), text: wording.CostOf(&row.total).Short()})
	}
	p.write(d.markup)
}

// maxUsageRows is the maximum number of table rows.
const maxUsageRows = 1000

func (d *usageDrawer) table(caption, first string, list []usageRow, total *usage.Totals) {
	columns := []column{
		{first, false}, {"Answers", true}, {"Input", true}, {"Output", true}, {"Cache read", true}, {"Cache write", true}, {"Cost", true},
	}
	isBlock := first == "block"
	if isBlock {
		columns = append(columns, column{"Rate", true})
	}
	d.tableHead(caption, columns)
	for i := range list[:min(len(list), maxUsageRows)] {
		d.usageRow(&list[i], isBlock)
	}
	if left := len(list) - maxUsageRows; left > 0 {
		d.raw(`<tr><th scope="row">`)
		d.text(wording.Count(left, "more row") + ", included in the total")
		d.raw(`</th></tr>`)
	}
	d.usageRow(&usageRow{name: "total", total: *total}, isBlock)
	d.tableEnd()
}

func (d *usageDrawer) usageRow(row *usageRow, isBlock bool) {
	d.raw(`<tr><th scope="row">`)
	d.text(row.name)
	d.span("note", row.note)
	d.raw("</th>")
	u := &row.total.Usage
	d.element("td", "r", wording.Number(row.total.Calls))
	for _, n := range []int{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheCreationTokens} {
		d.element("td", "r", wording.Rounded(n))
	}
	d.element("td", "r", wording.CostOf(&row.total).Short())
	if isBlock {
		d.element("td", "r", row.rate)
	}
	d.raw("</tr>")
}

// tools writes the tool calls.
func (d *usageDrawer) tools() {
	list, total := stats.CountTools(d.scan.Tools.Calls(), d.q.since, d.q.until, d.prices, false)
	if len(list) == 0 {
		d.element("p", "missing", "No calls of tools in that period.")
		return
	}
	stats.SortTools(list)
	p := &plot{title: "Calls by tool"}
	for i := range list[:min(len(list), maxBars/10)] {
		p.bars = append(p.bars, bar{label: list[i].Tool, value: int64(list[i].Calls), text: wording.Count(list[i].Calls, "call")})
	}
	p.write(d.markup)
	d.tableHead("Calls by tool", []column{
		{"Tool", false}, {"Calls", true}, {"Failed", true}, {"Input tokens", true}, {"Result tokens", true}, {"Cost", true},
	})
	for i := range list[:min(len(list), maxUsageRows)] {
		d.toolRow(list[i].Tool, &list[i].ToolSums)
	}
	d.toolRow("total", &total)
	d.tableEnd()
	d.element("p", "note", stats.ToolCostRemark)
}

func (d *usageDrawer) toolRow(name string, sums *stats.ToolSums) {
	d.raw(`<tr><th scope="row">`)
	d.text(name)
	d.raw("</th>")
	d.element("td", "r", wording.Number(sums.Calls))
	d.element("td", "r", wording.Number(sums.Failed))
	d.element("td", "r", wording.Rounded(sums.InputTokens))
	d.element("td", "r", wording.Rounded(sums.ResultTokens))
	d.element("td", "r", sums.Cost().Short())
	d.raw("</tr>")
}
