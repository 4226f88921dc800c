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

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// A canvas describes the output.
type canvas struct {
	width int // 0 means no limit
	cell  string
}

func (o *statsOptions) canvas() canvas {
	s := canvas{cell: "█", width: textWidth(o.streams.Out, 0)}
	if os.Getenv("TERM") == "dumb" {
		s.cell = "#"
	}
	return s
}

// text returns the table. If it does not fit, it has one column for all kinds of tokens.
func (r *statsReport) text(on canvas) string {
	t := r.table(true)
	if on.width > 0 && t.width() > on.width {
		t = r.table(false)
	}
	w := new(strings.Builder)
	t.print(w, on.width)
	r.remarks(w, on)
	return w.String()
}

func (r *statsReport) table(detailed bool) *table {
	headings := make([]string, 0, len(r.by)+6)
	for _, name := range r.By {
		headings = append(headings, strings.ToUpper(name))
	}
	if detailed {
		headings = append(headings, "ANSWERS>", "INPUT>", "OUTPUT>", "CACHE WRITE>", "CACHE READ>", "COST>")
	} else {
		headings = append(headings, "TOKENS>", "COST>")
	}
	if r.isBy(usage.BySession) {
		headings = append(headings, "TITLE")
	}
	t := newTable(headings...)
	add := func(labels []string, totals *usage.Totals, title string) {
		cells := slices.Concat(labels, statsCells(totals, detailed), []string{title})
		t.add(cells[:len(headings)]...)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		add(r.labels(row), &row.Totals, cmp.Or(shortTitle(row.Title), "-"))
	}
	add(append([]string{"total"}, make([]string, len(r.by)-1)...), &r.Total, "")
	return t
}

// shortTitle returns the beginning of a title.
func shortTitle(title string) string { return tty.Fit(tty.Line(title), 40) }

func statsCells(t *usage.Totals, detailed bool) []string {
	u := &t.Usage
	if !detailed {
		return []string{group(int64(u.TotalTokens())), shownCost(t)}
	}
	return []string{
		group(int64(t.Calls)), group(int64(u.InputTokens)), group(int64(u.OutputTokens)),
		group(int64(u.CacheCreationTokens)), group(int64(u.CacheReadTokens)), shownCost(t),
	}
}

// shownCost returns the known part of a cost. A plus marks a cost that lacks models without a
// price.
func shownCost(t *usage.Totals) string {
	switch {
	case t.UnknownCost && t.Cost == 0:
		return "unknown"
	case t.UnknownCost:
		return t.Cost.String() + "+"
	}
	return t.Cost.String()
}

// remarks writes the remarks below the figures.
func (r *statsReport) remarks(w *strings.Builder, on canvas) {
	if r.LeftOut > 0 {
		text := "groups that are not shown but are included in the total: " + group(int64(r.LeftOut))
		w.WriteString("\n" + wrapped(text, on.width))
	}
	if models := r.unpriced(); models != "" {
		text := fmt.Sprintf("+ no price is known for %s; add it with --prices", models)
		w.WriteString("\n" + wrapped(text, on.width))
	}
	for _, b := range r.Blocks {
		if p := b.Projection; p != nil {
			text := fmt.Sprintf("The current block ends at %s. At this rate, it will reach %s tokens and %s.",
				r.clock(b.End), group(int64(p.Tokens)), p.Cost)
			w.WriteString("\n" + wrapped(text, on.width))
		}
	}
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
	drawBars(w, bars, canvas{width: min(width, 120), cell: on.cell})
	total := fmt.Sprintf("total: %s tokens, %s", group(int64(r.Total.Usage.TotalTokens())), shownCost(&r.Total))
	w.WriteString("\n" + wrapped(total, on.width))
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
		labels = append(labels, shortTitle(row.Title))
	}
	b := plotLine{label: printable(strings.Join(labels, "  "))}
	if r.Total.Cost > 0 {
		b.value, b.figure = int64(row.Cost), shownCost(&row.Totals)
	} else {
		b.value = int64(row.Usage.TotalTokens())
		b.figure = group(b.value)
	}
	return b
}

// drawBars draws bars. The longest one fills the line. Labels get at most half of it.
func drawBars(w *strings.Builder, bars []plotLine, on canvas) {
	label, figure, most := 0, 0, int64(1)
	for i := range bars {
		bars[i].label = tty.Fit(bars[i].label, on.width/2)
		label = max(label, tty.Width(bars[i].label))
		figure = max(figure, len(bars[i].figure))
		most = max(most, bars[i].value)
	}
	room := max(on.width-label-figure-5, 1)
	for _, b := range bars {
		cells := int(float64(b.value)/float64(most)*float64(room) + 0.5)
		if b.value > 0 {
			cells = max(cells, 1)
		}
		line := pad(b.label, label, false) + "  " + pad(b.figure, figure, true) + "  "
		w.WriteString(strings.TrimRight(line+strings.Repeat(on.cell, max(cells, 0)), " ") + "\n")
	}
}

