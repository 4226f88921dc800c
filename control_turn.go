package clew

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/wire"
)

// Interrupt stops the turn that is running; without one it does nothing. The turn ends with a
// result, which can come after Interrupt returns. Prompts in the queue stay there, and the agent
// continues with the first of them, unless opts, which may be nil, cancel them.
func (s *Session) Interrupt(ctx context.Context, opts *InterruptOptions) (*InterruptReceipt, error) {
	if opts == nil || !opts.CancelQueued {
		return call[InterruptReceipt](ctx, s, "interrupt", nil)
	}
	if found := s.agent.knownVersion(); olderThan(found, cancelsQueue) {
		return nil, badOption("InterruptOptions.CancelQueued", "Claude Code %s would run the queued prompts: use version %s or newer",
			found, cancelsQueue)
	}
	return call[InterruptReceipt](ctx, s, "interrupt", interruptRequest{CancelQueued: true})
}

// InterruptOptions configure [Session.Interrupt].
type InterruptOptions struct {
	// CancelQueued also removes all prompts from the queue. Claude Code before 2.1.219 can't do
	// that: the interrupt is an [*OptionsError] then, and nothing is sent. An agent whose version is
	// not known is taken for a new one, see [Options.AgentVersion].
	CancelQueued bool
}

type interruptRequest struct {
	CancelQueued bool `json:"cancel_queued"`
}

// An InterruptReceipt lists the prompts that were in the queue, by their UUIDs. A prompt that was
// sent without a UUID is not listed, and the agent may list its own prompts. Both lists are empty
// from an agent without the capability interrupt_receipt_v1.
type InterruptReceipt struct {
	// StillQueued are the prompts that will run.
	StillQueued []string `json:"still_queued"`
	// Canceled are the prompts that [InterruptOptions.CancelQueued] removed.
	Canceled []string `json:"cancelled"`
}

// CancelPrompt removes a prompt from the queue and reports whether it was still there. It does not
// stop a turn that started: see [Session.Interrupt].
func (s *Session) CancelPrompt(ctx context.Context, uuid string) (bool, error) {
	answer, err := call[cancelPromptAnswer](ctx, s, cancelSubtype, cancelPromptRequest{uuid})
	if err != nil {
		return false, err
	}
	if answer.Canceled && !s.progress.reportsStates() {
		s.reportCanceled(uuid)
	}
	return answer.Canceled, nil
}

const cancelSubtype = "cancel_async_message"

// takeBack removes a prompt from the queue without waiting for the answer. If the agent does not
// report what becomes of the prompt, the answer does.
func (s *Session) takeBack(uuid string) {
	if s.progress.reportsStates() {
		s.notify(cancelSubtype, cancelPromptRequest{uuid})
		return
	}
	body, err := requestBody(cancelSubtype, cancelPromptRequest{uuid})
	if err != nil {
		return
	}
	wait, err := s.control.Start(body)
	if err != nil {
		s.log.Debug("control request not sent", "subtype", cancelSubtype, "error", err)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.opts.controlTimeout())
		defer cancel()
		answer, err := wait(ctx)
		var canceled cancelPromptAnswer
		if err == nil && s.readAnswer(cancelSubtype, answer.Response, &canceled) == nil && canceled.Canceled {
			s.reportCanceled(uuid)
		}
	}()
}

// ownReport starts the UUID of a message that reportCanceled adds.
const ownReport = "clew:"

func isOwnReport(m *wire.CommandLifecycleMessage) bool { return strings.HasPrefix(m.UUID, ownReport) }

// reportCanceled adds the message about a canceled prompt that an older agent does not send. It is
// only for this package. It does not wait for room in the backlog, which the caller may have to
// make, and comes before messages that wait for room: the agent no longer has the prompt in any of
// them.
func (s *Session) reportCanceled(uuid string) {
	frame, err := wire.Append(nil, &wire.CommandLifecycleMessage{
		CommandUUID: uuid, State: wire.CommandStateCanceled, UUID: ownReport + newid.UUID(), SessionID: s.ID(),
	})
	if err != nil {
		s.log.Warn("a canceled prompt can't be reported", "error", err)
		return
	}
	msg := wire.Decode(frame)
	s.update(msg)
	s.backlog.Add(msg)
}

type cancelPromptRequest struct {
	MessageUUID string `json:"message_uuid"`
}

type cancelPromptAnswer struct {
	Canceled bool `json:"cancelled"`
}

