package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

type lsOptions struct {
	streams Streams
	now     func() time.Time
	all     bool
	ongoing bool
	json    bool
	reverse bool
	figures givenBool
	limit   givenInt
	since   clikit.TimeFlag
	until   clikit.TimeFlag
	order   sortOrder
	project string
	list    sessions.ListOptions
	none    string // printed if there are none; "" means the default
}

// A givenBool and a givenInt are values of flags that have another default on a terminal.
type (
	givenBool struct{ given, on bool }
	givenInt  struct {
		given bool
		n     int
	}
)

const lsHelp = `List the sessions of this project and of other working trees of its repository,
newest first.

On a terminal, the 20 newest sessions are listed by day; --limit lists more. Each
line shows the title, the number of turns, the time from the first to the last
entry, the cost at list prices, and the age. Wide terminals also show the project,
branch, model, tokens and number of changed files. A dot marks sessions that an agent
has open or works in. In place of the turns they show whether it is working, waits for
you, or has nothing to do (open). To be fast, ls counts at most 48 MB of transcripts, the
smallest first, and shows a - for the others; --figures counts all of them. A ≥
before a cost, or a ? instead of one, means that the price of a model is not known.

If stdout is not a terminal, the output is a table of all sessions for other
programs. Columns are separated by two or more spaces and are never cut: ID, STATE
(working, waits, open, unknown or -), MODIFIED, PROJECT, BRANCH, MODEL and TITLE. An
empty cell is a -. --figures adds TURNS, SECONDS, TOKENS, COST and FILES before TITLE.
--json prints one object per session with its id, project, path, size, times, title,
state and other metadata, and with --figures also the figures.

If an archive is read, and has sessions of several machines, the list has a column
MACHINE; --json always has the machine then.

--project accepts a project name as shown in the list, a directory, or the name of
the directory in which the agent keeps the sessions of a project.

Times are dates such as 2026-11-01, dates with a time such as 2026-11-01T15:04, or
ages such as 90m, 36h or 7d.`

func newLs(s Streams) *cobra.Command {
	o := &lsOptions{streams: s, now: time.Now}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List sessions",
		Long:  lsHelp,
		Example: `  clew ls
  clew ls --all --since 7d
  clew ls --project website --limit 0
  clew ls --model opus --text "login page" --json | jq -r .id`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	f := cmd.Flags()
	clikit.AddOnOff(cmd, &o.all, "all", "list the sessions of all projects")
	f.StringVar(&o.project, "project", "", "list the sessions of the project with this `name` or directory")
	f.StringVar(&o.list.Branch, "branch", "", "list sessions on this git `branch`")
	f.StringVar(&o.list.Tag, "tag", "", "list sessions with this `tag`")
	f.StringVar(&o.list.Model, "model", "", "list sessions whose model name contains this `text`")
	f.StringVar(&o.list.Text, "text", "", "list sessions with this `text` in the title or in the first or last prompt")
	f.Var(&o.since, "since", "list sessions modified since this time")
	o.until.End = true
	f.Var(&o.until, "until", "list sessions modified until this time")
	clikit.AddOnOff(cmd, &o.ongoing, "ongoing", "list only sessions in which an agent works, by their transcripts; --ongoing=false lists the others")
	f.Var(&o.order, "sort", "sort by modified, created, size or title")
	clikit.AddOnOff(cmd, &o.reverse, "reverse", "reverse the order")
	f.IntVar(&o.limit.n, "limit", 0, "maximum `number` of sessions to list; 0 means all (default 20 on a terminal)")
	clikit.AddOnOff(cmd, &o.figures.on, "figures",
		"count turns, tokens and cost of all listed sessions (default on a terminal, up to 48 MB)")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object per session")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		o.figures.given, o.limit.given = f.Changed("figures"), f.Changed("limit")
		if f.Changed("ongoing") {
			o.list.Ongoing = &o.ongoing
		}
		if o.all && f.Changed("project") {
			return clikit.Misused(cmd, errors.New("--all can't be used with --project"))
		}
		return nil
	}
	return cmd
}

