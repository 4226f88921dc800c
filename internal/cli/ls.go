package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
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
	since   timeFlag
	until   timeFlag
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

const lsHelp = `List the sessions of this project, including those of other working trees of the
repository, newest first.

On a terminal, sessions are grouped by day, at most 20 unless --limit says
otherwise. Each has its title, the number of turns, the time from its first to its
last entry, its cost at list prices, and its age. Wide terminals also show the
project, the branch, the model, and the number of tokens and of changed files. A
dot marks sessions in which an agent seems to be working. Sessions whose
transcripts are too large to be counted at once, 48 MB in all, have a - instead of
figures; with --figures, they are counted as well.

Without a terminal, the list is a table of all sessions, for other programs.
Columns are separated by two or more spaces and are not cut: ID, STATE (running
or -), MODIFIED, PROJECT, BRANCH, MODEL, and TITLE as the last one. A - stands for
an empty cell. With --figures, there are TURNS, SECONDS, TOKENS, COST and FILES
before TITLE. With --json, print one object per session, with its id, project,
path, size, times, title and other metadata, and with --figures also these.

--project accepts a name that the list shows, a directory, or the name of a
directory in which the agent keeps the sessions of a project.

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
		Args: atMost(0),
		RunE: runE(o.run),
	}
	f := cmd.Flags()
	addOnOff(cmd, &o.all, "all", "list the sessions of all projects")
	f.StringVar(&o.project, "project", "", "list the sessions of the project with this `name` or directory")
	f.StringVar(&o.list.Branch, "branch", "", "list sessions on this git `branch`")
	f.StringVar(&o.list.Tag, "tag", "", "list sessions with this `tag`")
	f.StringVar(&o.list.Model, "model", "", "list sessions whose model name contains this `text`")
	f.StringVar(&o.list.Text, "text", "", "list sessions with this `text` in the title, or in the first or last prompt")
	f.Var(&o.since, "since", "list sessions modified at this time or later")
	o.until.end = true
	f.Var(&o.until, "until", "list sessions modified up to this time")
	addOnOff(cmd, &o.ongoing, "ongoing", "list only sessions in which an agent is working; --ongoing=false lists the others")
	f.Var(&o.order, "sort", "sort by modified, created, size or title")
	addOnOff(cmd, &o.reverse, "reverse", "reverse the order")
	f.IntVar(&o.limit.n, "limit", 0, "list at most this `number` of sessions; 0 means all (default 20 on a terminal)")
	addOnOff(cmd, &o.figures.on, "figures",
		"count turns, tokens and cost of all listed sessions (default on a terminal, up to 48 MB)")
	addOnOff(cmd, &o.json, "json", "print one JSON object per session")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		o.figures.given, o.limit.given = f.Changed("figures"), f.Changed("limit")
		if f.Changed("ongoing") {
			o.list.Ongoing = &o.ongoing
		}
		if o.all && f.Changed("project") {
			return misused(cmd, errors.New("--all can't be used with --project"))
		}
		return nil
	}
	return cmd
}

const (
	// terminalLimit is how many sessions are listed on a terminal.
	terminalLimit = 20
	// maxMeasured is how many bytes of transcripts are read for the figures, which takes less than a
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
	l.take(infos, o.measure(ctx, infos))
	if writeErr := o.print(l, list); writeErr != nil {
		return outputError(writeErr)
	}
	switch {
	case ctx.Err() != nil:
		return errInterrupted()
	case err != nil:
		return sessionsError(err)
	case len(infos) == 0 && !o.json:
		o.sayNone()
	}
	return nil
}

// wanted returns what to list.
func (o *lsOptions) wanted(ctx context.Context) (*sessions.ListOptions, error) {
	where, err := findProject(ctx, o.project)
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
	if !o.limit.given && !o.json && isTerminal(o.streams.Out) {
		list.Limit = terminalLimit
	}
	return &list, nil
}

// measure returns the figures of sessions, or nil if they are not wanted.
func (o *lsOptions) measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures {
	switch {
	case o.figures.given && o.figures.on:
		return sessions.Measure(ctx, infos, nil)
	case o.figures.given || o.json || !isTerminal(o.streams.Out):
		return nil
	}
	return sessions.Measure(ctx, infos, &sessions.MeasureOptions{MaxBytes: maxMeasured})
}

func (o *lsOptions) sayNone() {
	text := "No sessions match."
	if !o.all {
		text = "No sessions match in this project; --all lists the sessions of all projects."
	}
	_, _ = fmt.Fprintln(o.streams.Err, cmp.Or(o.none, text))
}

func (o *lsOptions) print(l *lsList, list *sessions.ListOptions) error {
	var text string
	switch {
	case o.json:
		return o.printJSON(l)
	case len(l.rows) == 0:
		return nil
	case isTerminal(o.streams.Out):
		text = l.screen(terminalWidth(o.streams.Out), colored(o.streams.Out)) + o.footer(l, list)
	default:
		text = l.table(textWidth(o.streams.Out, 0), colored(o.streams.Out))
	}
	_, err := io.WriteString(o.streams.Out, text)
	return err
}

func (o *lsOptions) printJSON(l *lsList) error {
	var out bytes.Buffer
	for i := range l.rows {
		line, err := jsonLine(newSessionRecord(&l.rows[i]))
		if err != nil {
			return err
		}
		out.Write(line)
	}
	_, err := o.streams.Out.Write(out.Bytes())
	return err
}

// footer returns the line below a list that is not complete.
func (o *lsOptions) footer(l *lsList, list *sessions.ListOptions) string {
	n := len(l.rows)
	if list.Limit <= 0 || n < list.Limit || l.found <= n {
		return ""
	}
	parts := []string{fmt.Sprintf("%d of %s sessions", n, group(int64(l.found))), "clew ls --limit 0"}
	filtered := list.Branch+list.Tag+list.Model+list.Text != "" || list.Ongoing != nil ||
		!list.Since.IsZero() || !list.Until.IsZero()
	if filtered { // the others may not pass the filters
		parts = []string{fmt.Sprintf("the first %d sessions", n), "--limit 0 lists all"}
	} else if !o.all && o.project == "" {
		parts = append(parts, "clew ls --all")
	}
	return fitted(parts, terminalWidth(o.streams.Out), colored(o.streams.Out)) + "\n"
}

// fitted joins as many parts as fit into a dim line.
func fitted(parts []string, columns int, color bool) string {
	for len(parts) > 1 && tty.Width(render.Join(parts...)) > columns {
		parts = parts[:len(parts)-1]
	}
	return tty.Dim.Paint(tty.Fit(render.Join(parts...), columns), color)
}

// branchName returns a branch, or "" for HEAD, which the agent writes if there is no branch.
func branchName(branch string) string {
	if branch == "HEAD" {
		return ""
	}
	return branch
}

// A sessionRecord is a session in JSON.
type sessionRecord struct {
	ID       string    `json:"id"`
	Project  string    `json:"project"`
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Ongoing  bool      `json:"ongoing"`
	Title    string    `json:"title"`
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

func newSessionRecord(row *lsRow) sessionRecord {
	info := &row.SessionInfo
	r := sessionRecord{
		ID: info.ID, Project: info.Project, Path: info.Path, Size: info.Size, Modified: info.Modified,
		Ongoing: info.Ongoing, Title: info.Title(), Summary: info.Summary,
	}
	if info.Err != nil {
		r.Error = info.Err.Error()
	}
	if f := row.figures; f != nil {
		r.figuresRecord = &figuresRecord{
			Turns: f.Turns, Seconds: row.duration().Seconds(), Tokens: row.tokens(), CostUSD: row.costs.Total,
			UnknownCost: len(row.costs.Unknown) > 0, FilesChanged: f.FilesChanged,
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
