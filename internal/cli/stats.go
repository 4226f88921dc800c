package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

type statsOptions struct {
	streams Streams
	now     func() time.Time

	by           dimensions
	since, until string
	timezone     string
	project      string
	all          bool
	prices       string
	order        statsOrder
	limit        int

	plot, json, csv       bool
	reconcile, priceTable bool
}

const statsHelp = `Count the tokens and the cost of all answers in the transcripts of all projects,
including those of subagents. Each answer counts once, even if it appears in
several lines or files. --project counts one project; --project . is that of the
current directory.

--by groups by month, week, day, hour, block, model, project, session or agent, or
by several of these. Weeks begin on Monday. A block is a period of five hours, as
subscriptions count it. Groups are sorted by time, or by cost if none of them is a
time, unless --sort says otherwise.
--limit shows only the first groups; the total still includes all. Tables show the
beginning of a session's ID and its title; --json and --csv have whole IDs and the
directories of projects. In CSV, a name that a spreadsheet would run as a formula
gets an apostrophe in front.

--since and --until accept a day (2026-11-15, today, yesterday), a time
(2026-11-15T14:00, with an optional offset), or an age (12h, 7d, 2w). A day given
as --until is included.

Costs are computed from list prices, unless the transcript contains the cost. A
trailing + marks an incomplete cost: the price of some model is unknown.
--price-table shows the prices and their date, and --prices reads others from a
file:
  {"models": {"my-model": {"input": 5, "output": 25, "cacheRead": 0.5,
    "cacheWrite5m": 6.25, "cacheWrite1h": 10, "webSearch": 0.01}}}
in dollars per million tokens, and per search.

--reconcile compares the costs with the totals that the agent itself writes at the
end of a session.`

func newStats(s Streams) *cobra.Command {
	o := &statsOptions{streams: s, now: time.Now, by: dimensions{list: []usage.Dimension{usage.ByDay}}}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show tokens and cost by day, model, project and more",
		Long:  statsHelp,
		Example: `  clew stats
  clew stats --by month,model
  clew stats --since 7d --plot
  clew stats --by project,model --sort tokens --limit 10
  clew stats --project . --by session --csv >usage.csv
  clew stats --json | jq .total.cost`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	flags := cmd.Flags()
	flags.Var(&o.by, "by", "group by these, separated by commas")
	flags.StringVar(&o.since, "since", "", "count answers from this `time` on")
	flags.StringVar(&o.until, "until", "", "count answers up to this `time`")
	flags.StringVar(&o.timezone, "timezone", "",
		"time `zone` of days and times, such as UTC or Europe/Paris (default the local one)")
	flags.StringVar(&o.project, "project", "", "count only the project in this `directory`")
	addOnOff(cmd, &o.all, "all", "count all projects, which is the default")
	_ = flags.MarkHidden("all") // it fails only for unknown flags
	flags.StringVar(&o.prices, "prices", "", "`file` with prices that extend or replace the built-in ones")
	flags.Var(&o.order, "sort", "sort by name, cost, tokens or answers")
	flags.IntVar(&o.limit, "limit", 0, "show at most this `number` of groups; 0 means all")
	addOnOff(cmd, &o.plot, "plot", "draw bars instead of a table")
	addOnOff(cmd, &o.json, "json", "print one JSON object")
	addOnOff(cmd, &o.csv, "csv", "print comma-separated values, without a total")
	addOnOff(cmd, &o.reconcile, "reconcile", "compare with the agent's own totals")
	addOnOff(cmd, &o.priceTable, "price-table", "print the prices and their date")
	return cmd
}

func (o *statsOptions) run(ctx context.Context, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	prices, err := o.readPrices(ctx)
	if err != nil {
		return err
	}
	if o.priceTable {
		return o.printPrices(prices)
	}
	want, zone, err := o.wanted()
	if err != nil {
		return err
	}
	used, err := o.read(ctx, want)
	if err != nil {
		return err
	}
	if o.reconcile {
		err = o.printReconciliation(used, prices)
	} else {
		opts := &usage.ReportOptions{By: o.by.list, Location: zone, Prices: &prices}
		r := newStatsReport(used, opts, o.now())
		r.sort(o.order)
		r.cut(o.limit)
		r.learnNames(ctx, want.Project)
		err = o.print(r)
	}
	if err != nil {
		return err
	}
	return o.reportUnread(used)
}

