package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/clip"
)

// ErrStale is wrapped by the errors of events about an attempt that is not the current one: the
// worker lost the job.
var ErrStale = errors.New("the job was taken away from this worker")

// A StateError reports an event that can't happen to a job in its state.
type StateError struct {
	Job   string
	State State
	Event string // what was to happen
	Why   string // if the state alone does not say it
}

func (e *StateError) Error() string {
	text := fmt.Sprintf("fleet: job %s is %s and can't be %s", e.Job, e.State, e.Event)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// An Event is something that happens to a job. It is one of [Unblock], [Claim], [Refuse], [Begin],
// [Release], [Report], [Finish], [Pause], [Wake], [Park], [Answered], [Lose], [Requeue], [Cancel] and
// [Late].
type Event interface {
	// name returns the event as a participle, such as "claimed".
	name() string
	apply(j *Job, at time.Time) error
}

// Apply returns the job after an event. The job itself does not change. An error is a [*StateError], or
// wraps [ErrStale].
func (j *Job) Apply(e Event, at time.Time) (*Job, error) {
	next := j.clone()
	if err := e.apply(next, at); err != nil {
		return nil, err
	}
	next.Changed = at
	return next, nil
}

// Unblock records that the jobs that must be done first ended.
type Unblock struct {
	// Failed is one of them that was not done, or "".
	Failed string
}

// Claim gives the job to a worker, which prepares an attempt.
type Claim struct{ Worker string }

// Refuse records that no live worker takes the queued job, and why. The job waits before it is queued
// again, longer each time, like after a [Release] by a worker.
type Refuse struct{ Text string }

// An Owner names the attempt that an event is about, and its worker.
type Owner struct {
	Worker  string
	Attempt int
}

// Begin records that the worker is about to send the prompt. The worker sends it only after the
// record has this event.
type Begin struct {
	Owner
	Session, Prompt string
	Base            string // the commit of the repository, if there is one
}

// Release gives a job back whose prompt was not sent: its worker is gone (ByLoss), is stopping
// (ByShutdown), can run no job at all or none of the account (ByMachine), or could not prepare this one (ByWorker). After
// ByWorker the job waits before it is queued, longer each time. With ByBudget no worker can, and
// the job fails.
type Release struct {
	Attempt int
	Cause   Cause
	Text    string
}

// Report describes the progress of the attempt. Zero fields change nothing.
type Report struct {
	Owner
	Status   string
	Text     string // why the attempt continues, such as work that can't be stored yet
	Snapshot string
	Restored string // what became of the files of the attempt that this one continues
	CostUSD  float64
}

// Finish records the end of the agent. Cause is ByResult if the agent ended with its result.
type Finish struct {
	Owner
	Cause   Cause
	Text    string
	Result  Result
	Stored  bool // whether the session can be continued
	CostUSD float64
	Patch   string
	Pushed  string // the commit that was pushed to the branch of the spec, or ""
}

// Pause ends the attempt and lets the next one start only at a later time: a limit of the account
// (ByLimit), too many requests (ByThrottling), or credentials that were refused (ByAccount). Stored
// reports that the stored session has the prompt, so that it can be continued, and Progress that
// the agent did something since the last pause.
type Pause struct {
	Owner
	Cause            Cause
	Text             string
	Until            time.Time
	Stored, Progress bool
	CostUSD          float64
}

// The bounds of a job, after which it fails.
const (
	maxPauses   = 20             // in a row
	maxPaused   = 24 * time.Hour // in a row
	maxReleases = 10             // in a row
	maxAttempts = 100            // in all
	maxNotes    = 40             // older ones go
	maxText     = 1 << 10        // of causes and notes, in bytes
	maxOld      = 100            // of texts of attempts before the last ones
)

// MaxResult is the maximum size of a result text in a record, in bytes. A runner stores the rest in
// a file.
const MaxResult = 4 << 10

// Wake ends the wait of a job at its time.
type Wake struct{}

// Park records that the agent waits for the answer to a question, and was ended until it comes.
type Park struct {
	Owner
	Question string
	CostUSD  float64
}

// Answered records that the question of a waiting job has an answer, or gets none.
type Answered struct{ Question string }

// Lose records that the worker is gone (ByLoss), that the agent ended without a result (ByExit), or
// that the worker ended it (ByShutdown): its progress is not known. A finished turn in the
// transcript is the end of the job; else its policy decides.
type Lose struct {
	Attempt int
	Cause   Cause
	Text    string
	// Stored reports that the stored session has the prompt, so that it can be continued, and Saved
	// that the snapshot has all files of the agent, as it left them.
	Stored, Saved bool
	// Finished is the result in a finished turn of the stored session, or nil.
	Finished *Result
	CostUSD  float64 // as the transcript says; 0 means that it is not known
}

// Requeue is a person's decision to continue a lost or failed job.
type Requeue struct {
	By, User, Why string // see [Note]
	Start         Start
	// BudgetUSD is the new budget of the job, and MaxTurns how many turns each attempt has from now on; 0
	// leaves them.
	BudgetUSD float64
	MaxTurns  int
}

// Cancel is the wish of a person to end a job. A worker that holds it ends it.
type Cancel struct{ By, User, Why string }

// Late records a result of an attempt that no longer counts. It is kept as a note, and its patch
// with the attempt.
type Late struct {
	Owner
	Result Result
	Patch  string
}

func (Unblock) name() string  { return "unblocked" }
func (Claim) name() string    { return "claimed" }
func (Refuse) name() string   { return "refused" }
func (Begin) name() string    { return "begun" }
func (Release) name() string  { return "released" }
func (Report) name() string   { return "reported on" }
func (Finish) name() string   { return "finished" }
func (Pause) name() string    { return "paused" }
func (Wake) name() string     { return "woken" }
func (Park) name() string     { return "parked" }
func (Answered) name() string { return "answered" }
func (Lose) name() string     { return "lost" }
func (Requeue) name() string  { return "requeued" }
func (Cancel) name() string   { return "canceled" }
func (Late) name() string     { return "noted" }

// only returns an error unless the job is in one of some states.
func (j *Job) only(e Event, states ...State) error {
	if slices.Contains(states, j.State) {
		return nil
	}
	return j.refuse(e, "")
}

func (j *Job) refuse(e Event, why string) error { return &StateError{j.ID, j.State, e.name(), why} }

// own returns the open attempt that an owner has, if the job is in a state.
func (j *Job) own(e Event, o Owner, state State) (*Attempt, error) {
	a, err := j.open(e, o.Attempt, state)
	if err == nil && a.Worker != o.Worker {
		err = stale(j, o.Attempt)
	}
	return a, err
}

// open returns the attempt with a number, if it is open and the job is in a state.
func (j *Job) open(e Event, number int, state State) (*Attempt, error) {
	a := j.Attempt()
	if a == nil || a.Number != number || !a.Ended.IsZero() {
		return nil, stale(j, number)
	}
	return a, j.only(e, state)
}

func stale(j *Job, number int) error {
	return fmt.Errorf("fleet: job %s, attempt %d: %w", j.ID, number, ErrStale)
}

// move changes the state.
func (j *Job) move(to State, cause Cause, text string) {
	j.State, j.Cause, j.Text, j.Until, j.Question = to, cause, cut(text, maxText), time.Time{}, ""
}

// end ends an attempt.
func (a *Attempt) end(cause Cause, text string, costUSD float64, at time.Time) {
	a.Cause, a.Text, a.Ended = cause, cut(text, maxText), at
	if costUSD > 0 {
		a.CostUSD = costUSD
	}
}

func (j *Job) note(n Note) {
	n.Text = cut(n.Text, maxText)
	j.Notes = append(j.Notes, n)
	if more := len(j.Notes) - maxNotes; more > 0 {
		j.Notes = slices.Delete(j.Notes, 0, more)
	}
}

// keep returns the part of a result that a record has room for.
func keep(r Result) *Result {
	r.Text = cut(r.Text, MaxResult)
	if len(r.Output) > MaxResult {
		r.Output = nil // the file of the result has it
	}
	return &r
}

// isOneOf returns an error unless a cause is one of some.
func (j *Job) isOneOf(e Event, c Cause, causes ...Cause) error {
	if slices.Contains(causes, c) {
		return nil
	}
	return j.refuse(e, fmt.Sprintf("because of %q", c))
}

func (e Unblock) apply(j *Job, at time.Time) error {
	if err := j.only(e, Blocked); err != nil {
		return err
	}
	if e.Failed == "" {
		j.move(Queued, "", "")
		return nil
	}
	j.move(Failed, ByDependency, "job "+e.Failed+" was not done")
	j.note(Note{At: at, By: "policy", Text: j.Text})
	return nil
}

func (e Claim) apply(j *Job, at time.Time) error {
	if err := j.only(e, Queued); err != nil {
		return err
	}
	for i := range j.Attempts[:max(0, len(j.Attempts)-2)] { // the record stays small; its history has all
		a := &j.Attempts[i]
		a.Text, a.Status, a.Restored, a.Result = cut(a.Text, maxOld), "", cut(a.Restored, maxOld), nil
	}
	j.Attempts = append(j.Attempts, Attempt{Number: len(j.Attempts) + 1, Worker: e.Worker, Start: j.Next, Claimed: at})
	j.move(Claimed, "", "")
	return nil
}

// cut returns at most n bytes of a text, whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return clip.Marked(text, n-len("…"))
}

