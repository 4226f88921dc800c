package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/clikit"
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
	if os.Getenv("TERM") == "dumb" {
		return "#"
	}
	return "█"
}

// secondary returns a remark, broken into lines.
func (on canvas) secondary(text string) string {
	return tty.Dim.Paint(strings.TrimSuffix(clikit.Wrapped(text, on.width), "\n"), on.color) + "\n"
}

// text returns the table and the remarks below it.
func (r *statsReport) text(on canvas) string {
	groups := r.tree()
	if r.limit > 0 && len(groups) > r.limit {
		r.LeftOut = len(groups) - r.limit
		groups = groups[:r.limit]
	}
	if byBlock(r.by) {
		groups = r.describeBlocks(groups)
	}
	w := new(strings.Builder)
	r.table(groups, on).Print(w, on.width)
	r.remarks(w, on)
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
	brief  bool // short numbers, and all of the cache in one column
	tokens bool // all tokens in one column
	cents  bool // costs are rounded to cents
	rates  bool // the costs per hour, of blocks
	bars   bool
	titles bool
	room   int // columns for the bars or titles, which come last; 0 means no limit
}

// table returns the table with the most columns that fit. If none fits, some cells are broken.
func (r *statsReport) table(groups []*statsGroup, on canvas) *clikit.Table {
	titles := r.isBy(usage.BySession)
	if on.width == 0 {
		return r.tableOf(groups, statsLayout{titles: titles, rates: byBlock(r.by)}, on)
	}
	bars := on.width >= barsFrom && !titles && len(groups) > 1
	least := statsLayout{brief: true, tokens: true, cents: r.Total.Cost >= usage.Dollar}
	for _, l := range []statsLayout{{bars: bars}, {bars: bars, brief: true}, {brief: true}, least} {
		if !l.brief && on.width < barsFrom {
			continue
		}
		l.cents, l.rates = least.cents, byBlock(r.by) && !l.tokens
		rest := on.width - r.tableOf(groups, l.withoutLast(), on).Width()
		switch l.room = rest - clikit.CellGap; {
		case titles && (l.room >= minRoom && l.brief || l.room >= goodTitle):
			l.titles, l.room = true, min(l.room, maxRoom)
			return r.tableOf(groups, l, on)
		case titles:
		case l.bars && l.room >= minRoom, !l.bars && rest >= 0:
			l.room = min(l.room, maxBar)
			return r.tableOf(groups, l, on)
		}
	}
	least.titles = titles
	return r.tableOf(groups, least, on)
}

// withoutLast returns the layout without the column whose width depends on the others.
func (l statsLayout) withoutLast() statsLayout {
	l.bars, l.titles = false, false
	return l
}

func (l statsLayout) headings() []string {
	var headings []string
	switch {
	case l.tokens:
		headings = []string{"TOKENS>", "COST>"}
	case l.brief:
		headings = []string{"ANSWERS>", "INPUT>", "OUTPUT>", "CACHE>", "COST>"}
	default:
		headings = []string{"ANSWERS>", "INPUT>", "OUTPUT>", "CACHE WRITE>", "CACHE READ>", "COST>"}
	}
	if l.rates {
		headings = append(headings, "PER HOUR>")
	}
	if l.bars {
		headings = append(headings, "")
	}
	if l.titles {
		headings = append(headings, "TITLE")
	}
	return headings
}

// tableOf returns the table in a layout.
func (r *statsReport) tableOf(groups []*statsGroup, l statsLayout, on canvas) *clikit.Table {
	name := strings.ToUpper(strings.Join(r.By, " / "))
	t := &statsTable{
		Table: clikit.NewTable(append([]string{name}, l.headings()...)...), layout: l, cell: on.cell,
	}
	t.Color = on.color
	for _, g := range groups {
		t.most.raise(&g.totals)
	}
	t.addGroups(groups, 0)
	t.addRow("total", &r.Total, 0, "", tty.Title)
	return t.Table
}

