package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/spf13/cobra"
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

const statsHelp = `Counts the tokens of all answers in the transcripts of a project, those of
subagents included, and what they cost. Each answer counts once, however many
lines and files have it.

--by groups by month, week, day, hour, block, model, project, session or agent,
or by several of these. Weeks begin on Monday. A block is a stretch of five
hours, as subscriptions count it: over all projects, so with --all. Groups are in
the order of time, or the most expensive first where no time is asked for, unless
--sort says otherwise. --limit shows the first of them; the total is that of all.
Of sessions, the beginning of the ID and the title are shown; --json and --csv
have whole IDs, and the folders of projects.

--since and --until take a day (2026-11-15, today, yesterday), a time
(2026-11-15T14:00, in the time zone, or with an offset of its own), or how long
ago it was (12h, 7d, 2w). A day as --until is included.

Costs are computed from list prices, unless the transcript has the cost. A cost
with a + behind is not all: the price of a model is not known. --price-table
shows the prices and their date, and --prices takes others from a file:
  {"models": {"my-model": {"input": 5, "output": 25, "cacheRead": 0.5,
    "cacheWrite5m": 6.25, "cacheWrite1h": 10, "webSearch": 0.01}}}
in dollars for a million tokens, and for one search.

--reconcile compares the costs with the accounts that the agent itself writes at
the end of a session.`

func newStats(s Streams) *cobra.Command {
	o := &statsOptions{streams: s, now: time.Now, by: dimensions{list: []transcript.Dimension{transcript.ByDay}}}
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count tokens and cost by day, model, project and more",
		Long:  statsHelp,
		Example: `  clew stats
  clew stats --all --by month,model
  clew stats --all --since 7d --plot
  clew stats --all --by project,model --sort tokens --limit 10
  clew stats --all --by session --csv >usage.csv
  clew stats --all --json | jq .total.cost`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	flags := cmd.Flags()
	flags.Var(&o.by, "by", "what to group by, with commas between")
	flags.StringVar(&o.since, "since", "", "count answers from this `time` on")
	flags.StringVar(&o.until, "until", "", "count answers up to this `time`")
	flags.StringVar(&o.timezone, "timezone", "",
		"time `zone` of days and times, such as UTC or Europe/Paris (default the local one)")
	flags.StringVar(&o.project, "project", "", "count the project of this `folder` (default the current folder)")
	addOnOff(cmd, &o.all, "all", "count all projects")
	flags.StringVar(&o.prices, "prices", "", "`file` with prices to use besides the built-in ones, or in their place")
	flags.Var(&o.order, "sort", "order of the groups: name, or cost, tokens or answers with the most first")
	flags.IntVar(&o.limit, "limit", 0, "show at most this `number` of groups; 0 means all")
	addOnOff(cmd, &o.plot, "plot", "draw bars instead of a table")
	addOnOff(cmd, &o.json, "json", "print one JSON object")
	addOnOff(cmd, &o.csv, "csv", "print comma-separated values, without a total")
	addOnOff(cmd, &o.reconcile, "reconcile", "compare with the agent's own accounts")
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
		opts := &transcript.ReportOptions{By: o.by.list, Location: zone, Prices: &prices}
		r := newStatsReport(used, opts, o.now())
		r.sort(o.order)
		r.cut(o.limit)
		r.learnNames(ctx, want.Project)
		err = o.print(r)
	}
	if err != nil {
		return err
	}
	return o.complain(used)
}

// check refuses flags that contradict each other.
func (o *statsOptions) check() error {
	for _, group := range [][]chosen{
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
		return usageError("--limit is less than nothing", "")
	}
	return nil
}

// wanted returns what is to be read, and the time zone to count in.
func (o *statsOptions) wanted() (*sessions.UsageOptions, *time.Location, error) {
	zone, err := parseZone(o.timezone)
	if err != nil {
		return nil, nil, err
	}
	want := &sessions.UsageOptions{Project: o.project}
	now := o.now().In(zone)
	if want.Since, err = parseMoment("since", o.since, now, false); err != nil {
		return nil, nil, err
	}
	if want.Until, err = parseMoment("until", o.until, now, true); err != nil {
		return nil, nil, err
	}
	if !want.Since.IsZero() && !want.Until.IsZero() && !want.Since.Before(want.Until) {
		return nil, nil, usageError("--since is not before --until", "")
	}
	if !o.all && o.project == "" {
		if want.Project, err = os.Getwd(); err != nil {
			return nil, nil, &failure{
				code: exitInput, err: fmt.Errorf("the current folder is not known: %w", err),
				hint: "Name one with --project, or count all with --all.",
			}
		}
	}
	return want, zone, nil
}

// read reads the transcripts, with a progress bar where somebody watches.
func (o *statsOptions) read(ctx context.Context, want *sessions.UsageOptions) (*sessions.UsageReport, error) {
	var bar *progress
	if isTerminal(o.streams.Err) && os.Getenv("TERM") != "dumb" {
		bar = newProgress(o.streams.Err, -1, o.now)
		want.Progress = func(done, total int64) {
			bar.total = total
			bar.add(int(done - bar.read))
		}
	}
	used, err := sessions.Usage(ctx, want)
	bar.clear()
	switch {
	case ctx.Err() != nil:
		return nil, errStopped()
	case err != nil:
		return nil, &failure{
			code: exitInput, err: fmt.Errorf("the transcripts cannot be read: %s", escaped(err.Error())),
			hint: "Set CLAUDE_CONFIG_DIR to the agent's folder if it is not .claude in your home.",
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

// nothing says that there is nothing to count, and where there might be.
func (o *statsOptions) nothing() string {
	if o.since != "" || o.until != "" {
		return "no answers at that time\n"
	}
	if o.all {
		return "no answers\n"
	}
	return "no answers in this project; --all counts all projects\n"
}

func (o *statsOptions) write(text string) error {
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return outputError(err)
	}
	return nil
}

// complain tells what could not be read. Lines that are not entries are normal where an agent was stopped, so these are
// no failure.
func (o *statsOptions) complain(used *sessions.UsageReport) error {
	if n := used.BadLines; n > 0 {
		first := used.Bad[0]
		// There is nowhere to report that stderr is closed.
		_, _ = fmt.Fprintf(o.streams.Err,
			"clew stats: lines that are not entries, and do not count: %s; the first is line %d of %s\n",
			group(int64(n)), first.Line, printable(first.Path))
	}
	if len(used.Unread) == 0 {
		return nil
	}
	text := strings.TrimPrefix(used.Unread[0].Error(), "sessions: ")
	return &failure{
		code: exitInput,
		err:  fmt.Errorf("files that cannot be read, and do not count: %d; the first is %s", len(used.Unread), escaped(text)),
	}
}
