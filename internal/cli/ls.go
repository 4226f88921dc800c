package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

type lsOptions struct {
	streams Streams
	all     bool
	ongoing bool
	json    bool
	reverse bool
	since   timeFlag
	until   timeFlag
	order   sortOrder
	list    sessions.ListOptions
	none    string // printed if there are none; "" means the default
}

const lsHelp = `List the sessions of this project, including those of other working trees of the
repository, newest first. A * marks sessions in which an agent seems to be
working.

Titles are cut to the width of the terminal. With --json, print one object per
session, with its id, project, path, size, times, title and other metadata.

Times are dates such as 2026-11-01, dates with a time such as 2026-11-01T15:04, or
ages such as 90m, 36h or 7d.`

func newLs(s Streams) *cobra.Command {
	o := &lsOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List sessions",
		Long:  lsHelp,
		Example: `  clew ls
  clew ls --all --since 7d
  clew ls --model opus --text "login page" --json | jq -r .id`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	f := cmd.Flags()
	addOnOff(cmd, &o.all, "all", "list the sessions of all projects")
	f.StringVar(&o.list.Project, "project", "", "list the sessions of the project in this `directory`")
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
	f.IntVar(&o.list.Limit, "limit", 0, "list at most this `number` of sessions; 0 means all")
	addOnOff(cmd, &o.json, "json", "print one JSON object per session")
	cmd.PreRunE = func(*cobra.Command, []string) error {
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

func (o *lsOptions) run(ctx context.Context, _ []string) error {
	list := o.list
	list.Since, list.Until = o.since.Time, o.until.Time
	list.Sort, list.Reverse = sessions.SortBy(o.order), o.reverse
	if !o.all && list.Project == "" {
		list.Project = "."
	}
	infos, err := sessions.List(ctx, &list)
	if writeErr := o.print(infos); writeErr != nil {
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

func (o *lsOptions) sayNone() {
	text := "No sessions match."
	if !o.all {
		text = "No sessions match in this project; --all lists the sessions of all projects."
	}
	_, _ = fmt.Fprintln(o.streams.Err, cmp.Or(o.none, text))
}

func (o *lsOptions) print(infos []sessions.SessionInfo) error {
	if o.json {
		return o.printJSON(infos)
	}
	if len(infos) == 0 {
		return nil
	}
	_, err := io.WriteString(o.streams.Out, o.table(infos, textWidth(o.streams.Out, 0)))
	return err
}

func (o *lsOptions) printJSON(infos []sessions.SessionInfo) error {
	var out bytes.Buffer
	for i := range infos {
		line, err := jsonLine(newSessionRecord(&infos[i]))
		if err != nil {
			return err
		}
		out.Write(line)
	}
	_, err := o.streams.Out.Write(out.Bytes())
	return err
}

const (
	narrow    = 72 // columns of the screen below which tables show only the most important columns
	cellWidth = 20
)

// table returns the list as a table that fits into so many columns of the screen; 0 means no limit.
func (o *lsOptions) table(infos []sessions.SessionInfo, columns int) string {
	wide := columns == 0 || columns >= narrow
	head := []string{"ID", "MODIFIED"}
	if wide && o.all {
		head = append(head, "PROJECT")
	}
	if wide {
		head = append(head, "BRANCH", "MODEL")
	}
	t := newTable(append(head, "TITLE")...)
	for i := range infos {
		t.addClean(o.row(&infos[i], wide)...)
	}
	lines := t.lines(columns)
	if colored(o.streams.Out) {
		lines[0] = emphasized(lines[0])
	}
	return strings.Join(lines, "\n") + "\n"
}

func (o *lsOptions) row(info *sessions.SessionInfo, wide bool) []string {
	id := shortID(info.ID)
	if info.Ongoing {
		id += "*"
	}
	cells := []string{id, info.Modified.Local().Format(timeLayout)}
	if wide && o.all {
		cells = append(cells, shortCell(projectName(info.CWD, info.Project)))
	}
	if wide {
		cells = append(cells, shortCell(branchName(info.GitBranch)), shortCell(strings.TrimPrefix(info.Model, "claude-")))
	}
	title := info.Title()
	if info.Err != nil {
		title = "cannot read: " + cause(info.Err).Error()
	}
	return append(cells, cmp.Or(tty.Line(title), "-"))
}

// branchName returns a branch, or "" for HEAD, which the agent writes if there is no branch.
func branchName(branch string) string {
	if branch == "HEAD" {
		return ""
	}
	return branch
}

func shortCell(text string) string { return cmp.Or(tty.Fit(tty.Line(text), cellWidth), "-") }

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
	Error string `json:"error,omitempty"`
}

func newSessionRecord(info *sessions.SessionInfo) sessionRecord {
	r := sessionRecord{
		ID: info.ID, Project: info.Project, Path: info.Path, Size: info.Size, Modified: info.Modified,
		Ongoing: info.Ongoing, Title: info.Title(), Summary: info.Summary,
	}
	if info.Err != nil {
		r.Error = info.Err.Error()
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
