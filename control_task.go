package clew

import "context"

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
