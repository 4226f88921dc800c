package fleetcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

type jobsApproveOptions struct {
	place
	allow    bool
	deny     string
	answers  []string
	question string
	json     bool
}

const jobsApproveHelp = `Answer the questions of a job's agent: requests to use a tool, and the agent's own
questions. Without flags, show each question on the terminal, page by page if it does
not fit, and ask for the answer. The first answer counts, whoever gives it.

"clew jobs show ID" prints each question with its ID and everything that the agent wants
to do. --question selects a question by that ID. --allow and --answer need it, because
the open question may no longer be the one that you read.

--allow and --deny answer whether a tool may be used; --deny="TEXT" also tells the
agent why, or what to do instead. --answer answers the agent's own questions, once for
each, in their order.`

func newJobsApprove(p *Program) *cobra.Command {
	o := &jobsApproveOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Answer the questions of a job",
		Long:  jobsApproveHelp,
		Example: `  clew jobs approve m4k
  clew jobs approve m4k --question 5a77c21b0e9d4f36 --allow
  clew jobs approve m4k --deny="Use the staging database."`,
		Args: clikit.ExactlyOne("ID"),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	cmd.ValidArgsFunction = o.completeAsking()
	clikit.AddOnOff(cmd, &o.allow, "allow", "allow the use of the tool")
	cmd.Flags().StringVar(&o.deny, "deny", "", "deny it, and tell the agent this `text`")
	cmd.Flags().Lookup("deny").NoOptDefVal = "Denied."
	cmd.Flags().StringArrayVar(&o.answers, "answer", nil, "`text` of an answer to the agent's own question; repeatable")
	cmd.Flags().StringVar(&o.question, "question", "", "answer the question with this `ID`")
	clikit.CompleteFlag(cmd, "question", o.completeQuestion)
	clikit.AddOnOff(cmd, &o.json, "json", "print each question and its answer as a JSON object")
	return cmd
}

// open returns a job's open questions, the oldest first. If some can't be read, the remark
// reports it.
func (c *connection) open(ctx context.Context, j *fleet.Job) (open []*fleet.Question, remark string, err error) {
	all, remark, err := jobview.Questions(ctx, c.Fleet, j.ID)
	return jobview.Open(j, all), remark, failure(ctx, err)
}

func (o *jobsApproveOptions) run(ctx context.Context, args []string) error {
	denies := o.cmd.Flags().Changed("deny")
	if err := clikit.AtMostOne([]clikit.GivenFlag{
		{Name: "allow", On: o.allow}, {Name: "deny", On: denies}, {Name: "answer", On: len(o.answers) > 0},
	}); err != nil {
		return err
	}
	c, err := o.connectToDecide(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	j, err := c.find(ctx, args[0])
	if err != nil {
		return err
	}
	open, remark, err := c.open(ctx, j)
	if err != nil {
		return err
	}
	if remark != "" {
		clikit.Remark(o.Err, tty.Failure, "clew jobs", clikit.Printable(remark))
	}
	if open, err = o.meant(j, open); err != nil {
		return err
	}
	if !o.allow && !denies && len(o.answers) == 0 {
		return o.askAll(ctx, c, open)
	}
	if o.question == "" && (!denies || len(open) > 1) {
		return o.unnamed(c, open)
	}
	a, err := o.given(ask.OfJob(open[0], 0), denies)
	if err != nil {
		return err
	}
	return o.answer(ctx, c, open[0], a)
}

// unnamed refuses an answer that does not name its question. The user may have read another
// question.
func (o *jobsApproveOptions) unnamed(c *connection, open []*fleet.Question) error {
	flag := "--allow"
	switch {
	case len(o.answers) > 0:
		flag = "--answer"
	case !o.allow:
		flag = "--deny"
	}
	return clikit.UsageError(flag+" needs --question, with the ID of the question that you have read", listed(c.flags, open))
}

// meant returns the questions that the command is about.
func (o *jobsApproveOptions) meant(j *fleet.Job, open []*fleet.Question) ([]*fleet.Question, error) {
	if o.question != "" {
		isOther := func(q *fleet.Question) bool { return q.ID != o.question }
		if open = slices.DeleteFunc(open, isOther); len(open) == 0 {
			return nil, &clikit.Failure{
				Code: clikit.ExitInput, Err: fmt.Errorf("job %s has no open question %s", j.ID, clikit.Printable(o.question)),
				Hint: fmt.Sprintf(`"%s" lists those that are open.`, o.flags().command("jobs", "show", j.ID)),
			}
		}
	}
	if len(open) == 0 {
		return nil, &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("job %s is %s and asks nothing", j.ID, j.State)}
	}
	return open, nil
}