func (e Begin) apply(j *Job, at time.Time) error {
	a, err := j.own(e, e.Owner, Claimed)
	if err != nil {
		return err
	}
	if j.Cancel != nil {
		return j.refuse(e, "it is to be canceled")
	}
	if e.Session == "" || e.Prompt == "" {
		return j.refuse(e, "without the IDs of session and prompt")
	}
	a.Session, a.Prompt, a.Base, a.Started = e.Session, e.Prompt, e.Base, at
	if a.Start == Continued && j.From != nil {
		a.Snapshot = j.Attempts[j.From.Attempt-1].Snapshot // until it has its own
	}
	j.Releases = 0
	j.move(Running, "", "")
	return nil
}

func (e Release) apply(j *Job, at time.Time) error {
	a, err := j.open(e, e.Attempt, Claimed)
	if err != nil {
		return err
	}
	if err := j.isOneOf(e, e.Cause, ByWorker, ByLoss, ByShutdown, ByMachine, ByBudget); err != nil {
		return err
	}
	a.end(e.Cause, e.Text, 0, at)
	if e.Cause != ByShutdown && e.Cause != ByMachine {
		j.Releases++
	}
	if j.Releases >= maxReleases || e.Cause == ByBudget {
		j.fail(e.Cause, e.Text)
		return nil
	}
	j.toQueue(j.Next, e.Cause, e.Text)
	if e.Cause == ByWorker {
		j.rest(at)
	}
	return nil
}