// SetModel changes the model of the following turns and returns the ID of the model: an alias such
// as "sonnet" becomes an ID. An empty name goes back to the model that the session started with.
// The agent refuses a model that it may not use. [Session.Models] lists the models it may use.
// Claude Code up to 2.1.300 does not report the ID: then SetModel returns the ID that
// [ServerInfo.Models] has for the name, or else the name.
func (s *Session) SetModel(ctx context.Context, model string) (string, error) {
	var req setModelRequest
	if model != "" {
		req.Model = &model
	}
	answer, err := call[setModelAnswer](ctx, s, "set_model", req)
	if err != nil {
		return "", err
	}
	return cmp.Or(answer.Model, s.resolvedModel(model), model), nil
}

// resolvedModel returns the ID of a model by its name, or "" if the agent has not reported it.
func (s *Session) resolvedModel(name string) string {
	for _, m := range s.agent.info.Load().Models {
		if m.Value == name {
			return m.ResolvedModel
		}
	}
	return ""
}

type setModelRequest struct {
	Model *string `json:"model"`
}

type setModelAnswer struct {
	Model string `json:"model"`
}

// SetPermissionMode changes how the agent decides about tools from now on. The agent refuses a mode
// that it does not know, and [PermissionModeBypassPermissions] unless the session was started with
// [Options.AllowDangerouslySkipPermissions].
func (s *Session) SetPermissionMode(ctx context.Context, mode wire.PermissionMode) error {
	return s.Control(ctx, "set_permission_mode", setPermissionModeRequest{mode}, nil)
}

type setPermissionModeRequest struct {
	Mode wire.PermissionMode `json:"mode"`
}

// SetThinking changes how the model thinks in the following turns. Nil restores the setting that
// the session started with. It returns an error, and sends nothing, if the budget is negative.
func (s *Session) SetThinking(ctx context.Context, opts *ThinkingOptions) error {
	if opts == nil {
		return s.Control(ctx, "set_max_thinking_tokens", resetThinkingRequest{}, nil)
	}
	if budget := opts.BudgetTokens; budget != nil && *budget < 0 {
		return fmt.Errorf("clew: negative thinking budget: %d tokens", *budget)
	}
	return s.Control(ctx, "set_max_thinking_tokens", opts, nil)
}

// ThinkingOptions are the changes made by [Session.SetThinking]. A zero field leaves things as they
// are.
type ThinkingOptions struct {
	// BudgetTokens is the number of tokens the model may spend on thinking. 0 turns thinking off.
	// Newer models choose their budget by themselves, and some always think: see
	// [ModelInfo.SupportsThinkingOff].
	BudgetTokens *int `json:"max_thinking_tokens,omitempty"`
	// Display determines how much of the thinking the messages contain.
	Display ThinkingDisplay `json:"thinking_display,omitempty"`
}

// A resetThinkingRequest has null for all values. The agent leaves a value that is missing as it
// is.
type resetThinkingRequest struct {
	MaxThinkingTokens *int             `json:"max_thinking_tokens"`
	ThinkingDisplay   *ThinkingDisplay `json:"thinking_display"`
}

// TaskOutput returns the end of the output of a background shell command, while it runs or
// afterward. The agent refuses tasks of another kind.
func (s *Session) TaskOutput(ctx context.Context, taskID string) (*TaskOutput, error) {
	return call[TaskOutput](ctx, s, "get_task_output", taskRequest{taskID})
}

type taskRequest struct {
	TaskID string `json:"task_id"`
}

// A TaskOutput is the end of a task's output.
type TaskOutput struct {
	// Output is the last 8 KB at most. It can contain escape sequences: don't print it to a
	// terminal as it is.
	Output string `json:"output"`
	// TotalBytes is the size of the task's output so far.
	TotalBytes int64 `json:"total_bytes"`
	// Truncated is true if Output is not everything.
	Truncated bool `json:"truncated"`
}

// StopTask ends a task that is running. It also succeeds when there is no such task. The end of the
// task comes as a [wire.TaskNotificationMessage].
func (s *Session) StopTask(ctx context.Context, taskID string) error {
	return s.Control(ctx, "stop_task", taskRequest{taskID}, nil)
}

// BackgroundTasks moves the command or subagent that the turn is waiting for to the background, so
// that the turn continues. toolUseID is the tool call that started it, and empty means everything
// that the turn is waiting for. It reports whether the tool call had such a task.
func (s *Session) BackgroundTasks(ctx context.Context, toolUseID string) (bool, error) {
	answer, err := call[backgroundTasksAnswer](ctx, s, "background_tasks", backgroundTasksRequest{toolUseID})
	if err != nil {
		return false, err
	}
	return answer.found(), nil
}

type backgroundTasksRequest struct {
	ToolUseID string `json:"tool_use_id,omitempty"`
}

type backgroundTasksAnswer struct {
	Backgrounded *bool `json:"backgrounded"`
}

// found reports whether a task was moved. An agent that does not say found the task.
func (a *backgroundTasksAnswer) found() bool { return a.Backgrounded == nil || *a.Backgrounded }
