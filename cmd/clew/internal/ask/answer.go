package ask

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/permission"
)

// The kinds of answers.
const (
	AllowOnce   = "once"
	AllowAlways = "always"
	Denied      = "deny"
	Chosen      = "choose"
	Skipped     = "skip" // of the agent's own questions, for which Denied means the same
)

// An Answer is an answer to a question. The zero value is not valid.
type Answer struct {
	// Kind is one of the kinds of answers.
	Kind string `json:"kind"`
	// Changes are the indexes of the changes that [AllowAlways] makes, and Rule the narrowed rule of
	// the first one, or "".
	Changes []int  `json:"changes"`
	Rule    string `json:"rule"`
	// Reason is for [Denied], and may be empty.
	Reason string `json:"reason"`
	// Chosen are the labels of options or the user's own words, for each question of [Chosen]. It is
	// empty for a question that is skipped.
	Chosen [][]string `json:"chosen"`
	// Stopped means that the user stopped the agent instead. The other fields are not used.
	Stopped bool `json:"-"`
}

const choiceTool = "AskUserQuestion"

// NeedsChoice reports whether the request needs another answer than yes or no, and is denied with
// [NoChoice]. A plan needs only yes or no.
func NeedsChoice(req *permission.Request) bool {
	return req.ToolName == choiceTool || req.RequiresUserInteraction && req.ToolName != "ExitPlanMode"
}

// NoChoice tells the agent that its options can't be shown.
const NoChoice = "Denied: the user can't choose an answer here. Decide, or end with the question."

// ErrTooLong is the reason why a question with TooLong is not allowed.
var ErrTooLong = errors.New("the call is too long to be shown here, so it can only be denied")

// MaxWords is the maximum size of an answer's texts, in bytes.
const MaxWords = 16 << 10

var errStopped = errors.New("the user interrupted")

// CheckSize returns an error if the texts of an answer are longer than [MaxWords].
func CheckSize(a Answer) error {
	size := len(a.Reason)
	for _, words := range a.Chosen {
		size += len(strings.Join(words, ", "))
	}
	if size > MaxWords {
		return errors.New("the answer is too long")
	}
	return nil
}

// Check returns why an answer is not a valid one to the question, or nil.
func (q *Question) Check(a Answer) error {
	tooLong := CheckSize(a)
	isChoice := len(q.Choices) > 0
	switch {
	case a.Stopped:
		return nil
	case tooLong != nil:
		return tooLong
	case a.Kind == Denied, a.Kind == Skipped && isChoice:
		return nil
	case q.TooLong:
		return ErrTooLong
	case a.Kind == AllowOnce && !isChoice:
		return nil
	case a.Kind == AllowAlways && !isChoice:
		_, err := q.updates(a)
		return err
	case a.Kind == Chosen && isChoice:
		_, err := q.chosen(a)
		return err
	}
	const most = 80
	return fmt.Errorf("%q is no answer to this question", clip.Marked(a.Kind, most))
}

// Denies reports whether an answer keeps the agent from using the tool, or from asking.
func (q *Question) Denies(a Answer) bool {
	return a.Stopped || a.Kind == Denied && len(q.Choices) == 0
}

// Outcome describes a valid answer.
func (q *Question) Outcome(a Answer) string {
	switch {
	case a.Kind == AllowOnce:
		return "allowed once"
	case a.Kind == AllowAlways:
		return "allowed always"
	case a.Kind == Chosen:
		return "answered"
	case len(q.Choices) > 0:
		return "skipped"
	}
	return "denied"
}

// Permission returns an answer for the agent that wants to use a tool. It fails if [Question.Check]
// does.
func (q *Question) Permission(a Answer) (permission.Result, error) {
	if err := q.Check(a); err != nil {
		return nil, err
	}
	switch {
	case a.Stopped:
		return &permission.DenyResult{Message: "The user interrupted.", Interrupt: true}, nil
	case a.Kind == AllowOnce:
		return &permission.AllowResult{Classification: permission.ClassificationTemporary}, nil
	case a.Kind == AllowAlways:
		updates, err := q.updates(a)
		return &permission.AllowResult{UpdatedPermissions: updates, Classification: permission.ClassificationPermanent}, err
	}
	message := "The user denied this."
	if why := reason(a); why != "" {
		message = "The user denied this: " + why
	}
	return &permission.DenyResult{Message: message, Classification: permission.ClassificationReject}, nil
}

