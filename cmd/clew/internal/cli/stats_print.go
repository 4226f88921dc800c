package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/stats"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A canvas describes the output.
type canvas struct {
	width int // 0 means no limit
	cell  string
	color bool
}

func (o *statsOptions) canvas() canvas {
	return canvas{cell: barCell(), width: clikit.TextWidth(o.streams.Out, 0), color: clikit.Colored(o.streams.Out)}
}

// barCell returns the character for bars.
func barCell() string {
	if clikit.Dumb() {
		return "#"
	}
	return "█"
}

// secondary returns a remark, broken into lines.
func (on canvas) secondary(text string) string {
	return tty.Dim.Paint(strings.TrimSuffix(clikit.Wrapped(text, on.width), "\n"), on.color) + "\n"
}

// statsText returns the table of a report and the remarks below it. limit is the maximum number of groups to
// show; 0 means all.
func statsText(r *stats.Report, limit int, on canvas) string {
	w := new(strings.Builder)
	statsTableFor(r, r.Groups(limit), on).Print(w, on.width)
	statsRemarks(w, r, on)
	return w.String()
}

const (
	barsFrom  = 80 // columns of the screen from which tables have bars
	minRoom   = 10 // columns for a bar or a title
	goodTitle = 32 // columns for a title that are worth more than exact numbers
	maxRoom   = 60 // columns for a title
	maxBar    = 24
)

// A statsLayout selects the columns of a table.
type statsLayout struct {
	figures []stats.Figure[usage.Totals]
	brief   bool // short numbers
	cents   bool // costs are rounded to cents
	rates   bool // the costs per hour, of blocks
	bars    bool
	titles  bool
	room    int // columns for the bars or titles, which come last; 0 means no limit
}

// statsTableFor returns the table with the most columns that fit. If none fits, some cells are broken.
func statsTableFor(r *stats.Report, groups []*stats.Group, on canvas) *clikit.Table {
	titles := r.IsBy(usage.BySession)
	if on.width == 0 {
		return newStatsTable(r, groups, statsLayout{figures: stats.Figures, titles: titles, rates: r.IsByBlock()}, on)
	}
	bars := on.width >= barsFrom && !titles && len(groups) > 1
	least := statsLayout{figures: stats.MinFigures, brief: true, cents: r.Total.Cost >= usage.Dollar}
	for _, l := range []statsLayout{
		{figures: stats.Figures, bars: bars}, {figures: stats.BriefFigures, brief: true, bars: bars}, {figures: stats.BriefFigures, brief: true}, least,
	} {
		if !l.brief && on.width < barsFrom {
			continue
		}
		l.cents, l.rates = least.cents, r.IsByBlock() && len(l.figures) > 1
		bare := l
		bare.bars = false
		rest := on.width - newStatsTable(r, groups, bare, on).Width()
		switch l.room = rest - clikit.CellGap; {
		case titles && (l.room >= minRoom && l.brief || l.room >= goodTitle):
			l.titles, l.room = true, min(l.room, maxRoom)
			return newStatsTable(r, groups, l, on)
		case titles:
		case l.bars && l.room >= minRoom, !l.bars && rest >= 0:
			l.room = min(l.room, maxBar)
			return newStatsTable(r, groups, l, on)
		}
	}
	least.titles = titles
	return newStatsTable(r, groups, least, on)
}

// newStatsTable returns the table in a layout.
func newStatsTable(r *stats.Report, groups []*stats.Group, l statsLayout, on canvas) *clikit.Table {
	var more []string
	if l.rates {
		more = append(more, "PER HOUR>")
	}
	if l.bars {
		more = append(more, "")
	}
	if l.titles {
		more = append(more, "TITLE")
	}
	t := &statsTable{figureTable: newFigureTable(strings.ToUpper(strings.Join(r.By, " / ")), l.figures, more...), layout: l, cell: on.cell}
	t.Color, t.short = on.color, l.brief
	for _, g := range groups {
		t.most.raise(&g.Totals)
	}
	t.addGroups(groups, 0)
	t.addRow("total", &r.Total, 0, "", tty.Title)
	return t.Table
}

