package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
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

// A toolsReport counts calls of tools, by tool or by MCP server.
type toolsReport struct {
	By       []string  `json:"by"`
	Rows     []toolRow `json:"rows"`
	Total    toolSums  `json:"total"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	BadLines int       `json:"badLines"`
	Unread   int       `json:"unread"`
	LeftOut  int       `json:"leftOut,omitempty"`
}

// A toolRow has the sums of a tool. Server is set for tools of MCP servers.
type toolRow struct {
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool"`
	toolSums
}

type toolSums struct {
	Calls        int `json:"calls"`
	Failed       int `json:"failed"`
	InputTokens  int `json:"inputTokens"`
	ResultTokens int `json:"resultTokens"`
}

func (s *toolSums) add(o toolSums) {
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.InputTokens += o.InputTokens
	s.ResultTokens += o.ResultTokens
}

// newToolsReport adds up the calls in the span of time that is asked for.
func newToolsReport(used *sessions.UsageScan, want *sessions.UsageOptions, servers bool) *toolsReport {
	r := &toolsReport{
		By: []string{"tool"}, Rows: []toolRow{}, Files: used.Files, Bytes: used.Bytes, BadLines: used.BadLines,
		Unread: len(used.Unread),
	}
	if servers {
		r.By[0] = "mcp"
	}
	sums := map[toolRow]*toolSums{}
	calls := used.Tools.Calls()
	for i := range calls {
		c := &calls[i]
		if c.Time.Before(want.Since) || !want.Until.IsZero() && !c.Time.Before(want.Until) {
			continue
		}
		row := toolRow{Tool: c.Name}
		if server, tool, ok := c.MCP(); ok && servers {
			row.Server, row.Tool = server, tool
		} else if servers {
			continue
		}
		if sums[row] == nil {
			sums[row] = new(toolSums)
		}
		one := toolSumsOf(c)
		sums[row].add(one)
		r.Total.add(one)
	}
	for row, s := range sums {
		row.toolSums = *s
		r.Rows = append(r.Rows, row)
	}
	return r
}

func toolSumsOf(c *usage.ToolCall) toolSums {
	s := toolSums{Calls: 1, InputTokens: c.InputTokens, ResultTokens: c.ResultTokens}
	if c.Failed {
		s.Failed = 1
	}
	return s
}

// sort sorts the rows: by default, those with the longest results come first.
func (r *toolsReport) sort(order statsOrder) {
	slices.SortFunc(r.Rows, func(a, b toolRow) int {
		most := cmp.Compare(b.ResultTokens, a.ResultTokens)
		switch order {
		case "name":
			most = 0
		case "answers":
			most = cmp.Compare(b.Calls, a.Calls)
		}
		return cmp.Or(most, cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
}

// cut keeps the first rows; 0 means all.
func (r *toolsReport) cut(limit int) {
	if limit > 0 && len(r.Rows) > limit {
		r.LeftOut = len(r.Rows) - limit
		r.Rows = r.Rows[:limit]
	}
}

func (o *statsOptions) printTools(used *sessions.UsageScan, want *sessions.UsageOptions) error {
	r := newToolsReport(used, want, o.by.tools == "mcp")
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
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	records := [][]string{{"server", "tool", "calls", "failed", "input_tokens", "result_tokens"}}
	for _, row := range r.Rows {
		records = append(records, append(csvNames([]string{row.Server, row.Tool}), strconv.Itoa(row.Calls),
			strconv.Itoa(row.Failed), strconv.Itoa(row.InputTokens), strconv.Itoa(row.ResultTokens)))
	}
	if err := w.WriteAll(records); err != nil {
		return err
	}
	return o.write(text.String())
}

// text returns the table. On a narrow screen it has no estimate of the inputs.
func (r *toolsReport) text(on canvas) string {
	t := r.table(on, false)
	if on.width > 0 && t.width() > on.width {
		t = r.table(on, true)
	}
	w := new(strings.Builder)
	t.print(w, on.width)
	if r.LeftOut > 0 {
		text := "tools that are not shown but are included in the total: " + group(int64(r.LeftOut))
		w.WriteString("\n" + on.secondary(text))
	}
	return w.String()
}

func (r *toolsReport) table(on canvas, narrow bool) *table {
	headings := []string{"TOOL", "CALLS>", "FAILED>", "INPUT TOKENS>", "RESULT TOKENS>"}
	if narrow {
		headings = []string{"TOOL", "CALLS>", "FAILED>", "RESULTS>"}
	}
	t := newTable(headings...)
	t.color = on.color
	count := func(n int) string {
		if on.width > 0 {
			return render.Count(n)
		}
		return group(int64(n))
	}
	add := func(name string, s *toolSums, style tty.Style) {
		cells := []string{name, group(int64(s.Calls)), group(int64(s.Failed)), count(s.InputTokens), count(s.ResultTokens)}
		if narrow {
			cells = slices.Delete(cells, 3, 4)
		}
		styles := cellStyles(cells, style)
		if s.Failed > 0 {
			styles[2] = tty.Failure
		}
		t.add(cells...)
		t.style(styles...)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		name := clip(row.Tool)
		if row.Server != "" {
			name = clip(row.Server) + " " + name
		}
		add(name, &row.toolSums, tty.Plain)
	}
	add("total", &r.Total, tty.Title)
	return t
}

// A statsScreen is the part of a terminal that --watch draws on.
type statsScreen struct {
	w     io.Writer
	size  func() (columns, rows int)
	panel tty.Panel
}

// draw replaces the last drawing.
func (s *statsScreen) draw(text string) error {
	columns, rows := s.size()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	_, err := io.WriteString(s.w, s.panel.Draw(lines, columns, rows))
	return err
}

// fit draws what is there again, after the terminal has got another size.
func (s *statsScreen) fit() error {
	_, err := io.WriteString(s.w, s.panel.Redraw(s.size()))
	return err
}

// screenSize returns the columns and rows of a terminal.
func screenSize(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		return terminalSize(f)
	}
	return defaultColumns, defaultRows
}

const (
	watchInterval = 2 * time.Second
	// watchShare is how many times as long as reading takes --watch waits at least.
	watchShare = 10
)

// watch calls show again and again until the context ends, and waits in between. It calls it at once
// if the terminal has got another size.
func (o *statsOptions) watch(ctx context.Context, show func() (string, error), s *statsScreen, resized <-chan struct{}) error {
	for {
		started := o.now()
		text, err := show()
		if err == nil {
			err = asOutputError(s.draw(text))
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errStopped()
		case <-o.after(max(watchInterval, watchShare*o.now().Sub(started))):
		case <-resized:
			if err := s.fit(); err != nil {
				return outputError(err)
			}
		}
	}
}

func asOutputError(err error) error {
	if err == nil {
		return nil
	}
	return outputError(err)
}
