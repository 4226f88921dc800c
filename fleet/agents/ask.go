package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
)

// callbacks lets the agent ask, and lets no tool start while the worker is not sure of its lease. It also records the
// job of the session.
func (n *run) callbacks(o *clew.Options) {
	o.Hooks = maps.Clone(o.Hooks)
	if o.Hooks == nil {
		o.Hooks = make(map[hook.Event][]hook.Matcher)
	}
	o.Hooks[hook.PreToolUse] = append([]hook.Matcher{{
		Hooks: []hook.Func{n.beforeTool}, Timeout: hookTime, OnFailure: hook.FailureBlock,
	}}, o.Hooks[hook.PreToolUse]...)
	o.Hooks[hook.UserPromptSubmit] = append([]hook.Matcher{{Hooks: []hook.Func{n.beforePrompt}}}, o.Hooks[hook.UserPromptSubmit]...)
	if n.task.Job.Spec.Ask == nil {
		return
	}
	o.CanUseTool, o.OnQuestion = n.canUseTool, n.onQuestion
}

// hookTime is the hook timeout of the agent: longer than any question is open.
const hookTime = 30 * 24 * time.Hour

// beforeTool waits until a tool may start. A tool whose every call needs an answer is asked for
// here, since only a hook can defer a call: then the agent ends, and asks again when it continues.
func (n *run) beforeTool(ctx context.Context, in hook.Input) (*hook.Output, error) {
	if err := n.mayAct(ctx); err != nil {
		return nil, err
	}
	use, ok := in.(*hook.PreToolUseInput)
	if !ok {
		return nil, nil
	}
	if dir := n.formerDir(string(use.ToolInput)); dir != "" {
		return decide(permission.BehaviorDeny, "The directory "+dir+" is gone. You work in "+n.dir+" now, which has the same files."), nil
	}
	if !n.needsAnswer(use.ToolName) {
		return nil, nil
	}
	q := &fleet.Question{
		ID: idOf(use.ToolUseID), Tool: use.ToolName, Input: json.RawMessage(use.ToolInput), Call: use.ToolUseID, Subagent: use.AgentID,
	}
	a, err := n.ask(ctx, q, use.AgentID == "" && n.runner.opts.Store != nil)
	if errors.Is(err, fleet.ErrParked) {
		if n.isOnlyCall() {
			n.park(q.ID)
			return decide(permission.BehaviorDefer, "Nobody has answered yet."), nil
		}
		a, err = n.ask(ctx, q, false) // of several calls at once none can be deferred
	}
	if err != nil {
		return nil, err
	}
	if !a.Allow {
		return decide(permission.BehaviorDeny, refusal(a)), nil
	}
	return decide(permission.BehaviorAllow, "allowed by "+a.By), n.mayAct(ctx)
}

// isOnlyCall reports whether no other call is open.
func (n *run) isOnlyCall() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.outcome.open) <= 1
}

// formerDir returns the working directory of an earlier attempt that a tool input names, or "". A
// deferred call has it.
func (n *run) formerDir(input string) string {
	name, job := n.name(), n.task.Job.ID+"-"
	for _, found := range dirName.FindAllString(input, -1) {
		if found != name && strings.HasPrefix(found, job) {
			return found
		}
	}
	return ""
}

// dirName matches what name returns, for any job.
var dirName = regexp.MustCompile(`[a-z2-9]{12}-[0-9]+-[0-9a-f]{8}`)

// mayAct waits until a tool may start: the record has the job as running, and the worker has its
// lease. A deferred call can come before the prompt is sent.
func (n *run) mayAct(ctx context.Context) error {
	select {
	case <-n.send:
		return n.task.MayAct(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func decide(b permission.Behavior, why string) *hook.Output {
	return &hook.Output{Specific: &hook.PreToolUseOutput{Decision: b, Reason: why}}
}

// needsAnswer reports whether every call of the tool needs an answer.
func (n *run) needsAnswer(tool string) bool {
	ask := n.task.Job.Spec.Ask
	return ask != nil && slices.Contains(ask.Tools, tool)
}

// park takes note of the question that the agent is ended for.
func (n *run) park(question string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.question = question
}

// idOf returns the ID of the question about a call, which is the same when the agent asks again.
func idOf(call string) string {
	sum := sha256.Sum256([]byte(call))
	return hex.EncodeToString(sum[:8])
}

// canUseTool asks whether a tool may be used. The agent can also ask here for a call that was deferred and
// has its answer by now, so the question has the same ID.
func (n *run) canUseTool(ctx context.Context, req *permission.Request) (permission.Result, error) {
	if err := n.mayAct(ctx); err != nil {
		return nil, err
	}
	if base := n.runner.opts.Base; base != nil && base.CanUseTool != nil {
		if r, err := base.CanUseTool(ctx, req); err != nil || isDenied(r) {
			return r, err
		}
	}
	a, err := n.ask(ctx, &fleet.Question{
		ID: idOf(req.ToolUseID), Tool: req.ToolName, Input: json.RawMessage(req.Input), Call: req.ToolUseID, Subagent: req.AgentID, Reason: req.DecisionReason,
	}, false)
	if err != nil {
		return nil, err
	}
	if !a.Allow {
		return permission.Deny(refusal(a)), nil
	}
	return permission.Allow(), n.mayAct(ctx)
}

func isDenied(r permission.Result) bool {
	_, ok := r.(*permission.DenyResult)
	return ok
}

func refusal(a *fleet.Answer) string {
	if a.Text != "" {
		return a.Text
	}
	return "This use of the tool was denied."
}

// onQuestion asks the agent's questions.
func (n *run) onQuestion(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	input, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("the questions: %w", err)
	}
	q := &fleet.Question{Tool: "AskUserQuestion", Input: input}
	if req.Permission != nil {
		q.Call, q.Subagent = req.Permission.ToolUseID, req.Permission.AgentID
	}
	a, err := n.ask(ctx, q, false)
	if err != nil {
		return nil, err
	}
	if a.Expired || !a.Allow && len(a.Answers) == 0 {
		return nil, errors.New(refusal(a))
	}
	result := &clew.QuestionResult{Answers: make(map[string][]string), Response: strings.TrimSpace(a.Text)}
	for question, answer := range a.Answers {
		result.Answers[question] = []string{answer}
	}
	return result, nil
}

func (n *run) ask(ctx context.Context, q *fleet.Question, mayPark bool) (*fleet.Answer, error) {
	n.asking.Add(1)
	defer func() {
		n.last.Store(time.Now().UnixNano())
		n.asking.Add(-1)
	}()
	return n.task.Ask(ctx, q, mayPark)
}
