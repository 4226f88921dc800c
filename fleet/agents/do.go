package agents

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// Why an attempt is ended by its limits.
var (
	errWall = errors.New("the attempt has taken too long")
	errIdle = errors.New("the agent was silent for too long")
)

// Do implements [fleet.Run].
func (n *run) Do(ctx context.Context) fleet.Event {
	if ctx.Err() != nil {
		return n.cutOff(ctx, context.Cause(ctx))
	}
	n.last.Store(time.Now().UnixNano())
	close(n.send)
	if n.restored != "" {
		n.report(ctx, fleet.Report{Restored: n.restored})
	}
	if f := n.former; f != nil && f.former != nil {
		n.snapshot(ctx)
		f.close(n, !n.unsaved)
	}
	live := ctx // ends when the worker loses its lease or is stopped
	cause := n.wait(ctx)
	if cause != nil {
		n.stop(cause)
	}
	<-n.ended
	n.mu.Lock()
	o, question := n.outcome, n.question
	n.mu.Unlock()
	switch {
	case question != "" && o.isDeferred():
		return n.parked(live, question, &o)
	case cause != nil && !o.isDone():
		return n.cutOff(live, cause)
	}
	return n.ending(live, &o)
}

// isDeferred reports whether the agent ended because one of its calls waits for an answer.
func (o *outcome) isDeferred() bool {
	return o.result != nil && o.result.TerminalReason == wire.TerminalReasonToolDeferred
}

// isDone reports whether the agent had done all when it was ended.
func (o *outcome) isDone() bool { return o.result != nil && !o.result.Failed() && o.last }

// parked is the end of an attempt that waits for an answer. Without its session nothing can
// continue.
func (n *run) parked(live context.Context, question string, o *outcome) fleet.Event {
	stored, err := n.storeForNext(live)
	switch {
	case err != nil:
		return n.unstored(live, err, o.cost())
	case !stored:
		return fleet.Lose{Cause: fleet.ByExit, Text: "the agent waits for an answer, and its session is not stored", Saved: n.isSaved(), CostUSD: o.cost()}
	}
	return fleet.Park{Question: question, CostUSD: o.cost()}
}

// wait waits until the agent ends. It returns the reason for which the agent is to be ended, or
// nil.
func (n *run) wait(ctx context.Context) error {
	check := time.NewTicker(time.Second)
	defer check.Stop()
	begun, stored, rest := time.Now(), time.Now(), callPause
	for {
		select {
		case <-n.ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-check.C:
		}
		switch {
		case n.wall > 0 && time.Since(begun) > n.wall:
			return errWall
		case n.idle > 0 && n.asking.Load() == 0 && time.Since(time.Unix(0, n.last.Load())) > n.idle:
			return errIdle
		case time.Since(stored) > n.runner.opts.SnapshotEvery, n.changed.Load() && time.Since(stored) > rest:
			n.changed.Store(false)
			before := time.Now()
			n.snapshot(ctx)
			stored = time.Now()
			rest = max(callPause, snapshotShare*stored.Sub(before))
		}
	}
}

// The minimum time between snapshots, and its ratio to the time that a snapshot takes, so that large ones don't keep
// the worker busy.
const (
	callPause     = 10 * time.Second
	snapshotShare = 20
)

// cutOff is the end of an attempt that was ended from outside.
func (n *run) cutOff(live context.Context, cause error) fleet.Event {
	n.mu.Lock()
	cost := n.outcome.cost()
	n.mu.Unlock()
	switch {
	case errors.Is(cause, fleet.ErrCanceled):
		return n.handOver(live, fleet.Finish{Cause: fleet.ByPerson, Text: cause.Error(), CostUSD: cost}, "")
	case errors.Is(cause, errWall), errors.Is(cause, errIdle):
		return n.handOver(live, fleet.Finish{Cause: fleet.ByTime, Text: cause.Error(), CostUSD: cost}, "")
	}
	ctx := context.WithoutCancel(live)
	if err := n.storeSession(ctx); err != nil {
		n.runner.log.Warn("the session could not be stored", "job", n.task.Job.ID, "error", err)
	}
	n.snapshot(ctx)
	traces := n.tracesOrNone(ctx)
	lose := fleet.Lose{Cause: fleet.ByLoss, Text: cause.Error(), Stored: traces.Stored, Saved: n.isSaved(), CostUSD: max(cost, traces.CostUSD)}
	if errors.Is(cause, fleet.ErrShutdown) {
		lose.Cause = fleet.ByShutdown
	}
	return lose
}

