package clew

import (
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A HookInput describes the event that a hook is called at. A field that is not of the type that it
// has here is zero, and is in [HookBase.Raw]. The variants are
//
//   - [*PreToolUseInput], [*PostToolUseInput], [*PostToolUseFailureInput], [*PostToolBatchInput],
//     [*PermissionRequestInput], [*PermissionDeniedInput]
//   - [*UserPromptSubmitInput], [*UserPromptExpansionInput], [*MessageDisplayInput],
//     [*NotificationInput], [*StopInput], [*StopFailureInput]
//   - [*SetupInput], [*SessionStartInput], [*SessionEndInput], [*PreCompactInput],
//     [*PostCompactInput], [*PreModelSwitchInput], [*PostModelSwitchInput]
//   - [*SubagentStartInput], [*SubagentStopInput], [*TeammateIdleInput], [*TaskCreatedInput],
//     [*TaskCompletedInput]
//   - [*ElicitationInput], [*ElicitationResultInput]
//   - [*ConfigChangeInput], [*InstructionsLoadedInput], [*CWDChangedInput], [*DirectoryAddedInput],
//     [*FileChangedInput], [*WorktreeCreateInput], [*WorktreeRemoveInput]
//   - [*UnknownHookInput], for an event that this package does not know
type HookInput interface {
	// Base returns the fields that all inputs have.
	Base() *HookBase
	// Raw returns the input as JSON, with the fields that this package does not know.
	Raw() wire.JSON

	hookInput()
}

// HookBase has the fields that all inputs of hooks have.
type HookBase struct {
	raw wire.JSON

	// Event is the name of the event.
	Event HookEvent `json:"hook_event_name"`
	// RequestToolUseID is the tool_use_id of the request that called the hook. At events about a
	// tool it is the ID of the tool call, as in the input's ToolUseID. At other events the agent
	// sends an ID that it made up for this call.
	RequestToolUseID string `json:"-"`

	// SessionID is the ID of the session.
	SessionID string `json:"session_id"`
	// TranscriptPath is the file with the transcript of the session.
	TranscriptPath string `json:"transcript_path"`
	// CWD is the agent's working directory.
	CWD string `json:"cwd"`
	// PromptID identifies the prompt that the agent is working on, or is empty.
	PromptID string `json:"prompt_id"`
	// PermissionMode is the permission mode, or empty for events that it does not affect.
	PermissionMode wire.PermissionMode `json:"permission_mode"`
	// AgentID is the subagent that caused the event, or empty for the main agent.
	AgentID string `json:"agent_id"`
	// AgentType is the name of that subagent, or of the agent that leads the session.
	AgentType string `json:"agent_type"`
	// Effort is the model's effort level.
	Effort struct {
		// Level is empty for a model without levels of effort.
		Level wire.Effort `json:"level"`
	} `json:"effort"`
}

// Base returns b.
func (b *HookBase) Base() *HookBase { return b }

// Raw returns the input as JSON, with the fields that this package does not know.
func (b *HookBase) Raw() wire.JSON { return b.raw }

func (*HookBase) hookInput() {}

// An UnknownHookInput is the input at an event that this package does not know: see [HookBase.Raw].
type UnknownHookInput struct{ HookBase }

// decodeHookInput decodes the input of a hook. The name of the tool and the prompt must fit their
// types: a hook that does not see them would allow everything.
func (c *callbacks) decodeHookInput(data wire.JSON) (HookInput, error) {
	var head struct {
		Event HookEvent `json:"hook_event_name"`
	}
	if err := rawjson.Decode("the input of a hook", data, &head); err != nil {
		return nil, err
	}
	in := newHookInput(head.Event)
	what := "the input of a hook at " + string(head.Event)
	if err := loosely(c.log, what, in, "tool_name", "prompt").Decode(data); err != nil {
		return nil, err
	}
	in.Base().raw = data
	return in, nil
}

func newHookInput(event HookEvent) HookInput {
	if input := hookInputs[event]; input != nil {
		return input()
	}
	return new(UnknownHookInput)
}

// hookInputs have a constructor of the input for every event that this package knows.
var hookInputs = map[HookEvent]func() HookInput{
	HookPreToolUse:          newInput[PreToolUseInput],
	HookPostToolUse:         newInput[PostToolUseInput],
	HookPostToolUseFailure:  newInput[PostToolUseFailureInput],
	HookPostToolBatch:       newInput[PostToolBatchInput],
	HookPermissionRequest:   newInput[PermissionRequestInput],
	HookPermissionDenied:    newInput[PermissionDeniedInput],
	HookUserPromptSubmit:    newInput[UserPromptSubmitInput],
	HookUserPromptExpansion: newInput[UserPromptExpansionInput],
	HookMessageDisplay:      newInput[MessageDisplayInput],
	HookNotification:        newInput[NotificationInput],
	HookStop:                newInput[StopInput],
	HookStopFailure:         newInput[StopFailureInput],
	HookSetup:               newInput[SetupInput],
	HookSessionStart:        newInput[SessionStartInput],
	HookSessionEnd:          newInput[SessionEndInput],
	HookPreCompact:          newInput[PreCompactInput],
	HookPostCompact:         newInput[PostCompactInput],
	HookPreModelSwitch:      newInput[PreModelSwitchInput],
	HookPostModelSwitch:     newInput[PostModelSwitchInput],
	HookSubagentStart:       newInput[SubagentStartInput],
	HookSubagentStop:        newInput[SubagentStopInput],
	HookTeammateIdle:        newInput[TeammateIdleInput],
	HookTaskCreated:         newInput[TaskCreatedInput],
	HookTaskCompleted:       newInput[TaskCompletedInput],
	HookElicitation:         newInput[ElicitationInput],
	HookElicitationResult:   newInput[ElicitationResultInput],
	HookConfigChange:        newInput[ConfigChangeInput],
	HookInstructionsLoaded:  newInput[InstructionsLoadedInput],
	HookCWDChanged:          newInput[CWDChangedInput],
	HookDirectoryAdded:      newInput[DirectoryAddedInput],
	HookFileChanged:         newInput[FileChangedInput],
	HookWorktreeCreate:      newInput[WorktreeCreateInput],
	HookWorktreeRemove:      newInput[WorktreeRemoveInput],
}

func newInput[T any, P interface {
	*T
	HookInput
}]() HookInput {
	return P(new(T))
}

// An ElicitationInput is the input of [HookElicitation]: an MCP server asks the user something.
type ElicitationInput struct {
	HookBase
	// MCPServerName is the name of the MCP server.
	MCPServerName string `json:"mcp_server_name"`
	// Message is the question.
	Message string `json:"message"`
	// Mode is empty if the agent does not report it; the request is a form then.
	Mode ElicitationMode `json:"mode"`
	// URL is the page to visit in [ElicitationModeURL].
	URL string `json:"url"`
	// ElicitationID identifies the question, or is empty.
	ElicitationID string `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form.
	RequestedSchema wire.JSON `json:"requested_schema"`
}

// An ElicitationResultInput is the input of [HookElicitationResult]: the user answered an MCP
// server.
type ElicitationResultInput struct {
	HookBase
	// MCPServerName is the name of the MCP server.
	MCPServerName string `json:"mcp_server_name"`
	// ElicitationID identifies the question, or is empty.
	ElicitationID string `json:"elicitation_id"`
	// Mode is the mode of the question.
	Mode ElicitationMode `json:"mode"`
	// Action is the user's action.
	Action ElicitationAction `json:"action"`
	// Content is the form as filled in, or empty.
	Content wire.JSON `json:"content"`
}

// A SetupInput is the input of [HookSetup]: the agent sets itself up.
type SetupInput struct {
	HookBase
	// Trigger is init or maintenance.
	Trigger string `json:"trigger"`
}

// A SessionStartInput is the input of [HookSessionStart]: a session starts or is resumed.
type SessionStartInput struct {
	HookBase
	// Source is startup, resume, clear, compact or fork.
	Source string `json:"source"`
	// Model is the model of the session.
	Model string `json:"model"`
	// SessionTitle is the title of the session, or empty.
	SessionTitle string `json:"session_title"`

	// SecondsSinceLastResponse is the age of the last answer of a resumed session.
	SecondsSinceLastResponse float64 `json:"seconds_since_last_response"`
	// ContextTokens is the length of a resumed conversation.
	ContextTokens int `json:"context_tokens"`
	// PromptCacheLikelyExpired reports whether the next request has to write the prompt cache
	// again.
	PromptCacheLikelyExpired bool `json:"prompt_cache_likely_expired"`
	// EstimatedCacheWriteUSD is the estimated cost of that.
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`
}

// A SessionEndInput is the input of [HookSessionEnd]: a session ends.
type SessionEndInput struct {
	HookBase
	// Reason is the reason, such as [wire.ExitClear] or [wire.ExitOther].
	Reason wire.ExitReason `json:"reason"`
}

// A PreCompactInput is the input of [HookPreCompact]: the conversation is about to be compacted.
type PreCompactInput struct {
	HookBase
	// Trigger is manual or auto.
	Trigger string `json:"trigger"`
	// CustomInstructions is the user's text after /compact, or empty.
	CustomInstructions string `json:"custom_instructions"`
}

// A PostCompactInput is the input of [HookPostCompact]: the conversation was compacted.
type PostCompactInput struct {
	HookBase
	// Trigger is manual or auto.
	Trigger string `json:"trigger"`
	// CompactSummary is the summary that replaces the conversation.
	CompactSummary string `json:"compact_summary"`
}

// A PreModelSwitchInput is the input of [HookPreModelSwitch]: the session is about to change its
// model.
type PreModelSwitchInput struct {
	HookBase
	ModelSwitch
}

// A PostModelSwitchInput is the input of [HookPostModelSwitch]: the session changed its model.
type PostModelSwitchInput struct {
	HookBase
	ModelSwitch
}

// A ModelSwitch is a change of the model, and its cost.
type ModelSwitch struct {
	// FromModel is the old model.
	FromModel string `json:"from_model"`
	// ToModel is the new model.
	ToModel string `json:"to_model"`
	// RequestedModel is the name that was asked for, or empty.
	RequestedModel string `json:"requested_model"`
	// Source is command, picker, sdk, auto or resume.
	Source string `json:"source"`
	// ContextTokens is the length of the conversation.
	ContextTokens int `json:"context_tokens"`
	// PromptCacheWarm reports whether the prompt cache of the old model is still valid.
	PromptCacheWarm bool `json:"prompt_cache_warm"`
	// CacheTTL is the time the prompt cache lives: 5m or 1h.
	CacheTTL string `json:"cache_ttl"`
	// EstimatedCacheWriteUSD is the cost of writing the cache of the new model.
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`
	// Pricing is the basis of the estimate: configured, catalog or default.
	Pricing string `json:"pricing"`
}

// A ConfigChangeInput is the input of [HookConfigChange]: settings changed on disk.
type ConfigChangeInput struct {
	HookBase
	// Source is user_settings, project_settings, local_settings, policy_settings or skills.
	Source string `json:"source"`
	// FilePath is the file, or empty.
	FilePath string `json:"file_path"`
}

// An InstructionsLoadedInput is the input of [HookInstructionsLoaded]: a file with instructions was
// read.
type InstructionsLoadedInput struct {
	HookBase
	// FilePath is the file.
	FilePath string `json:"file_path"`
	// MemoryType is User, Project, Local or Managed.
	MemoryType string `json:"memory_type"`
	// LoadReason is session_start, nested_traversal, path_glob_match, include or compact.
	LoadReason string `json:"load_reason"`
	// Globs are the patterns of files that the instructions are for.
	Globs []string `json:"globs"`
	// TriggerFilePath is the file whose use caused the load, or empty.
	TriggerFilePath string `json:"trigger_file_path"`
	// ParentFilePath is the file that includes this one, or empty.
	ParentFilePath string `json:"parent_file_path"`
}

// A CWDChangedInput is the input of [HookCWDChanged]: the working directory changed.
type CWDChangedInput struct {
	HookBase
	// OldCWD is the old working directory.
	OldCWD string `json:"old_cwd"`
	// NewCWD is the new working directory.
	NewCWD string `json:"new_cwd"`
}

// A DirectoryAddedInput is the input of [HookDirectoryAdded]: the agent may work in another
// directory as well.
type DirectoryAddedInput struct {
	HookBase
	// Directory is the new directory.
	Directory string `json:"directory"`
	// Source is slash_command or register_repo_root.
	Source string `json:"source"`
}

// A FileChangedInput is the input of [HookFileChanged]: a watched file changed.
type FileChangedInput struct {
	HookBase
	// FilePath is the file.
	FilePath string `json:"file_path"`
	// Change is change, add or unlink.
	Change string `json:"event"`
}

// A WorktreeCreateInput is the input of [HookWorktreeCreate]: the agent needs a git worktree.
type WorktreeCreateInput struct {
	HookBase
	// Name is the name for the worktree.
	Name string `json:"name"`
}

// A WorktreeRemoveInput is the input of [HookWorktreeRemove]: the agent no longer needs a git
// worktree.
type WorktreeRemoveInput struct {
	HookBase
	// WorktreePath is the directory of the worktree.
	WorktreePath string `json:"worktree_path"`
}

// A SubagentStartInput is the input of [HookSubagentStart]: the subagent [HookBase.AgentID] starts.
type SubagentStartInput struct{ HookBase }

// A SubagentStopInput is the input of [HookSubagentStop]: the subagent [HookBase.AgentID] is about
// to end.
type SubagentStopInput struct {
	HookBase
	// StopHookActive is true if the subagent is running only because a hook at this event made it
	// continue. A hook that always does so makes it run forever.
	StopHookActive bool `json:"stop_hook_active"`
	// AgentTranscriptPath is the file with the transcript of the subagent.
	AgentTranscriptPath string `json:"agent_transcript_path"`
	// LastAssistantMessage is the text of the last answer.
	LastAssistantMessage string `json:"last_assistant_message"`
	// BackgroundTasks are tasks that are still running.
	BackgroundTasks []HookBackgroundTask `json:"background_tasks"`
	// SessionCrons are scheduled prompts.
	SessionCrons []HookCron `json:"session_crons"`
}

// A TeammateIdleInput is the input of [HookTeammateIdle]: a teammate has nothing to do.
type TeammateIdleInput struct {
	HookBase
	// TeammateName is the name of the teammate.
	TeammateName string `json:"teammate_name"`
	// TeamName is the name of the team.
	TeamName string `json:"team_name"`
}

// A TaskCreatedInput is the input of [HookTaskCreated]: a task was added to the agent's list.
type TaskCreatedInput struct {
	HookBase
	HookTask
}

// A TaskCompletedInput is the input of [HookTaskCompleted]: a task of the agent's list is done.
type TaskCompletedInput struct {
	HookBase
	HookTask
}

// A HookTask is a task on the agent's list.
type HookTask struct {
	// TaskID is the ID of the task.
	TaskID string `json:"task_id"`
	// TaskSubject is a short text.
	TaskSubject string `json:"task_subject"`
	// TaskDescription is a long text.
	TaskDescription string `json:"task_description"`
	// TeammateName is the teammate that works on the task, or empty.
	TeammateName string `json:"teammate_name"`
	// TeamName is the name of the team, or empty.
	TeamName string `json:"team_name"`
}

// A PreToolUseInput is the input of [HookPreToolUse]: a tool is about to run.
type PreToolUseInput struct {
	HookBase
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object. Package tooluse decodes the inputs of the built-in
	// tools.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolUseInput is the input of [HookPostToolUse]: a tool has run.
type PostToolUseInput struct {
	HookBase
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolResponse is the tool's result. Its shape depends on the tool.
	ToolResponse wire.JSON `json:"tool_response"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// Duration is the time the tool ran.
	Duration wire.Millis `json:"duration_ms"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolUseFailureInput is the input of [HookPostToolUseFailure]: a tool failed.
type PostToolUseFailureInput struct {
	HookBase
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// Error is the text of the error.
	Error string `json:"error"`
	// Interrupt is true if an interrupt ended the tool.
	Interrupt bool `json:"is_interrupt"`
	// Duration is the time the tool ran.
	Duration wire.Millis `json:"duration_ms"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolBatchInput is the input of [HookPostToolBatch]: all tools that one answer of the model
// called have run.
type PostToolBatchInput struct {
	HookBase
	// ToolCalls are the calls.
	ToolCalls []HookToolCall `json:"tool_calls"`
}

// A HookToolCall is one tool call.
type HookToolCall struct {
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// ToolResponse is the tool's result, or empty if there is none.
	ToolResponse wire.JSON `json:"tool_response"`
}

// A PermissionRequestInput is the input of [HookPermissionRequest]: the agent asks for permission
// to use a tool. A [CanUseToolFunc] is asked at the same time, and the first answer counts.
type PermissionRequestInput struct {
	HookBase
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// Suggestions are changes of the rules that would avoid such questions: see
	// [PermissionRequest.Suggestions].
	Suggestions []PermissionUpdate `json:"permission_suggestions"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PermissionDeniedInput is the input of [HookPermissionDenied]: the use of a tool was denied.
type PermissionDeniedInput struct {
	HookBase
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// Reason explains why it was denied.
	Reason string `json:"reason"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A UserPromptSubmitInput is the input of [HookUserPromptSubmit]: the agent is about to start on a
// prompt.
type UserPromptSubmitInput struct {
	HookBase
	// Prompt is the text of the prompt.
	Prompt string `json:"prompt"`
	// Source is user, sdk, system, loop_wakeup, schedule_wakeup, poll_event, or empty.
	Source string `json:"source"`
	// SessionTitle is the title of the session, or empty.
	SessionTitle string `json:"session_title"`
}

// A UserPromptExpansionInput is the input of [HookUserPromptExpansion]: a slash command is replaced
// by its prompt.
type UserPromptExpansionInput struct {
	HookBase
	// ExpansionType is slash_command or mcp_prompt.
	ExpansionType string `json:"expansion_type"`
	// CommandName is the name of the command, without the slash.
	CommandName string `json:"command_name"`
	// CommandArgs are the arguments of the command, or empty.
	CommandArgs string `json:"command_args"`
	// CommandSource is the source of the command, or empty.
	CommandSource string `json:"command_source"`
	// Prompt is the prompt that replaces the command.
	Prompt string `json:"prompt"`
}

// A MessageDisplayInput is the input of [HookMessageDisplay]: a part of an answer is about to be
// shown.
type MessageDisplayInput struct {
	HookBase
	// TurnID is the ID of the turn.
	TurnID string `json:"turn_id"`
	// MessageID is the ID of the answer.
	MessageID string `json:"message_id"`
	// Index counts the parts of the answer, from 0.
	Index int `json:"index"`
	// Final is true for the last part.
	Final bool `json:"final"`
	// Delta is the text of the part.
	Delta string `json:"delta"`
}

// A NotificationInput is the input of [HookNotification]: the agent notifies the user.
type NotificationInput struct {
	HookBase
	// Message is the text of the notification.
	Message string `json:"message"`
	// Title is its title, or empty.
	Title string `json:"title"`
	// NotificationType is the kind of notification, such as permission_prompt.
	NotificationType string `json:"notification_type"`
}

// A StopInput is the input of [HookStop]: the agent is about to end its turn.
type StopInput struct {
	HookBase
	// StopHookActive is true if the agent is running only because a hook at this event made it
	// continue. A hook that always does so makes it run forever.
	StopHookActive bool `json:"stop_hook_active"`
	// LastAssistantMessage is the text of the last answer.
	LastAssistantMessage string `json:"last_assistant_message"`
	// BackgroundTasks are tasks that are still running.
	BackgroundTasks []HookBackgroundTask `json:"background_tasks"`
	// SessionCrons are scheduled prompts.
	SessionCrons []HookCron `json:"session_crons"`
}

// A StopFailureInput is the input of [HookStopFailure]: an error ended the turn.
type StopFailureInput struct {
	HookBase
	// Error is the kind of error.
	Error wire.AssistantError `json:"error"`
	// ErrorDetails is the text of the error.
	ErrorDetails string `json:"error_details"`
	// LastAssistantMessage is the text of the last answer.
	LastAssistantMessage string `json:"last_assistant_message"`
}

// A HookBackgroundTask is a task that continues when the turn ends. Long texts are cut.
type HookBackgroundTask struct {
	// ID is the ID of the task: see [Session.TaskOutput] and [Session.StopTask].
	ID string `json:"id"`
	// Type is the kind of task, such as shell or subagent.
	Type string `json:"type"`
	// Status is the state of the task, such as running.
	Status string `json:"status"`
	// Description describes the task.
	Description string `json:"description"`
	// Command is the command of a shell task.
	Command string `json:"command"`
	// AgentType is the name of a subagent.
	AgentType string `json:"agent_type"`
	// Server is the MCP server of a task that calls a tool.
	Server string `json:"server"`
	// Tool is that tool.
	Tool string `json:"tool"`
	// Name is the name of a task that has one.
	Name string `json:"name"`
}

// A HookCron is a scheduled prompt of the session. Long texts are cut.
type HookCron struct {
	// ID is the ID of the schedule.
	ID string `json:"id"`
	// Schedule is the schedule of the prompt, in cron format.
	Schedule string `json:"schedule"`
	// Recurring is false for a prompt that runs only once.
	Recurring bool `json:"recurring"`
	// Prompt is the text of the prompt.
	Prompt string `json:"prompt"`
}
