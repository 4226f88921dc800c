package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/permit"
	"github.com/clewdev/clew/transcript"
)

// A Question is a question of the agent, as it is shown. All texts come from the agent and are
// untrusted, except for the changes' texts.
type Question struct {
	ID string
	// Digest is the digest of everything that is shown. An answer names it.
	Digest string
	// Tool is the tool that the agent wants to use, and Reason why it asks, or "".
	Tool, Reason string
	// Subagent is the ID of the subagent that asks, or "".
	Subagent string
	// Path is the file that the call is about, or "".
	Path string
	// Members are the input's members that Diff does not show. Input is the input if it is not an
	// object, or "".
	Members []permit.Member
	Input   string
	// Diff is the change of the file, or nil, and Remark the reason why it does not show more, or
	// "".
	Diff   *transcript.FileDiff
	Remark string
	// Always are the changes that the answer "always" makes. Without any, it is not a valid answer.
	Always []Change
	// Rule is the rule of the first change, if the user may narrow it, or "".
	Rule string
	// Choices are the questions of the tool AskUserQuestion. If there are any, yes is not a valid
	// answer.
	Choices []clew.Question
	// TooLong reports that not everything can be shown here. Only no is an answer then.
	TooLong bool
}

// A Change is a change of the permissions.
type Change struct {
	Index  int    // among the suggestions of the agent
	Text   string // what it changes, and where that is saved
	Marked bool   // it is made unless the user takes it out
}

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
	req     *clew.PermissionRequest
	choices []clew.Question
	answer  chan any // a clew.PermissionResult, a *clew.QuestionResult, or an error
	shown   Question // as it was shown last
}

// MaxShown is the maximum size of an input that is shown, in bytes. A longer one can only be
// denied.
const MaxShown = 512 << 10

// ErrTooLong is the reason for which a longer one is not allowed.
var ErrTooLong = errors.New("the call is too long to be shown here, so it can only be denied")

// show returns the question as it is shown now. It reads the file that the call would change.
func (g *Agent) show(q *question) Question {
	req := q.req
	shown := Question{
		ID: q.id, Tool: req.ToolName, Reason: req.DecisionReason, Subagent: req.AgentID, Choices: q.choices,
		TooLong: len(req.Input) > MaxShown,
	}
	if !shown.TooLong && len(q.choices) == 0 {
		g.showCall(&shown, req)
	}
	shown.Digest = shown.digest()
	return shown
}

// showCall adds the effects of a call, and the changes of "always".
func (g *Agent) showCall(shown *Question, req *clew.PermissionRequest) {
	members, err := permit.Members(req.Input)
	if err != nil {
		shown.Input = string(req.Input)
	}
	members, _ = permit.MainFirst(members)
	change := permit.ChangeOf(req, members, g.files)
	shown.Path, _ = permit.PathOf(req.ToolName, members)
	shown.Diff, shown.Remark = change.Diff, change.Remark
	shown.Members = slices.DeleteFunc(members, func(m permit.Member) bool { return slices.Contains(change.Replaced, m.Name) })
	for i, update := range permit.Updates(req) {
		if s := &req.Suggestions[i]; s.Type == clew.PermissionUpdateSetMode && !g.agents.allows(s.Mode) {
			continue // a page can't set it in another way either
		}
		shown.Always = append(shown.Always, Change{i, update.Text, update.Marked})
	}
	if len(shown.Always) > 0 && shown.Always[0].Index == 0 {
		shown.Rule = permit.NarrowedRule(req)
	}
}

// digest returns the digest of everything that is shown.
func (q Question) digest() string {
	q.Digest = ""
	text, err := json.Marshal(q)
	if err != nil { // it has nothing that can't be encoded
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decide is a [clew.CanUseToolFunc].
func (g *Agent) decide(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	if permit.NeedsChoice(req) {
		return clew.Deny("Denied: the user can't choose an answer here. Decide, or end with the question."), nil
	}
	answer, err := g.ask(ctx, &question{req: req})
	if err != nil {
		return nil, err
	}
	result, _ := answer.(clew.PermissionResult) // the answer fits the question
	return result, nil
}

// choose is a [clew.QuestionFunc].
func (g *Agent) choose(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	if len(req.Questions) == 0 {
		return nil, errors.New("denied: there is no question")
	}
	answer, err := g.ask(ctx, &question{req: req.Permission, choices: req.Questions})
	if err != nil {
		return nil, err
	}
	result, _ := answer.(*clew.QuestionResult) // nil means that the user declines
	return result, nil
}

// ask opens a question, and waits for its answer.
func (g *Agent) ask(ctx context.Context, q *question) (any, error) {
	q.answer = make(chan any, 1)
	full := false
	g.mu.Lock()
	if full = len(g.asked) >= MaxQuestions; !full {
		g.asks++
		q.id = fmt.Sprintf("q%d", g.asks)
	}
	g.mu.Unlock()
	if full {
		return nil, errors.New("denied: too many questions are open")
	}
	q.shown = g.show(q)
	g.change(func() { g.asked = append(g.asked, q) })
	defer g.change(func() { g.removeLocked(q) })
	select {
	case answer := <-q.answer:
		if err, ok := answer.(error); ok {
			return nil, err
		}
		return answer, nil
	case <-ctx.Done():
		g.change(func() { g.noteLocked(q, "", "the agent has withdrawn the question") })
		return nil, ctx.Err()
	case <-g.ctx.Done():
		return nil, errors.New("the user has ended the agent")
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
			if len(q.choices) > 0 {
				q.answer <- errors.New("the user interrupted")
			} else {
				q.answer <- &clew.DenyResult{Message: "The user interrupted.", Interrupt: true}
			}
		}
		g.asked = nil
	})
}

