package fleetcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

type jobsAuditOptions struct {
	place
	json bool
}

const jobsAuditHelp = `List what people decided about jobs and accounts, the oldest first: answers to
questions, cancellations, resumed, retried and dropped jobs, budgets. With an ID, list
only the decisions about this job. Decisions stay when their job is removed, which needs
the whole ID then.

The first name is the user as whom the server authenticated the program. Without users
(see --users in "clew worker --help") it is the name that the program gave, marked as
unverified. Nobody can remove a decision, but whoever may decide can write a record, in
any name, with a program of their own.`

func newJobsAudit(p *Program) *cobra.Command {
	o := &jobsAuditOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "Show who decided what",
		Long:  jobsAuditHelp,
		Example: `  clew jobs audit
  clew jobs audit m4k --json`,
		Args: clikit.AtMost(1),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	cmd.ValidArgsFunction = o.completeJobs(1, isAny)
	clikit.AddOnOff(cmd, &o.json, "json", "print each decision as a JSON object")
	return cmd
}

func (o *jobsAuditOptions) run(ctx context.Context, args []string) error {
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	id := ""
	if len(args) > 0 {
		j, err := c.find(ctx, args[0])
		switch {
		case err == nil:
			id = j.ID
		case errors.Is(err, fleet.ErrNotFound): // it may be gone
			id = args[0]
		default:
			return err
		}
	}
	all, err := c.Decisions(ctx, id)
	if err != nil {
		return failure(ctx, err)
	}
	if id != "" && len(all) == 0 {
		if _, err := c.find(ctx, id); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(o.Out)
	now, color := time.Now(), clikit.Colored(o.Out)
	for _, d := range all {
		if o.json {
			err = clikit.WriteJSON(out, d)
		} else {
			_, err = fmt.Fprintln(out, decisionLine(d, now, color))
		}
		if err != nil {
			return clikit.OutputError(err)
		}
	}
	return written(out.Flush())
}

// decisionLine is a decision as a line.
func decisionLine(d *fleet.Decision, now time.Time, color bool) string {
	about := "job " + d.Job
	if d.Job == "" {
		about = "account " + d.Account
	}
	what := d.What
	if d.Allow != nil {
		what = jobview.AnswerText(&fleet.Answer{Allow: *d.Allow}) + " " + d.Tool + " (question " + d.Question + ")"
	}
	if d.BudgetUSD != nil {
		what += " " + wording.Dollars(*d.BudgetUSD).Cents()
	}
	if d.MaxTurns > 0 {
		what += " with " + wording.Count(d.MaxTurns, "turn")
	}
	text := jobview.Who(d.User, d.By) + "  " + jobview.Join(about+": "+what, clikit.Clip(d.Why), jobview.Named("failed: ", clikit.Clip(d.Failed)))
	if d.Unreadable != "" {
		text = about + ": " + d.Unreadable
	}
	return tty.Dim.Paint(d.At.In(now.Location()).Format(time.DateTime), color) + "  " + clikit.Printable(text)
}