// tracesOrNone returns what is stored of the attempt, or nothing if the store does not answer.
func (n *run) tracesOrNone(ctx context.Context) *fleet.Traces {
	traces, err := n.runner.traces(ctx, n.session, n.prompt)
	if err != nil {
		n.runner.log.Warn("the session can't be read", "job", n.task.Job.ID, "error", err)
		return new(fleet.Traces)
	}
	return traces
}

// ending is the end of an attempt whose agent ended by itself.
func (n *run) ending(live context.Context, o *outcome) fleet.Event {
	if o.result == nil {
		return n.exited(live, o)
	}
	if p := n.pause(o); p != nil {
		var err error
		if p.Stored, err = n.storeForNext(live); err != nil {
			return n.unstored(live, err, o.cost())
		}
		return *p
	}
	result, whole := resultOf(o.result)
	end := fleet.Finish{Cause: fleet.ByResult, CostUSD: o.cost(), Result: result}
	if o.result.Failed() {
		end.Cause, end.Text = causeOf(o.result), textOf(o.err, "the agent has failed")
	}
	return n.handOver(live, end, whole)
}

// exited is the end of an attempt whose agent ended without a result. If its transcript shows a
// finished turn, only the result is missing.
func (n *run) exited(live context.Context, o *outcome) fleet.Event {
	if _, err := n.storeForNext(live); err != nil {
		return n.unstored(live, err, o.cost())
	}
	traces := n.tracesOrNone(context.WithoutCancel(live))
	text := textOf(o.err, "the agent has ended without a result")
	if traces.Finished == nil || n.task.Job.Spec.Agent.OutputSchema != nil {
		return fleet.Lose{Cause: fleet.ByExit, Text: text, Stored: traces.Stored, Saved: n.isSaved(), CostUSD: traces.CostUSD}
	}
	return n.handOver(live, fleet.Finish{Cause: fleet.ByResult, Text: text, CostUSD: traces.CostUSD, Result: *traces.Finished}, "")
}

// causeOf returns the cause of a failed result.
func causeOf(r *wire.ResultMessage) fleet.Cause {
	switch {
	case r.Subtype == wire.ResultErrorMaxTurns:
		return fleet.ByTurns
	case r.Subtype == wire.ResultErrorMaxBudgetUSD, r.TerminalReason == wire.TerminalReasonBudgetExhausted:
		return fleet.ByBudget
	}
	return fleet.ByAgent
}

// pause returns the pause that a failed result stands for, or nil.
func (n *run) pause(o *outcome) *fleet.Pause {
	if !o.result.Failed() {
		return nil
	}
	p := &fleet.Pause{Text: textOf(o.err, ""), Progress: o.answered, CostUSD: o.cost()}
	status := o.result.APIErrorStatus
	switch {
	case o.limit != nil && (status == 429 || o.failure == wire.AssistantErrorRateLimit):
		p.Cause, p.Until = fleet.ByLimit, n.afterReset(time.Unix(o.limit.ResetsAt, 0))
	case isRefused(o.failure, status):
		p.Cause, p.Until = fleet.ByAccount, time.Now().Add(time.Minute)
	case isThrottled(o.failure, status):
		p.Cause, p.Until = fleet.ByThrottling, time.Now().Add(n.backOff(p.Progress))
	default:
		return nil
	}
	p.Until = p.Until.UTC().Round(time.Millisecond)
	return p
}

// isRefused reports whether the credentials were refused, or there is no credit.
func isRefused(e wire.AssistantError, status int) bool {
	switch e {
	case wire.AssistantErrorAuthenticationFailed, wire.AssistantErrorOAuthOrgNotAllowed, wire.AssistantErrorAccountOnHold,
		wire.AssistantErrorVerificationRequired, wire.AssistantErrorBilling, wire.AssistantErrorCloudCredential:
		return true
	}
	return status == 401 || status == 402 // 403 can be about the job alone, such as its model
}

// isThrottled reports whether the request may succeed later.
func isThrottled(e wire.AssistantError, status int) bool {
	return e == wire.AssistantErrorRateLimit || e == wire.AssistantErrorOverloaded || e == wire.AssistantErrorServer || status == 429 || status >= 500
}

// The times of waits.
const (
	maxJitter   = time.Minute
	maxBackOff  = 30 * time.Minute
	minLimit    = time.Minute     // for a limit whose reset is over already
	unknownWait = 5 * time.Minute // for a limit whose reset is not known
)

