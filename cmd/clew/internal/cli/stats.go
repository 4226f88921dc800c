package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/stats"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

type statsOptions struct {
	streams Streams
	now     func() time.Time
	capture *strings.Builder // gets the output, if it is set

	by           dimensions
	since, until string
	timezone     string
	project      string
	aliases      aliasFlag
	all          bool
	prices       string
	order        statsOrder
	limit, last  int

	active, recent, watched bool
	plot, json, csv         bool
	reconcile, priceTable   bool
}

const statsHelp = `Count the tokens and the cost of all answers in the transcripts of all projects,
including those of subagents. Each answer counts once, even if it appears in
several lines or files. --project counts one project; --project . is the project of
the current directory.

--alias shows a project under another name. Name the project by its directory or as
in "clew ls": --alias ~/code/shop-v2=shop. A * matches any part of a name, as in
"~/clients/acme/*=acme". Projects with the same alias are counted together, and
--project shop selects all of them. To keep aliases, use the setting project_aliases:
see "clew help config". If several aliases match a project, the first one wins;
aliases without a * come first.

Groups are months, weeks, days, hours, blocks, models, projects, sessions or agents;
the default is days. Give them as arguments or with --by: "clew stats monthly models"
is the same as --by month,model. With several groups, each has a subtotal above the
groups it contains. Weeks start on Monday. A block is a period of five hours, as
subscriptions count it. Periods are sorted by time and other groups by cost, unless
--sort is given.

"clew stats tools" counts tool calls instead, and "clew stats mcp" those of MCP
servers: the calls, the calls whose results are marked as errors, and the tokens of
inputs and results, estimated from their length. The API reports the cost of an
answer, not of a call, so the cost is estimated as well: the input of a call at the
price of output, and its result, once, at the price of writing it to the cache. Later
answers read the result again, which is not included, and a call that starts a
subagent does not include the subagent's answers. "clew stats mcp" shows a subtotal
for each server above its tools.

For blocks, the table also shows the cost per hour from the first answer to the last,
unless these are less than ten minutes apart, and gaps without answers. Below the
table are the projected cost of the current block and the limits of the account that
were reached and have not been reset. The agent records limits only when they are
reached. --active counts only the current block, and --recent the blocks of the last
three days.

--last counts only the last groups: "clew stats daily --last 7" counts the last seven
days with answers. --limit shows only the first groups, but the total includes all.

On a terminal, tables have as many columns as fit. Numbers are short, and a narrow
table has one column for all tokens. Bars compare costs. Sessions are shown by ID
prefix and title. --json and --csv have exact numbers, whole IDs, the directories of
projects, and no subtotals. In CSV, a name that a spreadsheet would run as a formula
starts with an apostrophe.

--since and --until accept a day (2026-11-15, today, yesterday), a time
(2026-11-15T14:00, with an optional offset), or an age (12h, 7d, 2w). A day given
as --until is included.

Costs are computed from list prices, unless the transcript contains the cost. A ≥
before a cost marks an incomplete one: the price of some model is unknown.
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
		Use:   "stats [GROUPS]",
		Short: "Show tokens and cost by day, model, project and more",
		Long:  statsHelp,
		Example: `  clew stats
  clew stats daily models --last 7
  clew stats monthly --plot
  clew stats blocks --recent
  clew stats tools --since 7d
  clew stats projects models --since 7d --sort tokens --limit 10
  clew stats --project . --by session --csv >usage.csv
  clew stats --json | jq .total.cost`,
		Args: o.by.addArguments,
		RunE: clikit.RunE(o.run),
	}
	flags := cmd.Flags()
	flags.Var(&o.by, "by", "comma-separated groups")
	flags.StringVar(&o.since, "since", "", "count answers since this `time`")
	flags.StringVar(&o.until, "until", "", "count answers until this `time`")
	flags.StringVar(&o.timezone, "timezone", "",
		"time `zone` of days and times, such as UTC or Europe/Paris (default the local one)")
	flags.StringVar(&o.project, "project", "", "count only the project with this `name` or directory")
	flags.Var(&o.aliases, "alias", "show a project under another name, such as old-shop=shop; repeatable")
	clikit.AddOnOff(cmd, &o.all, "all", "count all projects, which is the default")
	_ = flags.MarkHidden("all") // it fails only for unknown flags
	flags.StringVar(&o.prices, "prices", "", "`file` with prices that extend or replace the built-in ones")
	flags.Var(&o.order, "sort", "sort by name, cost, tokens or answers")
	flags.IntVar(&o.limit, "limit", 0, "maximum `number` of groups to show; 0 means all")
	flags.IntVar(&o.last, "last", 0, "`number` of last groups to count, such as days; 0 means all")
	clikit.AddOnOff(cmd, &o.active, "active", "count only the current block")
	clikit.AddOnOff(cmd, &o.recent, "recent", "count only the blocks of the last three days")
	clikit.AddOnOff(cmd, &o.plot, "plot", "draw bars instead of a table")
	clikit.AddOnOff(cmd, &o.watched, "watch", "refresh every few seconds until interrupted (on a terminal)")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	clikit.AddOnOff(cmd, &o.csv, "csv", "print CSV, without a total")
	clikit.AddOnOff(cmd, &o.reconcile, "reconcile", "compare with the agent's own totals")
	clikit.AddOnOff(cmd, &o.priceTable, "price-table", "print the prices and their date")
	return cmd
}

func (o *statsOptions) run(ctx context.Context, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	prices, err := readPrices(ctx, o.prices)
	if err != nil {
		return err
	}
	if o.priceTable {
		return o.printPrices(prices)
	}
	if !o.watched {
		return o.count(ctx, prices)
	}
	show := func() (string, error) {
		o.capture = new(strings.Builder)
		err := o.count(ctx, prices)
		return o.capture.String(), err
	}
	return clikit.NewWatch(o.streams.Out).Run(ctx, show)
}

// count reads the transcripts once, and prints their usage.
func (o *statsOptions) count(ctx context.Context, prices usage.Prices) error {
	want, zone, err := o.wanted(ctx)
	if err != nil {
		return err
	}
	want.Tools = o.by.tools != ""
	used, err := o.read(ctx, want)
	if err != nil {
		return err
	}
	switch {
	case want.Tools:
		err = o.printTools(stats.ScanTools(used, want.Since, want.Until, prices, o.by.tools == "mcp"))
	case o.reconcile:
		err = o.printReconciliation(used, prices)
	default:
		err = o.print(o.report(ctx, used, want.Project, &usage.ReportOptions{By: o.by.list, Location: zone, Prices: &prices}))
	}
	if err != nil {
		return err
	}
	return o.reportUnread(used)
}

// recentBlocks is the period that --recent covers.
const recentBlocks = 3 * 24 * time.Hour

// report returns the report of a scan.
func (o *statsOptions) report(ctx context.Context, used *sessions.UsageScan, project string, opts *usage.ReportOptions) *stats.Report {
	aliases := o.rename(ctx, used)
	r := stats.NewReport(used, used.Tally.Calls(), opts, o.now())
	switch {
	case o.active:
		r.KeepBlocks(time.Time{})
	case o.recent:
		r.KeepBlocks(r.Now.Add(-recentBlocks))
	}
	r.KeepLast(o.last)
	r.Sort(string(o.order))
	if !r.IsBy(usage.ByProject) && !r.IsBy(usage.BySession) {
		return r
	}
	infos, _ := sessions.List(ctx, &sessions.ListOptions{Project: project}) // those that are not found have no names
	directories, titles := map[string]string{}, map[string]string{}
	for i := range infos {
		home := infos[i].Home()
		directories[home] = cmp.Or(directories[home], infos[i].Directory())
		titles[infos[i].ID] = cmp.Or(titles[infos[i].ID], view.TitleOf(&infos[i].Summary))
	}
	r.Name(directories, titles, aliases)
	return r
}

// check refuses flags that exclude each other.
func (o *statsOptions) check() error {
	for _, group := range [][]clikit.GivenFlag{
		{{Name: "plot", On: o.plot}, {Name: "json", On: o.json}, {Name: "csv", On: o.csv}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "price-table", On: o.priceTable}, {Name: "plot", On: o.plot}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "price-table", On: o.priceTable}, {Name: "by", On: o.by.given}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "price-table", On: o.priceTable}, {Name: "sort", On: o.order != ""}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "price-table", On: o.priceTable}, {Name: "limit", On: o.limit != 0}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "price-table", On: o.priceTable}, {Name: "last", On: o.last != 0}},
		{{Name: "project", On: o.project != ""}, {Name: "all", On: o.all}},
		{{Name: "active", On: o.active}, {Name: "recent", On: o.recent}},
		{{Name: "watch", On: o.watched}, {Name: "json", On: o.json}}, {{Name: "watch", On: o.watched}, {Name: "csv", On: o.csv}},
		{{Name: "watch", On: o.watched}, {Name: "reconcile", On: o.reconcile}}, {{Name: "watch", On: o.watched}, {Name: "price-table", On: o.priceTable}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "since", On: o.since != ""}},
		{{Name: "reconcile", On: o.reconcile}, {Name: "until", On: o.until != ""}},
	} {
		if err := clikit.AtMostOne(group); err != nil {
			return err
		}
	}
	if o.watched && !clikit.Redraws(o.streams.Out) {
		return clikit.UsageError("--watch needs a terminal", "")
	}
	if o.limit < 0 {
		return clikit.UsageError("--limit must not be negative", "")
	}
	if o.by.tools != "" && (len(o.by.list) > 0 || o.plot || o.last > 0) {
		return clikit.UsageError("tool and mcp are groups of their own, without --plot and --last", "")
	}
	if (o.active || o.recent) && !stats.IsByBlock(o.by.list) {
		return clikit.UsageError("--active and --recent are for blocks", `Run "clew stats blocks --active".`)
	}
	if o.last < 0 {
		return clikit.UsageError("--last must not be negative", "")
	}
	return nil
}

// wanted returns what to read, and the time zone of the groups.
func (o *statsOptions) wanted(ctx context.Context) (*sessions.UsageOptions, *time.Location, error) {
	zone, err := clikit.ParseZone(o.timezone)
	if err != nil {
		return nil, nil, err
	}
	want, err := o.place(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := o.now().In(zone)
	if want.Since, err = clikit.ParseTime("since", o.since, now, false); err != nil {
		return nil, nil, err
	}
	if want.Until, err = clikit.ParseTime("until", o.until, now, true); err != nil {
		return nil, nil, err
	}
	if !want.Since.IsZero() && !want.Until.IsZero() && !want.Since.Before(want.Until) {
		return nil, nil, clikit.UsageError("--since must be before --until", "")
	}
	return want, zone, nil
}

// place returns the location of the answers to count: all projects, a single one, or all with an
// alias.
func (o *statsOptions) place(ctx context.Context) (*sessions.UsageOptions, error) {
	if alias, ok := o.aliases.find(o.project); ok {
		projects, err := sessions.Projects(ctx, nil)
		if len(projects) == 0 && err != nil {
			return nil, input.FindError(ctx, err)
		}
		return &sessions.UsageOptions{ProjectNames: o.aliases.members(alias, projects)}, nil
	}
	where, err := input.Project(ctx, o.project)
	if err != nil {
		return nil, err
	}
	return &sessions.UsageOptions{Project: where.Project, ProjectName: where.ProjectName}, nil
}

// rename replaces the names of projects that have an alias by it, if the report shows projects. It
// returns the projects of each alias.
func (o *statsOptions) rename(ctx context.Context, used *sessions.UsageScan) map[string][]string {
	if len(o.aliases) == 0 || !slices.Contains(o.by.list, usage.ByProject) {
		return nil
	}
	projects, _ := sessions.Projects(ctx, nil) // a project without a directory has a name
	known := map[string]bool{}
	for i := range projects {
		known[projects[i].Name] = true
	}
	calls := used.Tally.Calls()
	for i := range calls {
		if name := calls[i].Project; !known[name] {
			known[name] = true
			projects = append(projects, sessions.ProjectInfo{Name: name})
		}
	}
	return renameProjects(used, calls, o.aliases.of(projects))
}

// renameProjects replaces the names of projects by their aliases, and returns the projects of each.
func renameProjects(used *sessions.UsageScan, calls []usage.Call, aliases map[string]string) map[string][]string {
	members := map[string][]string{}
	used.Tally = usage.Tally{}
	for _, c := range calls {
		if alias, ok := aliases[c.Project]; ok {
			if !slices.Contains(members[alias], c.Project) {
				members[alias] = append(members[alias], c.Project)
			}
			c.Project = alias
		}
		used.Tally.Add(c)
	}
	for _, names := range members {
		slices.Sort(names)
	}
	return members
}

// read reads the transcripts, with a progress bar on a terminal.
func (o *statsOptions) read(ctx context.Context, want *sessions.UsageOptions) (*sessions.UsageScan, error) {
	bar := clikit.ProgressOn(o.streams.Err, -1, o.now)
	want.Progress = bar.Func()
	used, err := sessions.ScanUsage(ctx, want)
	bar.Clear()
	switch {
	case ctx.Err() != nil:
		return nil, clikit.Stopped()
	case err != nil:
		return nil, &clikit.Failure{
			Code: clikit.ExitInput, Err: fmt.Errorf("cannot read the transcripts: %s", clikit.Printable(err.Error())),
			Hint: "If the agent's directory is not ~/.claude, set CLAUDE_CONFIG_DIR to it.",
		}
	}
	return used, nil
}

func (o *statsOptions) print(r *stats.Report) error {
	if len(r.Rows) == 0 && !o.json && !o.csv {
		return o.write(o.nothing())
	}
	if !o.json && !o.csv && !o.plot {
		return o.write(statsText(r, o.limit, o.canvas()))
	}
	r.Cut(o.limit)
	switch {
	case o.json:
		return o.writeJSON(r)
	case o.csv:
		return o.writeCSV(r)
	}
	return o.write(statsPlot(r, o.canvas()))
}

// nothing returns the text for a report without answers.
func (o *statsOptions) nothing() string {
	if o.active {
		return "no block is active\n"
	}
	if o.since != "" || o.until != "" || o.recent {
		return "no answers in that period\n"
	}
	if o.project == "" {
		return "no answers\n"
	}
	return "no answers in this project; without --project, all projects count\n"
}

func (o *statsOptions) write(text string) error {
	if o.capture != nil {
		o.capture.WriteString(text)
		return nil
	}
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// reportUnread reports what could not be read. Lines that are not entries are normal after an agent
// was killed, so they are not a failure.
func (o *statsOptions) reportUnread(used *sessions.UsageScan) error {
	if n := used.BadLines; n > 0 {
		first := used.Bad[0]
		clikit.Remark(o.streams.Err, tty.Waiting, "clew stats", fmt.Sprintf(
			"skipped lines that are not entries: %s; the first is line %d of %s", wording.Number(n), first.Line, clikit.Printable(first.Path)))
	}
	if len(used.Unread) == 0 {
		return nil
	}
	text := strings.TrimPrefix(used.Unread[0].Error(), "sessions: ")
	return &clikit.Failure{
		Code: clikit.ExitInput,
		Err:  fmt.Errorf("files that could not be read and do not count: %d; the first is %s", len(used.Unread), clikit.Printable(text)),
	}
}