// check refuses flags that exclude each other.
func (o *statsOptions) check() error {
	for _, group := range [][]givenFlag{
		{{"plot", o.plot}, {"json", o.json}, {"csv", o.csv}},
		{{"reconcile", o.reconcile}, {"price-table", o.priceTable}, {"plot", o.plot}, {"csv", o.csv}},
		{{"reconcile", o.reconcile}, {"price-table", o.priceTable}, {"by", o.by.given}},
		{{"reconcile", o.reconcile}, {"price-table", o.priceTable}, {"sort", o.order != ""}},
		{{"reconcile", o.reconcile}, {"price-table", o.priceTable}, {"limit", o.limit != 0}},
		{{"project", o.project != ""}, {"all", o.all}},
		{{"reconcile", o.reconcile}, {"since", o.since != ""}},
		{{"reconcile", o.reconcile}, {"until", o.until != ""}},
	} {
		if err := atMostOne(group); err != nil {
			return err
		}
	}
	if o.limit < 0 {
		return usageError("--limit must not be negative", "")
	}
	return nil
}

// wanted returns what to read, and the time zone of the groups.
func (o *statsOptions) wanted() (*sessions.UsageOptions, *time.Location, error) {
	zone, err := parseZone(o.timezone)
	if err != nil {
		return nil, nil, err
	}
	want := &sessions.UsageOptions{Project: o.project}
	now := o.now().In(zone)
	if want.Since, err = parseTime("since", o.since, now, false); err != nil {
		return nil, nil, err
	}
	if want.Until, err = parseTime("until", o.until, now, true); err != nil {
		return nil, nil, err
	}
	if !want.Since.IsZero() && !want.Until.IsZero() && !want.Since.Before(want.Until) {
		return nil, nil, usageError("--since must be before --until", "")
	}
	return want, zone, nil
}

// read reads the transcripts, with a progress bar on a terminal.
func (o *statsOptions) read(ctx context.Context, want *sessions.UsageOptions) (*sessions.UsageScan, error) {
	var bar *progress
	if isTerminal(o.streams.Err) && os.Getenv("TERM") != "dumb" {
		bar = newProgress(o.streams.Err, -1, o.now)
		want.Progress = func(done, total int64) {
			bar.total = total
			bar.set(done)
		}
	}
	used, err := sessions.ScanUsage(ctx, want)
	bar.clear()
	switch {
	case ctx.Err() != nil:
		return nil, errStopped()
	case err != nil:
		return nil, &failure{
			code: exitInput, err: fmt.Errorf("cannot read the transcripts: %s", escaped(err.Error())),
			hint: "If the agent's directory is not ~/.claude, set CLAUDE_CONFIG_DIR to it.",
		}
	}
	return used, nil
}

func (o *statsOptions) print(r *statsReport) error {
	switch {
	case o.json:
		return o.writeJSON(r)
	case o.csv:
		return o.writeCSV(r)
	case len(r.Rows) == 0:
		return o.write(o.nothing())
	case o.plot:
		return o.write(r.plot(o.canvas()))
	}
	return o.write(r.text(o.canvas()))
}

// nothing returns the text for a report without answers.
func (o *statsOptions) nothing() string {
	if o.since != "" || o.until != "" {
		return "no answers in that period\n"
	}
	if o.project == "" {
		return "no answers\n"
	}
	return "no answers in this project; without --project, all projects count\n"
}

func (o *statsOptions) write(text string) error {
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return outputError(err)
	}
	return nil
}

// reportUnread reports what could not be read. Lines that are not entries are normal after an agent
// was killed, so they are not a failure.
func (o *statsOptions) reportUnread(used *sessions.UsageScan) error {
	if n := used.BadLines; n > 0 {
		first := used.Bad[0]
		// There is nowhere to report that stderr is closed.
		_, _ = fmt.Fprintf(o.streams.Err,
			"clew stats: skipped lines that are not entries: %s; the first is line %d of %s\n",
			group(int64(n)), first.Line, printable(first.Path))
	}
	if len(used.Unread) == 0 {
		return nil
	}
	text := strings.TrimPrefix(used.Unread[0].Error(), "sessions: ")
	return &failure{
		code: exitInput,
		err:  fmt.Errorf("files that could not be read and do not count: %d; the first is %s", len(used.Unread), escaped(text)),
	}
}

