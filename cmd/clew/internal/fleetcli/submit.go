package fleetcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

type submitOptions struct {
	place

	spec       fleet.Spec
	promptFile string
	repo       fleet.Repo
	here       bool
	onLost     string
	wall, idle time.Duration
	ask        string
	askTools   []string
	after      []string
	wait       bool
	batch      string
	json       bool
}

const submitHelp = `Submit a prompt as a job, and print its ID at once. A worker of the fleet takes the
job, on this or on another machine: see "clew worker". The job survives the end of
this command and, unless --on-lost is hold, the loss of its worker.

With "-" the prompt comes from stdin. The agent works in an empty directory, or with
--repo on its own copy of a git repository: commit the changes it should see. "clew
jobs patch ID" prints its changes. A worker refuses a job that asks for more than its
policy allows; "clew jobs show ID" prints the reason.

--on-lost decides what happens if the worker is lost after the prompt was sent: resume
continues in a copy of the stored session, restart starts again from the prompt, and
hold waits for "clew jobs resume" or "clew jobs retry".

With --ask, tools that need permission and questions of the agent wait for "clew jobs
approve ID"; without it, they are denied. If a call of --ask-tools has no answer after
ten minutes, the agent exits, and the job continues when you answer.

--batch submits the jobs of a file with one JSON object per line, such as
  {"prompt": "Fix the test.", "key": "fix-1", "repo": {"url": "https://host/r.git"}}
All lines are checked before any job is submitted. A job with a key that was submitted
before is not submitted again, so a batch with keys can be repeated.

Exit codes with --wait: 0 if the job is done, and 1 if it failed, is lost or was
canceled.`

func newSubmit(p *Program) *cobra.Command {
	o := &submitOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "submit [PROMPT]",
		Short: "Submit a job to workers",
		Long:  submitHelp,
		Example: `  clew submit "Which Go version is the newest?" --wait
  clew submit --here --budget 2 "The build fails. Find out why and fix it."
  clew submit --batch jobs.jsonl --json`,
		Args: clikit.AtMost(1),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	o.addJobFlags(cmd)
	set := cmd.Flags()
	set.StringVar(&o.promptFile, "prompt-file", "", "read the prompt from this `file`")
	set.StringVar(&o.batch, "batch", "", "submit the jobs of this `file`, one JSON object per line")
	clikit.AddOnOff(cmd, &o.wait, "wait", "wait for the end of the job, and print its result")
	clikit.AddOnOff(cmd, &o.json, "json", "print the record of each job as a JSON object")
	return cmd
}

// addJobFlags adds the flags that become the spec of the job.
func (o *submitOptions) addJobFlags(cmd *cobra.Command) {
	set, s := cmd.Flags(), &o.spec
	set.StringVar(&o.repo.URL, "repo", "", "work on this git repository: a `URL`, or a path at its current commit")
	clikit.AddOnOff(cmd, &o.here, "here", "work on the repository of this directory, like --repo .")
	set.StringVar(&o.repo.Ref, "ref", "", "`branch`, tag or commit to start from")
	set.StringVar(&o.repo.Branch, "branch", "", "push the result to this `branch`, if the worker's policy allows it")
	set.StringVar(&s.Agent.Model, "model", "", "alias or `name` of the model")
	set.StringVar(&s.Agent.PermissionMode, "mode", "", "permission `mode`: default, acceptEdits, plan, dontAsk or bypassPermissions")
	set.StringSliceVar(&s.Agent.Tools, "tools", nil, "the only `tools` of the agent, separated by commas")
	set.StringArrayVar(&s.Agent.AllowedTools, "allowed-tools", nil, "`rule` for tools that may run without asking; repeatable")
	set.StringArrayVar(&s.Agent.Secrets, "secret", nil, "`name` of a variable that the worker has a value for; repeatable")
	set.IntVar(&s.Agent.MaxTurns, "max-turns", 0, "maximum `number` of answers; 0 means no limit")
	set.Float64Var(&s.Limits.BudgetUSD, "budget", 0, "maximum cost of all attempts in `dollars`; 0 means no limit")
	set.DurationVar(&o.wall, "wall", 0, "maximum `duration` of an attempt; 0 means no limit")
	set.DurationVar(&o.idle, "idle", 0, "end an attempt whose agent is silent for this `duration`; 0 means no limit")
	set.StringVar(&o.onLost, "on-lost", string(fleet.Resume), "what to do when the worker is lost: resume, restart or hold")
	set.IntVar(&s.Attempts, "attempts", 0, "maximum `number` of automatic attempts (default 3)")
	set.IntVar(&s.Priority, "priority", 0, "jobs with a higher `number` go first, from -9 to 9")
	set.StringVar(&s.Queue, "queue", "", "`name` of the queue (default \""+fleet.DefaultQueue+"\")")
	set.StringVar(&s.Account, "account", "", "`name` of the account whose limits the job uses (default \""+fleet.DefaultAccount+"\")")
	set.StringArrayVar(&o.after, "after", nil, "start when the job with this `ID` is done; repeatable")
	clikit.CompleteFlag(cmd, "after", o.completeJobs(1, isAny))
	set.StringVar(&o.ask, "ask", "", "let somebody answer questions, for this `duration` each (24h without one)")
	set.Lookup("ask").NoOptDefVal = "24h"
	set.StringSliceVar(&o.askTools, "ask-tools", nil, "also ask before every call of these `tools`, separated by commas")
	set.StringVar(&s.Key, "key", "", "`text` that makes a repeated submit the same job")
	set.StringVar(&s.Title, "title", "", "`text` that names the job in lists")
}

