package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A jobLine is a line of a job screen.
type jobLine struct {
	text string         // painted
	open func() tea.Cmd // opens its target, or nil
	key  jobKey
}

// A jobKey identifies a line while others come and go above it: the part of the screen, or the
// question or the attempt, and the number of the line in it.
type jobKey struct {
	part string
	n    int
}

// livePart is the part with the agent's activity. Its lines are numbered from the first line ever
// shown.
const livePart = "live"

func (j *jobScreen) draw(width, height int) Frame {
	j.lay(width)
	frame := newFrame(j.title(), height)
	var body []string
	from, to := j.pick.visible(frame.room())
	for i := from; i < to; i++ {
		selected := j.pick.lines[i] >= 0 && j.pick.lines[i] == j.pick.selected
		body = append(body, tty.CutPainted(j.mark(selected)+j.lines[i].text, width))
	}
	head := tty.Title.Paint(tty.Fit(" "+j.title(), width), j.opts.Color)
	return frame.fill(head, body, j.foot(j.hints(), "", width), -1)
}

// hints are the keys that do something now.
func (j *jobScreen) hints() []string {
	can := map[keymap.Action]bool{keymap.Open: true, keymap.Back: !j.isFirst(), keymap.Close: j.isFirst(), keymap.Help: true}
	if j.job != nil {
		can[keymap.AnswerJob], can[keymap.Files] = len(j.open()) > 0, jobview.Patched(j.job) != nil
		can[keymap.OpenSession] = len(j.job.Attempts) > 0
		for action, start := range requeues {
			can[action] = j.job.CheckRequeue(start) == nil
		}
		can[keymap.Cancel] = !j.job.State.Ended()
	}
	var hints []string
	for _, b := range j.opts.Keys.In(keymap.InJob) {
		if b.Hint != "" && can[b.Action] {
			hints = append(hints, b.Keys[0]+" "+b.Hint)
		}
	}
	return hints
}

// lay makes the lines for a width. The selected line stays selected in its place on the screen. At
// the end of the agent's activity, the selection follows it.
func (j *jobScreen) lay(width int) {
	if j.made == width && !j.stale {
		return
	}
	var key jobKey
	if l := j.line(); l != nil {
		key = l.key
	}
	offset, follows := j.pick.offset(), key.part == livePart && key == j.lastLive()
	j.made, j.stale = width, false
	j.tail.fit(j.renderOptions(max(width-2, 1)))
	b := jobText{jobScreen: j, width: max(width-2, 1)}
	b.all()
	j.lines = b.lines
	lines, items := make([]int, len(j.lines)), 0
	for i := range j.lines {
		if lines[i] = -1; j.lines[i].text != "" {
			lines[i] = items
			items++
		}
	}
	j.pick.set(lines)
	if follows {
		key = j.lastLive()
	}
	switch item := j.itemOf(key); {
	case item < 0:
	case follows:
		j.pick.choose(item)
	default:
		j.pick.keep(item, offset)
	}
}

// lastLive returns the key of the last selectable line of the agent's activity.
func (j *jobScreen) lastLive() (last jobKey) {
	for i := range j.lines {
		if l := &j.lines[i]; l.key.part == livePart && l.text != "" {
			last = l.key
		}
	}
	return last
}

// itemOf returns the item with a key, or the one before it in its part, or the first of that, or -1.
func (j *jobScreen) itemOf(key jobKey) int {
	found := -1
	for item, line := range j.pick.first {
		switch at := j.lines[line].key; {
		case at.part != key.part:
		case found < 0 || at.n <= key.n:
			found = item
		}
	}
	return found
}

// A jobText makes the lines of a job.
type jobText struct {
	*jobScreen
	width int
	lines []jobLine
	next  jobKey
}

func (b *jobText) all() {
	switch {
	case b.err != nil:
		for _, line := range tty.Wrap(fleetErrorText(b.err), b.width) {
			b.add(tty.Failure.Paint(tty.Cut(line, b.width), b.opts.Color), nil)
		}
	case b.job == nil:
		b.add(tty.Dim.Paint(tty.Cut("reading ...", b.width), b.opts.Color), nil)
	}
	if b.job == nil {
		return
	}
	b.state()
	b.asks()
	b.facts()
	b.live()
	b.result()
	b.changes()
	b.block("Prompt", b.job.Spec.Prompt)
	b.attempts()
	b.answers()
	b.notes()
}

func (b *jobText) add(text string, open func() tea.Cmd) {
	b.lines = append(b.lines, jobLine{text, open, b.next})
	b.next.n++
}

// begin starts a part whose lines can be found again.
func (b *jobText) begin(part string) { b.next = jobKey{part: part} }

// heading adds the heading of a part.
func (b *jobText) heading(text string) {
	if len(b.lines) > 0 {
		b.add("", nil)
	}
	b.begin(text)
	b.add(tty.Heading.Paint(tty.Fit(text, b.width), b.opts.Color), nil)
}

// say adds a clean text that is wrapped. Its lines lead to the same thing.
func (b *jobText) say(style tty.Style, text string, open func() tea.Cmd) {
	for _, line := range tty.Wrap(text, b.width) {
		b.add(style.Paint(tty.Cut(line, b.width), b.opts.Color), open)
	}
}

// block adds a part with a text of somebody else.
func (b *jobText) block(name, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	b.heading(name)
	for _, line := range markdown.Render(text, markdown.Options{Width: b.width, Color: b.opts.Color}) {
		b.add(tty.CutPainted(line, b.width), nil)
	}
}

