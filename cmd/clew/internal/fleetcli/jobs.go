package fleetcli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

type jobsOptions struct {
	place
	states []string
	queue  string
	all    bool
	json   bool
	watch  bool
}

const jobsHelp = `List the jobs of the fleet: first jobs that need a decision, then running, waiting and
queued jobs, then jobs that ended within a day, newest first. It shows at most 100
jobs, unless --all is given. The last column has the reason why a job is stopped, and
what to do about it.

States:
  blocked    waits for the jobs of --after
  queued     waits for a worker
  claimed    a worker prepares it
  running    the agent works
  waiting    continues later, such as when the limit of an account is reset
  asking     waits for an answer
  lost       lost its worker, and waits for a decision
  done       finished with a result
  failed     ended without one
  canceled   was canceled

AGE is the time since the submit, or since the end of a job that ended.

All subcommands take an ID or the start of one.`

func newJobs(p *Program) *cobra.Command {
	o := &jobsOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List jobs, follow them and decide about them",
		Long:  jobsHelp,
		Example: `  clew jobs
  clew jobs --state lost,asking
  clew jobs --all --json`,
		Args: clikit.NoSuchCommand,
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	cmd.Flags().StringSliceVar(&o.states, "state", nil, "only jobs in these `states`, separated by commas")
	clikit.CompleteFlag(cmd, "state", clikit.CompleteList(stateNames(fleet.States)))
	cmd.Flags().StringVar(&o.queue, "queue", "", "only jobs of the queue with this `name`")
	clikit.AddOnOff(cmd, &o.all, "all", "all jobs, however many and however old")
	clikit.AddOnOff(cmd, &o.watch, "watch", "refresh every few seconds until interrupted (on a terminal)")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object per job, in no order")
	cmd.AddCommand(
		newJobsShow(p), newJobsTail(p), newJobsPatch(p), newJobsApprove(p),
		newJobsCancel(p), newJobsResume(p), newJobsRetry(p), newJobsDrop(p), newJobsAudit(p), newJobsCheck(p),
	)
	return cmd
}

