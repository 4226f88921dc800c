package fleetcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/jobview"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/wire"
)

type jobsApproveOptions struct {
	place
	allow    bool
	deny     string
	answers  []string
	question string
	json     bool
}

const jobsApproveHelp = `Answer what the agent of a job asks: whether it may use a tool, or questions of its own.
Without flags, show each question on the terminal and ask for the answer: page by page,
if it does not fit on the screen. The first answer of anybody counts.

"clew jobs show ID" prints each question with its ID and all that the agent wants to do.
--question with that ID says which one an answer is for; --allow and --answer need it,
since another question may be open by then than the one that you have read.

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

// open returns the open questions of a job, the oldest first. If some can't be read, the remark
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
	a, err := o.given(open[0], denies)
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
	own := jobview.OwnQuestions(q)
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
	return q.ID + "  " + clikit.Clip(jobview.QuestionTitle(q))
}

// given returns the answer that the flags have.
func (o *jobsApproveOptions) given(q *fleet.Question, denies bool) (*fleet.Answer, error) {
	own := jobview.OwnQuestions(q)
	switch {
	case denies:
		return &fleet.Answer{Text: o.deny}, nil
	case len(own) == 0 && len(o.answers) > 0:
		return nil, clikit.UsageError("the agent asks whether it may use "+clikit.Printable(q.Tool), "Answer with --allow or --deny.")
	case len(own) == 0:
		return &fleet.Answer{Allow: true}, nil
	case len(o.answers) != len(own):
		var b strings.Builder
		for i := range own {
			b.WriteString("\n  " + clikit.Printable(own[i].Question))
		}
		return nil, clikit.UsageError(fmt.Sprintf("the agent asks %s", wording.Count(len(own), "question")), "Give --answer for each, in this order:"+b.String())
	}
	a := &fleet.Answer{Allow: true, Answers: make(map[string]string)}
	for i := range own {
		a.Answers[own[i].Question] = o.answers[i]
	}
	return a, nil
}

// answer writes an answer, and reports it.
func (o *jobsApproveOptions) answer(ctx context.Context, c *connection, q *fleet.Question, a *fleet.Answer) error {
	answered, err := c.Answer(ctx, q.Job, q.ID, *a)
	if errors.Is(err, fleet.ErrAnswered) {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: &shownError{"the question was answered already, by " + clikit.Printable(answered.Answer.By), err}}
	}
	if err != nil {
		return failure(ctx, err)
	}
	if o.json {
		return written(clikit.WriteJSON(o.Out, answered))
	}
	said := "answered"
	switch {
	case !a.Allow:
		said = "denied"
	case len(a.Answers) == 0:
		said = "allowed"
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s\n", said, clikit.Printable(questionLine(q)))
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
		a, err := ask(ctx, user, clikit.Printable(above)+"\n", q)
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

// ask asks for the answer to a question on the terminal.
func ask(ctx context.Context, user Questioner, above string, q *fleet.Question) (*fleet.Answer, error) {
	if own := jobview.OwnQuestions(q); len(own) > 0 {
		chosen, err := user.Choose(ctx, above, own)
		if err != nil || len(chosen) == 0 {
			return &fleet.Answer{Text: "The user has skipped the question."}, err
		}
		a := &fleet.Answer{Allow: true, Answers: make(map[string]string)}
		for question, labels := range chosen {
			a.Answers[question] = strings.Join(labels, ", ")
		}
		return a, nil
	}
	result, err := user.Permit(ctx, above, &clew.PermissionRequest{
		ToolName: q.Tool, Input: wire.JSON(q.Input), DecisionReason: q.Reason, AgentID: q.Subagent,
	})
	if err != nil {
		return nil, err
	}
	switch result := result.(type) {
	case *clew.AllowResult:
		return &fleet.Answer{Allow: true}, nil
	case *clew.DenyResult:
		return &fleet.Answer{Text: result.Message}, nil
	}
	return nil, errors.New("there was no answer") // and that is no yes
}
