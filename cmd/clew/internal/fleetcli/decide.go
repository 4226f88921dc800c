package fleetcli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
)

// A decision is a command that decides about jobs.
type decision struct {
	place
	why    string
	budget float64
	turns  int
	json   bool
	unread bool                                                                       // it is about jobs whose records can't be read, too
	decide func(ctx context.Context, c *connection, j *fleet.Job) (*fleet.Job, error) // returns nil for a job that is gone
}

// newDecision returns the command for a decision. Completion offers the jobs about which it is possible.
func newDecision(o *decision, possible func(jobview.Row) bool, cmd *cobra.Command) *cobra.Command {
	cmd.Args = atLeastOne
	cmd.RunE = clikit.RunE(o.run)
	o.addFlags(cmd)
	cmd.ValidArgsFunction = o.completeJobs(math.MaxInt, possible)
	clikit.AddOnOff(cmd, &o.json, "json", "print the record of each job as a JSON object")
	return cmd
}

func (o *decision) addWhy(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.why, "why", "", "`text` for the record, which a resumed agent gets")
}

func (o *decision) addBudget(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&o.budget, "budget", 0, "new maximum cost of all attempts in `dollars`")
}

func atLeastOne(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return clikit.Misused(cmd, errors.New("missing argument: ID"))
	}
	return nil
}

func newJobsCancel(p *Program) *cobra.Command {
	o := &decision{place: place{Program: p}}
	o.decide = func(ctx context.Context, c *connection, j *fleet.Job) (*fleet.Job, error) {
		return c.Cancel(ctx, j.ID, o.why)
	}
	cmd := newDecision(o, isOpen, &cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel jobs",
		Long: `Cancel jobs. The worker of a running job ends its agent and keeps its changes so far.
If the worker is lost, the job is canceled when its lease ends.`,
		Example: `  clew jobs cancel m4k --why "not needed any more"`,
	})
	o.addWhy(cmd)
	return cmd
}

func newJobsResume(p *Program) *cobra.Command {
	o := &decision{place: place{Program: p}}
	o.decide = func(ctx context.Context, c *connection, j *fleet.Job) (*fleet.Job, error) {
		return c.Requeue(ctx, j.ID, fleet.Requeue{Why: o.why, Start: fleet.Continued, BudgetUSD: o.budget, MaxTurns: o.turns})
	}
	cmd := newDecision(o, isStuck, &cobra.Command{
		Use:   "resume ID...",
		Short: "Resume lost or failed jobs",
		Long: `Resume lost or failed jobs where they stopped, in a copy of the stored session and with
the files of the last snapshot. The agent gets a note of what happened, with the text
of --why.`,
		Example: `  clew jobs resume m4k --budget 5
  clew jobs resume m4k --turns 40 --why "leave the docs alone"`,
	})
	o.addWhy(cmd)
	o.addBudget(cmd)
	cmd.Flags().IntVar(&o.turns, "turns", 0, "new maximum `number` of answers, counted from now on")
	return cmd
}

func newJobsRetry(p *Program) *cobra.Command {
	o := &decision{place: place{Program: p}}
	o.decide = func(ctx context.Context, c *connection, j *fleet.Job) (*fleet.Job, error) {
		return c.Requeue(ctx, j.ID, fleet.Requeue{Why: o.why, Start: fleet.Fresh, BudgetUSD: o.budget})
	}
	cmd := newDecision(o, isStuck, &cobra.Command{
		Use:   "retry ID...",
		Short: "Restart lost or failed jobs",
		Long: `Restart lost or failed jobs from the prompt, in a new session. Actions of the agent
outside its working directory can happen twice.`,
		Example: `  clew jobs retry m4k
  clew jobs retry m4k --budget 5`,
	})
	o.addWhy(cmd)
	o.addBudget(cmd)
	return cmd
}

func newJobsDrop(p *Program) *cobra.Command {
	o := &decision{place: place{Program: p}, unread: true, decide: dropped}
	return newDecision(o, isEnded, &cobra.Command{
		Use:   "drop ID...",
		Short: "Remove jobs that have ended",
		Long: `Remove the records and files of jobs that have ended. Their sessions stay in the store.
Workers do so by themselves 30 days after the end of a job.`,
		Example: `  clew jobs drop m4k`,
	})
}

func (o *decision) run(ctx context.Context, args []string) error {
	if o.budget < 0 || math.IsNaN(o.budget) || math.IsInf(o.budget, 0) {
		return clikit.UsageError("--budget must be 0 or more", "")
	}
	if o.turns < 0 {
		return clikit.UsageError("--turns must be 0 or more", "")
	}
	c, err := o.connectToDecide(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	jobs, err := o.named(ctx, c, args) // before anything is decided
	if err != nil {
		return err
	}
	var failed error
	for _, j := range jobs { // the others are decided about as well
		err := o.one(ctx, c, j)
		if failed != nil && err != nil {
			clikit.Remark(o.Err, tty.Failure, "clew jobs", err.Error())
		} else if err != nil {
			failed = err
		}
	}
	return failed
}

func dropped(ctx context.Context, c *connection, j *fleet.Job) (*fleet.Job, error) {
	return nil, c.Drop(ctx, j.ID)
}

// named returns the jobs with some IDs.
func (o *decision) named(ctx context.Context, c *connection, ids []string) ([]*fleet.Job, error) {
	jobs := make([]*fleet.Job, len(ids))
	for i, id := range ids {
		j, err := c.find(ctx, id)
		if err != nil && o.unread && ctx.Err() == nil && id != "" && !errors.Is(err, fleet.ErrNotFound) && !errors.Is(err, fleet.ErrAmbiguous) {
			j, err = &fleet.Job{ID: id}, nil // the decision finds out whether its record can be read
		}
		if err != nil {
			return nil, err
		}
		jobs[i] = j
	}
	return jobs, nil
}

// one decides about a job, and prints what became of it.
func (o *decision) one(ctx context.Context, c *connection, j *fleet.Job) error {
	next, err := o.decide(ctx, c, j)
	if err != nil {
		return refusal(ctx, err, c.flags, j)
	}
	if o.json {
		if next == nil {
			return written(clikit.WriteJSON(o.Out, map[string]any{"id": j.ID, "dropped": true}))
		}
		return written(clikit.WriteJSON(o.Out, next))
	}
	text := j.ID + " is dropped"
	switch {
	case next == nil:
	case next.State.Held() && next.Cancel != nil:
		text = j.ID + " is " + string(next.State) + ", and its worker ends it"
	default:
		text = j.ID + " is " + string(next.State)
	}
	_, err = fmt.Fprintln(o.Out, text)
	return written(err)
}

// refusal reports an impossible decision, and the possible ones.
func refusal(ctx context.Context, err error, flags fleetFlags, j *fleet.Job) error {
	out := failure(ctx, err)
	state, ok := errors.AsType[*fleet.StateError](err)
	f, isFailure := errors.AsType[*clikit.Failure](out)
	if !ok || !isFailure {
		return out
	}
	switch {
	case state.Event == "dropped":
		f.Hint = fmt.Sprintf(`Run "%s" first.`, flags.command("jobs", "cancel", j.ID))
	case state.State == fleet.Lost, state.State == fleet.Failed:
		f.Hint = hintOf(flags, j)
	case state.State.Ended():
		f.Hint = fmt.Sprintf(`Run "%s" to see how it ended.`, flags.command("jobs", "show", j.ID))
	case state.Event == "requeued":
		f.Hint = "It continues by itself."
	}
	return f
}