const (
	// terminalLimit is the number of sessions listed on a terminal.
	terminalLimit = 20
	// maxMeasured is the number of transcript bytes read for the figures, which takes less than a
	// tenth of a second.
	maxMeasured = 48 << 20
)

func (o *lsOptions) run(ctx context.Context, _ []string) error {
	list, err := o.wanted(ctx)
	if err != nil {
		return err
	}
	l := &lsList{now: o.now(), byDay: list.Sort == sessions.ByModified}
	list.Found = func(n int) { l.found = n }
	infos, err := sessions.List(ctx, list)
	running, _ := sessions.Running(ctx) // the ones that can be read
	l.Running = view.Running(running)
	l.take(infos, o.measure(ctx, infos))
	if writeErr := o.print(l, list); writeErr != nil {
		return clikit.OutputError(writeErr)
	}
	switch {
	case ctx.Err() != nil:
		return clikit.Interrupted()
	case err != nil:
		return input.SessionsError(err)
	case len(infos) == 0 && !o.json:
		o.sayNone()
	}
	return nil
}

// wanted returns what to list.
func (o *lsOptions) wanted(ctx context.Context) (*sessions.ListOptions, error) {
	where, err := input.Project(ctx, o.project)
	if err != nil {
		return nil, err
	}
	list := o.list
	list.Since, list.Until = o.since.Time, o.until.Time
	list.Sort, list.Reverse = sessions.SortBy(o.order), o.reverse
	list.Project, list.ProjectName = where.Project, where.ProjectName
	if !o.all && o.project == "" {
		list.Project = "."
	}
	list.Limit = o.limit.n
	if !o.limit.given && !o.json && clikit.IsTerminal(o.streams.Out) {
		list.Limit = terminalLimit
	}
	return &list, nil
}

// measure returns the figures of sessions, or nil if they are not wanted.
func (o *lsOptions) measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures {
	switch {
	case o.figures.given && o.figures.on:
		return sessions.Measure(ctx, infos, nil)
	case o.figures.given || o.json || !clikit.IsTerminal(o.streams.Out):
		return nil
	}
	return sessions.Measure(ctx, infos, &sessions.MeasureOptions{MaxBytes: maxMeasured})
}

func (o *lsOptions) sayNone() {
	text := "No sessions match."
	if !o.all {
		text = "No sessions match in this project; --all lists the sessions of all projects."
	}
	h := &helpText{columns: clikit.TextWidth(o.streams.Err, 80), prose: clikit.TextWidth(o.streams.Err, 0)}
	h.paragraphs(cmp.Or(o.none, text))
	_, _ = io.WriteString(o.streams.Err, h.String())
}

func (o *lsOptions) print(l *lsList, list *sessions.ListOptions) error {
	var text string
	switch {
	case o.json:
		return o.printJSON(l)
	case len(l.Order) == 0:
		return nil
	case clikit.IsTerminal(o.streams.Out):
		text = l.screen(clikit.TerminalWidth(o.streams.Out), clikit.Colored(o.streams.Out)) + o.footer(l, list)
	default:
		text = l.table(clikit.TextWidth(o.streams.Out, 0), clikit.Colored(o.streams.Out))
	}
	_, err := io.WriteString(o.streams.Out, text)
	return err
}

func (o *lsOptions) printJSON(l *lsList) error {
	var out bytes.Buffer
	for _, e := range l.Order {
		line, err := clikit.JSONLine(l.record(e))
		if err != nil {
			return err
		}
		out.Write(line)
	}
	_, err := o.streams.Out.Write(out.Bytes())
	return err
}