// A statsTable adds groups to a table.
type statsTable struct {
	*figureTable[usage.Totals]
	layout statsLayout
	cell   string
	most   barValue
}

// A barValue is the value of a bar: a cost, or tokens if nothing has a cost.
type barValue struct{ cost, tokens int64 }

func (b *barValue) raise(t *usage.Totals) {
	b.cost, b.tokens = max(b.cost, int64(t.Cost)), max(b.tokens, int64(t.Usage.TotalTokens()))
}

// share returns the length of a bar, if the longest bar has the given number of cells.
func (b *barValue) share(t *usage.Totals, cells int) int {
	value, most := int64(t.Cost), b.cost
	if most == 0 {
		value, most = int64(t.Usage.TotalTokens()), b.tokens
	}
	return barLength(value, most, cells)
}

// addGroups adds groups and, indented, their parts. Only the groups of the first level have bars.
func (t *statsTable) addGroups(groups []*stats.Group, level int) {
	for _, g := range groups {
		last, style := "", tty.Plain
		switch {
		case g.Gap:
			t.addGap(g.Label)
			continue
		case g.Active:
			style = tty.Success
		case level > 0:
			style = tty.Dim
		}
		switch {
		case t.layout.titles:
			last = shortTitle(g.Title)
			if t.layout.room > 0 {
				last = tty.Fit(last, t.layout.room)
			}
		case t.layout.bars && level == 0:
			last = strings.Repeat(t.cell, t.most.share(&g.Totals, t.layout.room))
		}
		t.addRow(strings.Repeat("  ", level)+g.Label, &g.Totals, g.Rate, last, style)
		t.addGroups(g.Parts, level+1)
	}
}

// addRow adds a row. Its last cell is a bar or a title, if the layout has those.
func (t *statsTable) addRow(label string, totals *usage.Totals, rate usage.Money, last string, style tty.Style) {
	more := []field{costField(wording.CostOf(totals), t.layout.cents)}
	switch {
	case !t.layout.rates:
	case rate > 0:
		more = append(more, costField(wording.Cost{Amount: rate}, t.layout.cents))
	default:
		more = append(more, field{})
	}
	if t.layout.bars {
		more = append(more, field{last, tty.Cost})
	}
	if t.layout.titles {
		more = append(more, field{last, style})
	}
	t.add(label, totals, style, more...)
}

// addGap adds a row about a time without answers.
func (t *statsTable) addGap(label string) {
	cells := make([]string, t.Columns())
	cells[0] = label
	t.Add(cells...)
	t.Style(tty.Dim)
}

// shortTitle returns the start of a title.
func shortTitle(title string) string { return tty.Fit(tty.Line(title), maxRoom) }

// column returns a cost for a column, in which all have as many digits.
func column(c wording.Cost, cents bool) string {
	if cents {
		return c.Cents()
	}
	return c.Fixed()
}

// statsRemarks writes the remarks below the figures.
func statsRemarks(w *strings.Builder, r *stats.Report, on canvas) {
	if r.LeftOut > 0 {
		text := "groups that are not shown but are included in the total: " + wording.Number(r.LeftOut)
		w.WriteString("\n" + on.secondary(text))
	}
	if remark := r.PriceRemark(); remark != "" {
		w.WriteString("\n" + on.secondary(clikit.Printable(remark)+"; add it with --prices"))
	}
	statsCurrent(w, r, on)
}

