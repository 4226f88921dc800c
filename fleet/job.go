package fleet

import (
	"encoding/json"
	"slices"
	"time"
)

// A State is the state of a job.
type State string

// The states of jobs.
const (
	Blocked  State = "blocked"  // other jobs must be done first
	Queued   State = "queued"   // any worker may take it
	Claimed  State = "claimed"  // a worker prepares an attempt; no prompt was sent
	Running  State = "running"  // the prompt may have been sent
	Waiting  State = "waiting"  // until a time, such as that at which a limit is reset
	Asking   State = "asking"   // for an answer, without a process that waits
	Lost     State = "lost"     // its worker is gone, and how far the agent came is not known
	Done     State = "done"     // with a result
	Failed   State = "failed"   // with a cause
	Canceled State = "canceled" // by someone
)

// States are all states, in the order of a job's life.
var States = []State{Blocked, Queued, Claimed, Running, Waiting, Asking, Lost, Done, Failed, Canceled}

// Ended reports whether a job in this state is over.
func (s State) Ended() bool { return s == Done || s == Failed || s == Canceled }

// Held reports whether a worker has a job in this state.
func (s State) Held() bool { return s == Claimed || s == Running }

// A Cause is the reason for a job's state, or for the end of an attempt. No cause is taken from the
// text of an error.
type Cause string

// The causes.
const (
	ByWorker     Cause = "worker"     // the worker could not prepare the attempt
	ByMachine    Cause = "machine"    // the worker can run no job at all
	ByPolicy     Cause = "policy"     // no worker takes the job
	ByLoss       Cause = "loss"       // the worker is gone
	ByExit       Cause = "exit"       // the agent ended without a result
	ByLimit      Cause = "limit"      // of the account, until its reset
	ByThrottling Cause = "throttling" // too many requests, or a model that is overloaded
	ByQuestion   Cause = "question"   // there is no answer yet
	ByBudget     Cause = "budget"     // the money of the job is used up
	ByTurns      Cause = "turns"      // the turns of the attempt are used up
	ByTime       Cause = "time"       // the attempt, or an answer of its agent, took too long
	ByAgent      Cause = "agent"      // the agent's own result is an error
	ByAccount    Cause = "account"    // its credentials were refused
	ByDependency Cause = "dependency" // a job that must be done first was not
	ByPerson     Cause = "person"     // as a note says
	ByTranscript Cause = "transcript" // the stored transcript shows a finished turn
	ByResult     Cause = "result"     // of the agent
	ByShutdown   Cause = "shutdown"   // the worker was stopped
	ByStorage    Cause = "storage"    // the agent's work could not be stored
)

// A Start is the way to start an attempt.
type Start string

// The ways to start.
const (
	Fresh     Start = "fresh"  // with the prompt, in a new session
	Continued Start = "resume" // in a copy of the session that [Job.From] names
)

// A Job is the record of a job. It is a value: [Job.Apply] returns another one.
type Job struct {
	ID      string    `json:"id"`
	Spec    Spec      `json:"spec"`
	By      string    `json:"by,omitempty"`   // the submitter
	User    string    `json:"user,omitempty"` // the submitter, as the server authenticated it: see [Decision]
	State   State     `json:"state"`
	Cause   Cause     `json:"cause,omitempty"`
	Text    string    `json:"text,omitempty"` // what there is to say about the cause, for people
	Until   time.Time `json:"until,omitzero"` // of Waiting
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	// Next is the way to start the next attempt, and From the session that can be continued, if
	// there is one.
	Next Start `json:"next"`
	From *From `json:"from,omitempty"`
	// Attempts are the attempts so far. The last one is open if a worker holds the job.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Pauses counts the waits in a row for limits, and Paused adds up their time.
	Pauses int      `json:"pauses,omitempty"`
	Paused Duration `json:"paused,omitempty"`
	// Releases counts the tries in a row that did not start the job.
	Releases int `json:"releases,omitempty"`
	// Question is the question that the job waits for in Asking.
	Question string `json:"question,omitempty"`
	// Cancel is the request to end the job, with its author.
	Cancel *Note `json:"cancel,omitempty"`
	// Notes record decisions of people and policies, and late results.
	Notes []Note `json:"notes,omitempty"`
}

// From is a session that can be continued.
type From struct {
	Attempt int    `json:"attempt"`
	Session string `json:"session"`
	Cause   Cause  `json:"cause"` // of the end of the attempt
}