func (o *submitOptions) run(ctx context.Context, args []string) error {
	if o.batch != "" {
		return o.runBatch(ctx, args)
	}
	if err := o.complete(ctx, args); err != nil {
		return err
	}
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.completeAfter(ctx, &o.spec); err != nil {
		return err
	}
	if err := c.refuseWider(ctx, &o.spec); err != nil {
		return err
	}
	j, err := c.Submit(ctx, &o.spec)
	if err != nil {
		return failure(ctx, err)
	}
	if o.spec.Key != "" && (j.Spec.Prompt != o.spec.Prompt || j.State.Ended()) {
		clikit.Remark(o.Err, tty.Waiting, "clew submit", fmt.Sprintf("the key is that of job %s, which is %s: nothing was submitted", j.ID, j.State))
	}
	if o.wait {
		return o.await(ctx, c, j)
	}
	return o.print(j)
}

// print prints the ID of a job, or its record.
func (o *submitOptions) print(j *fleet.Job) error {
	var err error
	if o.json {
		err = clikit.WriteJSON(o.Out, j)
	} else {
		_, err = fmt.Fprintln(o.Out, j.ID)
	}
	if err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// complete completes the spec, and checks it.
func (o *submitOptions) complete(ctx context.Context, args []string) error {
	prompt, err := o.prompt(ctx, args)
	if err != nil {
		return err
	}
	s := &o.spec
	s.Prompt = prompt
	s.OnLost, s.Limits.Wall, s.Limits.Idle = fleet.Policy(o.onLost), fleet.Duration(o.wall), fleet.Duration(o.idle)
	s.After = o.after
	if o.ask == "" && len(o.askTools) > 0 {
		o.ask = o.cmd.Flags().Lookup("ask").NoOptDefVal
	}
	if o.ask != "" {
		wait, err := time.ParseDuration(o.ask)
		if err != nil || wait <= 0 {
			return clikit.UsageError("--ask must be a duration such as 30m or 24h", "")
		}
		s.Ask = &fleet.Ask{Wait: fleet.Duration(wait), Tools: o.askTools}
	}
	if s.Repo, err = o.repository(ctx); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return clikit.UsageError(clikit.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")), "")
	}
	return nil
}

// maxPrompt is the maximum number of bytes read from a prompt. The spec has a lower limit, with a
// better error.
const maxPrompt = 1 << 20

// prompt returns the prompt of the job.
func (o *submitOptions) prompt(ctx context.Context, args []string) (string, error) {
	fromStdin := len(args) == 1 && args[0] == "-"
	switch {
	case o.promptFile != "" && len(args) > 0:
		return "", clikit.UsageError("--prompt-file can't be used with a prompt", "")
	case o.promptFile != "":
		text, err := clikit.ReadAtMost(o.promptFile, maxPrompt)
		if err != nil {
			return "", clikit.Unreadable(o.promptFile, err)
		}
		return string(text), nil
	case fromStdin:
		text, err := clikit.Await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(o.In, maxPrompt)) })
		if ctx.Err() != nil {
			return "", clikit.Stopped()
		}
		if err != nil {
			return "", clikit.Unreadable("stdin", err)
		}
		return string(text), nil
	case len(args) == 0:
		return "", clikit.UsageError("missing prompt", `Give one, or "-" to read it from stdin.`)
	}
	return args[0], nil
}

