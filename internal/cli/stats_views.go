package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/stats"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// recentBlocks is the period that --recent covers.
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

// trimBlocks removes the blocks whose rows were removed, and the gaps beside them.
func (r *statsReport) trimBlocks() {
	rows := map[time.Time]bool{}
	for i := range r.Rows {
		rows[r.Rows[i].Key.Block] = true
	}
	starts, ends := map[time.Time]bool{}, map[time.Time]bool{}
	for i := range r.Blocks {
		if b := &r.Blocks[i]; !b.Gap && rows[b.Start] {
			starts[b.Start], ends[b.End] = true, true
		}
	}
	r.Blocks = slices.DeleteFunc(r.Blocks, func(b usage.FiveHourBlock) bool {
		if b.Gap {
			return !ends[b.Start] || !starts[b.End]
		}
		return !starts[b.Start]
	})
}

// describeBlocks adds the facts about blocks to groups by block, and the gaps between them if the
// groups are in the order of time.
func (r *statsReport) describeBlocks(groups []*statsGroup) []*statsGroup {
	byName := map[string]*statsGroup{}
	for _, g := range groups {
		byName[g.name] = g
	}
	inOrder := r.order == "" || r.order == "name"
	var all []*statsGroup
	var end time.Time // of the last block in all
	for i := range r.Blocks {
		b := &r.Blocks[i]
		g := byName[r.clock(b.Start)]
		if b.Gap || g == nil {
			continue
		}
		g.label = r.clock(b.Start) + b.End.In(r.zone).Format("-15:04")
		if g.active = b.Active; b.Active {
			g.label = r.clock(b.Start) + "-now"
		}
		g.rate = stats.BlockRate(b)
		if i > 0 && r.Blocks[i-1].Gap && r.Blocks[i-1].Start.Equal(end) {
			all = append(all, &statsGroup{gap: true, label: "  nothing for " + wording.Duration(b.Start.Sub(end))})
		}
		all, end = append(all, g), b.End
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

// current writes about the current block, and about limits that were reached.
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

// nowFields describes the progress of the active block and its projection.
func (r *statsReport) nowFields(b *usage.FiveHourBlock) []field {
	length := b.End.Sub(b.Start)
	fields := []field{
		{b.Start.In(r.zone).Format("15:04") + b.End.In(r.zone).Format("-15:04"), tty.Plain},
		{fmt.Sprintf("%d %% of the time", int(100*r.now.Sub(b.Start)/length)), tty.Plain},
		{wording.CostOf(&b.Totals).Long() + " so far", tty.Cost},
	}
	if b.Projection == nil || b.Last.Sub(b.First) < stats.LeastSpan {
		return fields
	}
	projected := wording.Money(b.Projection.Cost) + " and " + wording.Tokens(b.Projection.Tokens)
	return append(fields,
		field{wording.Money(b.Burn.CostPerHour) + "/h", tty.Cost},
		field{wording.Rounded(int(b.Burn.TokensPerMinute+0.5)) + " tokens/min", tty.Plain},
		field{"projected " + projected, tty.Waiting})
}

// limitFields names the limits that were reached and are not reset yet.
func (r *statsReport) limitFields() []field {
	var fields []field
	for _, l := range stats.OpenLimits(r.limits, r.now) {
		fields = append(fields, field{stats.LimitName(&l) + " reached (resets " + r.soon(l.ResetsAt) + ")", tty.Failure})
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

// flow writes fields into lines, of which the first starts with a mark of five columns. It returns
// the indentation of further lines.
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

// A toolsReport counts tool calls, by tool or by MCP server.
type toolsReport struct {
	By       []string        `json:"by"`
	Rows     []stats.ToolRow `json:"rows"`
	Total    stats.ToolSums  `json:"total"`
	Files    int             `json:"files"`
	Bytes    int64           `json:"bytes"`
	BadLines int             `json:"badLines"`
	Unread   int             `json:"unread"`
	LeftOut  int             `json:"leftOut,omitempty"`
}

// newToolsReport adds up the calls in the span of time that is asked for.
func newToolsReport(used *sessions.UsageScan, want *sessions.UsageOptions, prices usage.Prices, servers bool) *toolsReport {
	r := &toolsReport{
		By: []string{"tool"}, Rows: []stats.ToolRow{}, Files: used.Files, Bytes: used.Bytes, BadLines: used.BadLines,
		Unread: len(used.Unread),
	}
	if servers {
		r.By[0] = "mcp"
	}
	r.Rows, r.Total = stats.CountTools(used.Tools.Calls(), want.Since, want.Until, prices, servers)
	return r
}

// sort sorts the rows: by default, the most expensive come first. Tools of a server are together, in
// the order of the servers.
func (r *toolsReport) sort(order statsOrder) {
	sums := map[string]*stats.ToolSums{}
	for _, s := range r.servers() {
		sums[s.Server] = &s.ToolSums
	}
	slices.SortFunc(r.Rows, func(a, b stats.ToolRow) int {
		return cmp.Or(sums[a.Server].Compare(sums[b.Server], string(order)), cmp.Compare(a.Server, b.Server),
			a.Compare(&b.ToolSums, string(order)), cmp.Compare(a.Tool, b.Tool))
	})
}

// cut keeps the first rows; 0 means all.
func (r *toolsReport) cut(limit int) {
	if limit > 0 && len(r.Rows) > limit {
		r.LeftOut = len(r.Rows) - limit
		r.Rows = r.Rows[:limit]
	}
}

func (o *statsOptions) printTools(used *sessions.UsageScan, want *sessions.UsageOptions, prices usage.Prices) error {
	r := newToolsReport(used, want, prices, o.by.tools == "mcp")
	r.sort(o.order)
	r.cut(o.limit)
	switch {
	case o.json:
		return o.writeJSON(r)
	case o.csv:
		return o.writeToolsCSV(r)
	case len(r.Rows) == 0:
		return o.write("no calls of tools\n")
	}
	return o.write(r.text(o.canvas()))
}

func (o *statsOptions) writeToolsCSV(r *toolsReport) error {
	records := [][]string{{
		"server", "tool", "calls", "failed", "input_tokens", "result_tokens", "estimated_cost_usd", "unknown_cost",
	}}
	for _, row := range r.Rows {
		records = append(records, append(csvNames([]string{row.Server, row.Tool}), strconv.Itoa(row.Calls),
			strconv.Itoa(row.Failed), strconv.Itoa(row.InputTokens), strconv.Itoa(row.ResultTokens),
			row.EstimatedCost.Decimal(), strconv.FormatBool(row.UnknownCost)))
	}
	return o.writeRecords(records)
}

// A toolsLayout selects the columns of a tool table.
type toolsLayout int

const (
	allTools   toolsLayout = iota
	briefTools             // tokens of inputs and results in one column
	minTools               // without failures as well
)

// text returns the table with the most columns that fit, and the remarks below it.
func (r *toolsReport) text(on canvas) string {
	t := r.table(on, allTools)
	for l := briefTools; on.width > 0 && t.Width() > on.width && l <= minTools; l++ {
		t = r.table(on, l)
	}
	w := new(strings.Builder)
	t.Print(w, on.width)
	var remarks []string
	if r.Total.EstimatedCost > 0 {
		remarks = append(remarks, stats.ToolCostRemark)
	}
	if r.LeftOut > 0 {
		remarks = append(remarks, "tools that are not shown but are included in the total: "+wording.Number(r.LeftOut))
	}
	if r.Total.UnknownCost {
		remarks = append(remarks, "≥ and ?: some calls are of models without a known price; add it with --prices")
	}
	for _, remark := range remarks {
		w.WriteString("\n" + on.secondary(remark))
	}
	return w.String()
}

func (r *toolsReport) table(on canvas, layout toolsLayout) *clikit.Table {
	first := "TOOL"
	if r.By[0] == "mcp" {
		first = "SERVER / TOOL"
	}
	headings := []string{first, "CALLS>", "FAILED>", "INPUT TOKENS>", "RESULT TOKENS>", "COST>"}
	switch layout {
	case briefTools:
		headings = []string{first, "CALLS>", "FAILED>", "TOKENS>", "COST>"}
	case minTools:
		headings = []string{first, "CALLS>", "TOKENS>", "COST>"}
	}
	t := &toolsTable{Table: clikit.NewTable(headings...), layout: layout, exact: on.width == 0}
	t.cents = !t.exact && r.Total.EstimatedCost >= usage.Dollar
	t.Color = on.color
	for _, server := range r.servers() {
		indent, style := "", tty.Plain
		if server.Server != "" {
			t.addSums(clikit.Clip(server.Server), &server.ToolSums, tty.Plain)
			indent, style = "  ", tty.Dim
		}
		for _, row := range server.tools {
			t.addSums(indent+clikit.Clip(row.Tool), &row.ToolSums, style)
		}
	}
	t.addSums("total", &r.Total, tty.Title)
	return t.Table
}

// A toolServer is an MCP server with its tools, or all tools.
type toolServer struct {
	stats.ToolRow
	tools []*stats.ToolRow
}

// servers returns the rows by server, in the order of the first ones.
func (r *toolsReport) servers() []*toolServer {
	var list []*toolServer
	byName := map[string]*toolServer{}
	for i := range r.Rows {
		row := &r.Rows[i]
		s := byName[row.Server]
		if s == nil {
			s = &toolServer{ToolRow: stats.ToolRow{Server: row.Server}}
			byName[row.Server] = s
			list = append(list, s)
		}
		s.Add(row.ToolSums)
		s.tools = append(s.tools, row)
	}
	return list
}

// A toolsTable adds the sums of tools to a table.
type toolsTable struct {
	*clikit.Table
	layout       toolsLayout
	exact, cents bool // numbers are not shortened; costs are rounded to cents
}

// addSums adds a row.
func (t *toolsTable) addSums(name string, s *stats.ToolSums, style tty.Style) {
	count := func(n int) string {
		if t.exact {
			return wording.Number(n)
		}
		return wording.Rounded(n)
	}
	layout := t.layout
	cells := []string{name, wording.Number(s.Calls)}
	if layout != minTools {
		cells = append(cells, wording.Number(s.Failed))
	}
	if layout == allTools {
		cells = append(cells, count(s.InputTokens), count(s.ResultTokens))
	} else {
		cells = append(cells, count(s.InputTokens+s.ResultTokens))
	}
	cells = append(cells, column(s.Cost(), t.cents))
	styles := cellStyles(cells, style)
	if s.Failed > 0 && layout != minTools {
		styles[2] = tty.Failure
	}
	if styles[len(styles)-1] = tty.Cost; s.EstimatedCost == 0 {
		styles[len(styles)-1] = tty.Dim
	}
	t.Add(cells...)
	t.Style(styles...)
}
