package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// A Fleet submits jobs, shows them, and decides about them. Its methods may be called from several
// goroutines.
type Fleet struct {
	engine Engine
	by     string

	mu       sync.Mutex
	identity *string // whom the server authenticated, once it is known
}

// Open returns the fleet whose records an engine keeps. Decisions are made in the name of by, such
// as the names of a user and a machine.
func Open(e Engine, by string) *Fleet { return &Fleet{engine: e, by: by} }

// maxTries is the maximum number of times that a request with an unknown outcome is sent.
const maxTries = 4

// Submit submits a job. When it returns without an error, the job is there. A spec with a Key that was
// submitted before returns the job that is there, whatever else the spec says.
func (f *Fleet) Submit(ctx context.Context, spec *Spec) (*Job, error) {
	if err := spec.Check(); err != nil {
		return nil, fmt.Errorf("fleet: the job can't be submitted: %w", err)
	}
	user, err := f.user(ctx)
	if err != nil {
		return nil, err
	}
	j := newJob(idOf(spec), spec, f.by, now())
	j.User = user
	return f.create(ctx, j)
}

// create writes the record of a new job.
func (f *Fleet) create(ctx context.Context, j *Job) (*Job, error) {
	r, err := j.record(0)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		_, err = f.engine.Set(ctx, Jobs, r)
		if err == nil {
			return j, nil
		}
		there, _, failure := f.get(ctx, j.ID)
		if failure == nil {
			return there, sameJob(j, there)
		}
		if try == maxTries || ctx.Err() != nil {
			return nil, fmt.Errorf("fleet: the job could not be submitted: %w", err)
		}
	}
}

// sameJob checks that the job that has the ID of a new one is that one, from an earlier submit.
func sameJob(j, there *Job) error {
	if j.Spec.Key != there.Spec.Key || j.Spec.queue() != there.Spec.queue() {
		return fmt.Errorf("fleet: job %s already uses key %q; choose another key", there.ID, there.Spec.Key)
	}
	return nil
}

// batchSize is the number of jobs written at once.
const batchSize = 200

// SubmitAll submits jobs, many at once. It returns the submitted jobs, in the order of the specs,
// even with an error; then the others were not submitted, or have to be looked up by their keys.
func (f *Fleet) SubmitAll(ctx context.Context, specs []*Spec) ([]*Job, error) {
	for i, s := range specs {
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("fleet: job %d can't be submitted: %w", i+1, err)
		}
	}
	jobs := make([]*Job, 0, len(specs))
	for part := range slices.Chunk(specs, batchSize) {
		submitted, err := f.submitPart(ctx, part)
		jobs = append(jobs, submitted...)
		if err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

func (f *Fleet) submitPart(ctx context.Context, specs []*Spec) ([]*Job, error) {
	user, err := f.user(ctx)
	if err != nil {
		return nil, err
	}
	var records []Record
	jobs := make([]*Job, len(specs))
	isNew := make(map[string]bool)
	for i, s := range specs {
		jobs[i] = newJob(idOf(s), s, f.by, now())
		jobs[i].User = user
		if isNew[jobs[i].ID] {
			continue // the same key twice
		}
		isNew[jobs[i].ID] = true
		r, err := jobs[i].record(0)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if _, err := f.engine.Set(ctx, Jobs, records...); err == nil {
		return jobs, nil
	}
	for i, j := range jobs { // one is there already, or it is not known: each by itself
		there, err := f.create(ctx, j)
		if err != nil {
			return jobs[:i], err
		}
		jobs[i] = there
	}
	return jobs, nil
}

// ErrAmbiguous is wrapped by the error for an ID prefix that several jobs share.
var ErrAmbiguous = errors.New("give more of the ID")

// Job returns the record of a job. The ID can be a prefix that only one job has; otherwise the
// error wraps [ErrAmbiguous].
func (f *Fleet) Job(ctx context.Context, id string) (*Job, error) {
	j, _, err := f.get(ctx, id)
	if !errors.Is(err, ErrNotFound) {
		return j, err
	}
	full, err := f.complete(ctx, id)
	if err != nil {
		return nil, err
	}
	j, _, err = f.get(ctx, full)
	return j, err
}

// complete returns the only ID with a prefix.
func (f *Fleet) complete(ctx context.Context, prefix string) (id string, err error) {
	if prefix == "" {
		return "", fmt.Errorf("fleet: the ID of the job is empty: %w", ErrNotFound)
	}
	for s, err := range f.Changes(ctx) { // records that can't be read are no error of it
		if err != nil {
			return "", fmt.Errorf("fleet: the list of jobs: %w", err)
		}
		if s == nil {
			break
		}
		if !strings.HasPrefix(s.ID, prefix) || s.State == "" {
			continue
		}
		if id != "" && id != s.ID { // a job that changes meanwhile comes twice
			return "", fmt.Errorf("fleet: several jobs have IDs that begin with %s, such as %s and %s: %w", prefix, id, s.ID, ErrAmbiguous)
		}
		id = s.ID
	}
	if err := ctx.Err(); err != nil { // the list may end with it
		return "", fmt.Errorf("fleet: the list of jobs: %w", err)
	}
	if id == "" {
		return "", fmt.Errorf("fleet: there is no job %s: %w", prefix, ErrNotFound)
	}
	return id, nil
}

// Jobs returns summaries of all jobs, in no order. One whose record can't be read is [Damaged].
func (f *Fleet) Jobs(ctx context.Context) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		for r, err := range f.engine.List(ctx, Jobs, "", func(string) bool { return false }) {
			if err != nil {
				yield(nil, fmt.Errorf("fleet: the list of jobs: %w", err))
				return
			}
			if !yield(summaryOf(r.Key, r.Label), nil) {
				return
			}
		}
	}
}

