// Package agentjob runs Claude Code in a worker of River, the job queue for Postgres and SQLite. Copy it, and register
// the worker as any other:
//
//	workers := river.NewWorkers()
//	river.AddWorker(workers, &agentjob.Worker{Store: store})
//	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Workers: workers, Queues: …})
//	…
//	_, err = client.Insert(ctx, agentjob.Args{Prompt: "Find out why the nightly build fails."}, nil)
//
// The store, such as one of package natsstore, has the conversation of each job, so that a job whose worker was stopped
// or lost continues elsewhere. Files that the agent has changed stay on the machine that it ran on.
//
// River works a job at least once. If a worker is killed before the store has the prompt, the next attempt begins
// again, and if it is killed while a tool runs, nobody knows whether the tool has done its work: the agent is told so.
package agentjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Args are the arguments of a job.
type Args struct {
	Prompt string `json:"prompt"`
	// Session is a session in the store to continue from, such as the session of an earlier job's Output. It stays
	// as it is.
	Session string `json:"session,omitempty"`
}

// Kind implements [river.JobArgs].
func (Args) Kind() string { return "agent" }

// An Output is the output that River keeps of a job. It is from the last agent that gave a result, failed or not.
type Output struct {
	Session string  `json:"session"`
	Text    string  `json:"text"`
	CostUSD float64 `json:"cost_usd"`
}

// A Worker runs an agent for each job.
type Worker struct {
	river.WorkerDefaults[Args]
	// Store keeps the conversations. All workers need the same one.
	Store sessions.Store
	// Options returns what else the agent of a job gets: a directory, tools, a budget. Nil means nothing.
	Options func(*river.Job[Args]) clew.Options
}

// project is the project of the jobs' sessions in the store.
const project = "river"

// goOn is the prompt of a second agent. It describes the end of the first.
const goOn = "You were stopped before you had finished. Your last tool call may or may not have happened. " +
	"Look before you repeat anything, then continue your task."

// Timeout replaces River's limit of one minute. River takes a job for lost an hour after that at the earliest: see
// RescueStuckJobsAfter in [river.Config].
func (w *Worker) Timeout(*river.Job[Args]) time.Duration { return 2 * time.Hour }

// Work runs an agent until it has ended, or until ctx has: then it ends the agent.
func (w *Worker) Work(ctx context.Context, job *river.Job[Args]) error {
	seen, err := w.run(ctx, job)
	switch cause := context.Cause(ctx); {
	case err == nil, errors.Is(cause, river.ErrJobCancelledRemotely), errors.Is(cause, context.DeadlineExceeded):
		return err
	case ctx.Err() != nil: // the client stops; a snooze lets another one go on at once, and counts no attempt
		return river.JobSnooze(0)
	}
	return seen.decide(err)
}

// run runs the agent of a job, and records its result.
func (w *Worker) run(ctx context.Context, job *river.Job[Args]) (*outcome, error) {
	seen := new(outcome)
	opts, prompt, err := w.prepare(ctx, job)
	if err != nil {
		return seen, err
	}
	for msg, msgErr := range clew.Query(ctx, prompt, opts) {
		if err = msgErr; err == nil {
			seen.see(msg)
		}
	}
	if r := seen.result; r != nil {
		output := Output{Session: opts.Session.ID, Text: r.Result, CostUSD: r.TotalCostUSD}
		err = errors.Join(err, river.RecordOutput(ctx, output))
	}
	return seen, err
}

// prepare returns the options and the prompt of the agent: for the job, or if an earlier agent of the job left a
// session, for a fork of it. It forks because an agent that was taken for dead may still write to the session.
func (w *Worker) prepare(ctx context.Context, job *river.Job[Args]) (*clew.Options, string, error) {
	var opts clew.Options
	if w.Options != nil {
		opts = w.Options(job)
	}
	start, err := starts(job)
	if err != nil {
		return nil, "", err
	}
	opts.Store.Store, opts.Store.Project, opts.Store.Eager = w.Store, project, true
	opts.Session.ID = sessionID(job, start)
	opts.Session.Resume, opts.Session.Fork = job.Args.Session, job.Args.Session != ""
	for start--; start > 0; start-- {
		earlier := sessionID(job, start)
		there, err := w.has(ctx, earlier)
		if err != nil {
			return nil, "", err
		}
		if there {
			opts.Session.Resume, opts.Session.Fork = earlier, true
			return &opts, goOn, nil
		}
	}
	return &opts, job.Args.Prompt, nil
}

// has reports whether the store has a message of a session.
func (w *Worker) has(ctx context.Context, session string) (bool, error) {
	for _, err := range sessions.Messages(ctx, session, &sessions.Options{Store: w.Store, ProjectName: project}) {
		if errors.Is(err, sessions.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}

// starts returns how often the job was started, this time included. Attempts alone don't say: a snooze takes one back.
func starts(job *river.Job[Args]) (int, error) {
	var metadata struct {
		Snoozes int `json:"snoozes"`
	}
	if err := json.Unmarshal(job.Metadata, &metadata); err != nil {
		return 0, fmt.Errorf("metadata of the job: %w", err)
	}
	return job.Attempt + metadata.Snoozes, nil
}

// sessionID returns the ID of the session of a start of a job: the same on every machine, and another one for each start
// and for the job with the same number in another database.
func sessionID(job *river.Job[Args], start int) string {
	name := fmt.Sprintf("river job %d of %d, start %d", job.ID, job.CreatedAt.UnixMilli(), start)
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}

// An outcome holds an agent's own account of its end.
type outcome struct {
	result  *wire.ResultMessage
	limit   *wire.RateLimitInfo // that is used up, or nil
	failure wire.AssistantError // of the last answer
}

func (o *outcome) see(msg clew.Message) {
	switch m := msg.(type) {
	case *wire.ResultMessage:
		o.result = m
	case *wire.AssistantMessage:
		o.failure = m.Error
	case *wire.RateLimitMessage:
		if o.limit = nil; m.Info.Status == wire.RateLimitRejected {
			o.limit = &m.Info
		}
	}
}

// decide returns what River should do, given the agent's error. Any other error counts as an attempt, and River
// tries again after a while, which is also right for a server that is overloaded.
func (o *outcome) decide(err error) error {
	if o.result == nil || !o.result.Failed() {
		return err
	}
	limited := o.failure == wire.AssistantErrorRateLimit || o.result.APIErrorStatus == http.StatusTooManyRequests
	switch {
	case limited && o.limit != nil && o.limit.ResetsAt > 0:
		// Not all at the same moment, and not at once if the clocks differ.
		wait := max(time.Until(time.Unix(o.limit.ResetsAt, 0)), time.Minute) + rand.N(time.Minute)
		return river.JobSnooze(wait) // counts no attempt
	case o.refused(), o.result.Subtype == wire.ResultErrorMaxTurns, o.result.Subtype == wire.ResultErrorMaxBudgetUSD:
		return river.JobCancel(err) // it would fail again, or spend its budget again
	}
	return err
}

// refused reports whether a person has to look at the account.
func (o *outcome) refused() bool {
	switch o.failure {
	case wire.AssistantErrorAuthenticationFailed, wire.AssistantErrorOAuthOrgNotAllowed, wire.AssistantErrorAccountOnHold,
		wire.AssistantErrorVerificationRequired, wire.AssistantErrorBilling, wire.AssistantErrorCloudCredential:
		return true
	}
	status := o.result.APIErrorStatus
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}