// A statsReport is the report in all output formats.
type statsReport struct {
	By         []string     `json:"by"`
	Timezone   string       `json:"timezone"`
	PricesDate string       `json:"pricesDate"`
	Rows       []statsRow   `json:"rows"`
	Total      usage.Totals `json:"total"`
	// Blocks are set if answers are grouped by block only.
	Blocks   []usage.FiveHourBlock `json:"blocks,omitempty"`
	Files    int                   `json:"files"`
	Bytes    int64                 `json:"bytes"`
	BadLines int                   `json:"badLines"`
	Unread   int                   `json:"unread"`
	// LeftOut is the number of rows beyond the limit.
	LeftOut int `json:"leftOut,omitempty"`

	by        []usage.Dimension
	zone      *time.Location
	namesakes map[string]bool // names that several projects share
}

func newStatsReport(used *sessions.UsageScan, opts *usage.ReportOptions, now time.Time) *statsReport {
	calls := used.Tally.Calls()
	report := usage.NewReport(calls, opts)
	r := &statsReport{
		By: make([]string, len(opts.By)), Timezone: opts.Location.String(), PricesDate: opts.Prices.Date,
		Rows: make([]statsRow, len(report.Rows)), Total: report.Total,
		Files: used.Files, Bytes: used.Bytes, BadLines: used.BadLines, Unread: len(used.Unread),
		by: opts.By, zone: opts.Location,
	}
	for i, d := range opts.By {
		r.By[i] = d.String()
	}
	for i, row := range report.Rows {
		r.Rows[i].Row = row
	}
	if slices.Equal(opts.By, []usage.Dimension{usage.ByBlock}) {
		r.Blocks = usage.FiveHourBlocks(calls, &usage.FiveHourBlockOptions{Prices: opts.Prices, Now: now})
	}
	return r
}

// sort sorts the rows. By default, they are in the order of the groups, or if none of these is a
// time, the most expensive come first.
func (r *statsReport) sort(order statsOrder) {
	if order == "" && slices.ContainsFunc(r.by, isTime) {
		order = "name"
	}
	slices.SortStableFunc(r.Rows, func(a, b statsRow) int {
		most := 0
		switch order {
		case "name":
		case "tokens":
			most = cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens())
		case "answers":
			most = cmp.Compare(b.Calls, a.Calls)
		default:
			most = cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Usage.TotalTokens(), a.Usage.TotalTokens()))
		}
		return cmp.Or(most, slices.Compare(r.names(&a.Key), r.names(&b.Key)))
	})
}

// cut keeps the first rows; 0 means all.
func (r *statsReport) cut(limit int) {
	if limit > 0 && len(r.Rows) > limit {
		r.LeftOut = len(r.Rows) - limit
		r.Rows = r.Rows[:limit]
	}
}

func isTime(d usage.Dimension) bool {
	switch d {
	case usage.ByMonth, usage.ByWeek, usage.ByDay, usage.ByHour, usage.ByBlock:
		return true
	}
	return false
}

// names returns the parts of a key in the order of the groups. Unknown parts are "".
func (r *statsReport) names(k *usage.Key) []string {
	names := make([]string, len(r.by))
	for i, d := range r.by {
		names[i] = r.name(k, d)
	}
	return names
}

func (r *statsReport) name(k *usage.Key, d usage.Dimension) string {
	switch d {
	case usage.ByMonth:
		return k.Month
	case usage.ByWeek:
		return k.Week
	case usage.ByDay:
		return k.Day
	case usage.ByHour:
		return r.clock(k.Hour)
	case usage.ByBlock:
		return r.clock(k.Block)
	case usage.ByProject:
		return k.Project
	case usage.BySession:
		return k.Session
	case usage.ByAgent:
		return k.Agent
	}
	return k.Model
}

func (r *statsReport) clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(r.zone).Format("2006-01-02 15:04")
}