// footer returns the line below a list that is not complete, or that has costs without some prices.
func (o *lsOptions) footer(l *lsList, list *sessions.ListOptions) string {
	parts := o.omitted(l, list)
	if slices.ContainsFunc(l.Order, func(e *view.Entry) bool { return e.Figures != nil && len(e.Figures.Costs.Unknown) > 0 }) {
		parts = append(parts, "≥ and ?: a price is unknown")
	}
	if len(parts) == 0 {
		return ""
	}
	return fitted(parts, clikit.TerminalWidth(o.streams.Out), clikit.Colored(o.streams.Out)) + "\n"
}

// omitted describes the sessions that an incomplete list leaves out.
func (o *lsOptions) omitted(l *lsList, list *sessions.ListOptions) []string {
	n := len(l.Order)
	if list.Limit <= 0 || n < list.Limit || l.found <= n {
		return nil
	}
	parts := []string{fmt.Sprintf("%d of %s sessions", n, wording.Number(l.found)), "--limit 0 lists all"}
	filtered := list.Branch+list.Tag+list.Model+list.Text != "" || list.Ongoing != nil ||
		!list.Since.IsZero() || !list.Until.IsZero()
	if filtered { // the others may not pass the filters
		parts[0] = fmt.Sprintf("the first %d sessions", n)
	} else if !o.all && o.project == "" {
		parts = append(parts, "--all lists all projects")
	}
	return parts
}

// fitted joins as many parts as fit into a dim line.
func fitted(parts []string, columns int, color bool) string {
	for len(parts) > 1 && tty.Width(render.Join(parts...)) > columns {
		parts = parts[:len(parts)-1]
	}
	return tty.Dim.Paint(tty.Fit(render.Join(parts...), columns), color)
}

// A sessionRecord is a session in JSON.
type sessionRecord struct {
	ID       string        `json:"id"`
	Project  string        `json:"project"`
	Path     string        `json:"path"`
	Size     int64         `json:"size"`
	Modified time.Time     `json:"modified"`
	Ongoing  bool          `json:"ongoing"`
	State    string        `json:"state,omitempty"` // of an agent that has it open: working, waits, open or unknown
	Title    string        `json:"title"`
	Machine  string        `json:"machine,omitempty"` // if an archive is read
	Job      *sessions.Job `json:"job,omitempty"`
	sessions.Summary
	*figuresRecord
	Error string `json:"error,omitempty"`
}

// A figuresRecord has the figures of a session in JSON.
type figuresRecord struct {
	Turns        int         `json:"turns"`
	Seconds      float64     `json:"seconds"`
	Tokens       int         `json:"tokens"`
	CostUSD      usage.Money `json:"cost_usd"`
	UnknownCost  bool        `json:"unknown_cost,omitempty"` // the cost lacks models without a price
	FilesChanged int         `json:"files_changed"`
}

// record returns a session for JSON.
func (l *lsList) record(e *view.Entry) sessionRecord {
	r := sessionRecord{
		ID: e.ID, Project: e.Project, Path: e.Path, Size: e.Size, Modified: e.Modified,
		Ongoing: e.Ongoing, State: l.State(e).Short(), Title: e.Title(), Summary: e.Summary, Machine: l.MachineName(e),
	}
	if e.Job.ID != "" {
		r.Job = &e.Job
	}
	if e.Err != nil {
		r.Error = e.Err.Error()
	}
	if f := e.Figures; f != nil {
		r.figuresRecord = &figuresRecord{
			Turns: f.Turns, Seconds: e.Duration().Seconds(), Tokens: f.Tokens, CostUSD: f.Costs.Total,
			UnknownCost: len(f.Costs.Unknown) > 0, FilesChanged: f.Files,
		}
	}
	return r
}

// A sortOrder is a flag for the order of a list.
type sortOrder sessions.SortBy

var orders = []string{
	sessions.ByModified: "modified", sessions.ByCreated: "created", sessions.BySize: "size", sessions.ByTitle: "title",
}