// A statsTable adds groups to a table.
type statsTable struct {
	*clikit.Table
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
func (t *statsTable) addGroups(groups []*statsGroup, level int) {
	for _, g := range groups {
		last, style := "", tty.Plain
		switch {
		case g.gap:
			t.addGap(g.label)
			continue
		case g.active:
			style = tty.Success
		case level > 0:
			style = tty.Dim
		}
		switch {
		case t.layout.titles:
			last = g.title
			if t.layout.room > 0 {
				last = tty.Fit(last, t.layout.room)
			}
		case t.layout.bars && level == 0:
			last = strings.Repeat(t.cell, t.most.share(&g.totals, t.layout.room))
		}
		t.addRow(strings.Repeat("  ", level)+g.label, &g.totals, g.rate, last, style)
		t.addGroups(g.parts, level+1)
	}
}

// addRow adds a row. Its last cell is a bar or a title, if the layout has those.
func (t *statsTable) addRow(label string, totals *usage.Totals, rate usage.Money, last string, style tty.Style) {
	cells := append([]string{label}, t.cells(totals)...)
	styles := cellStyles(cells, style)
	if styles[len(cells)-1] = tty.Cost; totals.Cost == 0 {
		styles[len(cells)-1] = tty.Dim
	}
	if t.layout.rates {
		shown := ""
		if rate > 0 {
			shown = column(wording.Cost{Amount: rate}, t.layout.cents)
		}
		cells, styles = append(cells, shown), append(styles, tty.Cost)
	}
	if t.layout.bars {
		cells, styles = append(cells, last), append(styles, tty.Cost)
	}
	if t.layout.titles {
		cells, styles = append(cells, last), append(styles, style)
	}
	t.Add(cells...)
	t.Style(styles...)
}

// addGap adds a row about a time without answers.
func (t *statsTable) addGap(label string) {
	cells := make([]string, t.Columns())
	cells[0] = label
	t.Add(cells...)
	t.Style(tty.Dim)
}

// cellStyles returns the styles of the cells in a row: zeros are dim.
func cellStyles(cells []string, style tty.Style) []tty.Style {
	var styles []tty.Style
	for _, cell := range cells {
		if cell == "0" {
			styles = append(styles, tty.Dim)
		} else {
			styles = append(styles, style)
		}
	}
	return styles
}

// shortTitle returns the start of a title.
func shortTitle(title string) string { return tty.Fit(tty.Line(title), maxRoom) }

func (t *statsTable) cells(totals *usage.Totals) []string {
	u := &totals.Usage
	answers := wording.Number(totals.Calls)
	cost := column(wording.CostOf(totals), t.layout.cents)
	switch {
	case t.layout.tokens:
		return []string{wording.Rounded(u.TotalTokens()), cost}
	case t.layout.brief:
		return []string{
			answers, wording.Rounded(u.InputTokens), wording.Rounded(u.OutputTokens),
			wording.Rounded(u.CacheCreationTokens + u.CacheReadTokens), cost,
		}
	}
	return []string{
		answers, wording.Number(u.InputTokens), wording.Number(u.OutputTokens),
		wording.Number(u.CacheCreationTokens), wording.Number(u.CacheReadTokens), cost,
	}
}

// column returns a cost for a column, in which all have as many digits.
func column(c wording.Cost, cents bool) string {
	if cents {
		return c.Cents()
	}
	return c.Fixed()
}

// remarks writes the remarks below the figures.
func (r *statsReport) remarks(w *strings.Builder, on canvas) {
	if r.LeftOut > 0 {
		text := "groups that are not shown but are included in the total: " + wording.Number(r.LeftOut)
		w.WriteString("\n" + on.secondary(text))
	}
	if models := r.unpriced(); models != "" {
		text := fmt.Sprintf("≥ and ?: no price is known for %s; add it with --prices", models)
		w.WriteString("\n" + on.secondary(text))
	}
	r.current(w, on)
}

// plot draws a bar for each row: of its cost, or of its tokens without costs.
func (r *statsReport) plot(on canvas) string {
	width := on.width
	if width == 0 {
		width = 80
	}
	bars := make([]plotLine, len(r.Rows))
	for i := range r.Rows {
		bars[i] = r.plotLine(&r.Rows[i])
	}
	w := new(strings.Builder)
	drawBars(w, bars, canvas{width: min(width, 120), cell: on.cell, color: on.color})
	total := fmt.Sprintf("total: %s, %s", wording.Count(r.Total.Usage.TotalTokens(), "token"), wording.CostOf(&r.Total).Long())
	w.WriteString("\n" + tty.Title.Paint(strings.TrimSuffix(clikit.Wrapped(total, on.width), "\n"), on.color) + "\n")
	r.remarks(w, on)
	return w.String()
}

// A plotLine is one bar of a plot, with its label and figure.
type plotLine struct {
	label, figure string
	value         int64
}

func (r *statsReport) plotLine(row *statsRow) plotLine {
	labels := r.labels(row)
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
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return o.write(string(tty.JSON(line.Bytes())))
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
func (o *statsOptions) writeCSV(r *statsReport) error {
	records := [][]string{append(append([]string{}, r.By...), "answers", "input_tokens", "output_tokens",
		"cache_write_tokens", "cache_read_tokens", "total_tokens", "web_searches", "cost_usd", "unknown_cost")}
	for i := range r.Rows {
		records = append(records, append(csvNames(r.names(&r.Rows[i].Key)), csvFigures(&r.Rows[i].Totals)...))
	}
	if r.isBy(usage.ByProject) {
		addColumn(records, "cwd", func(i int) string { return r.Rows[i].CWD })
	}
	if r.isBy(usage.BySession) {
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

func csvFigures(t *usage.Totals) []string {
	u := &t.Usage
	var list []string
	for _, n := range []int{
		t.Calls, u.InputTokens, u.OutputTokens, u.CacheCreationTokens, u.CacheReadTokens, u.TotalTokens(), u.WebSearches,
	} {
		list = append(list, strconv.Itoa(n))
	}
	return append(list, t.Cost.Decimal(), strconv.FormatBool(t.UnknownCost))
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

// readPrices returns the built-in prices and the prices in the user's file.
func (o *statsOptions) readPrices(ctx context.Context) (usage.Prices, error) {
	prices := usage.DefaultPrices()
	if o.prices == "" {
		return prices, nil
	}
	data, err := clikit.Await(ctx, func() ([]byte, error) { return clikit.ReadAtMost(o.prices, maxPrices) })
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
			Err:  fmt.Errorf("cannot use %s: %s", clikit.Printable(o.prices), clikit.Printable(text)),
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
