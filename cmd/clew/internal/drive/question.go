package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/permission"
)

// An Answered describes the answer to a question.
type Answered struct {
	Question string
	By       string // who answered, or ""
	What     string // in words
	About    string // the call, for records
	At       time.Time
}

// A question is an open question.
type question struct {
	id      string
	req     *permission.Request
	choices []clew.Question
	answer  chan ask.Answer
	shown   *ask.Question // as it was shown last
}

// show returns the question as it is shown now. It reads the file that the call would change.
func (g *Agent) show(q *question) *ask.Question {
	shown := ask.New(q.req, q.choices, g.files)
	shown.ID = q.id
	return shown
}

// decide is a [permission.Func].
func (g *Agent) decide(ctx context.Context, req *permission.Request) (permission.Result, error) {
	if ask.NeedsChoice(req) {
		return permission.Deny(ask.NoChoice), nil
	}
	return g.permit(ctx, req)
}

func (g *Agent) permit(ctx context.Context, req *permission.Request) (permission.Result, error) {
	q, a, err := g.ask(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	return q.Permission(a)
}

// choose is a [clew.QuestionFunc].
func (g *Agent) choose(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if len(req.Questions) == 0 {
		return nil, errors.New("denied: there is no question")
	}
	q, a, err := g.ask(ctx, req.Permission, req.Questions)
	if err != nil {
		return nil, err
	}
	return q.Choice(a)
}

// ask opens a question, and waits for its answer. It returns the question as it was answered.
func (g *Agent) ask(ctx context.Context, req *permission.Request, choices []clew.Question) (*ask.Question, ask.Answer, error) {
	q := &question{req: req, choices: choices, answer: make(chan ask.Answer, 1)}
	full := false
	g.mu.Lock()
	if full = len(g.asked) >= MaxQuestions; !full {
		g.asks++
		q.id = fmt.Sprintf("q%d", g.asks)
	}
	g.mu.Unlock()
	if full {
		return nil, ask.Answer{}, errors.New("denied: too many questions are open")
	}
	q.shown = g.show(q)
	g.change(func() { g.asked = append(g.asked, q) })
	defer g.change(func() { g.removeLocked(q) })
	select {
	case answer := <-q.answer:
		return q.shown, answer, nil
	case <-ctx.Done():
		g.change(func() { g.noteLocked(q, "", "the agent has withdrawn the question") })
		return nil, ask.Answer{}, ctx.Err()
	case <-g.ctx.Done():
		return nil, ask.Answer{}, errors.New("the user has ended the agent")
	}
}

func (g *Agent) removeLocked(q *question) {
	g.asked = slices.DeleteFunc(g.asked, func(other *question) bool { return other == q })
}

// noteLocked remembers how a question was answered, unless that is known.
func (g *Agent) noteLocked(q *question, by, what string) {
	const remembered = 50
	if slices.ContainsFunc(g.answers, func(a Answered) bool { return a.Question == q.id }) {
		return
	}
	g.answers = append(g.answers, Answered{q.id, by, what, q.about(), g.agents.opts.Now()})
	if len(g.answers) > remembered {
		g.answers = g.answers[1:]
	}
}

// about returns the call that a question is about, for records.
func (q *question) about() string {
	return clip.Marked(q.req.ToolName+" "+string(q.req.Input), maxListed)
}

// stopQuestions answers all open questions with no, because the turn ends.
func (g *Agent) stopQuestions(why string) {
	g.change(func() {
		for _, q := range g.asked {
			g.noteLocked(q, "", why)
			q.answer <- ask.Answer{Stopped: true}
		}
		g.asked = nil
	})
}

// An AnswerRequest answers a question.
type AnswerRequest struct {
	ID               string
	Question, Digest string
	// By names the person who answers, for other viewers of the question.
	By     string
	Answer ask.Answer
}

// Answer answers a question. The first answer counts. One to a question that was answered, has been
// withdrawn or does not look any more as it was shown is an error, and changes nothing.
func (g *Agent) Answer(ctx context.Context, req AnswerRequest) (Answered, error) {
	return once(ctx, g.agents, g.calls, req.ID, req, func(context.Context) (Answered, error) {
		q, err := g.open(req.Question)
		if err != nil {
			return Answered{}, err
		}
		now := g.show(q) // the file may have changed
		var answered Answered
		g.change(func() { answered, err = g.answerLocked(q, now, &req) })
		return answered, err
	})
}

// open returns an open question.
func (g *Agent) open(id string) (*question, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, q := range g.asked {
		if q.id == id {
			return q, nil
		}
	}
	return nil, g.goneLocked(id)
}

// goneLocked returns the error for a question that is not open.
func (g *Agent) goneLocked(id string) error {
	for _, a := range g.answers {
		if a.Question == id {
			reason := a.What
			if a.By != "" {
				reason = "it was answered by " + a.By + ": " + a.What
			}
			return &Error{Kind: Conflict, Reason: reason, Agent: g.id}
		}
	}
	return &Error{Kind: Conflict, Reason: "the question is not open any more", Agent: g.id}
}

func (g *Agent) answerLocked(q *question, now *ask.Question, req *AnswerRequest) (Answered, error) {
	if !slices.Contains(g.asked, q) {
		return Answered{}, g.goneLocked(req.Question)
	}
	q.shown = now
	if now.Digest != req.Digest {
		return Answered{}, &Error{
			Kind: Conflict, Reason: "the question has changed since it was shown", Hint: "Read it again.", Agent: g.id,
		}
	}
	if err := now.Check(req.Answer); err != nil {
		kind := Invalid
		if errors.Is(err, ask.ErrTooLong) {
			kind = Forbidden
		}
		return Answered{}, &Error{Kind: kind, Reason: err.Error()}
	}
	g.removeLocked(q)
	g.noteLocked(q, req.By, now.Outcome(req.Answer))
	q.answer <- req.Answer
	return g.answers[len(g.answers)-1], nil
}
