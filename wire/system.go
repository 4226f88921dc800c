package wire

// An InitMessage describes the session as the agent has set it up: its tools, servers, commands and
// modes. One comes at the start of every turn, none before the first prompt.
//
//wire:message system init
type InitMessage struct {
	raw string

	// CWD is the working directory. It changes when a command of the shell changes it.
	CWD string `json:"cwd" wire:"intern"`
	// OriginalCWD is the directory that permissions for files refer to. It changes only with /cd,
	// and when the session enters or leaves a worktree.
	OriginalCWD string `json:"original_cwd" wire:"intern"`
	// AdditionalDirectories are the directories, in addition to CWD, that the agent may work in.
	AdditionalDirectories []string `json:"additional_directories"`

	// Version is the version of Claude Code, such as "2.1.325".
	Version string `json:"claude_code_version" wire:"intern"`
	// Model is the model of the main loop.
	Model string `json:"model" wire:"intern"`
	// PermissionMode determines which tool calls need permission, such as PermissionModeDefault.
	PermissionMode PermissionMode `json:"permissionMode" wire:"intern"`
	// APIKeySource is the source of the API key.
	APIKeySource APIKeySource `json:"apiKeySource" wire:"intern"`
	// OutputStyle is the name of the output style, such as "default".
	OutputStyle string `json:"output_style" wire:"intern"`
	// ViewMode is the view of the conversation on the agent's own screen.
	ViewMode ViewMode `json:"view_mode" wire:"intern"`
	// Effort is given on Remote Control sessions only.
	Effort Effort `json:"effort" wire:"intern"`
	// FastModeState reports whether fast mode is on.
	FastModeState FastModeState `json:"fast_mode_state" wire:"intern"`
	// FastModeDisabledReason explains why fast mode is not available, or is empty.
	FastModeDisabledReason FastModeDisabledReason `json:"fast_mode_disabled_reason" wire:"intern"`

	// Tools lists the tools by name; the Agent tool goes by its old name, Task.
	Tools []string `json:"tools"`
	// MCPServers are the MCP servers with the state of their connections.
	MCPServers []InitMCPServer `json:"mcp_servers"`
	// Agents are the kinds of subagents, such as "general-purpose".
	Agents []string `json:"agents"`
	// Skills are the skills, such as "code-review". SlashCommands has them as well.
	Skills []string `json:"skills"`
	// SlashCommands are the commands that a prompt can start with, without the slash.
	SlashCommands []string `json:"slash_commands"`
	// TerminalSlashCommands are commands for the terminal, such as "focus".
	TerminalSlashCommands []string `json:"terminal_slash_commands"`
	// Plugins are the plugins that were loaded.
	Plugins []Plugin `json:"plugins"`
	// PluginErrors list the plugins, or parts of them, that were not loaded. Most sessions have
	// none.
	PluginErrors []PluginError `json:"plugin_errors"`
	// Betas are the beta features of the API that are on.
	Betas []string `json:"betas"`
	// Capabilities names the protocol features that this agent has. The set is open; test for a
	// name rather than for a version.
	Capabilities []string `json:"capabilities"`

	// MemoryPaths locates the agent's memory files.
	MemoryPaths *MemoryPaths `json:"memory_paths"`
	// MessagingSocketPath is the path of the agent's messaging socket.
	MessagingSocketPath string `json:"messaging_socket_path" wire:"intern"`
	// PerTurnEffortActive reports whether a change of effort keeps the prompt cache. This field and
	// the next two are not part of the documented protocol.
	PerTurnEffortActive bool `json:"per_turn_effort_active"`
	// UltrathinkAvailable reports whether the word ultrathink raises the effort of a turn with this
	// model. False can mean that it is not known.
	UltrathinkAvailable bool `json:"ultrathink_available"`
	// UltrathinkTypedRaises says the same for a prompt whose sender marks the word as typed.
	UltrathinkTypedRaises bool `json:"ultrathink_typed_raises"`
	// AnalyticsDisabled reports whether analytics are off.
	AnalyticsDisabled bool `json:"analytics_disabled"`
	// ProductFeedbackDisabled reports whether product feedback is off.
	ProductFeedbackDisabled bool `json:"product_feedback_disabled"`

	// UserMessageUUIDs are the caller's ids of the prompts that the turn answers.
	UserMessageUUIDs []string `json:"user_message_uuids"`
	UUID             string   `json:"uuid"`                     // ID of this message
	SessionID        string   `json:"session_id" wire:"intern"` // session that it belongs to
}