// Type names the value in the help.
func (s *sortOrder) Type() string { return "order" }

func (s *sortOrder) String() string { return orders[*s] }

// Set reads the name of an order.
func (s *sortOrder) Set(text string) error {
	for i, name := range orders {
		if name == text {
			*s = sortOrder(i)
			return nil
		}
	}
	return errors.New("must be modified, created, size or title")
}

// An lsList is a session list to print.
type lsList struct {
	view.List
	now   time.Time // in the time zone of the list
	byDay bool      // the list is sorted by time, so that it has groups
	found int       // the number of sessions, including unlisted ones
}

// take takes sessions with their figures, which may be missing.
func (l *lsList) take(infos []sessions.SessionInfo, figures []sessions.Figures) {
	l.Here = thisMachine()
	l.Take(infos)
	prices := pricelist.Current()
	for i, e := range l.Order {
		e.Described, e.Read = view.Named(infos[i]), true
		if len(figures) > 0 && figures[i].Err == nil {
			e.Figures = view.Count(&infos[i], &figures[i], prices)
		}
	}
}

// An lsColumn is a column of the list.
type lsColumn struct {
	view.Column
	cell  func(l *lsList, e *view.Entry) string // "" if it is not known
	style tty.Style
	least int // columns of the screen that the title keeps beside it
}

// The columns that are not facts of [view.Columns].
var (
	idColumn    = &lsColumn{cell: (*lsList).id, style: tty.Dim, least: minTitle}
	titleColumn = &lsColumn{cell: (*lsList).title}
	ageColumn   = &lsColumn{Column: view.Column{Right: true}, cell: (*lsList).age, style: tty.Dim, least: 12}
)

// screenColumns returns the columns for a terminal in display order, and in the order in which they
// are chosen until there is no room for another.
func screenColumns() (order, chosen []*lsColumn) {
	order, chosen = []*lsColumn{idColumn, titleColumn}, []*lsColumn{ageColumn, idColumn}
	facts := map[string]*lsColumn{}
	for _, c := range view.Columns {
		facts[c.Name] = &lsColumn{Column: *c, least: minTitle}
		order = append(order, facts[c.Name])
	}
	for _, name := range view.Chosen {
		chosen = append(chosen, facts[name])
	}
	return append(order, ageColumn), chosen
}

// text returns the cell of a session.
func (c *lsColumn) text(l *lsList, e *view.Entry) string {
	if c.cell != nil {
		return c.cell(l, e)
	}
	return c.Text(&l.List, e)
}

const (
	// minTitle is the width that most columns leave to the title.
	minTitle = 30
	maxTitle = 80
	maxCell  = 24
	mark     = "● "
)

// screen returns the list for a terminal.
func (l *lsList) screen(columns int, color bool) string {
	margin := tty.Width(mark)
	if columns < 3*margin {
		margin = 0
	}
	t := l.fit(columns - margin)
	var b strings.Builder
	for i, row := range l.Order {
		if day := l.day(row.Modified); l.byDay && (i == 0 || day != l.day(l.Order[i-1].Modified)) {
			b.WriteString(tty.Heading.Paint(tty.Fit(day, columns), color) + "\n")
		}
		switch state := l.State(row); {
		case margin > 0 && state.Live:
			b.WriteString(state.Style().Paint(mark, color))
		case margin > 0:
			b.WriteString(strings.Repeat(" ", margin))
		}
		b.WriteString(t.Line(i, color) + "\n")
	}
	return b.String()
}