// labels returns the names for a table. None of them is empty.
func (r *statsReport) labels(row *statsRow) []string {
	labels := r.names(&row.Key)
	for i, label := range labels {
		switch {
		case label == "" && r.by[i] == usage.ByAgent:
			labels[i] = "(main)"
		case label == "":
			labels[i] = "(unknown)"
		case r.by[i] == usage.ByProject:
			labels[i] = clip(r.projectLabel(row))
		case r.by[i] == usage.BySession:
			labels[i] = clip(shortID(label))
		default:
			labels[i] = clip(label)
		}
	}
	return labels
}

// unpriced returns the models without a known price.
func (r *statsReport) unpriced() string {
	var names []string
	for _, m := range r.Total.Models {
		if m.UnknownCost {
			names = append(names, printable(clip(cmp.Or(m.Model, "(no name)"))))
		}
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "and others")
	}
	return strings.Join(names, ", ")
}

// A statsRow is a group of answers, with the names of its project and its session.
type statsRow struct {
	usage.Row
	CWD   string `json:"cwd,omitempty"`   // the directory of the project
	Title string `json:"title,omitempty"` // of the session
}

// learnNames looks up the names of projects and sessions if the rows need them. Those that are not
// found have no names.
func (r *statsReport) learnNames(ctx context.Context, project string) {
	if !r.isBy(usage.ByProject) && !r.isBy(usage.BySession) {
		return
	}
	infos, _ := sessions.List(ctx, &sessions.ListOptions{Project: project})
	folders, titles := map[string]string{}, map[string]string{}
	for i := range infos {
		folders[infos[i].Project] = cmp.Or(folders[infos[i].Project], infos[i].CWD)
		titles[infos[i].ID] = cmp.Or(titles[infos[i].ID], infos[i].Title())
	}
	for i := range r.Rows {
		r.Rows[i].CWD = folders[r.Rows[i].Key.Project]
		r.Rows[i].Title = titles[r.Rows[i].Key.Session]
	}
	r.findNamesakes()
}

// findNamesakes finds the names that several projects share.
func (r *statsReport) findNamesakes() {
	first := map[string]string{}
	r.namesakes = map[string]bool{}
	for i := range r.Rows {
		name, project := projectName(r.Rows[i].CWD, r.Rows[i].Key.Project), r.Rows[i].Key.Project
		if other, ok := first[name]; ok && other != project {
			r.namesakes[name] = true
		}
		first[name] = project
	}
}

func (r *statsReport) isBy(d usage.Dimension) bool { return slices.Contains(r.by, d) }

// projectLabel returns a label that no other project has.
func (r *statsReport) projectLabel(row *statsRow) string {
	name := projectName(row.CWD, row.Key.Project)
	if r.namesakes[name] {
		return cmp.Or(row.CWD, row.Key.Project)
	}
	return name
}

// dimensions is a flag for comma-separated groups. The first use of the flag replaces the default.
type dimensions struct {
	list  []usage.Dimension
	given bool
}

// Type names the value in the help.
func (d *dimensions) Type() string { return "groups" }

func (d *dimensions) String() string {
	words := make([]string, len(d.list))
	for i, dim := range d.list {
		words[i] = dim.String()
	}
	return strings.Join(words, ",")
}

// Set reads the words. Repeated words count once.
func (d *dimensions) Set(text string) error {
	var list []usage.Dimension
	if d.given {
		list = d.list
	}
	for word := range strings.SplitSeq(text, ",") {
		dim, err := usage.ParseDimension(strings.TrimSpace(word))
		if err != nil {
			return errors.New("must be month, week, day, hour, block, model, project, session or agent")
		}
		if !slices.Contains(list, dim) {
			list = append(list, dim)
		}
	}
	d.list, d.given = list, true
	return nil
}

// A statsOrder is a flag for the order of groups. "" means the default of the groups.
type statsOrder string

// Type names the value in the help.
func (o *statsOrder) Type() string { return "order" }

func (o *statsOrder) String() string { return string(*o) }

// Set reads the name of an order.
func (o *statsOrder) Set(text string) error {
	if !slices.Contains([]string{"name", "cost", "tokens", "answers"}, text) {
		return errors.New("must be name, cost, tokens or answers")
	}
	*o = statsOrder(text)
	return nil
}