// state describes the state of the job, and the reason for it.
func (b *jobText) state() {
	row := jobview.NewRow(b.job.Summary(), len(b.jobScreen.open()) > 0)
	row.Text = "" // the whole of it follows
	text := render.Join(string(b.job.State), tty.Line(b.around.Reason(row)), tty.Line(b.job.Text))
	mark := b.stateMark(row) + " "
	for i, line := range tty.Wrap(text, max(b.width-2, 1)) {
		if i > 0 {
			mark = "  "
		}
		style := jobview.Style(b.job.State)
		if row.Asks {
			style = tty.Waiting
		}
		b.add(mark+style.Paint(line, b.opts.Color), nil)
	}
	if text := jobview.Canceling(b.job); text != "" {
		b.say(tty.Waiting, text, nil)
	}
}

// facts adds the known facts about the job.
func (b *jobText) facts() {
	if len(b.jobScreen.open()) > 0 || b.remark != "" {
		b.add("", nil)
	}
	b.begin("facts")
	var facts [][2]string
	for _, f := range jobview.Facts(b.job, b.now()) {
		facts = append(facts, [2]string{f.Name, f.Value})
	}
	facts = append(facts, [2]string{"follow", b.command("tail", b.job.ID)})
	for _, line := range b.factLines(facts, "", b.width) {
		b.add(line, nil)
	}
}

// asks adds the open questions, each in a line that leads to it.
func (b *jobText) asks() {
	open := b.jobScreen.open()
	if len(open) == 0 && b.remark == "" {
		return
	}
	b.heading("Questions")
	if b.remark != "" {
		b.say(tty.Failure, tty.Line(b.remark), nil)
	}
	for _, q := range open {
		b.begin("question " + q.ID)
		b.say(tty.Waiting, "? "+questionTitle(q)+", until "+wording.Clock(q.Until, b.now()), func() tea.Cmd { return b.showQuestion(q) })
	}
}

// questionTitle is a question in a clean line.
func questionTitle(q *fleet.Question) string { return tty.Fit(tty.Line(ask.JobTitle(q)), 120) }

// live adds the agent's current activity.
func (b *jobText) live() {
	if !b.job.State.Held() {
		return
	}
	b.heading("Live")
	if len(b.tail.lines) == 0 {
		b.say(tty.Dim, "nothing yet; what it did before is shown by: "+b.command("tail", b.job.ID), nil)
	}
	b.next = jobKey{livePart, b.tail.cut}
	for _, line := range b.tail.lines {
		b.add(tty.CutPainted(line, b.width), nil)
	}
}

func (b *jobText) result() {
	r := b.job.Result()
	if r == nil {
		return
	}
	name := "Result"
	if r.Failed {
		name = "Result, which is an error"
	}
	b.block(name, cmp.Or(r.Text, string(r.Output)))
	if r.File != "" {
		b.say(tty.Dim, "there is more: "+b.command("show", b.job.ID), nil)
	}
}

func (b *jobText) changes() {
	a := jobview.Patched(b.job)
	if a == nil {
		return
	}
	b.heading("Changes")
	b.say(tty.Plain, fmt.Sprintf("attempt %d has changed files: enter shows the diff", a.Number), b.showPatch)
	b.say(tty.Dim, b.command("patch", b.job.ID)+" --apply", nil)
}

// attempts adds the attempts, the newest first. Each leads to its session.
func (b *jobText) attempts() {
	if len(b.job.Attempts) == 0 {
		return
	}
	b.heading("Attempts")
	now := b.now()
	for _, a := range slices.Backward(b.job.Attempts) {
		end, how := a.Ended, tty.Line(jobview.AttemptCause(a.Cause))
		if end.IsZero() {
			end, how = now, ""
		}
		text := fmt.Sprintf("%d  %s", a.Number, render.Join(wording.Clock(a.Claimed, now), wording.Duration(max(end.Sub(a.Claimed), 0)),
			tty.Line(a.Worker), wording.Dollars(a.CostUSD).Note(), how, tty.Line(a.Text), sessionText(a.Session)))
		open := func() tea.Cmd { return b.openSession(a.Session) }
		if a.Session == "" {
			open = nil
		}
		b.begin(fmt.Sprintf("attempt %d", a.Number))
		b.say(tty.Plain, text, open)
	}
}

func sessionText(id string) string {
	if id == "" {
		return ""
	}
	return "session " + tty.Cut(tty.Line(id), 8)
}

// answers adds the questions that were answered.
func (b *jobText) answers() {
	isFirst := true
	for _, q := range b.questions {
		if q.Answer == nil {
			continue
		}
		if isFirst {
			b.heading("Answered questions")
		}
		isFirst = false
		b.begin("question " + q.ID)
		by := jobview.Answerer(q.Answer)
		if by != "" {
			by = "by " + by
		}
		b.say(tty.Plain, tty.Line(render.Join(wording.Clock(q.Answer.At, b.now()), questionTitle(q), jobview.AnswerText(q.Answer), by, q.Answer.Text)), nil)
	}
}

// notes adds the decisions of people and policies.
func (b *jobText) notes() {
	if len(b.job.Notes) == 0 {
		return
	}
	b.heading("Notes")
	for i := range b.job.Notes {
		n := &b.job.Notes[i]
		said := n.Text
		switch {
		case n.Result != nil:
			said = render.Join(said, "a result came too late: "+n.Result.Text)
		case said == "":
			said = "gave no reason"
		}
		text := render.Join(wording.Clock(n.At, b.now()), jobview.Author(n), said)
		b.say(tty.Plain, tty.Line(text), nil)
	}
}