// An APIKeySource is the source of the agent's API key.
type APIKeySource string

// The sources that the agent reports.
const (
	APIKeySourceEnvironment APIKeySource = "ANTHROPIC_API_KEY"
	APIKeySourceHelper      APIKeySource = "apiKeyHelper"
	APIKeySourceLogin       APIKeySource = "/login managed key"
	APIKeySourceNone        APIKeySource = "none"
)

// A ViewMode is the view of the conversation on the agent's own screen.
type ViewMode string

// The view modes.
const (
	ViewModeDefault ViewMode = "default"
	ViewModeFocus   ViewMode = "focus"
)

// An Effort is a level of effort that the model puts into an answer.
type Effort string

// The effort levels, from least to most.
const (
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
	EffortXHigh  Effort = "xhigh"
	EffortMax    Effort = "max"
)

// An InitMCPServer is one MCP server of the session and how its connection stands.
type InitMCPServer struct {
	raw string

	// Name is the name under which the server was configured.
	Name string `json:"name,omitzero" wire:"intern"`
	// Status is the state of the connection, such as "connected", "failed", "needs-auth", "pending"
	// or "disabled".
	Status string `json:"status,omitzero" wire:"intern"`
	// Source is the source of the server, such as "sdk".
	Source string `json:"source,omitzero" wire:"intern"`
}

// MemoryPaths locates the agent's memory files.
type MemoryPaths struct {
	raw string

	// Auto is the directory of the notes that the agent keeps for itself.
	Auto string `json:"auto,omitzero" wire:"intern"`
}

// A CommandsChangedMessage gives the slash commands that the session now has. The list replaces the
// one before it.
//
//wire:message system commands_changed
type CommandsChangedMessage struct {
	raw string

	// Commands are all commands, not only the new ones.
	Commands  []SlashCommand `json:"commands"`
	UUID      string         `json:"uuid"`                     // ID of this message
	SessionID string         `json:"session_id" wire:"intern"` // session that it belongs to
}

// A SlashCommand is a command that a prompt can start with, such as /compact.
type SlashCommand struct {
	raw string

	// Name comes without the slash.
	Name string `json:"name,omitzero" wire:"intern"`
	// Description describes the command, for people.
	Description string `json:"description,omitzero"`
	// ArgumentHint shows what may follow the name.
	ArgumentHint string `json:"argumentHint,omitzero"`
	// Aliases are other names of the command.
	Aliases []string `json:"aliases,omitzero"`
	// Builtin reports whether the command is part of Claude Code.
	Builtin bool `json:"builtin,omitzero"`
}