// Changes returns summaries of all jobs, then nil, and then one for each change. A removed job has
// no State, and a job whose record can't be read is [Damaged].
func (f *Fleet) Changes(ctx context.Context) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		for r, err := range f.engine.Watch(ctx, Jobs, "", func(string) bool { return false }) {
			var s *Summary
			switch {
			case err != nil:
			case r.Key == "":
			case r.Revision == 0:
				s = &Summary{ID: r.Key}
			default:
				s = summaryOf(r.Key, r.Label)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// History returns the record of a job after each change, the oldest first.
func (f *Fleet) History(ctx context.Context, id string) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		for r, err := range f.engine.History(ctx, Jobs, id) {
			var j *Job
			if err == nil {
				j, err = jobOf(r)
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// Wait waits until a job ends, and returns it.
func (f *Fleet) Wait(ctx context.Context, id string) (*Job, error) {
	j, err := f.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	id = j.ID
	for ctx.Err() == nil {
		for j, err := range f.watchJob(ctx, id) {
			if _, ok := errors.AsType[*UnreadableError](err); ok {
				return nil, err
			}
			if err != nil {
				break // the engine may come back
			}
			if j == nil {
				return nil, fmt.Errorf("fleet: there is no job %s: %w", id, ErrNotFound)
			}
			if j.State.Ended() {
				return j, nil
			}
		}
		_ = pause.For(ctx, time.Second)
	}
	return nil, context.Cause(ctx)
}

// watchJob returns a job and each change of it, and nil if it is not there.
func (f *Fleet) watchJob(ctx context.Context, id string) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		there := false
		for r, err := range f.engine.Watch(ctx, Jobs, id, nil) {
			var j *Job
			switch {
			case err != nil:
			case r.Key == "" && there:
				continue
			case r.Key == "":
			case r.Revision == 0:
			default:
				there = true
				if j, err = jobOf(r); err != nil {
					err = &UnreadableError{[]error{err}}
				}
			}
			if !yield(j, err) || err != nil || j == nil {
				return
			}
		}
	}
}

// Cancel cancels a job. One that a worker holds is ended by the worker, or when its lease is over.
func (f *Fleet) Cancel(ctx context.Context, id, why string) (*Job, error) {
	return f.decide(ctx, id, Decision{What: "cancel", Why: why}, func(user string) Event { return Cancel{f.by, user, why} })
}

// Requeue continues a lost or failed job.
func (f *Fleet) Requeue(ctx context.Context, id string, e Requeue) (*Job, error) {
	d := Decision{What: "resume", Why: e.Why, MaxTurns: e.MaxTurns}
	if e.Start == Fresh {
		d.What = "retry"
	}
	if e.BudgetUSD > 0 {
		d.BudgetUSD = &e.BudgetUSD
	}
	return f.decide(ctx, id, d, func(user string) Event {
		e.By, e.User = f.by, user
		return e
	})
}

// decide lets an event happen to a job whose ID may be shortened.
func (f *Fleet) decide(ctx context.Context, id string, d Decision, event func(user string) Event) (next *Job, err error) {
	j, err := f.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	d.Job = j.ID
	err = f.deciding(ctx, d, func(user string) error {
		next, err = f.change(ctx, j.ID, event(user))
		return err
	})
	return next, err
}

// Drop removes an ended job with everything that belongs to it but its session and the decisions about it. It also
// removes a job whose record can't be read.
func (f *Fleet) Drop(ctx context.Context, id string) error {
	return f.dropWith(ctx, id, func(id string, drop func() error) error {
		return f.deciding(ctx, Decision{What: "drop", Job: id}, func(string) error { return drop() })
	})
}

// dropWith removes an ended job by a function that gets its whole ID.
func (f *Fleet) dropWith(ctx context.Context, id string, do func(id string, drop func() error) error) error {
	if err := checkName("the job", id); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	r, err := read(ctx, f.engine, Jobs, id)
	if err == nil && r.Revision == 0 || id == "" {
		if id, err = f.complete(ctx, id); err != nil {
			return err
		}
		r, err = read(ctx, f.engine, Jobs, id)
	}
	switch {
	case err != nil:
		return fmt.Errorf("fleet: job %s: %w", id, err)
	case r.Revision == 0:
		return fmt.Errorf("fleet: job %s: %w", id, ErrNotFound)
	}
	if j, err := jobOf(r); err == nil && !j.State.Ended() {
		return &StateError{j.ID, j.State, "dropped", "cancel it first"}
	}
	return do(id, func() error { return f.drop(ctx, id, r.Revision) })
}

func (f *Fleet) drop(ctx context.Context, id string, revision uint64) error {
	if err := f.engine.Remove(ctx, Jobs, id, revision); err != nil {
		return fmt.Errorf("fleet: job %s: %w", id, err)
	}
	if err := f.engine.Delete(ctx, id+"/"); err != nil {
		return fmt.Errorf("fleet: the files of job %s: %w", id, err)
	}
	for r, err := range f.engine.List(ctx, Questions, id, func(string) bool { return false }) {
		if err == nil {
			err = f.remove(ctx, Questions, r)
		}
		if err != nil {
			return fmt.Errorf("fleet: the questions of job %s: %w", id, err)
		}
	}
	return nil
}

// remove removes a record, even if it changed meanwhile: a worker may just have closed a question.
func (f *Fleet) remove(ctx context.Context, t Table, r Record) error {
	for try := 1; ; try++ {
		err := f.engine.Remove(ctx, t, r.Key, r.Revision)
		if !errors.Is(err, ErrConflict) || try == maxTries {
			return err
		}
		if r, err = read(ctx, f.engine, t, r.Key); err != nil || r.Revision == 0 {
			return err
		}
	}
}

// File returns a file that a record names, such as a patch.
func (f *Fleet) File(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := f.engine.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("fleet: the file %s: %w", name, err)
	}
	return r, nil
}

// read reads a record as Get does, but a damaged record comes without data, and a missing one is a
// zero record. So an unreadable record differs from an engine that does not answer.
func read(ctx context.Context, e Engine, t Table, key string) (Record, error) {
	r, err := e.Get(ctx, t, key)
	if err == nil || errors.Is(err, ErrNotFound) {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	next, stop := iter.Pull2(e.Watch(ctx, t, key, nil))
	defer stop()
	r, failure, ok := next()
	if failure != nil || !ok || r.Key != "" && r.Key != key {
		return Record{}, err
	}
	return r, nil
}

// readTime is the timeout for reading a record that Get did not return.
const readTime = 10 * time.Second

// get reads the record of a job.
func (f *Fleet) get(ctx context.Context, id string) (*Job, uint64, error) {
	if err := checkName("the job", id); err != nil {
		return nil, 0, fmt.Errorf("fleet: %w", err)
	}
	r, err := f.engine.Get(ctx, Jobs, id)
	if err != nil {
		return nil, 0, fmt.Errorf("fleet: job %s: %w", id, err)
	}
	j, err := jobOf(r)
	return j, r.Revision, err
}

// change applies an event to a job. It reads the record again until the write replaces the revision
// it read.
func (f *Fleet) change(ctx context.Context, id string, e Event) (*Job, error) {
	unknown := 0
	for tried := (time.Time{}); ; {
		j, revision, err := f.get(ctx, id)
		if err != nil {
			return nil, err
		}
		if !tried.IsZero() && happened(e, j, tried, unknown > 0) {
			return j, nil // the write before this read succeeded
		}
		tried = now()
		next, err := j.Apply(e, tried)
		if err != nil {
			return nil, err
		}
		r, err := next.record(revision)
		if err != nil {
			return nil, err
		}
		_, err = f.engine.Set(ctx, Jobs, r)
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, ErrConflict) {
			unknown++
		}
		if unknown == maxTries || ctx.Err() != nil {
			return nil, fmt.Errorf("fleet: job %s could not be %s: %w", id, e.name(), err)
		}
	}
}

// happened reports whether an event of a worker is in the record: a failed write may be stored all
// the same. A refused write is known by its time. If the outcome of an earlier write is not known,
// any time will do.
func happened(e Event, j *Job, tried time.Time, unknown bool) bool {
	ended := func(number int, cause Cause) bool {
		if number > len(j.Attempts) {
			return false
		}
		a := &j.Attempts[number-1]
		return !a.Ended.IsZero() && a.Cause == cause && (unknown || a.Ended.Equal(tried))
	}
	switch e := e.(type) {
	case Cancel:
		return j.Cancel != nil && j.Cancel.By == e.By && j.Cancel.Text == cut(e.Why, maxText)
	case Claim:
		return j.State == Claimed && j.Attempt().Worker == e.Worker
	case Begin:
		return e.Attempt <= len(j.Attempts) && j.Attempts[e.Attempt-1].Prompt == e.Prompt
	case Release:
		return ended(e.Attempt, e.Cause)
	case Finish:
		return ended(e.Attempt, e.Cause)
	case Pause:
		return ended(e.Attempt, e.Cause)
	case Park:
		return ended(e.Attempt, ByQuestion)
	case Lose:
		return ended(e.Attempt, e.Cause)
	}
	return false
}

// record returns the job as a record that replaces one with a revision.
func (j *Job) record(revision uint64) (Record, error) {
	data, err := json.Marshal(j)
	if err == nil && len(data) > MaxRecord {
		err = fmt.Errorf("it has %d bytes", len(data))
	}
	if err != nil {
		return Record{}, fmt.Errorf("fleet: the record of job %s: %w", j.ID, err)
	}
	return Record{Key: j.ID, Revision: revision, Label: j.Summary().Label(), Data: data}, nil
}

// jobOf reads a record.
func jobOf(r Record) (*Job, error) {
	j := new(Job)
	if err := json.Unmarshal(r.Data, j); err != nil {
		return nil, fmt.Errorf("fleet: the record of job %s, revision %d, can't be read, and the job can only be dropped: %w", r.Key, r.Revision, err)
	}
	isWrong := func(a Attempt) bool {
		return a.Number < 1 || a.Number > len(j.Attempts) || j.Attempts[a.Number-1].Worker != a.Worker
	}
	if j.From != nil && (j.From.Attempt < 1 || j.From.Attempt > len(j.Attempts)) || slices.ContainsFunc(j.Attempts, isWrong) || j.ID != r.Key || !slices.Contains(States, j.State) || (j.State.Held() && len(j.Attempts) == 0) {
		return nil, fmt.Errorf("fleet: the record of job %s, revision %d, is damaged, and the job can only be dropped", r.Key, r.Revision)
	}
	return j, nil
}

var idEncoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// idLength is the number of characters of an ID.
const idLength = 12

// newID returns a random ID.
func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return idEncoding.EncodeToString(b[:])[:idLength]
}

// idOf returns the ID of a job: a random one, or one derived from its key.
func idOf(s *Spec) string {
	if s.Key == "" {
		return newID()
	}
	sum := sha256.Sum256([]byte(s.queue() + "\x00" + s.Key))
	return idEncoding.EncodeToString(sum[:])[:idLength]
}

// now is the time as records have it.
func now() time.Time { return time.Now().UTC().Round(time.Millisecond) }
