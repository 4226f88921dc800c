package wire

import (
	"cmp"
	"slices"
)

// A TaskStartedMessage reports that a task started: a subagent, a shell command in the background,
// a workflow. A task that is resumed keeps its TaskID and gets a new RunID; the run ids of one task
// sort in the order of its runs.
//
//wire:message system task_started
type TaskStartedMessage struct {
	raw string

	// TaskID is the same in all messages about the task.
	TaskID string `json:"task_id" wire:"required,intern"`
	// RunID is the same in all messages about one run of the task. Older agents leave it out.
	RunID string `json:"run_id" wire:"intern"`
	// ToolUseID is the tool call that started the task.
	ToolUseID string `json:"tool_use_id" wire:"intern"`
	// Description is a short text for people.
	Description string `json:"description" wire:"required"`
	// TaskType is the kind of task.
	TaskType TaskType `json:"task_type" wire:"intern"`
	// SubagentType is the kind of subagent, such as "general-purpose". Other tasks have none.
	SubagentType string `json:"subagent_type" wire:"intern"`
	// WorkflowName is the name of a workflow. Other tasks have none.
	WorkflowName string `json:"workflow_name" wire:"intern"`
	// Backgrounded reports whether the agent does not wait for the task.
	Backgrounded bool `json:"is_backgrounded"`
	// SpawnDepth is 1 for a task that the session's own agent started.
	SpawnDepth int `json:"spawn_depth"`
	// ParentTaskID is the task that started this one, or empty.
	ParentTaskID string `json:"parent_task_id" wire:"intern"`
	// Prompt is the prompt of a subagent.
	Prompt string `json:"prompt"`
	// SkipTranscript reports whether the transcript should not show the task.
	SkipTranscript bool `json:"skip_transcript"`
	// Ambient marks a task that is not activity, such as a watcher. Do not count it as work.
	Ambient   bool   `json:"ambient"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A TaskType is the kind of a task.
type TaskType string

// The kinds of tasks.
const (
	TaskTypeLocalAgent    TaskType = "local_agent"
	TaskTypeLocalBash     TaskType = "local_bash"
	TaskTypeLocalWorkflow TaskType = "local_workflow"
	TaskTypeMCPTask       TaskType = "mcp_task"
	TaskTypeRemoteAgent   TaskType = "remote_agent"
)

// A TaskUpdatedMessage reports changes to a task.
//
//wire:message system task_updated
type TaskUpdatedMessage struct {
	raw string

	// TaskID is the task, as in [TaskStartedMessage].
	TaskID string `json:"task_id" wire:"intern"`
	// RunID is the run of the task, or empty. Ignore a message about an earlier run.
	RunID string `json:"run_id" wire:"intern"`
	// Patch holds the changes. Merge it into your state of the task. It is empty if the agent sent
	// something other than an object.
	Patch     TaskPatch `json:"patch"`
	UUID      string    `json:"uuid"`                     // ID of this message
	SessionID string    `json:"session_id" wire:"intern"` // session that it belongs to
}

// A TaskPatch holds the changed properties of a task; those left at zero have not changed.
type TaskPatch struct {
	raw string

	// Status is the new state.
	Status TaskStatus `json:"status,omitzero" wire:"intern"`
	// Description is the new description.
	Description string `json:"description,omitzero"`
	// EndTime is a Unix time in milliseconds.
	EndTime int64 `json:"end_time,omitzero"`
	// TotalPaused is the time the task was paused, all pauses together.
	TotalPaused Millis `json:"total_paused_ms,omitzero"`
	// Error explains why the task failed.
	Error string `json:"error,omitzero"`
	// Backgrounded reports whether the task now runs in the background. Nil means no change.
	Backgrounded *bool `json:"is_backgrounded,omitzero"`
}

// A TaskStatus is the state of a task.
type TaskStatus string

// The states of a task. Only a TaskUpdatedMessage has TaskStatusKilled, and only a
// TaskNotificationMessage has TaskStatusStopped.
const (
	TaskStatusPending   TaskStatus = "pending"
	TaskStatusRunning   TaskStatus = "running"
	TaskStatusPaused    TaskStatus = "paused"
	TaskStatusCompleted TaskStatus = "completed"
	TaskStatusFailed    TaskStatus = "failed"
	TaskStatusKilled    TaskStatus = "killed"
	TaskStatusStopped   TaskStatus = "stopped"
)

// Terminal reports whether a run with this status is over. A status that is not known is not
// terminal.
func (s TaskStatus) Terminal() bool {
	switch s {
	case TaskStatusCompleted, TaskStatusFailed, TaskStatusKilled, TaskStatusStopped:
		return true
	}
	return false
}

// A TaskProgressMessage reports the progress of a running task.
//
//wire:message system task_progress
type TaskProgressMessage struct {
	raw string

	// TaskID is the task, as in [TaskStartedMessage].
	TaskID string `json:"task_id" wire:"required,intern"`
	// RunID is the run of the task, or empty. Ignore a message about an earlier run.
	RunID string `json:"run_id" wire:"intern"`
	// ToolUseID is the tool call that started the task.
	ToolUseID string `json:"tool_use_id" wire:"intern"`
	// Description is the current activity of the task, such as "Running Count".
	Description string `json:"description" wire:"required"`
	// SubagentType is the kind of subagent, or empty for other tasks.
	SubagentType string `json:"subagent_type" wire:"intern"`
	// Usage counts from the beginning of the task.
	Usage TaskUsage `json:"usage" wire:"required"`
	// LastToolName is the tool that the task used last.
	LastToolName string `json:"last_tool_name" wire:"intern"`
	// Summary describes the work so far, if the agent was asked for progress summaries.
	Summary   string `json:"summary"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// TaskUsage is the usage of a task since it started.
type TaskUsage struct {
	raw string

	// TotalTokens is the sum of input, cached input and output.
	TotalTokens int `json:"total_tokens,omitzero"`
	// ToolUses is the number of tool calls.
	ToolUses int `json:"tool_uses,omitzero"`
	// Duration is the time the task has been running.
	Duration Millis `json:"duration_ms,omitzero"`
}

// A TaskNotificationMessage reports that a task ended, and where its output is.
//
//wire:message system task_notification
type TaskNotificationMessage struct {
	raw string

	// TaskID is the task, as in [TaskStartedMessage].
	TaskID string `json:"task_id" wire:"required,intern"`
	// RunID is the run of the task, or empty.
	RunID string `json:"run_id" wire:"intern"`
	// ToolUseID is the tool call that started the task.
	ToolUseID string `json:"tool_use_id" wire:"intern"`
	// Status is completed, failed or stopped.
	Status TaskStatus `json:"status" wire:"required,intern"`
	// Reason is "worker_restart" for a task that was lost with its process.
	Reason string `json:"reason" wire:"intern"`
	// OutputFile is the path of a file with the output.
	OutputFile string `json:"output_file" wire:"required"`
	// Summary is the outcome in words. For a subagent it is the final text.
	Summary string `json:"summary"`
	// SummaryIsReport reports whether Summary is the report of a subagent that nothing waits for, to
	// be shown as it is. A later notification of the same task replaces it. It is false for other
	// summaries, and up to Claude Code 2.1.325.
	SummaryIsReport bool `json:"summary_is_report"`
	// Usage is the usage of the task, or nil.
	Usage *TaskUsage `json:"usage"`
	// ResourceLinks are MCP resources that the task made, at most 50.
	ResourceLinks []ResourceLink `json:"resource_links"`
	// SkipTranscript reports whether the transcript should not show the task.
	SkipTranscript bool `json:"skip_transcript"`
	// Ambient marks a task that is not activity, as in [TaskStartedMessage].
	Ambient   bool   `json:"ambient"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A ResourceLink points to an MCP resource that a task produced.
type ResourceLink struct {
	raw string

	// URI names the resource at its server.
	URI string `json:"uri,omitzero"`
	// Name is the name of the resource.
	Name string `json:"name,omitzero"`
	// Title is the name for people.
	Title string `json:"title,omitzero"`
	// Description describes the resource, or is empty.
	Description string `json:"description,omitzero"`
	// MIMEType is the type of the resource, such as "text/plain", or empty.
	MIMEType string `json:"mimeType,omitzero" wire:"intern"`
	// Size is in bytes.
	Size int64 `json:"size,omitzero"`
	// Annotations are MCP annotations.
	Annotations JSON `json:"annotations,omitzero"`
}

// A BackgroundTasksChangedMessage gives all tasks that now run in the background. The list replaces
// the one before it, and is empty again after a restart of the process.
//
//wire:message system background_tasks_changed
type BackgroundTasksChangedMessage struct {
	raw string

	// Tasks are all tasks that run, not only the new ones.
	Tasks     []RunningTask `json:"tasks"`
	UUID      string        `json:"uuid"`                     // ID of this message
	SessionID string        `json:"session_id" wire:"intern"` // session that it belongs to
}

// A RunningTask is one task that runs in the background.
type RunningTask struct {
	raw string

	// TaskID is the task. The fields mean the same as in [TaskStartedMessage].
	TaskID string `json:"task_id,omitzero" wire:"intern"`
	// RunID is the run of the task, or empty.
	RunID string `json:"run_id,omitzero" wire:"intern"`
	// TaskType is the kind of task.
	TaskType TaskType `json:"task_type,omitzero" wire:"intern"`
	// SubagentType is the kind of subagent, or "main-session" for a session in the background.
	// Other tasks have none.
	SubagentType string `json:"subagent_type,omitzero" wire:"intern"`
	// Description is a short text for people.
	Description string `json:"description,omitzero"`
	// ParentTaskID is the task that started this one, or empty.
	ParentTaskID string `json:"parent_task_id,omitzero" wire:"intern"`
	// Ambient marks a task that is not activity.
	Ambient bool `json:"ambient,omitzero"`
}

// A HookStartedMessage reports that a shell hook started to run. Those of SessionStart and Setup
// are always reported, the others only when the agent was asked to include hook events. Hooks that
// are callbacks of the caller are not reported.
//
//wire:message system hook_started
type HookStartedMessage struct {
	raw string

	// HookID is shared by all messages about one run of the hook.
	HookID string `json:"hook_id"`
	// HookName is the event and a detail, such as "SessionStart:startup".
	HookName string `json:"hook_name" wire:"intern"`
	// HookEvent is the event, such as "PreToolUse".
	HookEvent string `json:"hook_event" wire:"intern"`
	// HookEventName is another spelling of HookEvent.
	HookEventName string `json:"hook_event_name" wire:"intern"`
	UUID          string `json:"uuid"`                     // ID of this message
	SessionID     string `json:"session_id" wire:"intern"` // session that it belongs to
}

// Event returns the event that the hook answers to: HookEvent, or else HookName, or else
// HookEventName.
func (m *HookStartedMessage) Event() string {
	return cmp.Or(m.HookEvent, m.HookName, m.HookEventName)
}

// A HookProgressMessage carries the output of a running hook so far.
//
//wire:message system hook_progress
type HookProgressMessage struct {
	raw string

	// HookID is the run of the hook, as in [HookStartedMessage].
	HookID string `json:"hook_id"`
	// HookName is the event and a detail, such as "SessionStart:startup".
	HookName string `json:"hook_name" wire:"intern"`
	// HookEvent is the event, such as "PreToolUse".
	HookEvent string `json:"hook_event" wire:"intern"`
	// HookEventName is another spelling of HookEvent.
	HookEventName string `json:"hook_event_name" wire:"intern"`
	// Stdout is the standard output of the hook so far.
	Stdout string `json:"stdout"`
	// Stderr is the standard error of the hook so far.
	Stderr string `json:"stderr"`
	// Output is the combined output of the hook so far, as the agent puts it together.
	Output    string `json:"output"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// Event returns the event that the hook answers to: HookEvent, or else HookName, or else
// HookEventName.
func (m *HookProgressMessage) Event() string {
	return cmp.Or(m.HookEvent, m.HookName, m.HookEventName)
}

// A HookResponseMessage reports the outcome and the output of a hook.
//
//wire:message system hook_response
type HookResponseMessage struct {
	raw string

	// HookID is the run of the hook, as in [HookStartedMessage].
	HookID string `json:"hook_id"`
	// HookName is the event and a detail, such as "SessionStart:startup".
	HookName string `json:"hook_name" wire:"intern"`
	// HookEvent is the event, such as "PreToolUse".
	HookEvent string `json:"hook_event" wire:"intern"`
	// HookEventName is another spelling of HookEvent.
	HookEventName string `json:"hook_event_name" wire:"intern"`
	// Output is the combined output of the hook, as the agent puts it together.
	Output string `json:"output"`
	// Stdout is the standard output of the hook.
	Stdout string `json:"stdout"`
	// Stderr is the standard error of the hook.
	Stderr string `json:"stderr"`
	// ExitCode is nil when the agent gave none.
	ExitCode *int `json:"exit_code"`
	// Outcome describes how the hook ended.
	Outcome   HookOutcome `json:"outcome" wire:"intern"`
	UUID      string      `json:"uuid"`                     // ID of this message
	SessionID string      `json:"session_id" wire:"intern"` // session that it belongs to
}

// Event returns the event that the hook answers to: HookEvent, or else HookName, or else
// HookEventName.
func (m *HookResponseMessage) Event() string {
	return cmp.Or(m.HookEvent, m.HookName, m.HookEventName)
}

// A HookOutcome is the outcome of a hook.
type HookOutcome string

// The ways a hook ends.
const (
	HookOutcomeSuccess  HookOutcome = "success"
	HookOutcomeError    HookOutcome = "error"
	HookOutcomeCanceled HookOutcome = "cancelled"
)

// hookEvents are the events of hooks, in the order in which the agent lists them.
var hookEvents = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "UserPromptSubmit",
	"UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
	"PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "PermissionRequest", "PermissionDenied", "Setup",
	"TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange",
	"WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded",
	"MessageDisplay",
}

// HookEvents returns the names of all events that hooks of Claude Code 2.1.326 can have. The
// constants of type hook.Event are the same. The list is new at each call.
func HookEvents() []string { return slices.Clone(hookEvents) }
