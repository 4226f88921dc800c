package fleetcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/permit"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/wire"
)

type jobsApproveOptions struct {
	place
	cmd      *cobra.Command
	allow    bool
	deny     string
	answers  []string
	question string
	json     bool
}

const jobsApproveHelp = `Answer what the agent of a job asks: whether it may use a tool, or questions of its own.
Without flags, show each question on the terminal and ask for the answer. The first
answer of anybody counts.

--allow and --deny answer whether a tool may be used; --deny="TEXT" also tells the
agent why, or what to do instead. --answer answers the agent's own questions, once for
each, in their order. If several questions are open, --question says which one is
meant: "clew jobs show ID" lists them.`

func newJobsApprove(p *Program) *cobra.Command {
	o := &jobsApproveOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:     "approve ID",
		Short:   "Answer the questions of a job",
		Long:    jobsApproveHelp,
		Example: `  clew jobs approve m4k --deny="Use the staging database."`,
		Args:    clikit.ExactlyOne("ID"),
		RunE:    clikit.RunE(o.run),
	}
	o.cmd = cmd
	o.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.allow, "allow", "allow the use of the tool")
	cmd.Flags().StringVar(&o.deny, "deny", "", "deny it, and tell the agent this `text`")
	cmd.Flags().Lookup("deny").NoOptDefVal = "Denied."
	cmd.Flags().StringArrayVar(&o.answers, "answer", nil, "`text` of an answer to the agent's own question; repeatable")
	cmd.Flags().StringVar(&o.question, "question", "", "answer the question with this `ID`")
	clikit.AddOnOff(cmd, &o.json, "json", "print each question and its answer as a JSON object")
	return cmd
}

// open returns the open questions of a job, the oldest first.
func (c *connection) open(ctx context.Context, job string) ([]*fleet.Question, error) {
	var all []*fleet.Question
	for q, err := range c.Questions(ctx, job) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		if q.Answer == nil {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *fleet.Question) int { return a.Asked.Compare(b.Asked) })
	return all, nil
}

func (o *jobsApproveOptions) run(ctx context.Context, args []string) error {
	denies := o.cmd.Flags().Changed("deny")
	if err := clikit.AtMostOne([]clikit.GivenFlag{
		{Name: "allow", On: o.allow}, {Name: "deny", On: denies}, {Name: "answer", On: len(o.answers) > 0},
	}); err != nil {
		return err
	}
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	j, err := c.find(ctx, args[0])
	if err != nil {
		return err
	}
	open, err := c.open(ctx, j.ID)
	if err != nil {
		return err
	}
	if open, err = o.meant(j, open); err != nil {
		return err
	}
	if o.allow || denies || len(o.answers) > 0 {
		if len(open) > 1 {
			return clikit.UsageError("several questions are open", "Say which with --question:"+listed(open))
		}
		a, err := o.given(open[0], denies)
		if err != nil {
			return err
		}
		return o.answer(ctx, c, open[0], a)
	}
	for i, q := range open {
		a, err := o.askFor(ctx, q, i+1, len(open))
		if err != nil {
			return err
		}
		if err := o.answer(ctx, c, q, a); err != nil {
			return err
		}
	}
	return nil
}

// meant returns the questions that the command is about.
func (o *jobsApproveOptions) meant(j *fleet.Job, open []*fleet.Question) ([]*fleet.Question, error) {
	if o.question != "" {
		is := func(q *fleet.Question) bool { return q.ID != o.question }
		if open = slices.DeleteFunc(open, is); len(open) == 0 {
			return nil, &clikit.Failure{
				Code: clikit.ExitInput, Err: fmt.Errorf("job %s has no open question %s", j.ID, clikit.Printable(o.question)),
				Hint: fmt.Sprintf(`"clew jobs show %s" lists those that are open.`, j.ID),
			}
		}
	}
	if len(open) == 0 {
		return nil, &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("job %s is %s and asks nothing", j.ID, j.State)}
	}
	return open, nil
}

// listed lists questions, one per line.
func listed(open []*fleet.Question) string {
	var b strings.Builder
	for _, q := range open {
		b.WriteString("\n  " + clikit.Printable(questionLine(q)))
	}
	return b.String()
}

// questionLine is a question in a line of untrusted text.
func questionLine(q *fleet.Question) string {
	text := q.ID + "  " + q.Tool
	if own := ownQuestions(q); len(own) > 0 {
		return q.ID + "  " + clikit.Clip(own[0].Question)
	}
	if members, err := permit.Members(wire.JSON(q.Input)); err == nil {
		if _, about := permit.MainFirst(members); about != "" {
			text += ": " + clikit.Clip(about)
		}
	}
	return text
}

// askTool is the tool of the agent's own questions.
const askTool = "AskUserQuestion"