// rest lets a queued job wait after tries in a row that did not start it.
func (j *Job) rest(at time.Time) {
	if j.State == Queued {
		j.State, j.Until = Waiting, at.Add(releasePause(j.Releases))
	}
}

func (e Refuse) apply(j *Job, at time.Time) error {
	if err := j.only(e, Queued); err != nil {
		return err
	}
	j.Releases++
	if j.Releases >= maxReleases {
		j.fail(ByPolicy, e.Text)
		return nil
	}
	j.toQueue(j.Next, ByPolicy, e.Text)
	j.rest(at)
	return nil
}

// notStarted reports whether the last try did not start the job.
func (j *Job) notStarted() bool { return j.Cause == ByWorker || j.Cause == ByPolicy }

// releasePause returns the wait of a job after tries in a row that did not start it: 1, 2, 4 … 256
// seconds.
func releasePause(releases int) time.Duration {
	return time.Second << max(0, min(releases, maxReleases)-1)
}

// fail ends the job without a result.
func (j *Job) fail(cause Cause, text string) {
	if j.Cancel != nil {
		j.move(Canceled, ByPerson, "")
		return
	}
	j.move(Failed, cause, text)
}

// toQueue queues the job, or ends it if that is wanted, or after too many attempts.
func (j *Job) toQueue(start Start, cause Cause, text string) {
	if j.Cancel != nil || len(j.Attempts) >= maxAttempts {
		j.fail(cause, text)
		return
	}
	j.Next = start
	j.move(Queued, cause, text)
}

func (e Report) apply(j *Job, _ time.Time) error {
	a, err := j.own(e, e.Owner, Running)
	if err != nil {
		return err
	}
	if e.Status != "" {
		a.Status = cut(e.Status, maxText)
	}
	if e.Text != "" {
		j.Text = cut(e.Text, maxText)
	}
	if e.Snapshot != "" {
		a.Snapshot = e.Snapshot
	}
	if e.Restored != "" {
		a.Restored = cut(e.Restored, maxText)
	}
	if e.CostUSD > 0 {
		a.CostUSD = e.CostUSD
	}
	return nil
}