// The kinds of answers.
const (
	AllowOnce   = "once"
	AllowAlways = "always"
	Denied      = "deny"
	Chosen      = "choose"
	Skipped     = "skip"
)

// An Answer is an answer to a question.
type Answer struct {
	// Kind is one of the kinds of answers.
	Kind string `json:"kind"`
	// Changes are the indexes of the changes that [AllowAlways] makes, and Rule the narrowed rule of
	// the first one, or "".
	Changes []int  `json:"changes"`
	Rule    string `json:"rule"`
	// Reason is for [Denied], and may be empty.
	Reason string `json:"reason"`
	// Chosen are the labels of options or the user's own words, for each question of [Chosen].
	Chosen [][]string `json:"chosen"`
}

// An AnswerRequest answers a question.
type AnswerRequest struct {
	ID               string
	Question, Digest string
	// By names the person who answers, for other viewers of the question.
	By     string
	Answer Answer
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

func (g *Agent) answerLocked(q *question, now Question, req *AnswerRequest) (Answered, error) {
	if !slices.Contains(g.asked, q) {
		return Answered{}, g.goneLocked(req.Question)
	}
	q.shown = now
	if now.Digest != req.Digest {
		return Answered{}, &Error{
			Kind: Conflict, Reason: "the question has changed since it was shown", Hint: "Read it again.", Agent: g.id,
		}
	}
	result, what, err := q.result(&req.Answer)
	if err != nil {
		return Answered{}, err
	}
	g.removeLocked(q)
	g.noteLocked(q, req.By, what)
	q.answer <- result
	return g.answers[len(g.answers)-1], nil
}

// result returns the answer for the agent, and the same in words.
func (q *question) result(a *Answer) (result any, what string, err error) {
	isChoice := len(q.choices) > 0
	switch {
	case len(a.Reason) > maxWords:
		return nil, "", &Error{Kind: Invalid, Reason: "the reason is too long"}
	case a.Kind == Denied && !isChoice:
		return permit.Denied(a.Reason), "denied", nil
	case a.Kind == Denied || a.Kind == Skipped && isChoice:
		return (*clew.QuestionResult)(nil), "skipped", nil
	case q.shown.TooLong:
		return nil, "", &Error{Kind: Forbidden, Reason: ErrTooLong.Error()}
	case a.Kind == Chosen && isChoice:
		answers, err := chosen(q.choices, a.Chosen)
		return answers, "answered", err
	case a.Kind == AllowOnce && !isChoice:
		return &clew.AllowResult{Classification: clew.PermissionClassificationTemporary}, "allowed once", nil
	case a.Kind == AllowAlways && !isChoice:
		result, err := q.always(a)
		return result, "allowed always", err
	}
	return nil, "", &Error{Kind: Invalid, Reason: fmt.Sprintf("%q is no answer to this question", a.Kind)}
}

// always returns a permission with changes that were shown.
func (q *question) always(a *Answer) (*clew.AllowResult, error) {
	for _, i := range a.Changes {
		if !slices.ContainsFunc(q.shown.Always, func(c Change) bool { return c.Index == i }) {
			return nil, &Error{Kind: Invalid, Reason: "the question does not offer this change"}
		}
	}
	if len(a.Changes) == 0 || a.Rule != "" && q.shown.Rule == "" {
		return nil, &Error{Kind: Invalid, Reason: "no change, or a rule that was not shown"}
	}
	result, err := permit.Always(q.req, a.Changes, a.Rule)
	if err != nil {
		return nil, &Error{Kind: Invalid, Reason: err.Error()}
	}
	return result, nil
}

// maxWords is the maximum length of an answer in the user's own words.
const maxWords = 16 << 10

// chosen returns the answers to questions with options.
func chosen(questions []clew.Question, answers [][]string) (*clew.QuestionResult, error) {
	if len(answers) != len(questions) {
		return nil, &Error{Kind: Invalid, Reason: fmt.Sprintf("there are %d questions and %d answers", len(questions), len(answers))}
	}
	result := &clew.QuestionResult{Answers: map[string][]string{}}
	for i, words := range answers {
		if len(words) > 1 && !questions[i].MultiSelect || len(words) > len(questions[i].Options)+1 {
			return nil, &Error{Kind: Invalid, Reason: fmt.Sprintf("question %d has too many answers", i+1)}
		}
		for _, w := range words {
			if w = strings.TrimSpace(w); w != "" && len(w) <= maxWords {
				result.Answers[questions[i].Question] = append(result.Answers[questions[i].Question], w)
			}
		}
	}
	if len(result.Answers) == 0 {
		return nil, &Error{Kind: Invalid, Reason: "no question has an answer"}
	}
	return result, nil
}