// ownQuestions returns the agent's own questions, or nil if it asks whether it may use a tool.
func ownQuestions(q *fleet.Question) []clew.Question {
	var req clew.QuestionRequest
	if q.Tool != askTool || json.Unmarshal(q.Input, &req) != nil {
		return nil
	}
	return req.Questions
}

// given returns the answer that the flags have.
func (o *jobsApproveOptions) given(q *fleet.Question, denies bool) (*fleet.Answer, error) {
	own := ownQuestions(q)
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
		return nil, clikit.UsageError(fmt.Sprintf("the agent asks %s", tty.Counted(len(own), "question")), "Give --answer for each, in this order:"+b.String())
	}
	a := &fleet.Answer{Allow: true, Answers: make(map[string]string)}
	for i := range own {
		a.Answers[own[i].Question] = o.answers[i]
	}
	return a, nil
}

// answer writes an answer, and says so.
func (o *jobsApproveOptions) answer(ctx context.Context, c *connection, q *fleet.Question, a *fleet.Answer) error {
	answered, err := c.Answer(ctx, q.Job, q.ID, *a)
	if errors.Is(err, fleet.ErrAnswered) {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New("the question was answered already, by " + clikit.Printable(answered.Answer.By))}
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

// askFor asks for the answer to a question on the terminal.
func (o *jobsApproveOptions) askFor(ctx context.Context, q *fleet.Question, n, of int) (*fleet.Answer, error) {
	columns := clikit.TextWidth(o.Err, clikit.DefaultColumns)
	p := &page{columns: columns, color: clikit.Colored(o.Err)}
	p.line(tty.Waiting, fmt.Sprintf("Question %d of %d, job %s", n, of, q.Job))
	p.row("until", timeText(q.Until, time.Now()))
	p.row("because", q.Reason)
	p.row("subagent", q.Subagent)
	if own := ownQuestions(q); len(own) > 0 {
		return o.askOwn(ctx, p.String(), own)
	}
	p.row("tool", q.Tool)
	members, err := permit.Members(wire.JSON(q.Input))
	if err != nil {
		p.exact("input", string(q.Input))
	}
	sorted, _ := permit.MainFirst(members)
	for _, m := range sorted {
		p.exact(clikit.Printable(m.Name), m.Text())
	}
	for text := p.String(); ; text = "" {
		line, err := o.ask(ctx, text, "Allow it? [y]es / [n]o / no, and say [w]hy: ")
		if err != nil {
			return nil, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return &fleet.Answer{Allow: true}, nil
		case "n", "no":
			return &fleet.Answer{Text: "Denied."}, nil
		case "w", "why":
			why, err := o.ask(ctx, "", "Tell the agent why, or what to do instead: ")
			return &fleet.Answer{Text: cmpOr(strings.TrimSpace(why), "Denied.")}, err
		}
	}
}

// askOwn asks the agent's own questions.
func (o *jobsApproveOptions) askOwn(ctx context.Context, head string, own []clew.Question) (*fleet.Answer, error) {
	a := &fleet.Answer{Allow: true, Answers: make(map[string]string)}
	for i := range own {
		q := &own[i]
		var b strings.Builder
		b.WriteString(head)
		head = ""
		b.WriteString(tty.Clean(q.Question) + "\n")
		for n, option := range q.Options {
			fmt.Fprintf(&b, "  %d  %s\n", n+1, clikit.Printable(joinParts(option.Label, option.Description)))
		}
		prompt := "Your answer: "
		if len(q.Options) > 0 {
			prompt = "A number, or your own answer: "
		}
		if q.MultiSelect {
			prompt = "Numbers separated by commas, or your own answer: "
		}
		answer := ""
		for text := b.String(); answer == ""; text = "" {
			line, err := o.ask(ctx, text, prompt)
			if err != nil {
				return nil, err
			}
			answer = chosen(q, strings.TrimSpace(line))
		}
		a.Answers[q.Question] = answer
	}
	return a, nil
}

// chosen returns the labels of the options whose numbers were typed, and other lines as they are.
func chosen(q *clew.Question, line string) string {
	var labels []string
	for _, word := range strings.Split(line, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(q.Options) {
			return line
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	if len(labels) > 1 && !q.MultiSelect {
		return line
	}
	return strings.Join(labels, ", ")
}

// ask returns a line that is typed on the terminal.
func (o *jobsApproveOptions) ask(ctx context.Context, text, prompt string) (string, error) {
	line, err := o.Ask(ctx, text, prompt)
	switch {
	case ctx.Err() != nil:
		return "", clikit.Stopped()
	case err != nil:
		return "", &clikit.Failure{Code: clikit.ExitUsage, Err: err, Hint: "Answer with --allow, --deny or --answer. Nothing was answered."}
	}
	return line, nil
}