// fit returns a table of the columns for which there is room, without headings.
func (l *lsList) fit(room int) *clikit.Table {
	order, chosen := screenColumns()
	widths := map[*lsColumn]int{}
	for _, c := range order {
		for _, e := range l.Order {
			widths[c] = max(widths[c], tty.Width(c.text(l, e)))
		}
		if c.Varies && !slices.ContainsFunc(l.Order, func(e *view.Entry) bool { return c.text(l, e) != c.text(l, l.Order[0]) }) {
			widths[c] = 0
		}
	}
	title := min(widths[titleColumn], maxTitle)
	left := room
	for _, c := range chosen {
		need := min(widths[c], maxCell) + clikit.CellGap
		if widths[c] == 0 || left-need < min(title, c.least) {
			widths[c] = 0
			continue
		}
		left -= need
	}
	title = min(title, left)
	var shown []*lsColumn
	var right []bool
	for _, c := range order {
		if widths[c] > 0 {
			shown, right = append(shown, c), append(right, c.Right)
		}
	}
	t := clikit.NewPlainTable(right)
	for _, e := range l.Order {
		var cells []string
		var styles []tty.Style
		for _, c := range shown {
			width := maxCell
			if c == titleColumn {
				width = title
			}
			cells = append(cells, tty.Fit(cmp.Or(c.text(l, e), "-"), width))
			styles = append(styles, l.style(e, c))
		}
		t.AddClean(cells...)
		t.Style(styles...)
	}
	return t
}

// style returns how a cell is painted.
func (l *lsList) style(e *view.Entry, c *lsColumn) tty.Style {
	switch {
	case e.Err != nil && c == titleColumn:
		return tty.Failure
	case c == ageColumn:
		return l.State(e).Style()
	case c.cell == nil:
		return c.Style(&l.List, e)
	}
	return c.style
}

// table returns the list for other programs. Lines are cut to the given number of columns; 0 means
// no limit.
func (l *lsList) table(columns int, color bool) string {
	names := []string{"ID", "STATE", "MODIFIED", "PROJECT", "BRANCH", "MODEL"}
	if l.Machines() {
		names = append(names, "MACHINE")
	}
	if slices.ContainsFunc(l.Order, func(e *view.Entry) bool { return e.Figures != nil }) {
		names = append(names, "TURNS>", "SECONDS>", "TOKENS>", "COST>", "FILES>")
	}
	t := clikit.NewTable(append(names, "TITLE")...)
	for _, row := range l.Order {
		cells := []string{
			l.id(row), l.State(row).Short(), row.Modified.In(l.now.Location()).Format("2006-01-02T15:04"),
			row.ProjectName, view.ColumnOf("branch").Text(&l.List, row), view.ColumnOf("model").Text(&l.List, row),
		}
		if l.Machines() {
			cells = append(cells, l.Machine(row))
		}
		if len(names) > len(cells) {
			cells = append(cells, plainFigures(row)...)
		}
		cells = append(cells, l.title(row))
		for k, cell := range cells {
			cells[k] = cmp.Or(cell, "-")
		}
		t.AddClean(cells...)
	}
	lines := t.Lines(columns)
	lines[0] = tty.Title.Paint(lines[0], color)
	return strings.Join(lines, "\n") + "\n"
}

// plainFigures returns the figures as plain numbers, or empty cells if they were not counted.
func plainFigures(e *view.Entry) []string {
	f := e.Figures
	if f == nil {
		return make([]string, 5)
	}
	return []string{
		strconv.Itoa(f.Turns), strconv.Itoa(int(e.Duration().Seconds())), strconv.Itoa(f.Tokens), f.Costs.Total.Decimal(),
		strconv.Itoa(f.Files),
	}
}

func (l *lsList) id(e *view.Entry) string { return view.ShortID(e.ID) }

func (l *lsList) title(row *view.Entry) string {
	if row.Err != nil {
		return tty.Line("cannot read: " + clikit.Cause(row.Err).Error())
	}
	return view.TitleOf(&row.Summary)
}

// age returns the time since a session changed, or in a group of another day the time of day.
func (l *lsList) age(e *view.Entry) string { return l.Age(e, l.now, l.byDay) }

func (l *lsList) day(at time.Time) string { return render.Day(at, l.now) }
