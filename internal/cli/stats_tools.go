package cli

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

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
