package jobview

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/clewdev/clew/fleet"
)

// An Asker has job questions, such as a [*fleet.Fleet].
type Asker interface {
	Questions(ctx context.Context, job string) iter.Seq2[*fleet.Question, error]
}

// Questions returns a job's questions, the oldest first. If some can't be read, the remark
// reports it; it is not clean.
func Questions(ctx context.Context, f Asker, job string) (all []*fleet.Question, remark string, err error) {
	for q, err := range f.Questions(ctx, job) {
		if _, ok := errors.AsType[*fleet.UnreadableError](err); ok {
			remark = "not all questions can be read: " + strings.ReplaceAll(err.Error(), "\n", "; ")
			break
		}
		if err != nil {
			return nil, "", err
		}
		all = append(all, q)
	}
	slices.SortStableFunc(all, func(a, b *fleet.Question) int { return a.Asked.Compare(b.Asked) })
	return all, remark, nil
}

// Open returns the questions that the agent of a job waits for.
func Open(j *fleet.Job, questions []*fleet.Question) []*fleet.Question {
	if j.State.Ended() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(questions), func(q *fleet.Question) bool { return q.Answer != nil })
}

// Answerer names the person who gave an answer, as [Who] does, or returns "" if nobody did.
func Answerer(a *fleet.Answer) string {
	if a.Expired {
		return ""
	}
	return Who(a.User, a.By)
}

// AnsweredBy describes an answer that somebody gave first.
func AnsweredBy(a *fleet.Answer) string {
	if by := Answerer(a); by != "" {
		return "it was answered by " + by + ": " + AnswerText(a)
	}
	return AnswerText(a)
}

// AnswerText describes an answer.
func AnswerText(a *fleet.Answer) string {
	switch {
	case a.Expired:
		return "nobody has answered in time"
	case len(a.Answers) > 0:
		return "answered"
	case a.Allow:
		return "allowed"
	}
	return "denied"
}
