package clew

import (
	"context"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// Interrupt stops the turn that is running; without one it does nothing. Prompts that wait for their turn stay in the
// queue, and the agent goes on with the first of them. The turn ends with a result of its own, which can come after
// Interrupt has returned.
func (s *Session) Interrupt(ctx context.Context) (*InterruptReceipt, error) {
	return call[InterruptReceipt](ctx, s, "interrupt", nil)
}

// InterruptAll stops the turn that is running, and takes all prompts that wait for theirs out of the queue. An agent
// without the capability interrupt_cancel_queued_v1 leaves them there.
func (s *Session) InterruptAll(ctx context.Context) (*InterruptReceipt, error) {
	return call[InterruptReceipt](ctx, s, "interrupt", interruptRequest{CancelQueued: true})
}

type interruptRequest struct {
	CancelQueued bool `json:"cancel_queued"`
}

// An InterruptReceipt says what became of the prompts that were waiting, by their UUIDs. A prompt that was sent without
// one is not listed, and the agent may list prompts of its own. Both lists are empty from an agent without the
// capability interrupt_receipt_v1.
type InterruptReceipt struct {
	// StillQueued are the prompts that will run.
	StillQueued []string `json:"still_queued"`
	// Cancelled are the prompts that InterruptAll took out of the queue.
	Cancelled []string `json:"cancelled"`
}

// CancelPrompt takes a prompt out of the queue, and reports whether it was still there. It does not stop a turn that
// has begun: see [Session.Interrupt].
func (s *Session) CancelPrompt(ctx context.Context, uuid string) (bool, error) {
	answer, err := call[cancelPromptAnswer](ctx, s, "cancel_async_message", cancelPromptRequest{uuid})
	if err != nil {
		return false, err
	}
	return answer.Cancelled, nil
}

type cancelPromptRequest struct {
	MessageUUID string `json:"message_uuid"`
}

type cancelPromptAnswer struct {
	Cancelled bool `json:"cancelled"`
}

// SetModel changes the model for the turns to come, and returns the model that the agent made of the name: an alias
// such as "sonnet" becomes an ID. Empty means the model that the session started with. The agent refuses a model that
// it may not use.
func (s *Session) SetModel(ctx context.Context, model string) (string, error) {
	var req setModelRequest
	if model != "" {
		req.Model = &model
	}
	answer, err := call[setModelAnswer](ctx, s, "set_model", req)
	if err != nil {
		return "", err
	}
	return answer.Model, nil
}

type setModelRequest struct {
	Model *string `json:"model"`
}

type setModelAnswer struct {
	Model string `json:"model"`
}

// SetPermissionMode changes how the agent decides about tools from now on. It refuses a mode that it does not know, and
// one that the session was not started for: [wire.PermissionModeBypassPermissions] has to be allowed from the start.
func (s *Session) SetPermissionMode(ctx context.Context, mode wire.PermissionMode) error {
	return s.Control(ctx, "set_permission_mode", setPermissionModeRequest{mode}, nil)
}

type setPermissionModeRequest struct {
	Mode wire.PermissionMode `json:"mode"`
}

// SetThinkingBudget sets how many tokens the model may spend on thinking in the turns to come; 0 turns thinking off.
// Newer models choose their budget by themselves, and some can't be kept from thinking: see
// [ModelInfo.SupportsThinkingOff]. It is an error if tokens is negative.
func (s *Session) SetThinkingBudget(ctx context.Context, tokens int) error {
	if tokens < 0 {
		return fmt.Errorf("clew: a thinking budget of %d tokens", tokens)
	}
	return s.Control(ctx, "set_max_thinking_tokens", thinkingBudgetRequest{&tokens}, nil)
}

// ResetThinking takes back what [Session.SetThinkingBudget] has set.
func (s *Session) ResetThinking(ctx context.Context) error {
	return s.Control(ctx, "set_max_thinking_tokens", thinkingBudgetRequest{}, nil)
}

type thinkingBudgetRequest struct {
	MaxThinkingTokens *int `json:"max_thinking_tokens"`
}

// SetThinkingDisplay sets how much of the model's thinking is shown in the turns to come. Empty leaves it to the agent
// again.
func (s *Session) SetThinkingDisplay(ctx context.Context, display ThinkingDisplay) error {
	var req thinkingDisplayRequest
	if display != "" {
		req.ThinkingDisplay = &display
	}
	return s.Control(ctx, "set_max_thinking_tokens", req, nil)
}

type thinkingDisplayRequest struct {
	ThinkingDisplay *ThinkingDisplay `json:"thinking_display"`
}

// TaskOutput returns the end of what a task has printed: a shell command in the background, while it runs or after. The
// agent refuses tasks of another kind.
func (s *Session) TaskOutput(ctx context.Context, taskID string) (*TaskOutput, error) {
	return call[TaskOutput](ctx, s, "get_task_output", taskRequest{taskID})
}

type taskRequest struct {
	TaskID string `json:"task_id"`
}

// A TaskOutput is the end of what a task has printed.
type TaskOutput struct {
	// Output is the last 8 KB at most. It can hold escape sequences.
	Output string `json:"output"`
	// TotalBytes is how much the task has printed in all.
	TotalBytes int64 `json:"total_bytes"`
	Truncated  bool  `json:"truncated"`
}

// StopTask ends a task that runs. It succeeds as well when there is no such task. What became of the task comes as a
// [wire.TaskNotificationMessage].
func (s *Session) StopTask(ctx context.Context, taskID string) error {
	return s.Control(ctx, "stop_task", taskRequest{taskID}, nil)
}

// BackgroundTask moves a command or subagent that the turn is waiting for to the background, so that the turn goes on.
// It reports whether the tool call had such a task.
func (s *Session) BackgroundTask(ctx context.Context, toolUseID string) (bool, error) {
	answer, err := call[backgroundTaskAnswer](ctx, s, "background_tasks", backgroundTaskRequest{toolUseID})
	if err != nil {
		return false, err
	}
	return answer.found(), nil
}

type backgroundTaskRequest struct {
	ToolUseID string `json:"tool_use_id"`
}

type backgroundTaskAnswer struct {
	Backgrounded *bool `json:"backgrounded"`
}

// found takes an agent that does not say for one that found the task.
func (a *backgroundTaskAnswer) found() bool { return a.Backgrounded == nil || *a.Backgrounded }

// BackgroundTasks moves all that the turn is waiting for to the background: see [Session.BackgroundTask].
func (s *Session) BackgroundTasks(ctx context.Context) error {
	return s.Control(ctx, "background_tasks", nil, nil)
}
