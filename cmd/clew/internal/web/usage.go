package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/stats"
	"github.com/clewdev/clew/internal/pricelist"
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
	tools        bool            // tool calls are counted in place of answers
	by           usage.Dimension // of answers
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
	prices := pricelist.Current()
	if q.tools {
		writeTools(&m, stats.ScanTools(scan, q.since, q.until, prices, false))
	} else {
		calls = slices.DeleteFunc(slices.Clone(calls), func(c usage.Call) bool { return !q.has(c.Time) })
		opts := &usage.ReportOptions{By: []usage.Dimension{q.by}, Location: s.opts.Zone, Prices: &prices}
		report := stats.NewReport(scan, calls, opts, s.opts.Now())
		report.Sort("")
		if q.by == usage.ByProject {
			report.Name(s.directories(r.Context()), nil, nil)
		}
		writeUsage(&m, report, q.by)
	}
	m.element("p", "note", "Costs are at list prices of "+prices.Date+", unless the transcript has the cost.")
	if n := len(scan.Unread); n > 0 {
		m.element("p", "missing", "Files that could not be read and do not count: "+wording.Number(n)+".")
	}
	return reply(w, fragment{m.String()})
}

// directories returns the directories of projects by their names.
func (s *Server) directories(ctx context.Context) map[string]string {
	directories := map[string]string{}
	l := s.listing
	if l.open(ctx) == nil {
		for _, p := range l.Projects() {
			directories[p.Name] = p.Directory
		}
		l.mu.Unlock()
	}
	return directories
}

func (s *Server) parseUsage(values url.Values) (*usageQuery, error) {
	by := cmp.Or(values.Get("by"), "day")
	q := &usageQuery{tools: by == "tool"}
	var err error
	if q.by, err = usage.ParseDimension(by); err != nil && !q.tools {
		return nil, refused(http.StatusBadRequest, "by must be tool or one of the groups of clew stats, such as day")
	}
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

// writeUsage writes a report by one dimension: its current block and limits, a plot and a table.
func writeUsage(m *markup, r *stats.Report, by usage.Dimension) {
	if len(r.Rows) == 0 {
		m.element("p", "missing", "No answers in that period.")
		return
	}
	if b := r.Active(); b != nil {
		writeBlock(m, b)
	}
	for _, text := range r.Limits() {
		m.element("p", "flag", text)
	}
	word := by.String()
	if by == usage.ByBlock {
		word = "five-hour block"
	}
	groups := slices.DeleteFunc(r.Groups(0), func(g *stats.Group) bool { return g.Gap })
	bars := groups[:min(len(groups), maxBars)]
	if stats.IsTime(by) {
		bars = groups[max(len(groups)-maxBars, 0):]
	}
	p := &plot{title: "Cost by " + word}
	for _, g := range bars {
		p.bars = append(p.bars, bar{label: g.Label, value: int64(g.Totals.Cost), text: wording.CostOf(&g.Totals).Short()})
	}
	p.write(m)
	if stats.IsTime(by) {
		slices.Reverse(groups) // the newest one is read first
	}
	usageTable(m, r, word, groups)
	if remark := r.PriceRemark(); remark != "" {
		m.element("p", "note", remark)
	}
}

// writeBlock describes the progress of the current block and its projection.
func writeBlock(m *markup, b *usage.FiveHourBlock) {
	m.raw(`<dl class="figures">`)
	figure(m, "this block", wording.CostOf(&b.Totals).Long(), "so far")
	if b.Projection != nil && stats.HasRate(b) {
		figure(m, "rate", wording.Money(b.Burn.CostPerHour)+"/h", wording.Rounded(int(b.Burn.TokensPerMinute+0.5))+" tokens/min")
		figure(m, "projected", wording.Money(b.Projection.Cost), wording.Tokens(b.Projection.Tokens))
	}
	m.raw("</dl>")
}

// maxUsageRows is the maximum number of table rows.
const maxUsageRows = 1000

func usageTable(m *markup, r *stats.Report, word string, groups []*stats.Group) {
	columns := figureColumns(strings.ToUpper(word[:1])+word[1:], stats.Figures)
	if r.IsByBlock() {
		columns = append(columns, column{"Per hour", true})
	}
	m.tableHead("Usage by "+word, columns)
	row := func(g *stats.Group) {
		last := []string{wording.CostOf(&g.Totals).Short()}
		if r.IsByBlock() {
			last = append(last, wording.Cost{Amount: g.Rate}.Note())
		}
		figureRow(m, g.Label, stats.Figures, &g.Totals, last...)
	}
	for _, g := range groups[:min(len(groups), maxUsageRows)] {
		row(g)
	}
	if left := len(groups) - maxUsageRows; left > 0 {
		m.raw(`<tr><th scope="row">`)
		m.text(wording.Count(left, "more row") + ", included in the total")
		m.raw(`</th></tr>`)
	}
	row(&stats.Group{Label: "total", Totals: r.Total})
	m.tableEnd()
}

// figureColumns returns the columns of a table of figures and costs.
func figureColumns[Sums any](first string, figures []stats.Figure[Sums]) []column {
	columns := []column{{first, false}}
	for i := range figures {
		columns = append(columns, column{figures[i].Name, true})
	}
	return append(columns, column{"Cost", true})
}

// figureRow writes a row of such a table. last has the cells after the figures.
func figureRow[Sums any](m *markup, label string, figures []stats.Figure[Sums], of *Sums, last ...string) {
	m.raw(`<tr><th scope="row">`)
	m.text(label)
	m.raw("</th>")
	for i := range figures {
		m.element("td", "r", figures[i].Text(of, true))
	}
	for _, text := range last {
		m.element("td", "r", text)
	}
	m.raw("</tr>")
}

// writeTools writes the tool calls.
func writeTools(m *markup, r *stats.ToolReport) {
	if len(r.Rows) == 0 {
		m.element("p", "missing", "No calls of tools in that period.")
		return
	}
	p := &plot{title: "Calls by tool"}
	for i := range r.Rows[:min(len(r.Rows), maxBars/10)] {
		p.bars = append(p.bars, bar{label: r.Rows[i].Tool, value: int64(r.Rows[i].Calls), text: wording.Count(r.Rows[i].Calls, "call")})
	}
	p.write(m)
	m.tableHead("Calls by tool", figureColumns("Tool", stats.ToolFigures))
	for i := range r.Rows[:min(len(r.Rows), maxUsageRows)] {
		row := &r.Rows[i]
		figureRow(m, row.Tool, stats.ToolFigures, &row.ToolSums, row.Cost().Short())
	}
	figureRow(m, "total", stats.ToolFigures, &r.Total, r.Total.Cost().Short())
	m.tableEnd()
	m.element("p", "note", stats.ToolCostRemark)
}
