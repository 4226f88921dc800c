package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A questionScreen shows a job's question the way chats show their agents' questions, and asks for
// the answer. A question never changes, so the answer applies to the text that was shown.
type questionScreen struct {
	base
	job      *jobScreen
	question *fleet.Question
	dock     *dock
	settled  bool // it was on the screen for a while: keys count
	sent     bool // the answer is on its way
}

// showQuestion shows a question, or the first open one if it is nil.
func (j *jobScreen) showQuestion(q *fleet.Question) tea.Cmd {
	open := j.open()
	if q == nil && len(open) > 0 {
		q = open[0]
	}
	switch {
	case q == nil:
		j.say("the job asks nothing")
		return nil
	case !slices.ContainsFunc(open, func(o *fleet.Question) bool { return o.ID == q.ID }):
		j.say("it was answered meanwhile")
		return nil
	}
	shown := ask.OfJob(q, 0)
	if !CanAsk(shown) {
		j.say("it can't be asked here: " + j.command("approve", j.id))
		return nil
	}
	return j.push(&questionScreen{base: newBase(j.app), job: j, question: q, dock: newDock(shown)})
}

// Messages to a question screen.
type (
	settledMsg  struct{}
	answeredMsg struct {
		question *fleet.Question // with the answer that counts, or nil
		err      error
	}
)

func (s *questionScreen) scope() keymap.Scope { return keymap.InQuestion }

func (s *questionScreen) start() tea.Cmd {
	return tea.Tick(FocusPause, func(time.Time) tea.Msg { return answer{s, settledMsg{}} })
}

func (s *questionScreen) do(keymap.Action) tea.Cmd { return nil }

// typed takes every key. Keys that come before the user can have read the question do nothing,
// except to leave.
func (s *questionScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	name := key.String()
	switch {
	case name == "ctrl+z" || name == "ctrl+l":
		return nil, false
	case name == "ctrl+c":
		return s.pop(), true
	case s.sent:
		return nil, true
	case !s.settled:
		if name == "esc" || name == "q" {
			return s.pop(), true
		}
		return nil, true
	}
	k, ok := composeKey(name, key)
	a, event := s.dock.press(name, k, ok)
	switch event {
	case answered:
		return s.send(a), true
	case left:
		return s.pop(), true
	case skipped:
		return s.skip(), true
	case foreign:
		if name == "q" {
			return s.pop(), true
		}
	}
	return nil, true
}

func (s *questionScreen) paste(text string) tea.Cmd {
	if s.settled && !s.sent && s.dock.takesText() {
		s.dock.press("", compose.Key{Code: compose.Paste, Text: text}, true)
	}
	return nil
}

// wheel scrolls in the question.
func (s *questionScreen) wheel(lines int) tea.Cmd {
	name := "down"
	if lines < 0 {
		name = "up"
	}
	for range max(lines, -lines) {
		if !s.dock.takesText() {
			s.dock.scroll(name)
		}
	}
	return nil
}

// skip shows the next open question, if there is one.
func (s *questionScreen) skip() tea.Cmd {
	open := s.job.open()
	i := slices.IndexFunc(open, func(q *fleet.Question) bool { return q.ID == s.question.ID })
	if len(open) < 2 || i < 0 {
		s.dock.remark = "there is no other question"
		return nil
	}
	return tea.Batch(s.pop(), s.job.showQuestion(open[(i+1)%len(open)]))
}

// send answers the question.
func (s *questionScreen) send(a ask.Answer) tea.Cmd {
	given, err := s.dock.JobAnswer(a)
	if err != nil {
		s.dock.remark = "not answered: " + err.Error()
		return nil
	}
	s.sent = true
	f, job, id, parent := s.fleet, s.question.Job, s.question.ID, s.ctx
	return background(s, func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, fleetTimeout)
		defer cancel()
		q, err := f.Answer(ctx, job, id, given)
		return answeredMsg{q, err}
	})
}

func (s *questionScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case settledMsg:
		s.settled = true
	case answeredMsg:
		switch {
		case msg.err == nil:
			return s.leave(jobview.AnswerText(msg.question.Answer) + ": " + questionTitle(s.question))
		case errors.Is(msg.err, fleet.ErrAnswered) && msg.question != nil:
			return s.leave(answeredBy(msg.question))
		}
		s.sent = false
		s.dock.remark = "not answered: " + fleetErrorText(msg.err)
	}
	return nil
}

// look closes the question if somebody else answered it, or if the job no longer needs an answer.
func (s *questionScreen) look() tea.Cmd {
	if s.sent {
		return nil // the outcome says it
	}
	for _, q := range s.job.questions {
		switch {
		case q.ID != s.question.ID:
		case q.Answer != nil:
			return s.leave(answeredBy(q))
		case s.job.job.State.Ended():
			return s.leave("the job is " + string(s.job.job.State))
		default:
			return nil
		}
	}
	return s.leave("the question was withdrawn")
}

// leave closes the question and shows the reason.
func (s *questionScreen) leave(said string) tea.Cmd {
	if s.top() != screen(s) {
		return nil
	}
	cmd := s.pop()
	s.say(said)
	return cmd
}

// answeredBy describes the answer that was given first.
func answeredBy(q *fleet.Question) string { return tty.Line(jobview.AnsweredBy(q.Answer)) }

func (s *questionScreen) draw(width, height int) Frame {
	open := s.job.open()
	number := 1 + slices.IndexFunc(open, func(q *fleet.Question) bool { return q.ID == s.question.ID })
	p := dockPainter{dock: s.dock, width: width, color: s.opts.Color, lines: s.opts.Lines, focused: s.settled && !s.sent}
	if len(open) > 1 && number > 0 {
		p.aside = fmt.Sprintf("question %d of %d", number, len(open))
	}
	if s.sent {
		p.unfocused = "answering ..."
	}
	title := tty.Title.Paint(tty.Fit(" "+s.job.title(), width), s.opts.Color)
	if height < 3 {
		title = ""
	}
	var lines []string
	if title != "" {
		lines = []string{title}
	}
	about := s.about()
	for _, line := range tty.Wrap(about, max(width-1, 1)) {
		if len(lines) < min(height/4, 4) {
			lines = append(lines, tty.Dim.Paint(tty.Cut(" "+line, width), s.opts.Color))
		}
	}
	rows, cursor := p.draw(height - len(lines))
	frame := Frame{Title: s.job.title()}
	if cursor != nil {
		frame.Cursor = &paint.Cursor{X: min(cursor.X, max(width-1, 0)), Y: cursor.Y + len(lines)}
	}
	for _, row := range rows {
		lines = append(lines, tty.CutPainted(row, width))
	}
	frame.Lines = lines
	return frame
}

// about returns the time of the question, the deadline for the answer, and the asking subagent.
func (s *questionScreen) about() string {
	text := "asked " + wording.Clock(s.question.Asked, s.now()) + ", until " + wording.Clock(s.question.Until, s.now())
	if s.question.Subagent != "" {
		text += ", by the subagent " + tty.Line(s.question.Subagent)
	}
	return text
}