// Choice returns an answer to the agent's own questions, or nil if the user skips them. It fails if
// [Question.Check] does, or if the user stopped the agent.
func (q *Question) Choice(a Answer) (*clew.QuestionResult, error) {
	err := q.Check(a)
	switch {
	case err != nil:
		return nil, err
	case a.Stopped:
		return nil, errStopped
	case a.Kind != Chosen:
		return nil, nil
	}
	return q.chosen(a)
}

// JobAnswer returns an answer for the record of a job's question. It fails if [Question.Check] does,
// or if the user stopped the agent.
func (q *Question) JobAnswer(a Answer) (fleet.Answer, error) {
	err := q.Check(a)
	switch {
	case err != nil:
		return fleet.Answer{}, err
	case a.Stopped:
		return fleet.Answer{}, errStopped
	case a.Kind == AllowOnce:
		return fleet.Answer{Allow: true}, nil
	case a.Kind == Chosen:
		result, err := q.chosen(a)
		if err != nil {
			return fleet.Answer{}, err
		}
		given := fleet.Answer{Allow: true, Answers: make(map[string]string)}
		for question, words := range result.Answers {
			given.Answers[question] = strings.Join(words, ", ")
		}
		return given, nil
	case len(q.Choices) > 0:
		return fleet.Answer{Text: cmp.Or(reason(a), "The user has skipped the question.")}, nil
	}
	return fleet.Answer{Text: cmp.Or(reason(a), "Denied.")}, nil
}

// reason returns the reason of a denial.
func reason(a Answer) string {
	text := strings.Trim(a.Reason, " ,\t")
	const word = "because "
	if len(text) > len(word) && strings.EqualFold(text[:len(word)], word) {
		return strings.TrimSpace(text[len(word):])
	}
	return text
}

// updates returns the changes that the answer "always" makes.
func (q *Question) updates(a Answer) ([]permission.Update, error) {
	switch {
	case len(q.Always) == 0:
		return nil, errors.New("this call can only be allowed once")
	case len(a.Changes) == 0:
		return nil, errors.New("no change is selected")
	case a.Rule != "" && q.Rule == "":
		return nil, errors.New("the rule can't be narrowed")
	}
	updates := make([]permission.Update, len(a.Changes))
	for n, i := range a.Changes {
		if !slices.ContainsFunc(q.Always, func(c Change) bool { return c.Index == i }) {
			return nil, errors.New("the question does not offer this change")
		}
		updates[n] = q.req.Suggestions[i]
		if i == 0 && a.Rule != "" && a.Rule != q.Rule {
			rule, err := narrowed(a.Rule, updates[n].Rules[0])
			if err != nil {
				return nil, err
			}
			updates[n].Rules = []permission.Rule{rule}
		}
	}
	return updates, nil
}

// chosen returns the answers to the agent's own questions.
func (q *Question) chosen(a Answer) (*clew.QuestionResult, error) {
	if len(a.Chosen) != len(q.Choices) {
		return nil, fmt.Errorf("there are %d questions and %d answers", len(q.Choices), len(a.Chosen))
	}
	result := &clew.QuestionResult{Answers: map[string][]string{}}
	for i, words := range a.Chosen {
		c := &q.Choices[i]
		if len(words) > 1 && !c.MultiSelect || len(words) > len(c.Options)+1 {
			return nil, fmt.Errorf("question %d has too many answers", i+1)
		}
		for _, w := range words {
			isLabel := slices.ContainsFunc(c.Options, func(o clew.QuestionOption) bool { return o.Label == w })
			if !isLabel {
				w = strings.TrimSpace(w)
			}
			if w != "" {
				result.Answers[c.Question] = append(result.Answers[c.Question], w)
			}
		}
	}
	if len(result.Answers) == 0 {
		return nil, errors.New("no question has an answer")
	}
	return result, nil
}
