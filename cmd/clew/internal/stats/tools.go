package stats

import (
	"cmp"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A ToolReport counts tool calls, by tool or by MCP server. [CountTools] returns it.
type ToolReport struct {
	By    []string  `json:"by"`
	Rows  []ToolRow `json:"rows"`
	Total ToolSums  `json:"total"`
	Coverage
}

// A ToolRow has the sums of a tool. Server is set for tools of MCP servers, if these are counted.
type ToolRow struct {
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool"`
	ToolSums
}

// ToolSums are sums over tool calls.
type ToolSums struct {
	Calls         int         `json:"calls"`
	Failed        int         `json:"failed"`
	InputTokens   int         `json:"inputTokens"`
	ResultTokens  int         `json:"resultTokens"`
	EstimatedCost usage.Money `json:"estimatedCost"`
	// UnknownCost means that the cost lacks calls to models without a known price.
	UnknownCost bool `json:"unknownCost"`
}

// Cost returns the estimate of the cost as users read it.
func (s *ToolSums) Cost() wording.Cost {
	return wording.Cost{Amount: s.EstimatedCost, Partial: s.UnknownCost, Estimated: true}
}

func (s *ToolSums) add(o ToolSums) {
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.InputTokens += o.InputTokens
	s.ResultTokens += o.ResultTokens
	s.EstimatedCost += o.EstimatedCost
	s.UnknownCost = s.UnknownCost || o.UnknownCost
}

// compare returns less than 0 if s comes before o in an order: answers, tokens or "", which means
// cost. It returns 0 if the names decide.
func (s *ToolSums) compare(o *ToolSums, order string) int {
	tokens := cmp.Compare(o.InputTokens+o.ResultTokens, s.InputTokens+s.ResultTokens)
	switch order {
	case "name":
		return 0
	case "answers":
		return cmp.Compare(o.Calls, s.Calls)
	case "tokens":
		return tokens
	}
	return cmp.Or(cmp.Compare(o.EstimatedCost, s.EstimatedCost), tokens)
}

// ScanTools adds up the calls of a scan that are not before since and before until; a zero time means no
// limit. With servers set it counts the tools of MCP servers alone, by server.
func ScanTools(scan *sessions.UsageScan, since, until time.Time, prices usage.Prices, servers bool) *ToolReport {
	r := CountTools(between(scan.Tools.Calls(), since, until), prices, servers)
	r.Coverage = coverageOf(scan)
	return r
}

func between(calls []usage.ToolCall, since, until time.Time) []usage.ToolCall {
	return slices.DeleteFunc(calls, func(c usage.ToolCall) bool {
		return c.Time.Before(since) || !until.IsZero() && !c.Time.Before(until)
	})
}

// CountTools adds up calls. With servers set it counts the tools of MCP servers alone, by server. The
// most expensive tools come first.
func CountTools(calls []usage.ToolCall, prices usage.Prices, servers bool) *ToolReport {
	r := &ToolReport{By: []string{"tool"}, Rows: []ToolRow{}}
	if servers {
		r.By[0] = "mcp"
	}
	sums, models := map[ToolRow]*ToolSums{}, map[string]string{}
	for i := range calls {
		c := calls[i]
		row := ToolRow{Tool: c.Name}
		if server, tool, ok := c.MCP(); ok && servers {
			row.Server, row.Tool = server, tool
		} else if servers {
			continue
		}
		if sums[row] == nil {
			sums[row] = new(ToolSums)
		}
		if models[c.Model] == "" {
			models[c.Model] = prices.Name(c.Model)
		}
		c.Model = models[c.Model]
		one := ToolSums{Calls: 1, InputTokens: c.InputTokens, ResultTokens: c.ResultTokens}
		cost, known := prices.EstimatedCost(&c)
		one.EstimatedCost, one.UnknownCost = cost, !known
		if c.Failed {
			one.Failed = 1
		}
		sums[row].add(one)
		r.Total.add(one)
	}
	for row, s := range sums {
		row.ToolSums = *s
		r.Rows = append(r.Rows, row)
	}
	r.Sort("")
	return r
}

// Sort sorts the rows by name, cost, tokens or answers; "" means cost. Tools of a server are together, in
// the order of the servers.
func (r *ToolReport) Sort(order string) {
	sums := map[string]*ToolSums{}
	for _, s := range r.Servers() {
		sums[s.Name] = &s.ToolSums
	}
	slices.SortFunc(r.Rows, func(a, b ToolRow) int {
		return cmp.Or(sums[a.Server].compare(sums[b.Server], order), cmp.Compare(a.Server, b.Server),
			a.compare(&b.ToolSums, order), cmp.Compare(a.Tool, b.Tool))
	})
}

// Cut keeps the first rows, and still counts all; 0 means all.
func (r *ToolReport) Cut(limit int) { r.Rows = cut(r.Rows, limit, &r.LeftOut) }

// A ToolServer is an MCP server with its tools. Without a name, it has all tools.
type ToolServer struct {
	Name string
	ToolSums
	Tools []*ToolRow
}

// Servers returns the rows by server, in the order of the first ones.
func (r *ToolReport) Servers() []*ToolServer {
	var list []*ToolServer
	byName := map[string]*ToolServer{}
	for i := range r.Rows {
		row := &r.Rows[i]
		s := byName[row.Server]
		if s == nil {
			s = &ToolServer{Name: row.Server}
			byName[row.Server] = s
			list = append(list, s)
		}
		s.add(row.ToolSums)
		s.Tools = append(s.Tools, row)
	}
	return list
}

// ToolFigures are the columns of tables of tool calls, BriefToolFigures of narrow tables, and MinToolFigures of
// the narrowest ones. They come before the cost.
var (
	ToolFigures = []Figure[ToolSums]{
		{"Calls", "calls", func(s *ToolSums) int { return s.Calls }, true},
		{"Failed", "failed", func(s *ToolSums) int { return s.Failed }, true},
		{"Input tokens", "input_tokens", func(s *ToolSums) int { return s.InputTokens }, false},
		{"Result tokens", "result_tokens", func(s *ToolSums) int { return s.ResultTokens }, false},
	}
	BriefToolFigures = append(ToolFigures[:2:2],
		Figure[ToolSums]{"Tokens", "", func(s *ToolSums) int { return s.InputTokens + s.ResultTokens }, false})
	MinToolFigures = []Figure[ToolSums]{BriefToolFigures[0], BriefToolFigures[2]}
)

// ToolCostRemark explains the costs of tools.
const ToolCostRemark = "~ estimated from the length of inputs, as output, and of results, as one cache write; " +
	"what later answers read again is not included"
