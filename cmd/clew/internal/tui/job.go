package tui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// fleetTimeout is the time limit of a request to the fleet.
var fleetTimeout = 20 * time.Second

var _ = timelimit.Register(&fleetTimeout)

// A jobScreen shows a job: its state, its questions, its outcome, its attempts, and its agent's
// activity.
type jobScreen struct {
	base
	list *jobsScreen
	id   string

	job       *fleet.Job // nil until it was read
	questions []*fleet.Question
	remark    string               // that some of them can't be read, or ""
	around    jobview.Surroundings // when it was read
	err       error                // why it can't be read
	known     boardState
	loading   bool
	again     bool // it has to be read again, even if the board's view stays
	tail      jobTail

	lines []jobLine
	made  int  // the width of the lines
	stale bool // they have to be made again
	pick  pick
}

// A boardState is the board's view of a job. If it changes, the job is read again.
type boardState struct {
	summary   *fleet.Summary
	questions string
}

func newJob(list *jobsScreen, id string) *jobScreen {
	return &jobScreen{base: newBase(list.app), list: list, id: id}
}

func (j *jobScreen) scope() keymap.Scope { return keymap.InJob }

func (j *jobScreen) start() tea.Cmd { return j.refresh() }

// Messages to a job screen.
type (
	jobMsg struct {
		job       *fleet.Job
		questions []*fleet.Question
		remark    string
		around    jobview.Surroundings
		err       error
	}
	decidedMsg struct {
		job *fleet.Job // as it is then, or nil if it was dropped
		err error
	}
	foundSessionMsg struct {
		info sessions.SessionInfo
		ok   bool
		id   string
	}
)

// refresh reads the job, unless it was read in the state that the board has, and nothing was decided since.
func (j *jobScreen) refresh() tea.Cmd {
	row, questions := j.list.board.Job(j.id)
	now := boardState{row.Summary, strings.Join(questions, " ")}
	if isKnown := j.job != nil || j.err != nil; j.loading || isKnown && now == j.known && !j.again {
		return nil
	}
	j.known, j.loading, j.again = now, true, false
	f, id := j.fleet, j.id
	around := jobview.Surroundings{At: j.now(), Flags: j.opts.Jobs.Flags}
	return j.request(func(ctx context.Context) tea.Msg {
		msg := jobMsg{around: around}
		if msg.job, msg.err = f.Job(ctx, id); msg.err != nil {
			return msg
		}
		if msg.job.State == fleet.Queued { // workers explain why they don't take it
			if msg.err = msg.around.Look(ctx, f); msg.err != nil {
				return msg
			}
		}
		msg.questions, msg.remark, msg.err = jobview.Questions(ctx, f, id)
		return msg
	})
}

// request returns a command that asks the fleet for something.
func (j *jobScreen) request(io func(ctx context.Context) tea.Msg) tea.Cmd {
	parent := j.ctx
	return background(j, func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, fleetTimeout)
		defer cancel()
		return io(ctx)
	})
}

func (j *jobScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case jobMsg:
		j.loading = false
		if msg.err != nil {
			j.known = boardState{} // the next change of anything tries it again
			return j.take(msg)
		}
		return tea.Batch(j.take(msg), j.refresh())
	case decidedMsg:
		return j.decided(msg)
	case foundSessionMsg:
		if !msg.ok {
			j.say("session " + tty.Fit(tty.Line(msg.id), 8) + " is not among those of this machine; " + j.command("tail", j.id) + " shows it")
			return nil
		}
		return j.push(newSession(j.app, msg.info, Place{}))
	case tailMsg:
		j.tail.take(msg, j.renderOptions(max(j.width-2, 1)))
		j.stale = true
		return j.tail.next(j)
	case sayMsg:
		j.say(string(msg))
	}
	return nil
}

// take shows the job as it is now. A question on the screen that has an answer by now is closed.
func (j *jobScreen) take(msg jobMsg) tea.Cmd {
	j.stale = true
	if j.err = msg.err; j.err != nil {
		return nil
	}
	j.job, j.questions, j.remark, j.around = msg.job, msg.questions, msg.remark, msg.around
	var cmd tea.Cmd
	if q, ok := j.top().(*questionScreen); ok && q.job == j {
		cmd = q.look()
	}
	if j.job.State.Held() {
		return tea.Batch(cmd, j.tail.begin(j))
	}
	return cmd
}

// open returns the questions without an answer.
func (j *jobScreen) open() []*fleet.Question {
	if j.job == nil {
		return nil
	}
	return jobview.Open(j.job, j.questions)
}

// title is the clean name of the job.
func (j *jobScreen) title() string {
	if j.job == nil {
		return "Job " + tty.Line(j.id)
	}
	return jobview.Title(j.job.Summary())
}

