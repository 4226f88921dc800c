// Package agentflow runs Claude Code in an activity of Temporal, and has a workflow in which a person approves what the
// agent wants to do. Copy it, and register both with your worker:
//
//	w := worker.New(client, "agents", worker.Options{})
//	w.RegisterWorkflow(agentflow.Change)
//	w.RegisterActivity(&agentflow.Activities{Store: store})
//
// The store, such as one of package natsstore, has the conversation, so that an activity whose worker was stopped or
// lost continues elsewhere: heartbeats name the session. Files that the agent has changed stay on the machine that it
// ran on.
//
// Temporal may run an activity more than once. If a worker is killed before the store has the prompt, the next attempt
// begins again, and if it is killed while a tool runs, nobody knows whether the tool has done its work: the agent is told
// so.
package agentflow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Approval is the name of the signal that [Change] waits for. Its value says yes (true) or no.
const Approval = "approval"

// Plan is the name of the query for the plan that awaits approval: the answer of the agent that only read.
const Plan = "plan"

// The types of errors, for workflows that treat them differently.
const (
	ErrorLimit    = "AgentLimit"    // a limit of the account, which Temporal waits for
	ErrorRefused  = "AgentRefused"  // a person has to look at the account
	ErrorBudget   = "AgentBudget"   // the limits of the agent's options are used up
	ErrorRejected = "AgentRejected" // the plan was not approved
)

// Change lets an agent plan a change, waits for an approval, at most a week, and lets the agent make the change.
func Change(ctx workflow.Context, prompt string) (*Result, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Hour,
		HeartbeatTimeout:    10 * time.Minute, // longer than any tool call: an agent is silent during one
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Minute, MaximumAttempts: 10},
	})
	var a *Activities
	plan := new(Result)
	if err := workflow.SetQueryHandler(ctx, Plan, func() (*Result, error) { return plan, nil }); err != nil {
		return nil, err
	}
	task := Task{Prompt: "Say what you would change, but don't change it yet.\n\n" + prompt, ReadOnly: true}
	if err := workflow.ExecuteActivity(ctx, a.RunAgent, task).Get(ctx, plan); err != nil {
		return nil, err
	}
	var approved bool
	if ok, _ := workflow.GetSignalChannel(ctx, Approval).ReceiveWithTimeout(ctx, 7*24*time.Hour, &approved); !ok || !approved {
		return nil, temporal.NewNonRetryableApplicationError("the plan was not approved", ErrorRejected, nil)
	}
	task = Task{Prompt: "Your plan was approved. Make the change.", Session: plan.Session}
	done := new(Result)
	if err := workflow.ExecuteActivity(ctx, a.RunAgent, task).Get(ctx, done); err != nil {
		return nil, err
	}
	return done, nil
}

// A Task describes the work of an agent.
type Task struct {
	Prompt string
	// Session is a session in the store to continue from, such as the session of an earlier Result. It stays as it is.
	Session string
	// ReadOnly means that the agent has no tools that change anything.
	ReadOnly bool
}

// A Result is the answer of an agent.
type Result struct {
	Session string
	Text    string
	CostUSD float64
}

// Activities has the activity RunAgent.
type Activities struct {
	// Store keeps the conversations. All workers need the same one.
	Store sessions.Store
	// Options returns what else the agent of a task gets: a directory, a budget. Nil means nothing.
	Options func(Task) clew.Options
}

// project is the project of the activities' sessions in the store.
const project = "temporal"

// goOn is the prompt of a second agent. It describes the end of the first.
const goOn = "You were stopped before you had finished. Your last tool call may or may not have happened. " +
	"Look before you repeat anything, then continue your task."

// RunAgent runs an agent until it has ended, or until ctx has: then it ends the agent. Each message of the agent is a
// heartbeat. Its details are the sessions of all attempts so far, the newest last.
func (a *Activities) RunAgent(ctx context.Context, task Task) (*Result, error) {
	var attempts []string
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &attempts); err != nil {
			return nil, err
		}
	}
	opts, prompt, err := a.prepare(ctx, task, attempts)
	if err != nil {
		return nil, err
	}
	attempts = append(attempts, opts.Session.ID)
	activity.RecordHeartbeat(ctx, attempts)
	var seen outcome
	for msg, err := range clew.Query(ctx, prompt, opts) {
		if err != nil {
			return nil, seen.decide(err)
		}
		activity.RecordHeartbeat(ctx, attempts)
		seen.see(msg)
	}
	if seen.result == nil {
		return nil, errors.New("the agent has ended without a result")
	}
	return &Result{Session: opts.Session.ID, Text: seen.result.Result, CostUSD: seen.result.TotalCostUSD}, nil
}

// prepare returns the options and the prompt of the agent: for the task, or if an earlier attempt left a session, for a
// fork of it. It forks because an agent that was taken for dead may still write to the session.
func (a *Activities) prepare(ctx context.Context, task Task, attempts []string) (*clew.Options, string, error) {
	var opts clew.Options
	if a.Options != nil {
		opts = a.Options(task)
	}
	opts.PermissionMode = clew.PermissionModeAcceptEdits
	if task.ReadOnly {
		opts.PermissionMode, opts.Tools = clew.PermissionModeDefault, []string{"Read", "Glob", "Grep"}
	}
	opts.Store.Store, opts.Store.Project, opts.Store.Eager = a.Store, project, true
	opts.Session.ID = uuid.NewString()
	opts.Session.Resume, opts.Session.Fork = task.Session, task.Session != ""
	for _, earlier := range slices.Backward(attempts) {
		there, err := a.has(ctx, earlier)
		if err != nil {
			return nil, "", err
		}
		if there {
			opts.Session.Resume, opts.Session.Fork = earlier, true
			return &opts, goOn, nil
		}
	}
	return &opts, task.Prompt, nil
}

// has reports whether the store has a message of a session.
func (a *Activities) has(ctx context.Context, session string) (bool, error) {
	for _, err := range sessions.Messages(ctx, session, &sessions.Options{Store: a.Store, ProjectName: project}) {
		if errors.Is(err, sessions.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
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

// decide returns what Temporal should do, given the agent's error. Any other error is tried again after a while,
// which is also right for a server that is overloaded.
func (o *outcome) decide(err error) error {
	if o.result == nil || !o.result.Failed() {
		return err
	}
	limited := o.failure == wire.AssistantErrorRateLimit || o.result.APIErrorStatus == http.StatusTooManyRequests
	switch {
	case limited && o.limit != nil && o.limit.ResetsAt > 0:
		// Not all at the same moment, and not at once if the clocks differ.
		reset := time.Unix(o.limit.ResetsAt, 0)
		wait := max(time.Until(reset), time.Minute) + rand.N(time.Minute)
		text := fmt.Sprintf("the account is limited until %s", reset.UTC().Format(time.RFC3339))
		return temporal.NewApplicationErrorWithOptions(text, ErrorLimit, temporal.ApplicationErrorOptions{Cause: err, NextRetryDelay: wait})
	case o.refused():
		return temporal.NewNonRetryableApplicationError("the account was refused", ErrorRefused, err)
	case o.result.Subtype == wire.ResultErrorMaxTurns, o.result.Subtype == wire.ResultErrorMaxBudgetUSD:
		return temporal.NewNonRetryableApplicationError("the agent has used up its limit", ErrorBudget, err)
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