// completeAfter completes the IDs of the jobs that must be done first.
func (c *connection) completeAfter(ctx context.Context, s *fleet.Spec) error {
	for i, id := range s.After {
		j, err := c.find(ctx, id)
		if err != nil {
			return err
		}
		if j.State == fleet.Failed || j.State == fleet.Canceled {
			return &clikit.Failure{
				Code: clikit.ExitFailed, Err: fmt.Errorf("job %s is %s, so no job can come after it", j.ID, j.State),
				Hint: fmt.Sprintf(`Begin it again with "%s", or leave out --after.`, c.flags.command("jobs", "retry", j.ID)),
			}
		}
		s.After[i] = j.ID
	}
	return nil
}

// await waits for the end of a job, and prints its result.
func (o *submitOptions) await(ctx context.Context, c *connection, j *fleet.Job) error {
	if !o.json {
		if _, err := fmt.Fprintln(o.Err, j.ID); err != nil {
			return clikit.OutputError(err)
		}
	}
	activity := clikit.StartActivity(o.Err, string(j.State))
	defer activity.End()
	f := &follower{connection: c, say: func(text string) {
		activity.Hide()
		clikit.Remark(o.Err, tty.Waiting, "clew submit", text)
	}}
	end, err := f.follow(ctx, j.ID, func(u fleet.Update) error {
		if u.Job == nil {
			return nil
		}
		if u.Job.State == fleet.Lost {
			return errLost
		}
		activity.Now(clikit.Printable(progressText(u.Job)))
		return nil
	})
	activity.End()
	if errors.Is(err, errLost) {
		return o.printEnd(ctx, c, end)
	}
	if err != nil || end == nil || !end.State.Ended() {
		return o.left(ctx, j, err)
	}
	return o.printEnd(ctx, c, end)
}

// errLost ends the wait for a job that does not continue until somebody decides.
var errLost = errors.New("the job is lost")

// left reports that the job continues without this command.
func (o *submitOptions) left(ctx context.Context, j *fleet.Job, err error) error {
	hint := fmt.Sprintf(`Job %s goes on. "%s" shows it, and "%s" ends it.`, j.ID,
		o.flags().command("jobs", "tail", j.ID), o.flags().command("jobs", "cancel", j.ID))
	if ctx.Err() != nil {
		return &clikit.Failure{Code: clikit.ExitInterrupted, Err: errors.New("interrupted"), Hint: hint}
	}
	if err == nil {
		err = errors.New("the job can't be watched any more")
	}
	f, ok := errors.AsType[*clikit.Failure](failure(ctx, err))
	if ok && !errors.Is(err, fleet.ErrNotFound) {
		f.Hint = hint
	}
	return f
}

// printEnd prints the result of an ended job. Its error describes the end.
func (o *submitOptions) printEnd(ctx context.Context, c *connection, j *fleet.Job) error {
	if o.json {
		if err := o.print(j); err != nil {
			return err
		}
	} else if err := c.writeResult(ctx, o.Out, j); err != nil {
		return err
	}
	if j.State == fleet.Done {
		return nil
	}
	text := "job " + j.ID + " " + endText(j)
	return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(text), Hint: hintOf(c.flags, j)}
}

// endText describes the end of a job.
func endText(j *fleet.Job) string {
	text := "was canceled"
	switch j.State {
	case fleet.Failed:
		text = "failed"
	case fleet.Lost:
		text = "is lost"
	}
	if why := reasonOf(j); why != "" {
		text += ": " + why
	}
	return text
}

// writeResult writes the text of a result, as a terminal can show it.
func (c *connection) writeResult(ctx context.Context, w io.Writer, j *fleet.Job) error {
	r := j.Result()
	if r == nil {
		return nil
	}
	text := r.Text
	if len(r.Output) > 0 {
		text = string(r.Output)
	}
	if r.File != "" {
		whole, err := c.readFile(ctx, r.File)
		if err != nil {
			return err
		}
		text = string(whole)
	}
	if text == "" {
		return nil
	}
	if _, err := fmt.Fprintln(w, tty.Clean(strings.TrimRight(text, "\n"))); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// maxFile is the maximum number of bytes read from a job's file.
const maxFile = 512 << 20

func (c *connection) readFile(ctx context.Context, name string) ([]byte, error) {
	r, err := c.File(ctx, name)
	if err != nil {
		return nil, failure(ctx, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("the file %s is longer than %s", name, wording.Size(maxFile))
	}
	return text, failure(ctx, err)
}

// openPath opens a file named by the user.
func openPath(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, clikit.Unreadable(path, err)
	}
	return file, nil
}
