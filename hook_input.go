package clew

import (
	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A HookInput is what a hook learns about its event. A field of another type than it has here is zero, and in
// [HookBase.Raw] as it came. The variants are
//
//   - [*PreToolUseInput], [*PostToolUseInput], [*PostToolUseFailureInput], [*PostToolBatchInput],
//     [*PermissionRequestInput], [*PermissionDeniedInput]
//   - [*UserPromptSubmitInput], [*UserPromptExpansionInput], [*MessageDisplayInput], [*NotificationInput],
//     [*StopInput], [*StopFailureInput]
//   - [*SetupInput], [*SessionStartInput], [*SessionEndInput], [*PreCompactInput], [*PostCompactInput],
//     [*PreModelSwitchInput], [*PostModelSwitchInput]
//   - [*SubagentStartInput], [*SubagentStopInput], [*TeammateIdleInput], [*TaskCreatedInput], [*TaskCompletedInput]
//   - [*ElicitationInput], [*ElicitationResultInput]
//   - [*ConfigChangeInput], [*InstructionsLoadedInput], [*CWDChangedInput], [*DirectoryAddedInput],
//     [*FileChangedInput], [*WorktreeCreateInput], [*WorktreeRemoveInput]
//   - [*UnknownHookInput], for an event that this package does not know
type HookInput interface {
	// Base returns what all inputs have.
	Base() *HookBase
	// Raw returns the input as JSON, with the fields that this package does not know.
	Raw() wire.JSON

	hookInput()
}

// HookBase is what all inputs of hooks have.
type HookBase struct {
	raw wire.JSON

	Event HookEvent `json:"hook_event_name"`
	// CallID is the tool call that the event is about, or an id made up for this call of the hook.
	CallID string `json:"-"`

	SessionID      string `json:"session_id"`
	TranscriptPath string `json:"transcript_path"`
	CWD            string `json:"cwd"`
	PromptID       string `json:"prompt_id"`
	// PermissionMode is empty where it does not matter.
	PermissionMode wire.PermissionMode `json:"permission_mode"`
	// AgentID is the subagent in which the hook runs, or empty. AgentType is the kind of the agent.
	AgentID   string `json:"agent_id"`
	AgentType string `json:"agent_type"`
	// Effort is how much work the model puts into its answers.
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

// An UnknownHookInput is the input at an event that this package does not know. See [HookBase.Raw].
type UnknownHookInput struct{ HookBase }

// decodeHookInput reads the input of a hook. What the event is about has to fit: a hook that does not see it would let
// everything pass.
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

// hookInputs makes the input of every event that this package knows.
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

// An ElicitationInput tells about an MCP server's question to the user.
type ElicitationInput struct {
	HookBase
	MCPServerName string `json:"mcp_server_name"`
	Message       string `json:"message"`
	// Mode is empty where the agent does not say; the request is a form then.
	Mode          ElicitationMode `json:"mode"`
	URL           string          `json:"url"`
	ElicitationID string          `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form.
	RequestedSchema wire.JSON `json:"requested_schema"`
}

// An ElicitationResultInput tells about the user's answer to an MCP server.
type ElicitationResultInput struct {
	HookBase
	MCPServerName string            `json:"mcp_server_name"`
	ElicitationID string            `json:"elicitation_id"`
	Mode          ElicitationMode   `json:"mode"`
	Action        ElicitationAction `json:"action"`
	// Content is the form as filled in, or empty.
	Content wire.JSON `json:"content"`
}

// A SetupInput tells that the agent sets itself up.
type SetupInput struct {
	HookBase
	// Trigger is init or maintenance.
	Trigger string `json:"trigger"`
}

// A SessionStartInput tells that a session begins or goes on.
type SessionStartInput struct {
	HookBase
	// Source is startup, resume, clear, compact or fork.
	Source       string `json:"source"`
	Model        string `json:"model"`
	SessionTitle string `json:"session_title"`

	// These are about what it takes to go on with an old session.
	SecondsSinceLastResponse float64 `json:"seconds_since_last_response"`
	ContextTokens            int     `json:"context_tokens"`
	PromptCacheLikelyExpired bool    `json:"prompt_cache_likely_expired"`
	EstimatedCacheWriteUSD   float64 `json:"estimated_cache_write_usd"`
}

// A SessionEndInput tells that a session ends.
type SessionEndInput struct {
	HookBase
	// Reason is clear, resume, logout, prompt_input_exit or other.
	Reason string `json:"reason"`
}

// A PreCompactInput tells that the conversation is about to be compacted.
type PreCompactInput struct {
	HookBase
	// Trigger is manual or auto.
	Trigger            string `json:"trigger"`
	CustomInstructions string `json:"custom_instructions"`
}

// A PostCompactInput tells that the conversation was compacted.
type PostCompactInput struct {
	HookBase
	// Trigger is manual or auto.
	Trigger        string `json:"trigger"`
	CompactSummary string `json:"compact_summary"`
}

// A PreModelSwitchInput tells that the session is about to go on with another model.
type PreModelSwitchInput struct {
	HookBase
	ModelSwitch
}

// A PostModelSwitchInput tells that the session goes on with another model.
type PostModelSwitchInput struct {
	HookBase
	ModelSwitch
}

// A ModelSwitch is a change of the model, and what it costs.
type ModelSwitch struct {
	FromModel string `json:"from_model"`
	ToModel   string `json:"to_model"`
	// RequestedModel is the name that was asked for, or empty.
	RequestedModel string `json:"requested_model"`
	// Source is command, picker, sdk, auto or resume.
	Source          string `json:"source"`
	ContextTokens   int    `json:"context_tokens"`
	PromptCacheWarm bool   `json:"prompt_cache_warm"`
	// CacheTTL is 5m or 1h.
	CacheTTL               string  `json:"cache_ttl"`
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`
	// Pricing says what the estimate rests on: configured, catalog or default.
	Pricing string `json:"pricing"`
}

// A ConfigChangeInput tells that settings have changed on disk.
type ConfigChangeInput struct {
	HookBase
	// Source is user_settings, project_settings, local_settings, policy_settings or skills.
	Source   string `json:"source"`
	FilePath string `json:"file_path"`
}

// An InstructionsLoadedInput tells that a file with instructions was read.
type InstructionsLoadedInput struct {
	HookBase
	FilePath string `json:"file_path"`
	// MemoryType is User, Project, Local or Managed.
	MemoryType string `json:"memory_type"`
	// LoadReason is session_start, nested_traversal, path_glob_match, include or compact.
	LoadReason      string   `json:"load_reason"`
	Globs           []string `json:"globs"`
	TriggerFilePath string   `json:"trigger_file_path"`
	ParentFilePath  string   `json:"parent_file_path"`
}

// A CWDChangedInput tells that the agent works in another folder.
type CWDChangedInput struct {
	HookBase
	OldCWD string `json:"old_cwd"`
	NewCWD string `json:"new_cwd"`
}

// A DirectoryAddedInput tells that the agent may work in one more folder.
type DirectoryAddedInput struct {
	HookBase
	Directory string `json:"directory"`
	// Source is slash_command or register_repo_root.
	Source string `json:"source"`
}

// A FileChangedInput tells that a watched file has changed.
type FileChangedInput struct {
	HookBase
	FilePath string `json:"file_path"`
	// Change is change, add or unlink.
	Change string `json:"event"`
}

// A WorktreeCreateInput tells that the agent wants a git worktree.
type WorktreeCreateInput struct {
	HookBase
	Name string `json:"name"`
}

// A WorktreeRemoveInput tells that the agent gives a git worktree up.
type WorktreeRemoveInput struct {
	HookBase
	WorktreePath string `json:"worktree_path"`
}

// A SubagentStartInput tells that the subagent [HookBase.AgentID] starts.
type SubagentStartInput struct{ HookBase }

// A SubagentStopInput tells that the subagent [HookBase.AgentID] is about to end.
type SubagentStopInput struct {
	HookBase
	// StopHookActive says that the subagent goes on only because a hook at this event made it: don't do so forever.
	StopHookActive       bool                 `json:"stop_hook_active"`
	AgentTranscriptPath  string               `json:"agent_transcript_path"`
	LastAssistantMessage string               `json:"last_assistant_message"`
	BackgroundTasks      []HookBackgroundTask `json:"background_tasks"`
	SessionCrons         []HookCron           `json:"session_crons"`
}

// A TeammateIdleInput tells that a teammate has nothing to do.
type TeammateIdleInput struct {
	HookBase
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}

// A TaskCreatedInput tells that a task was put on the list.
type TaskCreatedInput struct {
	HookBase
	HookTask
}

// A TaskCompletedInput tells that a task is done.
type TaskCompletedInput struct {
	HookBase
	HookTask
}

// A HookTask is a task on the agent's list.
type HookTask struct {
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description"`
	// TeammateName is who works on it, or empty.
	TeammateName string `json:"teammate_name"`
	TeamName     string `json:"team_name"`
}

// A PreToolUseInput tells about a tool that is about to run.
type PreToolUseInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolUseInput tells about a tool that has run.
type PostToolUseInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	// ToolResponse is what the tool returned. Its shape depends on the tool.
	ToolResponse wire.JSON   `json:"tool_response"`
	ToolUseID    string      `json:"tool_use_id"`
	Duration     wire.Millis `json:"duration_ms"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolUseFailureInput tells about a tool that has failed.
type PostToolUseFailureInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	Error     string    `json:"error"`
	// Interrupt says that an interrupt ended the tool.
	Interrupt bool        `json:"is_interrupt"`
	Duration  wire.Millis `json:"duration_ms"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolBatchInput tells about all tools that one answer of the model called.
type PostToolBatchInput struct {
	HookBase
	ToolCalls []HookToolCall `json:"tool_calls"`
}

// A HookToolCall is one use of a tool.
type HookToolCall struct {
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	// ToolResponse is empty if there is none.
	ToolResponse wire.JSON `json:"tool_response"`
}

// A PermissionRequestInput tells about a tool for which the agent asks permission. A [CanUseToolFunc] is asked at the
// same time, and the first answer counts.
type PermissionRequestInput struct {
	HookBase
	ToolName    string             `json:"tool_name"`
	ToolInput   wire.JSON          `json:"tool_input"`
	Suggestions []PermissionUpdate `json:"permission_suggestions"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PermissionDeniedInput tells about a tool whose use was denied.
type PermissionDeniedInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	Reason    string    `json:"reason"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A UserPromptSubmitInput tells about a prompt that the agent is about to take up.
type UserPromptSubmitInput struct {
	HookBase
	Prompt string `json:"prompt"`
	// Source is user, sdk, system, loop_wakeup, schedule_wakeup, poll_event, or empty.
	Source       string `json:"source"`
	SessionTitle string `json:"session_title"`
}

// A UserPromptExpansionInput tells about a command and the prompt that it stands for.
type UserPromptExpansionInput struct {
	HookBase
	// ExpansionType is slash_command or mcp_prompt.
	ExpansionType string `json:"expansion_type"`
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args"`
	CommandSource string `json:"command_source"`
	Prompt        string `json:"prompt"`
}

// A MessageDisplayInput tells about a part of an answer that is about to be shown.
type MessageDisplayInput struct {
	HookBase
	TurnID    string `json:"turn_id"`
	MessageID string `json:"message_id"`
	Index     int    `json:"index"`
	// Final marks the last part.
	Final bool   `json:"final"`
	Delta string `json:"delta"`
}

// A NotificationInput tells about a notification of the agent to the user.
type NotificationInput struct {
	HookBase
	Message          string `json:"message"`
	Title            string `json:"title"`
	NotificationType string `json:"notification_type"`
}

// A StopInput tells that the agent is about to end its turn.
type StopInput struct {
	HookBase
	// StopHookActive says that the agent goes on only because a hook at this event made it: don't do so forever.
	StopHookActive       bool                 `json:"stop_hook_active"`
	LastAssistantMessage string               `json:"last_assistant_message"`
	BackgroundTasks      []HookBackgroundTask `json:"background_tasks"`
	SessionCrons         []HookCron           `json:"session_crons"`
}

// A StopFailureInput tells that an error has ended the turn.
type StopFailureInput struct {
	HookBase
	Error                wire.AssistantError `json:"error"`
	ErrorDetails         string              `json:"error_details"`
	LastAssistantMessage string              `json:"last_assistant_message"`
}

// A HookBackgroundTask is work that goes on when the turn ends. Long texts are cut.
type HookBackgroundTask struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	// Which of these are set depends on the type.
	Command   string `json:"command"`
	AgentType string `json:"agent_type"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Name      string `json:"name"`
}

// A HookCron is a prompt that the session will be given at set times. Long texts are cut.
type HookCron struct {
	ID        string `json:"id"`
	Schedule  string `json:"schedule"`
	Recurring bool   `json:"recurring"`
	Prompt    string `json:"prompt"`
}
