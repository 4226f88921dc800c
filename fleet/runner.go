package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A Runner runs the agents of a worker. Package agents has a runner that drives Claude Code.
type Runner interface {
	// Ready returns the reason why this worker can run no job at all, such as a full disk or a
	// missing agent. A worker asks every few seconds, and takes no job until the answer is nil.
	Ready(ctx context.Context) error
	// Check returns the reason why this worker does not take a job, such as a request that its
	// policy does not allow. The job fails if no worker takes it for a while. With an error that
	// wraps [ErrAccount] it waits instead. Check is called often.
	Check(j *Job) error
	// Prepare makes ready what an attempt needs, such as a directory and an agent. It sends no prompt.
	// An error that wraps [ErrNotReady] is about the worker, and one that wraps [ErrAccount] about the
	// account: the job is queued again. Another one is about the job: it waits and is tried again, and
	// fails after ten such errors in a row; with [ErrBudget] at once. The context ends after
	// [WorkerOptions].PrepareTimeout, and also when Prepare returned.
	Prepare(ctx context.Context, t *Task) (Run, error)
	// Look returns the stored traces of the last attempt of a job whose worker is gone.
	Look(ctx context.Context, j *Job) (*Traces, error)
}

// A Run is an attempt that is ready to start.
type Run interface {
	// IDs returns the IDs that the record has before the prompt is sent.
	IDs() (session, prompt, base string)
	// Do sends the prompt, and returns the end of the attempt: a [Finish], [Pause], [Park] or
	// [Lose], without an owner. When the context ends, it ends the agent; [context.Cause] is
	// [ErrCanceled], [ErrLease] or [ErrShutdown]. The session, the patch and the like of a Finish
	// are stored when it returns.
	Do(ctx context.Context) Event
	// Close removes everything that Prepare made. It is called once, after Do or without it.
	Close()
}

// Traces are the stored remains of an attempt.
type Traces struct {
	Stored   bool    // the session has the prompt
	Finished *Result // of a finished turn, or nil
	CostUSD  float64 // so far
}

// ErrNotReady reports that a worker can run no job at all.
var ErrNotReady = errors.New("the worker can run no jobs")

// ErrAccount reports that a worker can't run the jobs of an account, for example without credentials for it.
var ErrAccount = errors.New("the account can't be used")

// ErrBudget reports that the budget of a job was used up before an attempt started.
var ErrBudget = errors.New("the budget of the job is used up")

// Why an attempt is ended from outside.
var (
	ErrCanceled = errors.New("the job was canceled")
	ErrLease    = errors.New("the worker could not renew its lease")
	ErrShutdown = errors.New("the worker is told to stop")
)

// A Task is an attempt, as its runner sees it.
type Task struct {
	Job    *Job // as it was when the attempt was claimed
	Number int  // of the attempt

	worker *Worker
	lease  *lease
}

// Owner is the worker of the attempt.
func (t *Task) Owner() Owner { return Owner{t.lease.id, t.Number} }

// Report records the progress of the attempt. Zero fields change nothing.
func (t *Task) Report(ctx context.Context, r Report) error {
	r.Owner = t.Owner()
	_, err := t.worker.fleet.change(ctx, t.Job.ID, r)
	return err
}

// Publish sends a frame of the agent to the watchers of the job. It may be lost.
func (t *Task) Publish(ctx context.Context, frame []byte) error {
	return t.worker.fleet.engine.Publish(ctx, liveSubject(t.Job.ID), joinFrame(t.Number, frame))
}

// Put stores a file of the attempt, and returns the name that records have for it.
func (t *Task) Put(ctx context.Context, name string, r io.Reader) (string, error) {
	name = fmt.Sprintf("%s/%d/%s", t.Job.ID, t.Number, name)
	if err := t.worker.fleet.engine.Put(ctx, name, r); err != nil {
		return "", err // a record must not name what is not there
	}
	return name, nil
}

// Open returns a file that a record names.
func (t *Task) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return t.worker.fleet.File(ctx, name)
}

// MayAct waits until the worker is sure of its lease. A tool of the agent must not start before.
// The error is the context's.
func (t *Task) MayAct(ctx context.Context) error { return t.lease.wait(ctx) }

// Ask writes a question and waits for its answer. After the park time of the job, it returns
// [ErrParked] if mayPark is set: then the agent is to be ended with a [Park]. A question that
// nobody answers in time gets an expired answer.
func (t *Task) Ask(ctx context.Context, q *Question, mayPark bool) (*Answer, error) {
	ask := t.Job.Spec.Ask
	if ask == nil {
		return &Answer{By: "policy", Text: "Nobody is there to be asked. Go on without it, or stop and say what you need."}, nil
	}
	q.Job, q.Attempt, q.Asked = t.Job.ID, t.Number, now()
	if q.ID == "" {
		q.ID = newID()
	}
	q.Until = q.Asked.Add(orDefault(ask.Wait, defaultWait))
	if err := t.worker.fleet.ask(ctx, q); err != nil {
		return nil, err
	}
	park := orDefault(ask.Park, defaultPark)
	if park < 0 || !mayPark {
		park = 0
	}
	return t.worker.await(ctx, q, park)
}

// ErrParked reports that a question has no answer yet, and that the agent is to be ended until it
// has.
var ErrParked = errors.New("the question has no answer yet")

// The times of questions.
const (
	defaultWait = 24 * time.Hour
	defaultPark = 10 * time.Minute
	maxWait     = 30 * 24 * time.Hour
)

func orDefault(d Duration, or time.Duration) time.Duration {
	if d == 0 {
		return or
	}
	return time.Duration(d)
}

func liveSubject(job string) string { return "live." + job }

// joinFrame and splitFrame write and read the message of a frame: the number of the attempt, a line break,
// the frame.
func joinFrame(attempt int, frame []byte) []byte {
	return append(strconv.AppendInt(nil, int64(attempt), 10), append([]byte{'\n'}, frame...)...)
}

func splitFrame(message []byte) (attempt int, frame []byte, ok bool) {
	head, frame, ok := bytes.Cut(message, []byte{'\n'})
	attempt, err := strconv.Atoi(string(head))
	return attempt, frame, ok && err == nil
}
