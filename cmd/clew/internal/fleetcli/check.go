package fleetcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/wording"
)

type jobsCheckOptions struct {
	place
	json bool
}

const jobsCheckHelp = `Compare the records of all jobs with their histories, with the files that they name, and
with the sessions in the store. It reports
  - a record that is damaged, and a change that is missing in a history
  - a file that a record names and that is not there
  - a job whose session is not in the store
  - a session in the store whose job is not known, such as one that was dropped

It exits with code 1 if it has found anything but sessions without a job. It changes
nothing.`

func newJobsCheck(p *Program) *cobra.Command {
	o := &jobsCheckOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check the records of all jobs",
		Long:    jobsCheckHelp,
		Example: `  clew jobs check`,
		Args:    clikit.AtMost(0),
		RunE:    clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.json, "json", "print each finding as a JSON object")
	return cmd
}

func (o *jobsCheckOptions) run(ctx context.Context, _ []string) error {
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	store, err := c.store(ctx)
	if err != nil {
		return err
	}
	activity := clikit.StartActivity(o.Err, "reading the sessions")
	defer activity.End()
	stored, err := store.Sessions(ctx, agents.Project)
	if err != nil {
		return failure(ctx, err)
	}
	out := bufio.NewWriter(o.Out)
	jobs, bad, orphans := 0, 0, 0
	for f, err := range c.Audit(ctx, stored) {
		if err != nil {
			_ = out.Flush() // the first error says more
			return failure(ctx, err)
		}
		if f.Text == "" { // a job was checked
			jobs++
			activity.Now(fmt.Sprintf("checked %s", wording.Count(jobs, "job")))
			continue
		}
		if f.Job == "" {
			orphans++
		} else {
			bad++
		}
		activity.Hide()
		if err := o.print(out, f); err != nil {
			return clikit.OutputError(err)
		}
	}
	activity.End()
	if !o.json {
		_, _ = fmt.Fprintf(out, "%s and %s checked\n", wording.Count(jobs, "job"), wording.Count(len(stored), "session")) // Flush has the error
	}
	if err := out.Flush(); err != nil {
		return clikit.OutputError(err)
	}
	if bad > 0 {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New("problems found: " + fmt.Sprint(bad)), Hint: `"clew fleet doctor" checks the servers.`}
	}
	return nil
}

func (o *jobsCheckOptions) print(out *bufio.Writer, f fleet.Flaw) error {
	if o.json {
		return clikit.WriteJSON(out, f)
	}
	about := "session " + f.Session
	if f.Job != "" {
		about = "job " + f.Job
	}
	_, err := fmt.Fprintln(out, clikit.Printable(about+": "+f.Text))
	return err
}
