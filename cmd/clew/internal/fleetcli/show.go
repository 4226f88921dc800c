package fleetcli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
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

type jobsShowOptions struct {
	place
	log  bool
	json bool
}

const jobsShowHelp = `Show a job: what was asked for, why it is in its state, its open questions, each
attempt with its worker, session, cost and end, what people and policies have decided,
and its result. For a job that no worker takes, it shows why each worker refuses it.

With --log, show each change of the record instead, the oldest first.`

func newJobsShow(p *Program) *cobra.Command {
	o := &jobsShowOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a job and its attempts",
		Long:  jobsShowHelp,
		Example: `  clew jobs show m4k
  clew jobs show m4k --log`,
		Args: clikit.ExactlyOne("ID"),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	cmd.ValidArgsFunction = o.completeJobs(1, isAny)
	clikit.AddOnOff(cmd, &o.log, "log", "show each change of the record")
	clikit.AddOnOff(cmd, &o.json, "json", "print the record as a JSON object, or with --log one per change")
	return cmd
}

func (o *jobsShowOptions) run(ctx context.Context, args []string) error {
	c, j, err := o.connectTo(ctx, args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	if o.log {
		return o.printLog(ctx, c, j.ID)
	}
	v, err := c.view(ctx, j)
	if err != nil {
		return err
	}
	if o.json {
		return written(clikit.WriteJSON(o.Out, v))
	}
	text := v.text(clikit.TextWidth(o.Out, 0), clikit.Colored(o.Out))
	_, err = io.WriteString(o.Out, text)
	return written(err)
}

// written marks the error of a write as an output error.
func written(err error) error {
	if err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// A jobView is a job as it is shown.
type jobView struct {
	*fleet.Job
	Reason    string            `json:"reason,omitempty"`
	Refused   map[string]string `json:"refused,omitempty"` // by worker
	Questions []*fleet.Question `json:"questions,omitempty"`
	Answered  []*fleet.Question `json:"answered,omitempty"`
	Remark    string            `json:"remark,omitempty"` // that some questions can't be read

	around *surroundings
	flags  fleetFlags
}

// view returns what is shown of a job.
func (c *connection) view(ctx context.Context, j *fleet.Job) (*jobView, error) {
	around, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	v := &jobView{Job: j, Reason: around.reasonOfJob(j), Refused: map[string]string{}, around: around, flags: c.flags}
	for _, w := range around.Workers {
		if why, ok := w.Refused[j.ID]; ok {
			v.Refused[workerName(w)] = why
		}
	}
	all, remark, err := jobview.Questions(ctx, c.Fleet, j.ID)
	v.Questions, v.Remark = jobview.Open(j, all), remark
	for _, q := range all {
		if q.Answer != nil {
			v.Answered = append(v.Answered, q)
		}
	}
	slices.SortFunc(v.Answered, func(a, b *fleet.Question) int { return a.Answer.At.Compare(b.Answer.At) })
	return v, failure(ctx, err)
}

func workerName(w *fleet.WorkerInfo) string { return strings.TrimSpace(w.Host + " " + w.ID) }

// text returns the job for people.
func (v *jobView) text(columns int, color bool) string {
	p := &page{columns: columns, color: color}
	j := v.Job
	p.line(tty.Title, j.Summary().Title)
	state := string(j.State)
	if v.Reason != "" {
		state += ": " + v.Reason
	}
	p.styled(jobview.Style(j.State), "state", state)
	if a := j.Attempt(); (a == nil || a.Text != j.Text) && !strings.Contains(v.Reason, j.Text) {
		p.row("because", j.Text)
	}
	p.row("cancel", jobview.Canceling(j))
	for _, fact := range jobview.Facts(j, v.around.At.Local()) {
		p.row(fact.Name, fact.Value)
	}
	if j.Spec.Title != "" || j.Summary().Title != strings.TrimSpace(j.Spec.Prompt) {
		p.block("prompt", j.Spec.Prompt)
	}
	for _, worker := range slices.Sorted(maps.Keys(v.Refused)) {
		p.row("refused", "by "+worker+": "+v.Refused[worker])
	}
	p.styled(tty.Failure, "remark", v.Remark)
	for _, q := range v.Questions {
		v.addQuestion(p, q)
	}
	for _, q := range v.Answered {
		v.addAnswer(p, q)
	}
	for i := range j.Attempts {
		v.addAttempt(p, &j.Attempts[i])
	}
	for i := range j.Notes {
		n := &j.Notes[i]
		text := n.Text
		if n.Result != nil {
			text = "a result came too late: " + clikit.Clip(n.Result.Text)
		}
		p.row("note", timeText(n.At, v.around.At)+" "+jobview.Author(n)+": "+text)
	}
	if r := j.Result(); r != nil {
		p.block("result", cmp.Or(r.Text, string(r.Output)))
	}
	return p.String()
}

// addAttempt adds an attempt.
func (v *jobView) addAttempt(p *page, a *fleet.Attempt) {
	p.line(tty.Title, fmt.Sprintf("Attempt %d", a.Number))
	p.row("worker", v.workerText(a.Worker))
	p.row("began", jobview.Join(timeText(a.Claimed, v.around.At), startText(a)))
	p.row("session", a.Session)
	p.row("files", a.Restored)
	p.row("status", a.Status)
	if a.CostUSD > 0 {
		p.row("cost", wording.Dollars(a.CostUSD).Long())
	}
	if a.Ended.IsZero() {
		return
	}
	p.row("ended", jobview.Join(timeText(a.Ended, v.around.At), jobview.AttemptCause(a.Cause)))
	p.row("because", a.Text)
	if a.Patch != "" {
		p.command("patch", v.flags.command("jobs", "patch", v.ID))
	}
}

// addQuestion adds all of an open question, and the command that answers it: somebody decides by it.
func (v *jobView) addQuestion(p *page, q *fleet.Question) {
	p.row("asks", jobview.Join(q.ID+" "+q.Tool, jobview.Named("by subagent ", q.Subagent), q.Reason, "until "+timeText(q.Until, v.around.At)))
	var text strings.Builder
	shown := ask.OfJob(q, 0)
	for i := range shown.Choices {
		text.WriteString(shown.Choices[i].Question + "\n")
		for _, option := range shown.Choices[i].Options {
			text.WriteString("  - " + jobview.Join(option.Label, option.Description) + "\n")
		}
	}
	text.WriteString(shown.Input)
	for _, m := range shown.Members {
		text.WriteString(clikit.Printable(m.Name) + ": " + strings.ReplaceAll(cmp.Or(m.Text(), `""`), "\n", "\n  ") + "\n")
	}
	p.exact(text.String())
	p.command("answer", answerCommand(v.flags, q))
}

// addAnswer adds who answered a question, and how.
func (v *jobView) addAnswer(p *page, q *fleet.Question) {
	a := q.Answer
	text := timeText(a.At, v.around.At) + " " + jobview.AnswerText(a)
	if who := jobview.Answerer(a); who != "" {
		text += " by " + who + jobview.Named(": ", clikit.Clip(a.Text))
	}
	p.row("answered", q.ID+" "+q.Tool+" "+text)
}

func startText(a *fleet.Attempt) string {
	switch {
	case a.Started.IsZero():
		return "no prompt was sent"
	case a.Start == fleet.Continued:
		return "resumed"
	}
	return ""
}

// workerText names a worker with its machine, if that is known.
func (v *jobView) workerText(id string) string {
	for _, w := range v.around.Workers {
		if w.ID == id {
			return jobview.Join(id, "on "+w.Host)
		}
	}
	return id
}

// printLog prints each change of a record.
func (o *jobsShowOptions) printLog(ctx context.Context, c *connection, id string) error {
	out := bufio.NewWriter(o.Out)
	color := clikit.Colored(o.Out)
	for j, err := range c.History(ctx, id) {
		if err != nil {
			_ = out.Flush() // the first error says more
			return failure(ctx, err)
		}
		if o.json {
			err = clikit.WriteJSON(out, j)
		} else {
			_, err = fmt.Fprintln(out, logLine(j, color))
		}
		if err != nil {
			return clikit.OutputError(err)
		}
	}
	return written(out.Flush())
}

// logLine is a state of a job as a line.
func logLine(j *fleet.Job, color bool) string {
	parts := []string{cmp.Or(jobview.Cause(j.Cause), string(j.Cause))}
	if a := j.Attempt(); a != nil {
		parts = append(parts, fmt.Sprintf("attempt %d", a.Number))
		if j.State.Held() {
			parts = append(parts, "worker "+a.Worker, a.Status)
		}
	}
	parts = append(parts, clikit.Clip(j.Text))
	at := j.Changed.Local().Format(time.DateTime)
	state := jobview.Style(j.State).Paint(clikit.Pad(string(j.State), len(fleet.Canceled), false), color)
	return strings.TrimRight(tty.Dim.Paint(at, color)+"  "+state+"  "+clikit.Printable(jobview.Join(parts...)), " ")
}

// A page is a list of named values.
type page struct {
	strings.Builder
	columns int
	color   bool
}

const nameWidth = 12

// line adds a separate line.
func (p *page) line(style tty.Style, text string) {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	for _, line := range tty.Wrap(clikit.Printable(text), p.columns) {
		p.WriteString(style.Paint(line, p.color) + "\n")
	}
}

// row adds an untrusted value, unless it is empty.
func (p *page) row(name, value string) { p.styled(tty.Plain, name, value) }

// styled adds an untrusted value in a style, unless it is empty.
func (p *page) styled(style tty.Style, name, value string) {
	if value == "" {
		return
	}
	lines := tty.Wrap(clikit.Printable(value), p.room())
	for i := range lines {
		lines[i] = style.Paint(lines[i], p.color)
	}
	p.add(name, lines)
}

// block adds an untrusted text of several lines.
func (p *page) block(name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		p.add(name, tty.Wrap(tty.Clean(text), p.room()))
	}
}

// exact adds an untrusted text that somebody decides by. The other rows of a line that has no room are
// indented, so that none looks like a line of the text.
func (p *page) exact(text string) {
	const indent = 4
	room, hanging := p.room(), strings.Repeat(" ", indent)
	if room > 0 && room < 4*indent {
		hanging = ""
	}
	var rows []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for i, row := range tty.Wrap(tty.Clean(line), max(room-len(hanging), min(room, 1))) {
			if i > 0 {
				row = hanging + row
			}
			rows = append(rows, row)
		}
	}
	p.add("", rows)
}

// command adds a command to copy. If there is no room for it, it gets a separate line, which the
// terminal breaks: it is copied without these breaks.
func (p *page) command(name, text string) {
	if room := p.room(); room == 0 || tty.Width(text) <= room {
		p.add(name, []string{text})
		return
	}
	p.WriteString(tty.Dim.Paint(tty.Fit(name, p.columns), p.color) + "\n" + text + "\n")
}

// isNarrow reports whether there is no room for names beside values.
func (p *page) isNarrow() bool { return p.columns > 0 && p.columns < 2*nameWidth }

// room returns the number of columns for values; 0 means no limit.
func (p *page) room() int {
	if p.columns == 0 || p.isNarrow() {
		return p.columns
	}
	return p.columns - nameWidth
}

func (p *page) add(name string, lines []string) {
	if len(name) >= nameWidth {
		name += " "
	}
	head, indent := tty.Dim.Paint(clikit.Pad(name, nameWidth, false), p.color), strings.Repeat(" ", nameWidth)
	if p.isNarrow() {
		head, indent = tty.Dim.Paint(tty.Fit(name, p.columns), p.color)+"\n", ""
	}
	for _, line := range lines {
		p.WriteString(strings.TrimRight(head+line, " ") + "\n")
		head = indent
	}
}
