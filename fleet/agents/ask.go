package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
)

// callbacks lets the agent ask, and lets no tool start while the worker is not sure of its lease.
func (n *run) callbacks(o *clew.Options) {
	o.Hooks = maps.Clone(o.Hooks)
	if o.Hooks == nil {
		o.Hooks = make(map[clew.HookEvent][]clew.HookMatcher)
	}
	o.Hooks[clew.HookPreToolUse] = append([]clew.HookMatcher{{
		Hooks: []clew.HookFunc{n.beforeTool}, Timeout: hookTime, OnFailure: clew.HookFailureBlock,
	}}, o.Hooks[clew.HookPreToolUse]...)
	if n.task.Job.Spec.Ask == nil {
		return
	}
	o.CanUseTool, o.OnQuestion = n.canUseTool, n.onQuestion
}

// hookTime is how long the agent waits for a hook: longer than any question is open.
const hookTime = 30 * 24 * time.Hour

// beforeTool waits until a tool may start. A tool whose every call needs an answer is asked for here, since
// only a hook can defer it.
func (n *run) beforeTool(ctx context.Context, _ clew.HookInput) (*clew.HookOutput, error) {
	if err := n.task.MayAct(ctx); err != nil {
		return nil, err
	}
	return nil, nil
}

// canUseTool asks whether a tool may be used.
func (n *run) canUseTool(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
	a, err := n.ask(ctx, &fleet.Question{
		Tool: req.ToolName, Input: json.RawMessage(req.Input), Call: req.ToolUseID, Subagent: req.AgentID, Reason: req.DecisionReason,
	})
	if err != nil {
		return nil, err
	}
	if !a.Allow {
		return clew.Deny(refusal(a)), nil
	}
	if err := n.task.MayAct(ctx); err != nil {
		return nil, err
	}
	return clew.Allow(), nil
}

func refusal(a *fleet.Answer) string {
	if a.Text != "" {
		return a.Text
	}
	return "This use of the tool was denied."
}

// onQuestion asks the questions of the agent.
func (n *run) onQuestion(ctx context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	input, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("the questions: %w", err)
	}
	q := &fleet.Question{Tool: "AskUserQuestion", Input: input}
	if req.Permission != nil {
		q.Call, q.Subagent = req.Permission.ToolUseID, req.Permission.AgentID
	}
	a, err := n.ask(ctx, q)
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

func (n *run) ask(ctx context.Context, q *fleet.Question) (*fleet.Answer, error) {
	n.asking.Add(1)
	defer func() {
		n.last.Store(time.Now().UnixNano())
		n.asking.Add(-1)
	}()
	return n.task.Ask(ctx, q, false)
}