// afterReset returns the time at which the job continues after a limit. It differs between jobs.
func (n *run) afterReset(reset time.Time) time.Time {
	if soon := time.Now().Add(minLimit); reset.Unix() <= 0 {
		reset = time.Now().Add(unknownWait)
	} else if reset.Before(soon) {
		reset = soon
	}
	return reset.Add(n.jitter(maxJitter))
}

// backOff returns the wait after too many requests: 1, 2, 4 … 30 minutes, and up to a half more.
func (n *run) backOff(progress bool) time.Duration {
	pauses := n.task.Job.Pauses
	if progress {
		pauses = 0
	}
	wait := min(time.Minute<<min(pauses, 10), maxBackOff)
	return wait + n.jitter(wait/2)
}

// jitter is a part of a time, by job.
func (n *run) jitter(most time.Duration) time.Duration {
	h := fnv.New32a()
	io.WriteString(h, n.task.Job.ID+strconv.Itoa(n.task.Number)) //nolint:errcheck // a hash takes all
	return time.Duration(float64(most) * float64(h.Sum32()) / (1 << 32))
}

// resultOf returns the result as the record has it, and the whole of its text or output if that is too large for a
// record.
func resultOf(m *wire.ResultMessage) (r fleet.Result, whole string) {
	r = fleet.Result{Text: m.Result, Turns: m.NumTurns, Failed: m.Failed()}
	if m.StructuredOutput != "" {
		r.Output = []byte(m.StructuredOutput)
	}
	if len(r.Text) <= fleet.MaxResult && len(r.Output) <= fleet.MaxResult {
		return r, ""
	}
	if len(r.Output) > 0 {
		return r, string(r.Output)
	}
	return r, r.Text
}

// textOf returns the text of an error without secrets.
func textOf(err error, or string) string {
	if err == nil {
		return or
	}
	if failed, ok := errors.AsType[*clew.ResultError](err); ok {
		return redact.Mask(failed.Text())
	}
	return redact.Mask(err.Error())
}

// tell passes a message on.
func (n *run) tell(ctx context.Context, msg wire.Message) {
	n.last.Store(time.Now().UnixNano())
	if raw := msg.Raw(); len(raw) > 0 && len(raw) <= maxFrame {
		n.task.Publish(ctx, []byte(raw)) //nolint:errcheck // viewers have the stored session
	}
	if m, ok := msg.(*wire.UserMessage); ok && slices.ContainsFunc(m.Content, isResult) {
		n.changed.Store(true)
	}
	if m, ok := msg.(*wire.APIRetryMessage); ok {
		status := fmt.Sprintf("repeats a request: %s, HTTP %d, %d of %d", m.Error, m.ErrorStatus, m.Attempt, m.MaxRetries)
		if err := n.task.Report(ctx, fleet.Report{Status: status}); err != nil {
			n.runner.log.Warn("the status could not be written", "job", n.task.Job.ID, "error", err)
		}
	}
}

func isResult(b wire.Block) bool {
	_, ok := b.(*wire.ToolResultBlock)
	return ok
}

// maxFrame is the largest frame that viewers get; the session has the others.
const maxFrame = 512 << 10

// see takes note of a message.
func (o *outcome) see(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.ResultMessage:
		o.result, o.last = m, true
	case *wire.RateLimitMessage:
		if m.Info.Status == wire.RateLimitRejected {
			o.limit = &m.Info
		} else {
			o.limit = nil
		}
	case *wire.AssistantMessage:
		o.failure, o.last = m.Error, false
		o.answered = o.answered || m.Error == ""
		o.seeCalls(m)
	case *wire.UserMessage:
		for _, b := range m.Content {
			if r, ok := b.(*wire.ToolResultBlock); ok {
				delete(o.open, r.ToolUseID)
			}
		}
	}
}

// seeCalls notes the agent's own calls.
func (o *outcome) seeCalls(m *wire.AssistantMessage) {
	if m.ParentToolUseID != "" {
		return // of a subagent
	}
	for _, b := range m.Content {
		if use, ok := b.(*wire.ToolUseBlock); ok {
			if o.open == nil {
				o.open = make(map[string]bool)
			}
			o.open[use.ID] = true
		}
	}
}

// cost returns the session cost in the last result.
func (o *outcome) cost() float64 {
	if o.result == nil {
		return 0
	}
	return o.result.TotalCostUSD
}