// An Attempt is a run of a job by a worker.
type Attempt struct {
	Number int    `json:"number"` // from 1 on
	Worker string `json:"worker"`
	Start  Start  `json:"start"`
	// Session and Prompt are the IDs of the session and of the prompt in it, which no other attempt has.
	Session string    `json:"session,omitempty"`
	Prompt  string    `json:"prompt,omitempty"`
	Claimed time.Time `json:"claimed"`
	Started time.Time `json:"started,omitzero"` // when the prompt was about to be sent
	Ended   time.Time `json:"ended,omitzero"`
	Cause   Cause     `json:"cause,omitempty"` // of the end
	Text    string    `json:"text,omitempty"`
	// Status is the last known activity of the agent, such as the retry of a request.
	Status string `json:"status,omitempty"`
	// Restored describes the fate of the files of the attempt that this one continues, unless they are all
	// there.
	Restored string `json:"restored,omitempty"`
	// Base is the commit that the agent started from, Snapshot names a file with its work, and
	// Patch one with the difference between the two.
	Base     string  `json:"base,omitempty"`
	Snapshot string  `json:"snapshot,omitempty"`
	Saved    bool    `json:"saved,omitempty"` // of a lost attempt: Snapshot has all files, or none changed
	Patch    string  `json:"patch,omitempty"`
	Pushed   string  `json:"pushed,omitempty"` // the commit that was pushed to the branch of the spec
	CostUSD  float64 `json:"cost_usd,omitempty"`
	Result   *Result `json:"result,omitempty"`
}

// A Result is the outcome of an attempt.
type Result struct {
	Text   string          `json:"text,omitempty"` // the beginning, if File has the whole
	File   string          `json:"file,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // in the schema of the spec
	Turns  int             `json:"turns,omitempty"`
	Failed bool            `json:"failed,omitempty"`
}

// A Note is a person's decision, or something that does not change the job.
type Note struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`             // a person or a worker, or "policy"
	User    string    `json:"user,omitempty"` // a person, as the server authenticated it: see [Decision]
	Text    string    `json:"text,omitempty"`
	Attempt int       `json:"attempt,omitempty"` // that it is about
	Result  *Result   `json:"result,omitempty"`  // that came too late
}

// newJob returns the record of a job that was just submitted.
func newJob(id string, spec *Spec, by string, at time.Time) *Job {
	j := &Job{ID: id, Spec: *spec, By: by, State: Queued, Created: at, Changed: at, Next: Fresh}
	j.Spec.After = slices.Clone(spec.After)
	if len(spec.After) > 0 {
		j.State, j.Cause = Blocked, ByDependency
	}
	return j
}

// Attempt returns the last attempt, or nil if there is none.
func (j *Job) Attempt() *Attempt {
	if len(j.Attempts) == 0 {
		return nil
	}
	return &j.Attempts[len(j.Attempts)-1]
}

// Worker returns the worker that holds the job, or "".
func (j *Job) Worker() string {
	a := j.Attempt()
	if a == nil || !j.State.Held() { // a record that is wrong may have no attempt
		return ""
	}
	return a.Worker
}

// CostUSD is the cost of all attempts.
func (j *Job) CostUSD() (sum float64) {
	for i := range j.Attempts {
		sum += j.Attempts[i].CostUSD
	}
	return sum
}

// Result returns the job's result, or nil if it has none.
func (j *Job) Result() *Result {
	if a := j.Attempt(); a != nil && j.State.Ended() {
		return a.Result
	}
	return nil
}

// Attention reports whether nothing happens to the job until a person does something.
func (j *Job) Attention() bool { return j.State == Lost || j.State == Asking }

// counted returns how many attempts count against the limit of the job.
func (j *Job) counted() (n int) {
	for i := range j.Attempts {
		switch a := &j.Attempts[i]; {
		case a.Started.IsZero(), a.Cause == ByLimit, a.Cause == ByThrottling, a.Cause == ByQuestion, a.Cause == ByShutdown:
		default:
			n++
		}
	}
	return n
}

// clone returns a copy that shares nothing that [Job.Apply] changes.
func (j *Job) clone() *Job {
	c := *j
	c.Attempts = slices.Clone(j.Attempts)
	c.Notes = slices.Clone(j.Notes)
	return &c
}