func (o *jobsOptions) run(ctx context.Context, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	switch {
	case o.json:
		return o.printJSON(ctx, c)
	case o.watch:
		return clikit.NewWatch(o.Out).Run(ctx, func() (string, error) { return o.text(ctx, c) })
	}
	text, err := o.text(ctx, c)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(o.Out, text); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

func (o *jobsOptions) check() error {
	for _, s := range o.states {
		if !slices.Contains(fleet.States, fleet.State(s)) {
			return clikit.UsageError("there is no state "+clikit.Printable(s), "States are "+strings.Join(stateNames(fleet.States), ", ")+".")
		}
	}
	return checkWatch(o.Out, o.watch, o.json)
}

// checkWatch refuses --watch where it makes no sense.
func checkWatch(out any, watch, json bool) error {
	if err := clikit.AtMostOne([]clikit.GivenFlag{{Name: "watch", On: watch}, {Name: "json", On: json}}); err != nil {
		return err
	}
	if watch && !clikit.Redraws(out) {
		return clikit.UsageError("--watch needs a terminal", "")
	}
	return nil
}

func stateNames(states []fleet.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}

const (
	maxRows = 100            // without --all
	recent  = 24 * time.Hour // how long a list has ended jobs
)

// wants reports whether the list has a job.
func (o *jobsOptions) wants(s *fleet.Summary, at time.Time) bool {
	if o.queue != "" && s.Queue != o.queue {
		return false
	}
	if len(o.states) > 0 {
		return slices.Contains(o.states, string(s.State))
	}
	return o.all || !s.State.Ended() || at.Sub(s.Changed) < recent
}

// A selection is the jobs that a list shows. It never keeps more than twice as many.
type selection struct {
	around *surroundings
	most   int // 0 means all
	jobs   []*fleet.Summary
	found  int // that the list could have
	old    int // that ended too long ago
}

func (s *selection) add(j *fleet.Summary) {
	s.found++
	s.jobs = append(s.jobs, j)
	if s.most > 0 && len(s.jobs) >= 2*s.most {
		s.cut()
	}
}

// cut keeps the first jobs.
func (s *selection) cut() {
	slices.SortFunc(s.jobs, s.compare)
	if s.most > 0 && len(s.jobs) > s.most {
		clear(s.jobs[s.most:])
		s.jobs = s.jobs[:s.most]
	}
}

func (s *selection) compare(a, b *fleet.Summary) int { return s.around.row(a).Compare(s.around.row(b)) }

// text returns the list as a table.
func (o *jobsOptions) text(ctx context.Context, c *connection) (string, error) {
	around, err := c.look(ctx)
	if err != nil {
		return "", err
	}
	sel := &selection{around: around, most: maxRows}
	if o.all {
		sel.most = 0
	}
	for s, err := range c.Jobs(ctx) {
		switch {
		case err != nil:
			return "", failure(ctx, err)
		case o.wants(s, around.At):
			sel.add(s)
		default:
			sel.old++
		}
	}
	sel.cut()
	return o.table(sel, clikit.TextWidth(o.Out, 0), clikit.Colored(o.Out)), nil
}

// table returns the jobs of a selection as text.
func (o *jobsOptions) table(sel *selection, columns int, color bool) string {
	var b strings.Builder
	if len(sel.jobs) == 0 {
		b.WriteString(clikit.Wrapped(o.nothing(sel), columns))
		return b.String()
	}
	t := clikit.NewTable("ID", "STATE", "TITLE", "AGE>", "WORKER", "COST>", "REASON")
	t.Color = color
	for _, j := range sel.jobs {
		row := sel.around.row(j)
		var cells []string
		styles := []tty.Style{tty.Strong} // of the ID, which commands need
		for _, name := range []string{"id", "state", "title", "age", "worker", "cost"} {
			c := jobview.ColumnOf(name)
			cells = append(cells, c.Text(&sel.around.Surroundings, row))
			if name != "id" {
				styles = append(styles, c.Style(row))
			}
		}
		t.Add(append(cells, sel.around.reason(j))...)
		t.Style(append(styles, jobview.ColumnOf("reason").Style(row))...)
	}
	t.Print(&b, columns)
	if more := sel.found - len(sel.jobs); more > 0 {
		b.WriteString(clikit.Wrapped(fmt.Sprintf("… and %s more; --all shows all jobs", wording.Number(more)), columns))
	}
	return b.String()
}

// nothing explains why a list is empty.
func (o *jobsOptions) nothing(sel *selection) string {
	if sel.old > 0 {
		return fmt.Sprintf("No such jobs. There are %s others: %s", wording.Number(sel.old), o.flags().command("jobs", "--all"))
	}
	return `No jobs yet. Submit one with clew submit "PROMPT".`
}

// A jobLine is a job in the list of --json.
type jobLine struct {
	ID       string      `json:"id"`
	State    fleet.State `json:"state"`
	Cause    fleet.Cause `json:"cause,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Title    string      `json:"title"`
	Queue    string      `json:"queue"`
	Account  string      `json:"account"`
	Priority int         `json:"priority,omitempty"`
	Worker   string      `json:"worker,omitempty"`
	Attempts int         `json:"attempts"`
	CostUSD  float64     `json:"cost_usd"`
	Until    time.Time   `json:"until,omitzero"`
	Created  time.Time   `json:"created"`
	Changed  time.Time   `json:"changed"`
	By       string      `json:"by,omitempty"`
}

func (o *jobsOptions) printJSON(ctx context.Context, c *connection) error {
	around, err := c.look(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(o.Out, 64<<10)
	for j, err := range c.Jobs(ctx) {
		if err != nil {
			_ = out.Flush() // the first error says more
			return failure(ctx, err)
		}
		if !o.wants(j, around.At) {
			continue
		}
		line := jobLine{
			j.ID, j.State, j.Cause, around.reason(j), j.Title, j.Queue, j.Account, j.Priority, j.Worker, j.Attempts, j.CostUSD,
			j.Until, j.Created, j.Changed, j.By,
		}
		if err := clikit.WriteJSON(out, line); err != nil {
			return clikit.OutputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}