func (j *jobScreen) do(a keymap.Action) tea.Cmd {
	if j.pick.act(a) {
		return nil
	}
	if a == keymap.Back || a == keymap.Close {
		return j.leave(a)
	}
	if j.job == nil {
		return nil
	}
	switch a {
	case keymap.Open:
		if l := j.line(); l != nil && l.open != nil {
			return l.open()
		}
	case keymap.AnswerJob:
		return j.showQuestion(nil)
	case keymap.Files:
		return j.showPatch()
	case keymap.OpenSession:
		return j.openLastSession()
	case keymap.OpenOutside:
		return j.showText(j, j.text, "job.txt")
	case keymap.Copy:
		j.copy(j.id, "the ID")
	case keymap.CopyMore:
		j.copy(j.command("tail", j.id), "the command that follows the job")
	default:
		return j.decide(a)
	}
	return nil
}

// line returns the selected line, or nil.
func (j *jobScreen) line() *jobLine {
	if j.pick.selected >= j.pick.len() || j.pick.lineOf(j.pick.selected) >= len(j.lines) {
		return nil
	}
	return &j.lines[j.pick.lineOf(j.pick.selected)]
}

// text returns all lines without colors.
func (j *jobScreen) text() string {
	var b strings.Builder
	for i := range j.lines {
		text, _ := unpaint(j.lines[i].text)
		b.WriteString(text + "\n")
	}
	return b.String()
}

// decide asks for confirmation, then acts on the job. If the action is not possible, it explains
// why.
func (j *jobScreen) decide(a keymap.Action) tea.Cmd {
	f, id, state := j.fleet, j.id, j.job.State
	name := "\"" + tty.Fit(j.title(), 40) + "\""
	if start, ok := requeues[a]; ok {
		if err := j.job.CheckRequeue(start); err != nil {
			j.say(j.notRequeued(a, err))
			return nil
		}
	}
	switch {
	case a == keymap.Cancel && state.Ended(), a == keymap.Delete && !state.Ended():
		j.say("the job is " + string(state) + map[keymap.Action]string{
			keymap.Cancel: "", keymap.Delete: ": only an ended job can be dropped",
		}[a])
		return nil
	case j.job.Cause == fleet.ByBudget && a == keymap.Resume, j.job.Cause == fleet.ByTurns && a == keymap.Resume:
		return j.requeueWithMore(fleet.Continued)
	case j.job.Cause == fleet.ByBudget && a == keymap.Retry: // the budget is one of all attempts
		return j.requeueWithMore(fleet.Fresh)
	}
	switch a {
	case keymap.Cancel:
		question := "Cancel " + name + "?"
		if state.Held() {
			question += " Its worker ends the agent."
		}
		return j.confirmed(question, func(ctx context.Context) (*fleet.Job, error) { return f.Cancel(ctx, id, "") })
	case keymap.Resume:
		return j.confirmed("Go on with "+name+" where it stopped?", func(ctx context.Context) (*fleet.Job, error) {
			return f.Requeue(ctx, id, fleet.Requeue{Start: fleet.Continued})
		})
	case keymap.Retry:
		return j.confirmed("Begin "+name+" again? What it did outside of its directory can happen twice.", func(ctx context.Context) (*fleet.Job, error) {
			return f.Requeue(ctx, id, fleet.Requeue{Start: fleet.Fresh})
		})
	case keymap.Delete:
		return j.confirmed("Drop the record and the files of "+name+"?", func(ctx context.Context) (*fleet.Job, error) { return nil, f.Drop(ctx, id) })
	}
	return nil
}

// requeues are the actions that continue or restart a job.
var requeues = map[keymap.Action]fleet.Start{keymap.Resume: fleet.Continued, keymap.Retry: fleet.Fresh}

// notRequeued explains why an action does not continue or restart the job.
func (j *jobScreen) notRequeued(a keymap.Action, err error) string {
	done := map[keymap.Action]string{keymap.Resume: "resumed", keymap.Retry: "restarted"}[a]
	refusal, ok := errors.AsType[*fleet.StateError](err)
	switch {
	case !ok:
		return fleetErrorText(err)
	case refusal.Why == "":
		return "the job is " + string(j.job.State) + ": only a lost or failed job can be " + done
	case j.job.CheckRequeue(fleet.Fresh) == nil:
		return "no session to resume: " + j.opts.Keys.KeyFor(keymap.InJob, keymap.Retry) + " restarts the job"
	}
	return "the job can't be " + done + ": " + refusal.Why
}

// requeueWithMore asks for a larger budget, or for a number of turns, then continues or restarts
// the job.
func (j *jobScreen) requeueWithMore(start fleet.Start) tea.Cmd {
	f, id := j.fleet, j.id
	question, isTurns, text := "Go on with a budget in dollars, for all attempts:", j.job.Cause == fleet.ByTurns, ""
	if start == fleet.Fresh {
		question = "Begin again with a budget in dollars, for all attempts:"
	}
	if isTurns {
		question = "Go on with how many turns:"
		if n := j.job.Spec.Agent.MaxTurns; n > 0 {
			text = strconv.Itoa(n)
		}
	}
	return j.askLine(question, text, func(line string) tea.Cmd {
		e := fleet.Requeue{Start: start}
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "$"))
		n, err := strconv.ParseFloat(line, 64)
		switch {
		case err != nil || !(n > 0) || math.IsInf(n, 0) || isTurns && n != math.Trunc(min(n, math.MaxInt32)):
			j.say("\"" + tty.Fit(tty.CleanLine(line), 20) + "\" is not a number above 0: nothing was done")
			return nil
		case isTurns:
			e.MaxTurns = int(n)
		default:
			e.BudgetUSD = n
		}
		return j.doing(func(ctx context.Context) (*fleet.Job, error) { return f.Requeue(ctx, id, e) })
	})
}