func (e Finish) apply(j *Job, at time.Time) error {
	a, err := j.own(e, e.Owner, Running)
	if err != nil {
		return err
	}
	if err := j.isOneOf(e, e.Cause, ByResult, ByAgent, ByBudget, ByTurns, ByTime, ByPerson, ByAccount, ByExit, ByStorage); err != nil {
		return err
	}
	a.end(e.Cause, e.Text, e.CostUSD, at)
	a.Result, a.Patch, a.Pushed = keep(e.Result), e.Patch, e.Pushed
	if e.Stored {
		j.From = &From{a.Number, a.Session, e.Cause}
	}
	switch {
	case e.Cause == ByResult && !e.Result.Failed:
		j.move(Done, e.Cause, e.Text)
	default:
		j.fail(e.Cause, e.Text)
	}
	return nil
}

func (e Pause) apply(j *Job, at time.Time) error {
	a, err := j.own(e, e.Owner, Running)
	if err != nil {
		return err
	}
	if err := j.isOneOf(e, e.Cause, ByLimit, ByThrottling, ByAccount); err != nil {
		return err
	}
	a.end(e.Cause, e.Text, e.CostUSD, at)
	if e.Progress {
		j.progress()
	}
	j.Pauses++
	j.Paused += Duration(max(0, e.Until.Sub(at)))
	next := Continued
	if !e.Stored {
		next = Fresh
	} else {
		j.From = &From{a.Number, a.Session, e.Cause}
	}
	switch {
	case j.Cancel != nil, j.Pauses > maxPauses, j.Paused > Duration(maxPaused), len(j.Attempts) >= maxAttempts:
		j.fail(e.Cause, e.Text)
	case !e.Stored && j.Spec.OnLost != Restart:
		j.move(Lost, e.Cause, e.Text) // the agent may have started, and nothing can be continued
	default:
		j.move(Waiting, e.Cause, e.Text)
		j.Next, j.Until = next, e.Until
	}
	return nil
}

func (e Wake) apply(j *Job, at time.Time) error {
	if err := j.only(e, Waiting); err != nil {
		return err
	}
	if at.Before(j.Until) {
		return j.refuse(e, "until "+j.Until.Format(time.RFC3339))
	}
	text := ""
	if j.notStarted() {
		text = j.Text // still what there is to say
	}
	j.toQueue(j.Next, j.Cause, text)
	return nil
}

func (e Park) apply(j *Job, at time.Time) error {
	a, err := j.own(e, e.Owner, Running)
	if err != nil {
		return err
	}
	if e.Question == "" {
		return j.refuse(e, "without a question")
	}
	a.end(ByQuestion, "", e.CostUSD, at)
	j.From = &From{a.Number, a.Session, ByQuestion}
	j.Next = Continued
	j.progress()
	if j.Cancel != nil || len(j.Attempts) >= maxAttempts {
		j.fail(ByQuestion, "")
		return nil
	}
	j.move(Asking, ByQuestion, "")
	j.Question = e.Question
	return nil
}

// progress forgets the limits that the job waited for: it came further since.
func (j *Job) progress() { j.Pauses, j.Paused = 0, 0 }

func (e Answered) apply(j *Job, _ time.Time) error {
	if err := j.only(e, Asking); err != nil {
		return err
	}
	if j.Question != e.Question {
		return j.refuse(e, "it waits for another answer")
	}
	j.toQueue(j.Next, ByQuestion, "")
	return nil
}

func (e Lose) apply(j *Job, at time.Time) error {
	a, err := j.open(e, e.Attempt, Running)
	if err != nil {
		return err
	}
	if err := j.isOneOf(e, e.Cause, ByLoss, ByExit, ByShutdown); err != nil {
		return err
	}
	a.end(e.Cause, e.Text, e.CostUSD, at)
	a.Saved = e.Saved
	if e.Stored {
		j.From = &From{a.Number, a.Session, e.Cause}
		j.progress()
	}
	mayGoOn := e.Cause == ByShutdown || j.counted() < j.Spec.attempts()
	switch {
	case e.Finished != nil:
		j.found(a, *e.Finished, e.CostUSD)
	case j.Cancel != nil:
		j.fail(e.Cause, e.Text)
	case mayGoOn && j.Spec.OnLost == Restart:
		j.goOn(Restart, Fresh, e, at)
	case mayGoOn && j.Spec.OnLost == Resume && e.Stored:
		j.goOn(Resume, Continued, e, at)
	default:
		j.move(Lost, e.Cause, e.Text)
	}
	return nil
}