// statsCurrent writes about the current block, and about limits that were reached.
func statsCurrent(w *strings.Builder, r *stats.Report, on canvas) {
	var lines [][]field
	if b := r.Active(); b != nil {
		lines = append(lines, blockFields(r, b))
	}
	var limits []field
	for _, text := range r.Limits() {
		limits = append(limits, field{text, tty.Failure})
	}
	if len(limits) > 0 {
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

// blockFields describes the progress of the active block and its projection.
func blockFields(r *stats.Report, b *usage.FiveHourBlock) []field {
	fields := []field{
		{b.Start.In(r.Zone).Format("15:04") + b.End.In(r.Zone).Format("-15:04"), tty.Plain},
		{wording.Percent(float64(100*r.Now.Sub(b.Start)/b.End.Sub(b.Start))) + " of the time", tty.Plain},
		{wording.CostOf(&b.Totals).Long() + " so far", tty.Cost},
	}
	if b.Projection == nil || !stats.HasRate(b) {
		return fields
	}
	return append(fields,
		field{wording.Money(b.Burn.CostPerHour) + "/h", tty.Cost},
		field{wording.Rounded(int(b.Burn.TokensPerMinute+0.5)) + " tokens/min", tty.Plain},
		field{"projected " + wording.Money(b.Projection.Cost) + " and " + wording.Tokens(b.Projection.Tokens), tty.Waiting})
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

// statsPlot draws a bar for each row: of its cost, or of its tokens without costs.
func statsPlot(r *stats.Report, on canvas) string {
	width := on.width
	if width == 0 {
		width = 80
	}
	bars := make([]plotLine, len(r.Rows))
	for i := range r.Rows {
		bars[i] = plotLineOf(r, &r.Rows[i])
	}
	w := new(strings.Builder)
	drawBars(w, bars, canvas{width: min(width, 120), cell: on.cell, color: on.color})
	total := fmt.Sprintf("total: %s, %s", wording.Count(r.Total.Usage.TotalTokens(), "token"), wording.CostOf(&r.Total).Long())
	w.WriteString("\n" + tty.Title.Paint(strings.TrimSuffix(clikit.Wrapped(total, on.width), "\n"), on.color) + "\n")
	statsRemarks(w, r, on)
	return w.String()
}

// A plotLine is one bar of a plot, with its label and figure.
type plotLine struct {
	label, figure string
	value         int64
}

func plotLineOf(r *stats.Report, row *stats.Row) plotLine {
	labels := r.Labels(row)
	if row.Title != "" {
		labels = append(labels, tty.Fit(shortTitle(row.Title), 40))
	}
	b := plotLine{label: clikit.Printable(strings.Join(labels, "  "))}
	if r.Total.Cost > 0 {
		b.value, b.figure = int64(row.Cost), column(wording.CostOf(&row.Totals), r.Total.Cost >= usage.Dollar)
	} else {
		b.value = int64(row.Usage.TotalTokens())
		b.figure = wording.Number(b.value)
	}
	return b
}

// minLabel is the number of columns that a label needs beside its figure.
const minLabel = 6

// drawBars draws bars. The longest one fills the line. Labels get at most half of it. A narrow screen
// has no bars, and if need be the figures are below the labels.
func drawBars(w *strings.Builder, bars []plotLine, on canvas) {
	label, figure, most := 0, 0, int64(1)
	for i := range bars {
		figure = max(figure, tty.Width(bars[i].figure))
		most = max(most, bars[i].value)
	}
	half := max(on.width/2, min(on.width-figure-clikit.CellGap, minLabel))
	stacked := on.width < figure+clikit.CellGap+minLabel
	if stacked {
		half, figure = on.width, 0
	}
	for i := range bars {
		bars[i].label = tty.Fit(bars[i].label, min(half, on.width-figure-clikit.CellGap*min(figure, 1)))
		label = max(label, tty.Width(bars[i].label))
	}
	room := on.width - label - figure - 2*clikit.CellGap - 1
	for _, b := range bars {
		if stacked {
			w.WriteString(b.label + "\n" + tty.Cost.Paint(strings.TrimSuffix(clikit.Wrapped(b.figure, on.width), "\n"), on.color) + "\n")
			continue
		}
		line := clikit.Pad(b.label, label, false) + "  " + strings.Repeat(" ", figure-tty.Width(b.figure)) + tty.Cost.Paint(b.figure, on.color)
		if bar := strings.Repeat(on.cell, barLength(b.value, most, room)); bar != "" {
			line += "  " + tty.Cost.Paint(bar, on.color)
		}
		w.WriteString(line + "\n")
	}
}

// barLength returns the length of a bar, if the bar of the largest value has the given number of
// cells. Only a value of 0 has an empty bar.
func barLength(value, most int64, cells int) int {
	if value <= 0 || most <= 0 || cells <= 0 {
		return 0
	}
	return max(int(float64(value)/float64(most)*float64(cells)+0.5), 1)
}

// writeJSON writes a value on one line.
func (o *statsOptions) writeJSON(v any) error {
	line, err := clikit.JSONLine(v)
	if err != nil {
		return err
	}
	return o.write(string(line))
}

// writeRecords writes comma-separated values. The first record has the headings.
func (o *statsOptions) writeRecords(records [][]string) error {
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(records); err != nil {
		return err
	}
	return o.write(text.String())
}

// writeCSV writes a line of headings and one for each row.
func (o *statsOptions) writeCSV(r *stats.Report) error {
	headings := slices.Clone(r.By)
	for _, f := range csvColumns {
		headings = append(headings, f.CSV)
	}
	records := [][]string{append(headings, "web_searches", "cost_usd", "unknown_cost")}
	for i := range r.Rows {
		records = append(records, append(csvNames(r.Names(&r.Rows[i])), csvFigures(&r.Rows[i].Totals)...))
	}
	if r.IsBy(usage.ByProject) {
		addColumn(records, "cwd", func(i int) string { return r.Rows[i].CWD })
	}
	if r.IsBy(usage.BySession) {
		addColumn(records, "title", func(i int) string { return r.Rows[i].Title })
	}
	return o.writeRecords(records)
}

// addColumn appends a name to each record. The first record has the headings.
func addColumn(records [][]string, heading string, name func(row int) string) {
	records[0] = append(records[0], heading)
	for i := range records[1:] {
		records[i+1] = append(records[i+1], csvNames([]string{name(i)})...)
	}
}

var csvColumns = slices.Concat(stats.Figures, stats.MinFigures)

func csvFigures(t *usage.Totals) []string {
	var list []string
	for _, f := range csvColumns {
		list = append(list, strconv.Itoa(f.Of(t)))
	}
	return append(list, strconv.Itoa(t.Usage.WebSearches), t.Cost.Decimal(), strconv.FormatBool(t.UnknownCost))
}

// csvNames escapes names that a spreadsheet would read as formulas. The other cells are numbers of
// our own.
func csvNames(names []string) []string {
	for i, name := range names {
		if names[i] = clikit.Printable(name); startsFormula(name) {
			names[i] = "'" + names[i]
		}
	}
	return names
}

// startsFormula reports whether a spreadsheet may read a cell as a formula. It may skip space and
// quotes before the sign, and read a full-width sign like an ASCII one.
func startsFormula(cell string) bool {
	if strings.HasPrefix(cell, "\t") || strings.HasPrefix(cell, "\r") {
		return true
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(cell, func(r rune) bool {
		return r == '"' || r == '\'' || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}))
	return strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20\u2212", first)
}

// maxPrices is the maximum size of a price file.
const maxPrices = 4 << 20

// readPrices returns the built-in prices and the prices in a file of the user, or "" for none.
func readPrices(ctx context.Context, file string) (usage.Prices, error) {
	prices := usage.DefaultPrices()
	if file == "" {
		return prices, nil
	}
	data, err := clikit.Await(ctx, func() ([]byte, error) { return clikit.ReadAtMost(file, maxPrices) })
	if ctx.Err() != nil {
		return prices, clikit.Stopped()
	}
	var own usage.Prices
	if err == nil {
		own, err = usage.ParsePrices(data)
	}
	if err != nil {
		text := strings.TrimPrefix(clikit.Cause(err).Error(), "usage: ")
		return prices, &clikit.Failure{
			Code: clikit.ExitInput,
			Err:  fmt.Errorf("cannot use %s: %s", clikit.Printable(file), clikit.Printable(text)),
			Hint: `Run "clew stats --help" to see the format of the file.`,
		}
	}
	if own.USPercent > 0 {
		prices.USPercent = own.USPercent
	}
	return prices.With(own.Models), nil
}

func (o *statsOptions) printPrices(p usage.Prices) error {
	switch {
	case o.json:
		return o.writeJSON(p)
	case o.csv:
		return o.writeRecords(priceRecords(p))
	}
	return o.write(pricesText(p, o.canvas()))
}

// pricesText returns the table of prices.
func pricesText(p usage.Prices, on canvas) string {
	w := new(strings.Builder)
	title := fmt.Sprintf("List prices of %s, in dollars per million tokens:", p.Date)
	w.WriteString(on.secondary(clikit.Printable(title)) + "\n")
	t := clikit.NewTable("MODEL", "INPUT>", "OUTPUT>", "CACHE READ>", "WRITE 5M>", "WRITE 1H>", "FAST>")
	t.Color = on.color
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[name]
		fast := ""
		if m.FastMultiplier > 0 {
			fast = fmt.Sprintf("x%d", m.FastMultiplier)
		}
		t.Add(append(append([]string{clikit.Clip(name)}, shownRates(&m.Rates)...), fast)...)
		t.Style(tty.Plain, tty.Cost)
		if long := m.LongPrompt; long != nil {
			t.Add(append(append([]string{"  above " + wording.Number(long.AboveTokens)}, shownRates(&long.Rates)...), "")...)
			t.Style(tty.Dim, tty.Cost)
		}
	}
	t.Print(w, on.width)
	return w.String()
}

// priceRecords returns the prices for CSV. A model whose long prompts have other prices has two
// records.
func priceRecords(p usage.Prices) [][]string {
	records := [][]string{{
		"model", "above_tokens", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_search", "fast_multiplier",
	}}
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[name]
		add := func(above int, rates *usage.Rates) {
			record := append(csvNames([]string{name}), strconv.Itoa(above))
			record = append(record, shownRates(rates)...)
			records = append(records, append(record, m.WebSearch.Decimal(), strconv.Itoa(max(m.FastMultiplier, 1))))
		}
		add(0, &m.Rates)
		if long := m.LongPrompt; long != nil {
			add(long.AboveTokens, &long.Rates)
		}
	}
	return records
}

func shownRates(r *usage.Rates) []string {
	return []string{
		r.Input.Decimal(), r.Output.Decimal(), r.CacheRead.Decimal(), r.CacheWrite5m.Decimal(), r.CacheWrite1h.Decimal(),
	}
}

// printReconciliation compares the sessions with the agent's totals. It leaves out sessions without
// totals.
func (o *statsOptions) printReconciliation(used *sessions.UsageScan, prices usage.Prices) error {
	accounts := map[string]bool{}
	for _, s := range used.CostStates {
		accounts[s.SessionID] = true
	}
	all := used.Tally.Calls()
	calls := slices.DeleteFunc(slices.Clone(all), func(c usage.Call) bool { return !accounts[c.SessionID] })
	r := &reconciliation{
		Reconciliation: usage.Reconcile(calls, used.CostStates, prices),
		PricesDate:     prices.Date, Sessions: len(accounts), LeftOut: len(all) - len(calls),
	}
	switch {
	case o.json:
		return o.writeJSON(r)
	case o.csv:
		return o.writeRecords(r.records())
	case len(accounts) == 0:
		return o.write("no totals of the agent: it writes them when a session ends, and older versions write none\n")
	}
	return o.write(r.text(o.canvas()))
}

type reconciliation struct {
	usage.Reconciliation
	PricesDate string `json:"pricesDate"`
	Sessions   int    `json:"sessions"`
	// LeftOut is the number of answers in sessions without the agent's totals.
	LeftOut int `json:"leftOut"`
}

func (r *reconciliation) text(on canvas) string {
	w := new(strings.Builder)
	t := r.table(on, false)
	if brief := r.table(on, true); on.width > 0 && t.Width() > on.width && brief.Width() <= on.width {
		t = brief
	}
	t.Print(w, on.width)
	var reasons []usage.Reason
	for i := range r.Models {
		reasons = append(reasons, r.Models[i].Reason)
	}
	covered := fmt.Sprintf("sessions with totals of the agent: %s; answers in other sessions, left out: %s",
		wording.Number(r.Sessions), wording.Number(r.LeftOut))
	w.WriteString("\n" + on.secondary(covered))
	for _, e := range explanations {
		if slices.Contains(reasons, e.reason) {
			w.WriteString(on.secondary(fmt.Sprintf("%s: %s", e.reason, e.text)))
		}
	}
	return w.String()
}

// table returns the comparison as a table, with short headings and numbers if it is to be brief.
func (r *reconciliation) table(on canvas, brief bool) *clikit.Table {
	headings := []string{"MODEL", "TOKENS>", "AGENT'S TOKENS>", "COST>", "AGENT'S COST>", "DIFFERENCE>", "WHY"}
	count := wording.Number[int]
	if brief {
		headings[2], headings[4] = "AGENT'S>", "AGENT'S>"
		count = wording.Rounded
	}
	t := clikit.NewTable(headings...)
	t.Color = on.color
	styles := []tty.Style{tty.Plain, tty.Plain, tty.Plain, tty.Cost, tty.Cost, tty.Cost, tty.Dim}
	fixed := func(m usage.Money) string { return wording.Cost{Amount: m}.Fixed() }
	tokens, own := 0, 0
	for i := range r.Models {
		m := &r.Models[i]
		computed := wording.Cost{Amount: m.Computed.Cost, Partial: m.Computed.UnknownCost}
		tokens += m.Computed.Usage.TotalTokens()
		own += m.Agent.Usage.TotalTokens()
		t.Add(clikit.Clip(cmp.Or(m.Computed.Model, "(unknown)")), count(m.Computed.Usage.TotalTokens()),
			count(m.Agent.Usage.TotalTokens()), computed.Fixed(), fixed(m.Agent.Cost), fixed(m.Cost), string(m.Reason))
		t.Style(styles...)
	}
	t.Add("total", count(tokens), count(own), fixed(r.Computed), fixed(r.Agent), fixed(r.Difference), "")
	t.Style(append([]tty.Style{tty.Title, tty.Title, tty.Title}, styles[3:]...)...)
	return t
}

// records returns the comparison for CSV.
func (r *reconciliation) records() [][]string {
	records := [][]string{{
		"model", "tokens", "agent_tokens", "cost_usd", "unknown_cost", "agent_cost_usd", "difference_usd", "reason",
	}}
	for i := range r.Models {
		m := &r.Models[i]
		records = append(records, append(csvNames([]string{m.Computed.Model}), strconv.Itoa(m.Computed.Usage.TotalTokens()),
			strconv.Itoa(m.Agent.Usage.TotalTokens()), m.Computed.Cost.Decimal(), strconv.FormatBool(m.Computed.UnknownCost),
			m.Agent.Cost.Decimal(), m.Cost.Decimal(), string(m.Reason)))
	}
	return records
}

var explanations = []struct {
	reason usage.Reason
	text   string
}{
	{usage.ReasonUnwritten, "the agent counts calls that are in no transcript, such as those for titles and summaries"},
	{usage.ReasonUncounted, "the transcripts contain answers that the agent did not count, such as interrupted ones"},
	{usage.ReasonBoth, "each side has calls that the other lacks"},
	{usage.ReasonPrice, "the tokens are equal, but the prices differ"},
	{usage.ReasonUnknownPrice, "the tokens are equal, but no price is known"},
}
