package cli

import (
	"strconv"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/stats"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/usage"
)

func (o *statsOptions) printTools(r *stats.ToolReport) error {
	r.Sort(string(o.order))
	r.Cut(o.limit)
	switch {
	case o.json:
		return o.writeJSON(r)
	case o.csv:
		return o.writeToolsCSV(r)
	case len(r.Rows) == 0:
		return o.write("no calls of tools\n")
	}
	return o.write(toolsText(r, o.canvas()))
}

func (o *statsOptions) writeToolsCSV(r *stats.ToolReport) error {
	headings := []string{"server", "tool"}
	for _, f := range stats.ToolFigures {
		headings = append(headings, f.CSV)
	}
	records := [][]string{append(headings, "estimated_cost_usd", "unknown_cost")}
	for i := range r.Rows {
		row := &r.Rows[i]
		record := csvNames([]string{row.Server, row.Tool})
		for _, f := range stats.ToolFigures {
			record = append(record, strconv.Itoa(f.Of(&row.ToolSums)))
		}
		records = append(records, append(record, row.EstimatedCost.Decimal(), strconv.FormatBool(row.UnknownCost)))
	}
	return o.writeRecords(records)
}

// toolsText returns the table with the most columns that fit, and the remarks below it.
func toolsText(r *stats.ToolReport, on canvas) string {
	var t *clikit.Table
	for _, figures := range [][]stats.Figure[stats.ToolSums]{stats.ToolFigures, stats.BriefToolFigures, stats.MinToolFigures} {
		if t = newToolsTable(r, on, figures); on.width == 0 || t.Width() <= on.width {
			break
		}
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

func newToolsTable(r *stats.ToolReport, on canvas, figures []stats.Figure[stats.ToolSums]) *clikit.Table {
	first := "TOOL"
	if r.By[0] == "mcp" {
		first = "SERVER / TOOL"
	}
	t := newFigureTable(first, figures)
	t.Color, t.short = on.color, on.width > 0
	cents := t.short && r.Total.EstimatedCost >= usage.Dollar
	add := func(name string, s *stats.ToolSums, style tty.Style) {
		t.add(name, s, style, costField(s.Cost(), cents))
	}
	for _, server := range r.Servers() {
		indent, style := "", tty.Plain
		if server.Name != "" {
			add(clikit.Clip(server.Name), &server.ToolSums, tty.Plain)
			indent, style = "  ", tty.Dim
		}
		for _, row := range server.Tools {
			add(indent+clikit.Clip(row.Tool), &row.ToolSums, style)
		}
	}
	add("total", &r.Total, tty.Title)
	return t.Table
}

// A figureTable is a table of figures and costs.
type figureTable[Sums any] struct {
	*clikit.Table
	figures []stats.Figure[Sums]
	short   bool // numbers of tokens are rounded
}

// newFigureTable returns a table with a column for each figure and for the cost, and further ones.
func newFigureTable[Sums any](first string, figures []stats.Figure[Sums], more ...string) *figureTable[Sums] {
	headings := []string{first}
	for i := range figures {
		headings = append(headings, strings.ToUpper(figures[i].Name)+">")
	}
	return &figureTable[Sums]{Table: clikit.NewTable(append(append(headings, "COST>"), more...)...), figures: figures}
}

// add adds a row with the cells after the figures. Zeros are dim.
func (t *figureTable[Sums]) add(label string, of *Sums, style tty.Style, last ...field) {
	cells, styles := []string{label}, []tty.Style{style}
	for i := range t.figures {
		f, painted := &t.figures[i], style
		switch {
		case f.Of(of) == 0:
			painted = tty.Dim
		case f.Name == "Failed":
			painted = tty.Failure
		}
		cells, styles = append(cells, f.Text(of, t.short)), append(styles, painted)
	}
	for _, f := range last {
		cells, styles = append(cells, f.text), append(styles, f.style)
	}
	t.Add(cells...)
	t.Style(styles...)
}

// costField returns a cost for a column, in which all have as many digits.
func costField(c wording.Cost, cents bool) field {
	if c.Amount == 0 {
		return field{column(c, cents), tty.Dim}
	}
	return field{column(c, cents), tty.Cost}
}