// goOn queues a lost job as its policy demands.
func (j *Job) goOn(p Policy, start Start, e Lose, at time.Time) {
	j.toQueue(start, e.Cause, e.Text)
	if j.State == Queued {
		j.note(Note{At: at, By: "policy", Text: string(p), Attempt: e.Attempt})
	}
}

// found ends the job with the result in the transcript.
func (j *Job) found(a *Attempt, r Result, costUSD float64) {
	a.Result = keep(r)
	if costUSD > 0 {
		a.CostUSD = costUSD
	}
	if r.Failed {
		j.fail(ByTranscript, "")
		return
	}
	j.move(Done, ByTranscript, "")
}

// CheckRequeue returns why [Requeue] can't start the job in a way, as a [*StateError], or nil if it can.
func (j *Job) CheckRequeue(start Start) error {
	e := Requeue{Start: start}
	if err := j.only(e, stuckStates...); err != nil {
		return err
	}
	switch {
	case start != Fresh && start != Continued:
		return j.refuse(e, fmt.Sprintf("with %q", start))
	case start == Continued && j.From == nil:
		return j.refuse(e, "it has no stored session that could be resumed")
	case len(j.Attempts) >= maxAttempts:
		return j.refuse(e, fmt.Sprintf("it has had %d attempts", len(j.Attempts)))
	}
	return nil
}

// MayRequeue reports whether [Requeue] can start the job from the beginning. Whether it can also resume the job,
// [Job.CheckRequeue] knows.
func (s *Summary) MayRequeue() bool {
	return slices.Contains(stuckStates, s.State) && s.Attempts < maxAttempts
}

// stuckStates are the states of a job that goes on only if a person wants that.
var stuckStates = []State{Lost, Failed}

func (e Requeue) apply(j *Job, at time.Time) error {
	if err := j.CheckRequeue(e.Start); err != nil {
		return err
	}
	if e.By == "" {
		return j.refuse(e, "by nobody")
	}
	failedBefore := j.Cause == ByDependency
	j.progress()
	j.Releases, j.Cancel = 0, nil
	if e.BudgetUSD > 0 {
		j.Spec.Limits.BudgetUSD = e.BudgetUSD
	}
	if e.MaxTurns > 0 {
		j.Spec.Agent.MaxTurns = e.MaxTurns
	}
	if e.Start == Fresh {
		j.From = nil
	}
	j.toQueue(e.Start, ByPerson, e.Why)
	if failedBefore {
		j.move(Blocked, ByDependency, "")
	}
	j.note(Note{At: at, By: e.By, User: e.User, Text: e.Why})
	return nil
}

func (e Cancel) apply(j *Job, at time.Time) error {
	if j.State.Ended() {
		return j.refuse(e, "")
	}
	if j.Cancel != nil {
		return j.refuse(e, j.Cancel.By+" has canceled it already")
	}
	if e.By == "" {
		return j.refuse(e, "by nobody")
	}
	n := Note{At: at, By: e.By, User: e.User, Text: cut(e.Why, maxText)}
	j.Cancel = &n
	j.note(n)
	if !j.State.Held() {
		j.move(Canceled, ByPerson, e.Why)
	}
	return nil
}

func (e Late) apply(j *Job, at time.Time) error {
	if e.Attempt < 1 || e.Attempt > len(j.Attempts) || j.Attempts[e.Attempt-1].Worker != e.Worker {
		return stale(j, e.Attempt)
	}
	if j.Attempts[e.Attempt-1].Ended.IsZero() {
		return j.refuse(e, "the attempt has not ended")
	}
	if e.Patch != "" {
		j.Attempts[e.Attempt-1].Patch = e.Patch
	}
	j.note(Note{At: at, By: e.Worker, Attempt: e.Attempt, Result: keep(e.Result)})
	return nil
}
