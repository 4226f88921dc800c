package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

// A Question is something that an agent waits for: the permission to use a tool, or the answers to
// its own questions. It never changes, except for one answer.
type Question struct {
	Job     string `json:"job"`
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
	// Tool is the tool that the agent wants to use, "AskUserQuestion" for its own questions.
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Call is the ID of the call in the transcript, and Subagent the ID of the subagent, or "".
	Call     string    `json:"call,omitempty"`
	Subagent string    `json:"subagent,omitempty"`
	Reason   string    `json:"reason,omitempty"` // why the agent has to ask
	Asked    time.Time `json:"asked"`
	Until    time.Time `json:"until"` // when it is over without an answer
	Answer   *Answer   `json:"answer,omitempty"`
}

// An Answer is a decision about a question. The first one counts.
type Answer struct {
	At    time.Time `json:"at"`
	By    string    `json:"by"`
	User  string    `json:"user,omitempty"` // as the server authenticated it: see [Decision]
	Allow bool      `json:"allow"`
	// Text is the message for the agent when Allow is false.
	Text string `json:"text,omitempty"`
	// Answers are the answers to the agent's own questions, by question.
	Answers map[string]string `json:"answers,omitempty"`
	// Expired reports that nobody answered in time, which is not a refusal.
	Expired bool `json:"expired,omitempty"`
}

// ErrAnswered is wrapped by the error for an answer that came too late.
var ErrAnswered = errors.New("the question was answered already")

// openLabel is the label of questions without an answer.
const openLabel = "open"

func (q *Question) key() string { return q.Job + "." + q.ID }

func (q *Question) record(revision uint64) (Record, error) {
	data, err := json.Marshal(q)
	if err == nil && len(data) > MaxRecord {
		err = fmt.Errorf("it has %d bytes", len(data))
	}
	label := openLabel
	if q.Answer != nil {
		label = "answered"
	}
	return Record{Key: q.key(), Revision: revision, Label: label, Data: data}, err
}

// errUnreadable is wrapped by the error for a question that can't be read.
var errUnreadable = errors.New("the question can't be read")

// question reads a question, and returns its revision, even if it can't be read.
func (f *Fleet) question(ctx context.Context, key string) (*Question, uint64, error) {
	r, err := read(ctx, f.engine, Questions, key)
	if err == nil && r.Revision == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("fleet: the question %s: %w", key, err)
	}
	q, err := questionOf(r)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return q, r.Revision, err
}

func questionOf(r Record) (*Question, error) {
	q := new(Question)
	if err := json.Unmarshal(r.Data, q); err != nil {
		return nil, fmt.Errorf("fleet: the question %s, revision %d: %w", r.Key, r.Revision, err)
	}
	return q, nil
}

// Questions returns a job's questions, or all open questions if the ID is "". Records that
// can't be read don't keep others from being returned: an [*UnreadableError] comes after them.
func (f *Fleet) Questions(ctx context.Context, job string) iter.Seq2[*Question, error] {
	return func(yield func(*Question, error) bool) {
		var faults []error
		wants := func(label string) bool { return job != "" || label == openLabel }
		for r, err := range f.engine.List(ctx, Questions, job, wants) {
			if err != nil {
				yield(nil, fmt.Errorf("fleet: the questions: %w", err))
				return
			}
			if !wants(r.Label) {
				continue
			}
			q, err := questionOf(r)
			if err != nil {
				faults = append(faults, err)
			} else if !yield(q, nil) {
				return
			}
		}
		if len(faults) > 0 {
			yield(nil, &UnreadableError{faults})
		}
	}
}

// An UnreadableError reports records that can't be read. It comes after all readable records.
type UnreadableError struct {
	Faults []error // one for each of the records
}

// maxFaults is the maximum number of unreadable records that an error names.
const maxFaults = 10

func (e *UnreadableError) Error() string {
	return errors.Join(e.Faults[:min(len(e.Faults), maxFaults)]...).Error()
}

func (e *UnreadableError) Unwrap() []error { return e.Faults }

// A QuestionChange reports whether a question waits for an answer.
type QuestionChange struct {
	Job, ID string
	Open    bool // otherwise it has an answer, or was removed
}

// QuestionChanges returns all questions there are, then nil, and then one for each change.
func (f *Fleet) QuestionChanges(ctx context.Context) iter.Seq2[*QuestionChange, error] {
	return func(yield func(*QuestionChange, error) bool) {
		for r, err := range f.engine.Watch(ctx, Questions, "", func(string) bool { return false }) {
			var q *QuestionChange
			if err == nil && r.Key != "" {
				job, id, _ := strings.Cut(r.Key, ".")
				q = &QuestionChange{Job: job, ID: id, Open: r.Label == openLabel}
			}
			if !yield(q, err) || err != nil {
				return
			}
		}
	}
}

// Answer answers a question. If it has an answer already, the error wraps [ErrAnswered].
func (f *Fleet) Answer(ctx context.Context, job, id string, a Answer) (*Question, error) {
	key := job + "." + id
	is, _, err := f.question(ctx, key)
	if err != nil {
		return nil, err
	}
	d := Decision{What: "answer", Job: job, Question: id, Tool: is.Tool, Allow: &a.Allow, Why: a.Text}
	err = f.deciding(ctx, d, func(user string) error {
		a.At, a.By, a.User, a.Expired = now(), f.by, user, false
		is, err = f.answer(ctx, key, &a)
		return err
	})
	return is, err
}

func (f *Fleet) answer(ctx context.Context, key string, a *Answer) (*Question, error) {
	for try := 1; ; try++ {
		q, revision, err := f.question(ctx, key)
		if err != nil {
			return nil, err
		}
		if q.Answer != nil {
			if try > 1 && q.Answer.By == a.By && q.Answer.At.Equal(a.At) {
				return q, nil // the write before this read succeeded
			}
			return q, fmt.Errorf("fleet: %w, by %s", ErrAnswered, q.Answer.By)
		}
		q.Answer = a
		r, err := q.record(revision)
		if err != nil {
			return nil, err
		}
		if _, err = f.engine.Set(ctx, Questions, r); err == nil {
			return q, nil
		}
		if try == maxTries || ctx.Err() != nil {
			return nil, fmt.Errorf("fleet: the question %s: %w", key, err)
		}
	}
}

// ask writes a question, unless it is there already: an agent that was ended while it waited repeats it.
func (f *Fleet) ask(ctx context.Context, q *Question) error {
	r, err := q.record(0)
	if err != nil {
		return fmt.Errorf("fleet: the question: %w", err)
	}
	for try := 1; ; try++ {
		if _, err = f.engine.Set(ctx, Questions, r); err == nil {
			return nil
		}
		if _, failure := f.engine.Get(ctx, Questions, r.Key); failure == nil {
			return nil
		}
		if try == maxTries || ctx.Err() != nil {
			return fmt.Errorf("fleet: the question could not be written: %w", err)
		}
	}
}