// listed lists the open questions, with the commands to answer them.
func listed(flags fleetFlags, open []*fleet.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Read what the agent asks with %q, and then answer it:", flags.command("jobs", "show", open[0].Job))
	for _, q := range open {
		b.WriteString("\n  " + clikit.Printable(questionLine(q)) + "\n    " + answerCommand(flags, q))
	}
	return b.String()
}

// answerCommand returns the command that allows what a question asks, or answers it.
func answerCommand(flags fleetFlags, q *fleet.Question) string {
	words := []string{"jobs", "approve", q.Job, "--question", q.ID}
	own := ask.OfJob(q, 0).Choices
	if len(own) == 0 {
		return flags.command(append(words, "--allow")...)
	}
	for range own {
		words = append(words, "--answer", "TEXT")
	}
	return flags.command(words...)
}

// questionLine is a question in a line of untrusted text.
func questionLine(q *fleet.Question) string {
	return q.ID + "  " + clikit.Clip(ask.JobTitle(q))
}

// given returns the answer that the flags have.
func (o *jobsApproveOptions) given(q *ask.Question, denies bool) (ask.Answer, error) {
	own := q.Choices
	switch {
	case denies:
		return ask.Answer{Kind: ask.Denied, Reason: o.deny}, nil
	case len(own) == 0 && len(o.answers) > 0:
		return ask.Answer{}, clikit.UsageError("the agent asks whether it may use "+clikit.Printable(q.Tool), "Answer with --allow or --deny.")
	case len(own) == 0:
		return ask.Answer{Kind: ask.AllowOnce}, nil
	case len(o.answers) != len(own):
		var b strings.Builder
		for i := range own {
			b.WriteString("\n  " + clikit.Printable(own[i].Question))
		}
		return ask.Answer{}, clikit.UsageError(fmt.Sprintf("the agent asks %s", wording.Count(len(own), "question")), "Give --answer for each, in this order:"+b.String())
	}
	a := ask.Answer{Kind: ask.Chosen}
	for _, text := range o.answers {
		a.Chosen = append(a.Chosen, []string{text})
	}
	return a, nil
}

// answer writes an answer, and reports it.
func (o *jobsApproveOptions) answer(ctx context.Context, c *connection, q *fleet.Question, a ask.Answer) error {
	given, err := ask.OfJob(q, 0).JobAnswer(a)
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("the question %s was not answered: %w", clikit.Printable(q.ID), err)}
	}
	answered, err := c.Answer(ctx, q.Job, q.ID, given)
	if errors.Is(err, fleet.ErrAnswered) {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: &clikit.ShownError{Text: "the question is closed: " + clikit.Printable(jobview.AnsweredBy(answered.Answer)), Err: err}}
	}
	if err != nil {
		return failure(ctx, err)
	}
	if o.json {
		return written(clikit.WriteJSON(o.Out, answered))
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s\n", jobview.AnswerText(answered.Answer), clikit.Printable(questionLine(q)))
	return written(err)
}

// askAll asks for the answers to questions on the terminal.
func (o *jobsApproveOptions) askAll(ctx context.Context, c *connection, open []*fleet.Question) error {
	user, err := o.Questions(ctx)
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitUsage, Err: err, Hint: listed(c.flags, open)}
	}
	defer user.Close()
	var failed error
	for i, q := range open {
		above := fmt.Sprintf("Job %s asks, until %s", q.Job, timeText(q.Until, time.Now()))
		if len(open) > 1 {
			above += fmt.Sprintf(": question %d of %d", i+1, len(open))
		}
		a, err := user.Ask(ctx, clikit.Printable(above)+"\n", ask.OfJob(q, 0))
		switch {
		case ctx.Err() != nil:
			return clikit.Stopped()
		case err != nil:
			return &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("the question %s was not answered: %w", clikit.Printable(q.ID), err)}
		}
		err = o.answer(ctx, c, q, a)
		switch {
		case errors.Is(err, fleet.ErrAnswered): // the others still wait
			clikit.Remark(o.Err, tty.Failure, "clew jobs", err.Error())
			failed = err
		case err != nil:
			return err
		}
	}
	return failed
}
