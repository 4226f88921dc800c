package hook

import (
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// An Input describes the event that a hook is called at. A field that is not of the type that it
// has here is zero, and is in [BaseInput.Raw]. The variants are
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
//   - [*UnknownInput], for an event that this package does not know
type Input interface {
	// Base returns the fields that all inputs have.
	Base() *BaseInput
	// Raw returns the input as JSON, with the fields that this package does not know.
	Raw() wire.JSON

	input()
}

// BaseInput has the fields that all inputs of hooks have.
type BaseInput struct {
	raw wire.JSON

	// Event is the name of the event.
	Event Event `json:"hook_event_name"`
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
func (b *BaseInput) Base() *BaseInput { return b }

// Raw returns the input as JSON, with the fields that this package does not know.
func (b *BaseInput) Raw() wire.JSON { return b.raw }

func (*BaseInput) input() {}

// An UnknownInput is the input at an event that this package does not know: see [BaseInput.Raw].
type UnknownInput struct{ BaseInput }

// Decode decodes a hook's input. A field that does not fit its type is zero, and misfit, which
// may be nil, is called for it. The name of the tool and the prompt must fit: a hook that does not
// see them would allow everything.
func Decode(data wire.JSON, misfit func(field string, err error)) (Input, error) {
	var head struct {
		Event Event `json:"hook_event_name"`
	}
	if err := rawjson.Decode("the input of a hook", data, &head); err != nil {
		return nil, err
	}
	in := newInputAt(head.Event)
	loose := rawjson.Loose{
		What: "the input of a hook at " + string(head.Event), Value: in, Required: []string{"tool_name", "prompt"}, Report: misfit,
	}
	if err := loose.Decode(data); err != nil {
		return nil, err
	}
	in.Base().raw = data
	return in, nil
}

func newInputAt(event Event) Input {
	if input := inputs[event]; input != nil {
		return input()
	}
	return new(UnknownInput)
}

// inputs have a constructor of the input for every event that this package knows.
var inputs = map[Event]func() Input{
	PreToolUse:          newInput[PreToolUseInput],
	PostToolUse:         newInput[PostToolUseInput],
	PostToolUseFailure:  newInput[PostToolUseFailureInput],
	PostToolBatch:       newInput[PostToolBatchInput],
	PermissionRequest:   newInput[PermissionRequestInput],
	PermissionDenied:    newInput[PermissionDeniedInput],
	UserPromptSubmit:    newInput[UserPromptSubmitInput],
	UserPromptExpansion: newInput[UserPromptExpansionInput],
	MessageDisplay:      newInput[MessageDisplayInput],
	Notification:        newInput[NotificationInput],
	Stop:                newInput[StopInput],
	StopFailure:         newInput[StopFailureInput],
	Setup:               newInput[SetupInput],
	SessionStart:        newInput[SessionStartInput],
	SessionEnd:          newInput[SessionEndInput],
	PreCompact:          newInput[PreCompactInput],
	PostCompact:         newInput[PostCompactInput],
	PreModelSwitch:      newInput[PreModelSwitchInput],
	PostModelSwitch:     newInput[PostModelSwitchInput],
	SubagentStart:       newInput[SubagentStartInput],
	SubagentStop:        newInput[SubagentStopInput],
	TeammateIdle:        newInput[TeammateIdleInput],
	TaskCreated:         newInput[TaskCreatedInput],
	TaskCompleted:       newInput[TaskCompletedInput],
	Elicitation:         newInput[ElicitationInput],
	ElicitationResult:   newInput[ElicitationResultInput],
	ConfigChange:        newInput[ConfigChangeInput],
	InstructionsLoaded:  newInput[InstructionsLoadedInput],
	CWDChanged:          newInput[CWDChangedInput],
	DirectoryAdded:      newInput[DirectoryAddedInput],
	FileChanged:         newInput[FileChangedInput],
	WorktreeCreate:      newInput[WorktreeCreateInput],
	WorktreeRemove:      newInput[WorktreeRemoveInput],
}

func newInput[T any, P interface {
	*T
	Input
}]() Input {
	return P(new(T))
}

// An ElicitationInput is the input of [Elicitation]: an MCP server asks the user something.
type ElicitationInput struct {
	BaseInput
	// MCPServerName is the name of the MCP server.
	MCPServerName string `json:"mcp_server_name"`
	// Message is the question.
	Message string `json:"message"`
	// Mode is empty if the agent does not report it; the request is a form then.
	Mode wire.ElicitationMode `json:"mode"`
	// URL is the page to visit in [wire.ElicitationModeURL].
	URL string `json:"url"`
	// ElicitationID identifies the question, or is empty.
	ElicitationID string `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form.
	RequestedSchema wire.JSON `json:"requested_schema"`
}

// An ElicitationResultInput is the input of [ElicitationResult]: the user answered an MCP server.
type ElicitationResultInput struct {
	BaseInput
	// MCPServerName is the name of the MCP server.
	MCPServerName string `json:"mcp_server_name"`
	// ElicitationID identifies the question, or is empty.
	ElicitationID string `json:"elicitation_id"`
	// Mode is the mode of the question.
	Mode wire.ElicitationMode `json:"mode"`
	// Action is the user's action.
	Action wire.ElicitationAction `json:"action"`
	// Content is the form as filled in, or empty.
	Content wire.JSON `json:"content"`
}

// A SetupInput is the input of [Setup]: the agent sets itself up.
type SetupInput struct {
	BaseInput
	// Trigger is init or maintenance.
	Trigger string `json:"trigger"`
}

// A SessionStartInput is the input of [SessionStart]: a session starts or is resumed.
type SessionStartInput struct {
	BaseInput
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

// A SessionEndInput is the input of [SessionEnd]: a session ends.
type SessionEndInput struct {
	BaseInput
	// Reason is the reason, such as [wire.ExitClear] or [wire.ExitOther].
	Reason wire.ExitReason `json:"reason"`
}

// A PreCompactInput is the input of [PreCompact]: the conversation is about to be compacted.
type PreCompactInput struct {
	BaseInput
	// Trigger is manual or auto.
	Trigger string `json:"trigger"`
	// CustomInstructions is the user's text after /compact, or empty.
	CustomInstructions string `json:"custom_instructions"`
}

// A PostCompactInput is the input of [PostCompact]: the conversation was compacted.
type PostCompactInput struct {
	BaseInput
	// Trigger is manual or auto.
	Trigger string `json:"trigger"`
	// CompactSummary is the summary that replaces the conversation.
	CompactSummary string `json:"compact_summary"`
}

// A PreModelSwitchInput is the input of [PreModelSwitch]: the session is about to change its model.
type PreModelSwitchInput struct {
	BaseInput
	ModelSwitch
}

// A PostModelSwitchInput is the input of [PostModelSwitch]: the session changed its model.
type PostModelSwitchInput struct {
	BaseInput
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

// A ConfigChangeInput is the input of [ConfigChange]: settings changed on disk.
type ConfigChangeInput struct {
	BaseInput
	// Source is user_settings, project_settings, local_settings, policy_settings or skills.
	Source string `json:"source"`
	// FilePath is the file, or empty.
	FilePath string `json:"file_path"`
}

// An InstructionsLoadedInput is the input of [InstructionsLoaded]: a file with instructions was
// read.
type InstructionsLoadedInput struct {
	BaseInput
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

// A CWDChangedInput is the input of [CWDChanged]: the working directory changed.
type CWDChangedInput struct {
	BaseInput
	// OldCWD is the old working directory.
	OldCWD string `json:"old_cwd"`
	// NewCWD is the new working directory.
	NewCWD string `json:"new_cwd"`
}

// A DirectoryAddedInput is the input of [DirectoryAdded]: the agent may work in another directory
// as well.
type DirectoryAddedInput struct {
	BaseInput
	// Directory is the new directory.
	Directory string `json:"directory"`
	// Source is slash_command or register_repo_root.
	Source string `json:"source"`
}

// A FileChangedInput is the input of [FileChanged]: a watched file changed.
type FileChangedInput struct {
	BaseInput
	// FilePath is the file.
	FilePath string `json:"file_path"`
	// Change is change, add or unlink.
	Change string `json:"event"`
}

// A WorktreeCreateInput is the input of [WorktreeCreate]: the agent needs a git worktree.
type WorktreeCreateInput struct {
	BaseInput
	// Name is the name for the worktree.
	Name string `json:"name"`
}

// A WorktreeRemoveInput is the input of [WorktreeRemove]: the agent no longer needs a git worktree.
type WorktreeRemoveInput struct {
	BaseInput
	// WorktreePath is the directory of the worktree.
	WorktreePath string `json:"worktree_path"`
}

// A SubagentStartInput is the input of [SubagentStart]: the subagent [BaseInput.AgentID] starts.
type SubagentStartInput struct{ BaseInput }

// A SubagentStopInput is the input of [SubagentStop]: the subagent [BaseInput.AgentID] is about to
// end.
type SubagentStopInput struct {
	BaseInput
	// StopHookActive is true if the subagent is running only because a hook at this event made it
	// continue. A hook that always does so makes it run forever.
	StopHookActive bool `json:"stop_hook_active"`
	// AgentTranscriptPath is the file with the transcript of the subagent.
	AgentTranscriptPath string `json:"agent_transcript_path"`
	// LastAssistantMessage is the text of the last answer.
	LastAssistantMessage string `json:"last_assistant_message"`
	// BackgroundTasks are tasks that are still running.
	BackgroundTasks []BackgroundTask `json:"background_tasks"`
	// SessionCrons are scheduled prompts.
	SessionCrons []Cron `json:"session_crons"`
}

// A TeammateIdleInput is the input of [TeammateIdle]: a teammate has nothing to do.
type TeammateIdleInput struct {
	BaseInput
	// TeammateName is the name of the teammate.
	TeammateName string `json:"teammate_name"`
	// TeamName is the name of the team.
	TeamName string `json:"team_name"`
}

// A TaskCreatedInput is the input of [TaskCreated]: a task was added to the agent's list.
type TaskCreatedInput struct {
	BaseInput
	Task
}

// A TaskCompletedInput is the input of [TaskCompleted]: a task of the agent's list is done.
type TaskCompletedInput struct {
	BaseInput
	Task
}

// A Task is a task on the agent's list.
type Task struct {
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

// A PreToolUseInput is the input of [PreToolUse]: a tool is about to run.
type PreToolUseInput struct {
	BaseInput
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object. Package tooluse decodes the inputs of the built-in
	// tools.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *permission.MCPOrigin `json:"mcp_server"`
}

// A PostToolUseInput is the input of [PostToolUse]: a tool has run.
type PostToolUseInput struct {
	BaseInput
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
	MCPServer *permission.MCPOrigin `json:"mcp_server"`
}

// A PostToolUseFailureInput is the input of [PostToolUseFailure]: a tool failed.
type PostToolUseFailureInput struct {
	BaseInput
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
	MCPServer *permission.MCPOrigin `json:"mcp_server"`
}

// A PostToolBatchInput is the input of [PostToolBatch]: all tools that one answer of the model
// called have run.
type PostToolBatchInput struct {
	BaseInput
	// ToolCalls are the calls.
	ToolCalls []ToolCall `json:"tool_calls"`
}

// A ToolCall is one tool call.
type ToolCall struct {
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// ToolResponse is the tool's result, or empty if there is none.
	ToolResponse wire.JSON `json:"tool_response"`
}

// A PermissionRequestInput is the input of [PermissionRequest]: the agent asks for permission to
// use a tool. A [permission.Func] is asked at the same time, and the first answer counts.
type PermissionRequestInput struct {
	BaseInput
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// Suggestions are changes of the rules that would avoid such questions: see
	// [permission.Request.Suggestions].
	Suggestions []permission.Update `json:"permission_suggestions"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *permission.MCPOrigin `json:"mcp_server"`
}

// A PermissionDeniedInput is the input of [PermissionDenied]: the use of a tool was denied.
type PermissionDeniedInput struct {
	BaseInput
	// ToolName is the name of the tool.
	ToolName string `json:"tool_name"`
	// ToolInput is the tool's input, an object.
	ToolInput wire.JSON `json:"tool_input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// Reason explains why it was denied.
	Reason string `json:"reason"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *permission.MCPOrigin `json:"mcp_server"`
}

// A UserPromptSubmitInput is the input of [UserPromptSubmit]: the agent is about to start on a
// prompt.
type UserPromptSubmitInput struct {
	BaseInput
	// Prompt is the text of the prompt.
	Prompt string `json:"prompt"`
	// Source is user, sdk, system, loop_wakeup, schedule_wakeup, poll_event, or empty.
	Source string `json:"source"`
	// SessionTitle is the title of the session, or empty.
	SessionTitle string `json:"session_title"`
}

// A UserPromptExpansionInput is the input of [UserPromptExpansion]: a slash command is replaced by
// its prompt.
type UserPromptExpansionInput struct {
	BaseInput
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

// A MessageDisplayInput is the input of [MessageDisplay]: a part of an answer is about to be shown.
type MessageDisplayInput struct {
	BaseInput
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

// A NotificationInput is the input of [Notification]: the agent notifies the user.
type NotificationInput struct {
	BaseInput
	// Message is the text of the notification.
	Message string `json:"message"`
	// Title is its title, or empty.
	Title string `json:"title"`
	// NotificationType is the kind of notification, such as permission_prompt.
	NotificationType string `json:"notification_type"`
}

// A StopInput is the input of [Stop]: the agent is about to end its turn.
type StopInput struct {
	BaseInput
	// StopHookActive is true if the agent is running only because a hook at this event made it
	// continue. A hook that always does so makes it run forever.
	StopHookActive bool `json:"stop_hook_active"`
	// LastAssistantMessage is the text of the last answer.
	LastAssistantMessage string `json:"last_assistant_message"`
	// BackgroundTasks are tasks that are still running.
	BackgroundTasks []BackgroundTask `json:"background_tasks"`
	// SessionCrons are scheduled prompts.
	SessionCrons []Cron `json:"session_crons"`
}

// A StopFailureInput is the input of [StopFailure]: an error ended the turn.
type StopFailureInput struct {
	BaseInput
	// Error is the kind of error.
	Error wire.AssistantError `json:"error"`
	// ErrorDetails is the text of the error.
	ErrorDetails string `json:"error_details"`
	// LastAssistantMessage is the text of the last answer.
	LastAssistantMessage string `json:"last_assistant_message"`
}

// A BackgroundTask is a task that continues when the turn ends. Long texts are cut.
type BackgroundTask struct {
	// ID is the ID of the task: see TaskOutput and StopTask of a session.
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

// A Cron is a scheduled prompt of the session. Long texts are cut.
type Cron struct {
	// ID is the ID of the schedule.
	ID string `json:"id"`
	// Schedule is the schedule of the prompt, in cron format.
	Schedule string `json:"schedule"`
	// Recurring is false for a prompt that runs only once.
	Recurring bool `json:"recurring"`
	// Prompt is the text of the prompt.
	Prompt string `json:"prompt"`
}