// A LocalCommandOutputMessage carries what a slash command printed that ran without the model.
//
//wire:message system local_command_output
type LocalCommandOutputMessage struct {
	raw string

	// Content is the text that the command printed.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A PluginInstallMessage reports a step in the installation of plugins. It can come before the
// first InitMessage.
//
//wire:message system plugin_install
type PluginInstallMessage struct {
	raw string

	// Status is the step that was reached.
	Status PluginInstallStatus `json:"status" wire:"intern"`
	// Name is the name of the thing being installed, where the message is about one thing.
	Name string `json:"name" wire:"intern"`
	// Error is set with PluginInstallFailed.
	Error     string `json:"error"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A PluginInstallStatus is a step in the installation of plugins.
type PluginInstallStatus string

// The steps of an installation.
const (
	PluginInstallStarted   PluginInstallStatus = "started"
	PluginInstallInstalled PluginInstallStatus = "installed"
	PluginInstallFailed    PluginInstallStatus = "failed"
	PluginInstallCompleted PluginInstallStatus = "completed"
)

// A Plugin is a plugin that the session loaded.
type Plugin struct {
	raw string

	// Name is the plugin's name, such as "cc-plugin-privacy".
	Name string `json:"name,omitzero" wire:"intern"`
	// Path is the plugin's directory, or "builtin".
	Path string `json:"path,omitzero" wire:"intern"`
	// Version is empty if the plugin has none.
	Version string `json:"version,omitzero" wire:"intern"`
	// Source is the name and where the plugin comes from, such as "cc-plugin-privacy@builtin".
	Source string `json:"source,omitzero" wire:"intern"`
}

// A PluginError explains why a plugin, or a part of it, was not loaded.
type PluginError struct {
	raw string

	// Plugin is the plugin that has the problem.
	Plugin string `json:"plugin,omitzero" wire:"intern"`
	// Type is a word for the kind of problem.
	Type string `json:"type,omitzero" wire:"intern"`
	// Message describes the problem, for people.
	Message string `json:"message,omitzero"`
	// Path is the file or directory that has the problem, or empty.
	Path string `json:"path,omitzero" wire:"intern"`
	// ManagedLock is set when managed settings decide about the plugin.
	ManagedLock *PluginLock `json:"managed_lock,omitzero"`
}

// A PluginLock is a decision about a plugin made by managed settings.
type PluginLock struct {
	raw string

	// PluginEnabled reports whether the settings turn the plugin on or off.
	PluginEnabled bool `json:"plugin_enabled,omitzero"`
	// Name is the name of the plugin.
	Name string `json:"name,omitzero" wire:"intern"`
	// Marketplace is the source of the plugin, or empty.
	Marketplace string `json:"marketplace,omitzero" wire:"intern"`
}

// An APIRetryMessage reports that a request to the model failed and will be sent again.
//
//wire:message system api_retry
type APIRetryMessage struct {
	raw string

	// Attempt is the number of the retry, from 1.
	Attempt int `json:"attempt"`
	// MaxRetries is the maximum number of retries, such as 10.
	MaxRetries int `json:"max_retries"`
	// RetryDelay is the time the agent waits before the retry.
	RetryDelay Millis `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, or 0 when the connection failed.
	ErrorStatus int `json:"error_status"`
	// Error is the kind of failure, such as AssistantErrorOverloaded.
	Error AssistantError `json:"error" wire:"intern"`
	// NoResponse is set when the first byte of the response did not come in time.
	NoResponse *NoResponse `json:"no_response"`
	UUID       string      `json:"uuid"`                     // ID of this message
	SessionID  string      `json:"session_id" wire:"intern"` // session that it belongs to
}

// A NoResponse has the time the agent waited for a request, and the time it will wait for the
// retry.
type NoResponse struct {
	raw string

	// Waited is the time the agent waited for the first byte.
	Waited Millis `json:"waited_ms,omitzero"`
	// RetryWait is the time it will wait for the first byte of the retry.
	RetryWait Millis `json:"retry_wait_ms,omitzero"`
}

// A ControlRequestProgressMessage reports progress on a control request of the caller. The agent
// sends it only for side_question requests so far.
//
//wire:message system control_request_progress
type ControlRequestProgressMessage struct {
	raw string

	// RequestID is the id of the control request.
	RequestID string `json:"request_id"`
	// Status is the step that was reached.
	Status ControlRequestStatus `json:"status" wire:"intern"`
	// Attempt and the next three fields are set with ControlRequestAPIRetry and mean the same as in
	// an [APIRetryMessage]. Attempt is the number of the retry, from 1.
	Attempt int `json:"attempt"`
	// MaxRetries is the maximum number of retries.
	MaxRetries int `json:"max_retries"`
	// RetryDelay is the time the agent waits before the retry.
	RetryDelay Millis `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, or 0 when the connection failed.
	ErrorStatus int    `json:"error_status"`
	UUID        string `json:"uuid"`                     // ID of this message
	SessionID   string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A ControlRequestStatus is a step in the handling of a control request.
type ControlRequestStatus string

// The steps that are reported.
const (
	ControlRequestStarted  ControlRequestStatus = "started"
	ControlRequestAPIRetry ControlRequestStatus = "api_retry"
)

// A ModelRefusalFallbackMessage reports that the model refused a request and another model takes
// over.
//
//wire:message system model_refusal_fallback
type ModelRefusalFallbackMessage struct {
	raw string

	// Trigger is "refusal".
	Trigger string `json:"trigger" wire:"intern"`
	// Direction is FallbackRetry with current agents.
	Direction FallbackDirection `json:"direction" wire:"intern"`
	// Scope is the reach of the change; empty means FallbackScopeSession.
	Scope FallbackScope `json:"scope" wire:"intern"`
	// OriginalModel is the model that refused.
	OriginalModel string `json:"original_model" wire:"intern"`
	// FallbackModel is the model that takes over.
	FallbackModel string `json:"fallback_model" wire:"intern"`
	// RequestID is the id of the refused request, or empty.
	RequestID string `json:"request_id"`
	// RefusalCategory is the kind of refusal, as in [StopDetails], or empty.
	RefusalCategory string `json:"api_refusal_category" wire:"intern"`
	// RefusalExplanation is the API's explanation, or empty.
	RefusalExplanation string `json:"api_refusal_explanation"`
	// RetractedMessageUUIDs are earlier messages to remove from the conversation.
	RetractedMessageUUIDs []string `json:"retracted_message_uuids"`
	// RefusedUserMessageUUID is the prompt that was refused.
	RefusedUserMessageUUID string `json:"refused_user_message_uuid"`
	// Content is the text to show.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A FallbackDirection is the direction of a model change after a refusal.
type FallbackDirection string

// The directions. Current agents send only FallbackRetry.
const (
	FallbackRetry  FallbackDirection = "retry"
	FallbackRevert FallbackDirection = "revert"
	FallbackSticky FallbackDirection = "sticky"
)

// A FallbackScope is the reach of a model change.
type FallbackScope string

// The scopes of a fallback.
const (
	FallbackScopeSession FallbackScope = "session"
	FallbackScopeLocal   FallbackScope = "local"
)

// A ModelRefusalNoFallbackMessage reports that the model refused a request and no other model takes
// over.
//
//wire:message system model_refusal_no_fallback
type ModelRefusalNoFallbackMessage struct {
	raw string

	// OriginalModel is the model that refused.
	OriginalModel string `json:"original_model" wire:"intern"`
	// RequestID is the id of the refused request, or empty.
	RequestID string `json:"request_id"`
	// RefusalCategory is the kind of refusal, as in [StopDetails], or empty.
	RefusalCategory string `json:"api_refusal_category" wire:"intern"`
	// RefusalExplanation is the API's explanation, or empty.
	RefusalExplanation string `json:"api_refusal_explanation"`
	// RefusedUserMessageUUID is the prompt that was refused.
	RefusedUserMessageUUID string `json:"refused_user_message_uuid"`
	// Content is the text to show.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A ThinkingTokensMessage comes while the model is thinking, and reports the number of tokens it
// used for that so far.
//
//wire:message system thinking_tokens
type ThinkingTokensMessage struct {
	raw string

	// EstimatedTokens is the running total of the thinking block.
	EstimatedTokens int `json:"estimated_tokens"`
	// EstimatedTokensDelta is the increase since the previous message.
	EstimatedTokensDelta int `json:"estimated_tokens_delta"`
	// UserMessageUUID is the caller's id of the prompt that the turn answers.
	UserMessageUUID string `json:"user_message_uuid" wire:"intern"`
	UUID            string `json:"uuid"`                     // ID of this message
	SessionID       string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A NotificationMessage is a short notice for the person at the screen.
//
//wire:message system notification
type NotificationMessage struct {
	raw string

	// Key names the notice.
	Key string `json:"key" wire:"intern"`
	// Text is the text to show.
	Text string `json:"text"`
	// Priority describes how urgent it is.
	Priority NotificationPriority `json:"priority" wire:"intern"`
	// Color is the color of the notice, or empty.
	Color string `json:"color" wire:"intern"`
	// Timeout is the time to show the notice, or 0 if it is not set.
	Timeout   Millis `json:"timeout_ms"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A NotificationPriority is the urgency of a notice.
type NotificationPriority string

// The priorities, from least to most urgent.
const (
	NotificationPriorityLow       NotificationPriority = "low"
	NotificationPriorityMedium    NotificationPriority = "medium"
	NotificationPriorityHigh      NotificationPriority = "high"
	NotificationPriorityImmediate NotificationPriority = "immediate"
)

// A LocalCommandRun is a slash command that the agent ran itself.
type LocalCommandRun struct {
	raw string

	// Command is its name without the slash, such as "context".
	Command string `json:"command,omitzero" wire:"intern"`
	// Args is the text typed after the name.
	Args string `json:"args,omitzero"`
	// Plugin is the plugin that the command comes from, or empty.
	Plugin string `json:"plugin,omitzero" wire:"intern"`
}

// A LocalCommandOutcome explains why a slash command did nothing.
type LocalCommandOutcome struct {
	raw string

	// Kind is such as "unknown", "failed", "unavailable_headless" or "restart_required".
	Kind string `json:"kind,omitzero" wire:"intern"`
	// Suggestion is the command that is named most like an unknown one, without the slash.
	Suggestion string `json:"suggestion,omitzero"`
}

// An InformationalMessage is a text that the agent shows between the messages of the conversation.
//
//wire:message system informational
type InformationalMessage struct {
	raw string

	// Content is the text to show.
	Content string `json:"content"`
	// Level describes how important it is.
	Level InformationLevel `json:"level" wire:"intern"`
	// ToolUseID is the tool call that the text is about, if any.
	ToolUseID string `json:"tool_use_id"`
	// PreventContinuation reports whether the turn does not continue after this message.
	PreventContinuation bool `json:"prevent_continuation"`
	// Tag marks a line that a host may treat in a special way. Ignore a value that you do not know.
	// It is empty for most messages.
	Tag string `json:"tag" wire:"intern"`
	// IsMeta reports whether the text is for the model, not for people. Only some versions of the
	// agent set it.
	IsMeta bool `json:"isMeta"`
	// Timestamp is the time the message was made. Only some versions of the agent set it.
	Timestamp string `json:"timestamp"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// An InformationLevel is the weight of an InformationalMessage.
type InformationLevel string

// The levels.
const (
	InformationLevelInfo       InformationLevel = "info"
	InformationLevelNotice     InformationLevel = "notice"
	InformationLevelSuggestion InformationLevel = "suggestion"
	InformationLevelWarning    InformationLevel = "warning"
)

// A PermissionDeniedMessage reports that a tool call has just been refused. It does not come for
// every refusal, for instance not for refusals by PreToolUse hooks. The complete list is
// [ResultMessage.PermissionDenials].
//
//wire:message system permission_denied
type PermissionDeniedMessage struct {
	raw string

	// ToolName is the tool that was not allowed.
	ToolName string `json:"tool_name" wire:"intern"`
	// ToolUseID is the ID of the call's [ToolUseBlock].
	ToolUseID string `json:"tool_use_id"`
	// AgentID is the subagent that made the call, if one did.
	AgentID string `json:"agent_id" wire:"intern"`
	// DecisionReasonType is the kind of reason, such as "mode".
	DecisionReasonType string `json:"decision_reason_type" wire:"intern"`
	// DecisionReason explains why, for people.
	DecisionReason string `json:"decision_reason"`
	// Message is the text that the model was given.
	Message   string `json:"message"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// An ElicitationCompleteMessage reports that a question of an MCP server to the user was settled.
//
//wire:message system elicitation_complete
type ElicitationCompleteMessage struct {
	raw string

	// MCPServerName is the server that asked.
	MCPServerName string `json:"mcp_server_name" wire:"intern"`
	// ElicitationID is the id of the question.
	ElicitationID string `json:"elicitation_id"`
	UUID          string `json:"uuid"`                     // ID of this message
	SessionID     string `json:"session_id" wire:"intern"` // session that it belongs to
}

// An ElicitationMode is the kind of request that an MCP server makes to the user.
type ElicitationMode string

// The modes that the agent knows.
const (
	// ElicitationModeForm asks to fill in a form.
	ElicitationModeForm ElicitationMode = "form"
	// ElicitationModeURL asks to visit a page.
	ElicitationModeURL ElicitationMode = "url"
)

// An ElicitationAction is the user's response to a request of an MCP server.
type ElicitationAction string

// The actions that the agent knows.
const (
	// ElicitationAccept answers the question.
	ElicitationAccept ElicitationAction = "accept"
	// ElicitationDecline refuses to answer.
	ElicitationDecline ElicitationAction = "decline"
	// ElicitationCancel closes the request without a decision.
	ElicitationCancel ElicitationAction = "cancel"
)

// A MemoryRecallMessage lists the memories that the agent brought into the turn.
//
//wire:message system memory_recall
type MemoryRecallMessage struct {
	raw string

	// Mode reports whether the memories themselves or a summary of them were used.
	Mode MemoryRecallMode `json:"mode" wire:"intern"`
	// Memories are the recalled memories.
	Memories  []RecalledMemory `json:"memories"`
	UUID      string           `json:"uuid"`                     // ID of this message
	SessionID string           `json:"session_id" wire:"intern"` // session that it belongs to
}

// A MemoryRecallMode says in which form memories were recalled.
type MemoryRecallMode string

// The forms: the memories themselves, or one text made from them.
const (
	MemoryRecallSelect     MemoryRecallMode = "select"
	MemoryRecallSynthesize MemoryRecallMode = "synthesize"
)

// A RecalledMemory is one memory that was recalled.
type RecalledMemory struct {
	raw string

	// Path is the file of the memory.
	Path string `json:"path,omitzero"`
	// Scope says whom the memory belongs to.
	Scope MemoryScope `json:"scope,omitzero" wire:"intern"`
	// Content is the text, if it is given.
	Content string `json:"content,omitzero"`
}

// A MemoryScope says whom a memory belongs to.
type MemoryScope string

// The owners of a memory.
const (
	MemoryScopePersonal     MemoryScope = "personal"
	MemoryScopeTeam         MemoryScope = "team"
	MemoryScopeOrganization MemoryScope = "organization"
)

// A FilesPersistedMessage lists the session's files that were stored and the files that could not
// be.
//
//wire:message system files_persisted
type FilesPersistedMessage struct {
	raw string

	// Files are the stored files.
	Files []PersistedFile `json:"files"`
	// Failed are the files that could not be stored.
	Failed []FailedFile `json:"failed"`
	// ProcessedAt is the time the files were processed, as a timestamp.
	ProcessedAt string `json:"processed_at"`
	UUID        string `json:"uuid"`                     // ID of this message
	SessionID   string `json:"session_id" wire:"intern"` // session that it belongs to
}

// A PersistedFile is a file that was stored, under an id.
type PersistedFile struct {
	raw string

	// Filename is the name of the file.
	Filename string `json:"filename,omitzero"`
	// FileID is the id of the stored file.
	FileID string `json:"file_id,omitzero"`
}

// A FailedFile is a file that could not be stored.
type FailedFile struct {
	raw string

	// Filename is the name of the file.
	Filename string `json:"filename,omitzero"`
	// Error explains why it could not be stored, for people.
	Error string `json:"error,omitzero"`
}