// writeJSON writes a value on one line.
func (o *statsOptions) writeJSON(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return o.write(string(escapeLine(line.Bytes())))
}

// writeCSV writes a line of headings and one for each row.
func (o *statsOptions) writeCSV(r *statsReport) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
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
	if err := w.WriteAll(records); err != nil {
		return err
	}
	return o.write(text.String())
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
		if names[i] = printable(name); startsFormula(name) {
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

// readPrices returns the built-in prices and those of the user's file.
func (o *statsOptions) readPrices(ctx context.Context) (usage.Prices, error) {
	prices := usage.DefaultPrices()
	if o.prices == "" {
		return prices, nil
	}
	data, err := await(ctx, func() ([]byte, error) { return readAtMost(o.prices, maxPrices) })
	if ctx.Err() != nil {
		return prices, errStopped()
	}
	var own usage.Prices
	if err == nil {
		own, err = usage.ParsePrices(data)
	}
	if err != nil {
		text := strings.TrimPrefix(cause(err).Error(), "usage: ")
		return prices, &failure{
			code: exitInput,
			err:  fmt.Errorf("cannot use %s: %s", printable(o.prices), escaped(text)),
			hint: `Run "clew stats --help" to see the format of the file.`,
		}
	}
	if own.USPercent > 0 {
		prices.USPercent = own.USPercent
	}
	return prices.With(own.Models), nil
}

func (o *statsOptions) printPrices(p usage.Prices) error {
	if o.json {
		return o.writeJSON(p)
	}
	w := new(strings.Builder)
	columns := o.canvas().width
	title := fmt.Sprintf("List prices of %s, in dollars per million tokens:", p.Date)
	w.WriteString(wrapped(title, columns) + "\n")
	t := newTable("MODEL", "INPUT>", "OUTPUT>", "CACHE READ>", "WRITE 5M>", "WRITE 1H>", "FAST>")
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		m := p.Models[name]
		fast := ""
		if m.FastMultiplier > 0 {
			fast = fmt.Sprintf("x%d", m.FastMultiplier)
		}
		t.add(append(append([]string{name}, shownRates(&m.Rates)...), fast)...)
		if long := m.LongPrompt; long != nil {
			t.add(append(append([]string{"  above " + group(int64(long.AboveTokens))}, shownRates(&long.Rates)...), "")...)
		}
	}
	t.print(w, columns)
	return o.write(w.String())
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
	case len(accounts) == 0:
		return o.write("no totals of the agent: it writes them when a session ends, and older versions write none\n")
	}
	return o.write(r.text(o.canvas().width))
}

type reconciliation struct {
	usage.Reconciliation
	PricesDate string `json:"pricesDate"`
	Sessions   int    `json:"sessions"`
	// LeftOut is the number of answers in sessions without the agent's totals.
	LeftOut int `json:"leftOut"`
}

func (r *reconciliation) text(columns int) string {
	w := new(strings.Builder)
	t := newTable("MODEL", "TOKENS>", "AGENT'S TOKENS>", "COST>", "AGENT'S COST>", "DIFFERENCE>", "WHY")
	tokens, own := 0, 0
	var reasons []usage.Reason
	for i := range r.Models {
		m := &r.Models[i]
		computed := m.Computed.Cost.String()
		if m.Computed.UnknownCost {
			computed += "+"
		}
		tokens += m.Computed.Usage.TotalTokens()
		own += m.Agent.Usage.TotalTokens()
		reasons = append(reasons, m.Reason)
		t.add(clip(cmp.Or(m.Computed.Model, "(unknown)")), group(int64(m.Computed.Usage.TotalTokens())),
			group(int64(m.Agent.Usage.TotalTokens())), computed, m.Agent.Cost.String(), m.Cost.String(), string(m.Reason))
	}
	t.add("total", group(int64(tokens)), group(int64(own)),
		r.Computed.String(), r.Agent.String(), r.Difference.String(), "")
	t.print(w, columns)
	covered := fmt.Sprintf("sessions with totals of the agent: %s; answers in other sessions, left out: %s",
		group(int64(r.Sessions)), group(int64(r.LeftOut)))
	w.WriteString("\n" + wrapped(covered, columns))
	for _, e := range explanations {
		if slices.Contains(reasons, e.reason) {
			w.WriteString(wrapped(fmt.Sprintf("%s: %s", e.reason, e.text), columns))
		}
	}
	return w.String()
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