// confirmed decides about the job if the user says yes.
func (j *jobScreen) confirmed(question string, decide func(context.Context) (*fleet.Job, error)) tea.Cmd {
	return j.confirm(question, func() tea.Cmd { return j.doing(decide) })
}

// doing runs a decision about the job and reports its outcome. A job that was dropped is nil.
func (j *jobScreen) doing(decide func(context.Context) (*fleet.Job, error)) tea.Cmd {
	j.say("one moment ...")
	return j.request(func(ctx context.Context) tea.Msg {
		next, err := decide(ctx)
		return decidedMsg{next, err}
	})
}

func (j *jobScreen) decided(msg decidedMsg) tea.Cmd {
	var cmd tea.Cmd
	switch {
	case msg.err != nil:
		j.say(fleetErrorText(msg.err))
		return nil
	case msg.job == nil:
		if j.top() == screen(j) {
			cmd = j.pop()
		}
		j.say("the job was dropped")
		return cmd
	}
	// The board may come later, or have shown more than this by now.
	j.job, j.stale, j.again = msg.job, true, true
	said := "the job is " + string(msg.job.State)
	if msg.job.State.Held() && msg.job.Cancel != nil {
		said += ", and its worker ends it"
	}
	j.say(said)
	return j.refresh()
}

// fleetErrorText returns a fleet error as one line.
func fleetErrorText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the fleet does not answer"
	}
	return tty.Line(strings.TrimPrefix(err.Error(), "fleet: "))
}

// showPatch shows the changes that the job made.
func (j *jobScreen) showPatch() tea.Cmd {
	a := jobview.Patched(j.job)
	if a == nil {
		j.say("the job has changed no files")
		return nil
	}
	f, parent, name, command := j.fleet, j.ctx, a.Patch, j.command("patch", j.id)
	return j.push(&diffScreen{
		base: newBase(j.app), title: j.title, options: j.renderOptions, split: j.width >= minForOutline,
		what: fmt.Sprintf("Changes in attempt %d", a.Number),
		load: func() ([]transcript.FileDiff, error) {
			ctx, cancel := context.WithTimeout(parent, fleetTimeout)
			defer cancel()
			patch, isWhole, err := jobview.ReadPatch(ctx, f, name)
			files := jobview.ParsePatch(patch)
			switch {
			case err != nil:
				return nil, errors.New(fleetErrorText(err))
			case !isWhole:
				return nil, errors.New("The patch has more than " + wording.Size(jobview.MaxPatch) + " and is not shown. To read it: " + command)
			case len(files) == 0 && strings.TrimSpace(patch) != "":
				return nil, errors.New("This is not a patch of git. To read it: " + command)
			}
			return files, nil
		},
	})
}

// renderOptions returns the options for drawing the job's texts.
func (j *jobScreen) renderOptions(width int) render.Options {
	o := j.opts
	return render.Options{Width: width, Color: o.Color, Links: o.Links, ASCII: !o.Lines, Zone: o.Zone}
}

// openLastSession opens the session of the last attempt that has one.
func (j *jobScreen) openLastSession() tea.Cmd {
	for i := range slices.Backward(j.job.Attempts) {
		if id := j.job.Attempts[i].Session; id != "" {
			return j.openSession(id)
		}
	}
	j.say("the job has no session yet")
	return nil
}

// openSession opens a session if the viewer has it.
func (j *jobScreen) openSession(id string) tea.Cmd {
	src, ctx := j.src, j.ctx
	return background(j, func() tea.Msg {
		for infos := range src.List(ctx) {
			for _, info := range src.Summarize(ctx, matching(infos, id)) {
				return foundSessionMsg{info: info, ok: true}
			}
			break // the list continues as sessions change
		}
		return foundSessionMsg{id: id}
	})
}

// matching returns the first session with an ID.
func matching(infos []sessions.SessionInfo, id string) []sessions.SessionInfo {
	i := slices.IndexFunc(infos, func(info sessions.SessionInfo) bool { return info.ID == id })
	if i < 0 {
		return nil
	}
	return infos[i : i+1]
}

func (j *jobScreen) click(_, y int) tea.Cmd {
	item, ok := j.pick.at(y - 1)
	if !ok {
		return nil
	}
	if item == j.pick.selected {
		return j.do(keymap.Open)
	}
	j.pick.choose(item)
	return nil
}

func (j *jobScreen) wheel(lines int) tea.Cmd {
	j.pick.scroll(lines)
	return nil
}
