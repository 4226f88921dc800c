package wire

// An InitMessage describes the session as the agent has set it up: its tools,
// servers, commands and modes. One comes at the start of every turn, none
// before the first prompt.
//
//wire:message system init
type InitMessage struct {
	raw string

	CWD         string `json:"cwd" wire:"intern"`
	OriginalCWD string `json:"original_cwd" wire:"intern"`
	// AdditionalDirectories are the folders besides CWD that the agent may work in.
	AdditionalDirectories []string `json:"additional_directories"`

	Version        string         `json:"claude_code_version" wire:"intern"`
	Model          string         `json:"model" wire:"intern"`
	PermissionMode PermissionMode `json:"permissionMode" wire:"intern"`
	APIKeySource   APIKeySource   `json:"apiKeySource" wire:"intern"`
	OutputStyle    string         `json:"output_style" wire:"intern"`
	ViewMode       ViewMode       `json:"view_mode" wire:"intern"`
	// Effort is given on Remote Control sessions only.
	Effort                 Effort                 `json:"effort" wire:"intern"`
	FastModeState          FastModeState          `json:"fast_mode_state" wire:"intern"`
	FastModeDisabledReason FastModeDisabledReason `json:"fast_mode_disabled_reason" wire:"intern"`

	// Tools lists the tools by name; the Agent tool goes by its old name, Task.
	Tools         []string        `json:"tools"`
	MCPServers    []InitMCPServer `json:"mcp_servers"`
	Agents        []string        `json:"agents"`
	Skills        []string        `json:"skills"`
	SlashCommands []string        `json:"slash_commands"`
	// TerminalSlashCommands are commands that belong to the terminal.
	TerminalSlashCommands []string      `json:"terminal_slash_commands"`
	Plugins               []Plugin      `json:"plugins"`
	PluginErrors          []PluginError `json:"plugin_errors"`
	Betas                 []string      `json:"betas"`
	// Capabilities names the protocol features that this agent has. The set is
	// open; test for a name rather than for a version.
	Capabilities []string `json:"capabilities"`

	MemoryPaths             *MemoryPaths `json:"memory_paths"`
	MessagingSocketPath     string       `json:"messaging_socket_path" wire:"intern"`
	PerTurnEffortActive     bool         `json:"per_turn_effort_active"`
	UltrathinkAvailable     bool         `json:"ultrathink_available"`
	UltrathinkTypedRaises   bool         `json:"ultrathink_typed_raises"`
	AnalyticsDisabled       bool         `json:"analytics_disabled"`
	ProductFeedbackDisabled bool         `json:"product_feedback_disabled"`

	// UserMessageUUIDs are the caller's ids of the prompts that the turn answers.
	UserMessageUUIDs []string `json:"user_message_uuids"`
	UUID             string   `json:"uuid"`
	SessionID        string   `json:"session_id" wire:"intern"`
}

// An APIKeySource says where the agent's API key comes from.
type APIKeySource string

// The sources that the agent reports.
const (
	APIKeySourceEnvironment APIKeySource = "ANTHROPIC_API_KEY"
	APIKeySourceHelper      APIKeySource = "apiKeyHelper"
	APIKeySourceLogin       APIKeySource = "/login managed key"
	APIKeySourceNone        APIKeySource = "none"
)

// A ViewMode is how the agent's own screen shows the conversation.
type ViewMode string

// The view modes.
const (
	ViewModeDefault ViewMode = "default"
	ViewModeFocus   ViewMode = "focus"
)

// An Effort is how much work the model puts into an answer.
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

	Name   string `json:"name,omitzero" wire:"intern"`
	Status string `json:"status,omitzero" wire:"intern"`
	Source string `json:"source,omitzero" wire:"intern"`
}

// MemoryPaths says where the agent keeps its memory files.
type MemoryPaths struct {
	raw string

	// Auto is the folder of the notes that the agent writes by itself.
	Auto string `json:"auto,omitzero" wire:"intern"`
}

// A StatusMessage says what the agent is busy with, how a compaction ended, or
// that the permission mode has changed.
//
//wire:message system status
type StatusMessage struct {
	raw string

	// Status is empty when the agent is no longer busy.
	Status SessionStatus `json:"status" wire:"intern"`
	// PermissionMode is the new mode after a change.
	PermissionMode PermissionMode `json:"permissionMode" wire:"intern"`
	CompactResult  CompactResult  `json:"compact_result" wire:"intern"`
	CompactError   string         `json:"compact_error"`
	// UserMessageUUIDs are the caller's ids of the prompts that the turn answers.
	UserMessageUUIDs []string `json:"user_message_uuids"`
	UUID             string   `json:"uuid"`
	SessionID        string   `json:"session_id" wire:"intern"`
}

// A SessionStatus is what the agent is busy with.
type SessionStatus string

// The occupations that a StatusMessage reports.
const (
	SessionStatusCompacting SessionStatus = "compacting"
	SessionStatusRequesting SessionStatus = "requesting"
)

// A SessionStateChangedMessage says that the session has become idle, busy or
// blocked on the caller. The idle state is the reliable sign that a turn is over.
//
//wire:message system session_state_changed
type SessionStateChangedMessage struct {
	raw string

	State SessionState `json:"state" wire:"intern"`
	// SDKHostOnly marks a frame meant for the library that drives the agent, not for its user.
	SDKHostOnly bool   `json:"sdk_host_only"`
	UUID        string `json:"uuid"`
	SessionID   string `json:"session_id" wire:"intern"`
}

// A SessionState says whether a session is waiting, working or blocked.
type SessionState string

// The states of a session.
const (
	SessionStateIdle           SessionState = "idle"
	SessionStateRunning        SessionState = "running"
	SessionStateRequiresAction SessionState = "requires_action"
)

// A SessionTitleChangedMessage gives the session's new title after a rename.
//
//wire:message system session_title_changed
type SessionTitleChangedMessage struct {
	raw string

	Title     string `json:"title"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A WorkerShuttingDownMessage says that the process behind the session is about
// to end, and why.
//
//wire:message system worker_shutting_down
type WorkerShuttingDownMessage struct {
	raw string

	Reason    string `json:"reason" wire:"intern"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A SessionReconnectedMessage says that the agent died and that another one has
// taken up the session in its place. What the old agent was at is gone: a turn,
// and all that ran in the background. The library that drives the agent makes
// it, not the agent.
//
//wire:message system session_reconnected
type SessionReconnectedMessage struct {
	raw string

	// Error says how the old agent ended, for people.
	Error string `json:"error"`
	// ExitCode is its exit code, or -1 when Signal ended it.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal" wire:"intern"`
	// Attempts is how many agents were started until one came up.
	Attempts int `json:"attempts"`
	// Downtime is how long there was no agent.
	Downtime Millis `json:"downtime_ms"`
	// LostPrompts are the ids of the prompts that the old agent had got and not
	// answered. It may have acted on them, so they were not sent again.
	LostPrompts []string `json:"lost_prompts"`
	UUID        string   `json:"uuid"`
	// Resumed is false if the conversation begins anew: there was nothing of it on
	// disk when the agent died, as in its first turn.
	Resumed bool `json:"resumed"`
	// SessionID is empty if there was no turn yet.
	SessionID string `json:"session_id" wire:"intern"`
}

// A CommandsChangedMessage gives the slash commands that the session now has.
// The list replaces the one before it.
//
//wire:message system commands_changed
type CommandsChangedMessage struct {
	raw string

	Commands  []SlashCommand `json:"commands"`
	UUID      string         `json:"uuid"`
	SessionID string         `json:"session_id" wire:"intern"`
}

// A SlashCommand is a command that a prompt can start with, such as /compact.
type SlashCommand struct {
	raw string

	// Name comes without the slash.
	Name        string `json:"name,omitzero" wire:"intern"`
	Description string `json:"description,omitzero"`
	// ArgumentHint shows what may follow the name.
	ArgumentHint string   `json:"argumentHint,omitzero"`
	Aliases      []string `json:"aliases,omitzero"`
	Builtin      bool     `json:"builtin,omitzero"`
}

// A LocalCommandOutputMessage carries what a slash command printed that ran
// without the model.
//
//wire:message system local_command_output
type LocalCommandOutputMessage struct {
	raw string

	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A PluginInstallMessage follows the installation of plugins at start-up. It
// can come before the first InitMessage.
//
//wire:message system plugin_install
type PluginInstallMessage struct {
	raw string

	Status PluginInstallStatus `json:"status" wire:"intern"`
	// Name is what was being installed, where the message is about one thing.
	Name      string `json:"name" wire:"intern"`
	Error     string `json:"error"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
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

// A Plugin is a plugin that the session has loaded.
type Plugin struct {
	raw string

	Name string `json:"name,omitzero" wire:"intern"`
	// Path is the plugin's folder, or "builtin".
	Path    string `json:"path,omitzero" wire:"intern"`
	Version string `json:"version,omitzero" wire:"intern"`
	// Source is the plugin's full name: name@marketplace.
	Source string `json:"source,omitzero" wire:"intern"`
}

// A PluginError says why a plugin, or a part of it, was not loaded.
type PluginError struct {
	raw string

	Plugin  string `json:"plugin,omitzero" wire:"intern"`
	Type    string `json:"type,omitzero" wire:"intern"`
	Message string `json:"message,omitzero"`
	Path    string `json:"path,omitzero" wire:"intern"`
	// ManagedLock is set when managed settings decide about the plugin.
	ManagedLock *PluginLock `json:"managed_lock,omitzero"`
}

// A PluginLock is a decision about a plugin made by managed settings.
type PluginLock struct {
	raw string

	PluginEnabled bool   `json:"plugin_enabled,omitzero"`
	Name          string `json:"name,omitzero" wire:"intern"`
	Marketplace   string `json:"marketplace,omitzero" wire:"intern"`
}

// A CompactBoundaryMessage marks the place where the conversation was replaced
// by a summary of it.
//
//wire:message system compact_boundary
type CompactBoundaryMessage struct {
	raw string

	Metadata CompactMetadata `json:"compact_metadata"`
	// LogicalParentUUID is the last message before the boundary.
	LogicalParentUUID string `json:"logical_parent_uuid"`
	UUID              string `json:"uuid"`
	SessionID         string `json:"session_id" wire:"intern"`
}

// CompactMetadata describes a compaction: why it ran and what it left.
type CompactMetadata struct {
	raw string

	Trigger CompactTrigger `json:"trigger,omitzero" wire:"intern"`
	// PreTokens and PostTokens are the sizes of the context before and after.
	PreTokens  int `json:"pre_tokens,omitzero"`
	PostTokens int `json:"post_tokens,omitzero"`
	// CumulativeDroppedTokens counts over all compactions of the session.
	CumulativeDroppedTokens int    `json:"cumulative_dropped_tokens,omitzero"`
	Duration                Millis `json:"duration_ms,omitzero"`
	// PreservedSegment is the older form of PreservedMessages; where both are
	// set, PreservedMessages counts.
	PreservedSegment  *PreservedSegment  `json:"preserved_segment,omitzero"`
	PreservedMessages *PreservedMessages `json:"preserved_messages,omitzero"`
}

// A CompactTrigger says who asked for a compaction.
type CompactTrigger string

// The triggers of a compaction.
const (
	CompactTriggerManual CompactTrigger = "manual"
	CompactTriggerAuto   CompactTrigger = "auto"
)

// A CompactResult says how a compaction ended. It comes with a StatusMessage.
type CompactResult string

// The results of a compaction.
const (
	CompactResultSuccess CompactResult = "success"
	CompactResultFailed  CompactResult = "failed"
)

// A PreservedSegment names, by its ends, the run of messages that a compaction
// kept word for word.
type PreservedSegment struct {
	raw string

	HeadUUID string `json:"head_uuid,omitzero"`
	// AnchorUUID is the message that the segment now follows.
	AnchorUUID string `json:"anchor_uuid,omitzero"`
	TailUUID   string `json:"tail_uuid,omitzero"`
}

// PreservedMessages names each message that a compaction kept word for word.
type PreservedMessages struct {
	raw string

	// AnchorUUID is the message that the kept ones now follow.
	AnchorUUID string   `json:"anchor_uuid,omitzero"`
	UUIDs      []string `json:"uuids,omitzero"`
}

// An APIRetryMessage says that a request to the model has failed and will be
// sent again.
//
//wire:message system api_retry
type APIRetryMessage struct {
	raw string

	Attempt    int    `json:"attempt"`
	MaxRetries int    `json:"max_retries"`
	RetryDelay Millis `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, or 0 when the connection failed.
	ErrorStatus int            `json:"error_status"`
	Error       AssistantError `json:"error" wire:"intern"`
	// NoResponse is set when the first byte did not come in time.
	NoResponse *NoResponse `json:"no_response"`
	UUID       string      `json:"uuid"`
	SessionID  string      `json:"session_id" wire:"intern"`
}

// A NoResponse says how long a request stayed without an answer, and how long
// its repetition will be waited for.
type NoResponse struct {
	raw string

	Waited    Millis `json:"waited_ms,omitzero"`
	RetryWait Millis `json:"retry_wait_ms,omitzero"`
}

// A ControlRequestProgressMessage says that a control request of the caller is
// being worked on. Only side_question requests are reported so far.
//
//wire:message system control_request_progress
type ControlRequestProgressMessage struct {
	raw string

	// RequestID is the id of the control request.
	RequestID string               `json:"request_id"`
	Status    ControlRequestStatus `json:"status" wire:"intern"`
	// Attempt and the fields below are set with ControlRequestAPIRetry and mean the
	// same as in an APIRetryMessage.
	Attempt     int    `json:"attempt"`
	MaxRetries  int    `json:"max_retries"`
	RetryDelay  Millis `json:"retry_delay_ms"`
	ErrorStatus int    `json:"error_status"`
	UUID        string `json:"uuid"`
	SessionID   string `json:"session_id" wire:"intern"`
}

// A ControlRequestStatus is a step in the handling of a control request.
type ControlRequestStatus string

// The steps that are reported.
const (
	ControlRequestStarted  ControlRequestStatus = "started"
	ControlRequestAPIRetry ControlRequestStatus = "api_retry"
)

// A ModelRefusalFallbackMessage says that the model refused a request and
// another model takes over.
//
//wire:message system model_refusal_fallback
type ModelRefusalFallbackMessage struct {
	raw string

	// Trigger is "refusal".
	Trigger   string            `json:"trigger" wire:"intern"`
	Direction FallbackDirection `json:"direction" wire:"intern"`
	// Scope is how far the change reaches; empty means FallbackScopeSession.
	Scope         FallbackScope `json:"scope" wire:"intern"`
	OriginalModel string        `json:"original_model" wire:"intern"`
	FallbackModel string        `json:"fallback_model" wire:"intern"`
	// RequestID is the API's id of the refused request.
	RequestID          string `json:"request_id"`
	RefusalCategory    string `json:"api_refusal_category" wire:"intern"`
	RefusalExplanation string `json:"api_refusal_explanation"`
	// RetractedMessageUUIDs are earlier messages to remove from the conversation.
	RetractedMessageUUIDs  []string `json:"retracted_message_uuids"`
	RefusedUserMessageUUID string   `json:"refused_user_message_uuid"`
	// Content is the text to show.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A FallbackDirection says which way the model changes after a refusal.
type FallbackDirection string

// The directions. Of these, agents of today send only FallbackRetry.
const (
	FallbackRetry  FallbackDirection = "retry"
	FallbackRevert FallbackDirection = "revert"
	FallbackSticky FallbackDirection = "sticky"
)

// A FallbackScope says how far a change of model reaches.
type FallbackScope string

// The scopes of a fallback.
const (
	FallbackScopeSession FallbackScope = "session"
	FallbackScopeLocal   FallbackScope = "local"
)

// A ModelRefusalNoFallbackMessage says that the model refused a request and no
// other model takes over.
//
//wire:message system model_refusal_no_fallback
type ModelRefusalNoFallbackMessage struct {
	raw string

	OriginalModel string `json:"original_model" wire:"intern"`
	// RequestID is the API's id of the refused request.
	RequestID              string `json:"request_id"`
	RefusalCategory        string `json:"api_refusal_category" wire:"intern"`
	RefusalExplanation     string `json:"api_refusal_explanation"`
	RefusedUserMessageUUID string `json:"refused_user_message_uuid"`
	// Content is the text to show.
	Content   string `json:"content"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A ThinkingTokensMessage says how much the model has thought so far, while it
// thinks.
//
//wire:message system thinking_tokens
type ThinkingTokensMessage struct {
	raw string

	// EstimatedTokens is the running total of the thinking block.
	EstimatedTokens int `json:"estimated_tokens"`
	// EstimatedTokensDelta is what came since the message before.
	EstimatedTokensDelta int `json:"estimated_tokens_delta"`
	// UserMessageUUID is the caller's id of the prompt that the turn answers.
	UserMessageUUID string `json:"user_message_uuid" wire:"intern"`
	UUID            string `json:"uuid"`
	SessionID       string `json:"session_id" wire:"intern"`
}

// A NotificationMessage is a short notice for the person at the screen.
//
//wire:message system notification
type NotificationMessage struct {
	raw string

	// Key names the notice.
	Key      string               `json:"key" wire:"intern"`
	Text     string               `json:"text"`
	Priority NotificationPriority `json:"priority" wire:"intern"`
	Color    string               `json:"color" wire:"intern"`
	// Timeout is how long to show the notice; 0 leaves it to the reader.
	Timeout   Millis `json:"timeout_ms"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// A NotificationPriority says how urgent a notice is.
type NotificationPriority string

// The priorities, from least to most urgent.
const (
	NotificationPriorityLow       NotificationPriority = "low"
	NotificationPriorityMedium    NotificationPriority = "medium"
	NotificationPriorityHigh      NotificationPriority = "high"
	NotificationPriorityImmediate NotificationPriority = "immediate"
)

// An InformationalMessage is a line of the agent's own, shown between the
// messages of the conversation.
//
//wire:message system informational
type InformationalMessage struct {
	raw string

	Content string           `json:"content"`
	Level   InformationLevel `json:"level" wire:"intern"`
	// ToolUseID is the tool call that the line is about, if any.
	ToolUseID string `json:"tool_use_id"`
	// PreventContinuation says that the turn does not go on after this.
	PreventContinuation bool   `json:"prevent_continuation"`
	Tag                 string `json:"tag" wire:"intern"`
	UUID                string `json:"uuid"`
	SessionID           string `json:"session_id" wire:"intern"`
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

// A PermissionDeniedMessage says that a tool call was refused, at the moment it
// was. It does not come for every refusal: the complete list is in the
// permission denials of the ResultMessage.
//
//wire:message system permission_denied
type PermissionDeniedMessage struct {
	raw string

	ToolName  string `json:"tool_name" wire:"intern"`
	ToolUseID string `json:"tool_use_id"`
	// AgentID is the subagent that made the call, if one did.
	AgentID string `json:"agent_id" wire:"intern"`
	// DecisionReasonType is what kind of thing decided, for instance "mode".
	DecisionReasonType string `json:"decision_reason_type" wire:"intern"`
	DecisionReason     string `json:"decision_reason"`
	// Message is the text that the model was given.
	Message   string `json:"message"`
	UUID      string `json:"uuid"`
	SessionID string `json:"session_id" wire:"intern"`
}

// An ElicitationCompleteMessage says that a question which an MCP server put to
// the user has been dealt with.
//
//wire:message system elicitation_complete
type ElicitationCompleteMessage struct {
	raw string

	MCPServerName string `json:"mcp_server_name" wire:"intern"`
	ElicitationID string `json:"elicitation_id"`
	UUID          string `json:"uuid"`
	SessionID     string `json:"session_id" wire:"intern"`
}

// A MemoryRecallMessage says which memories the agent has brought into the turn.
//
//wire:message system memory_recall
type MemoryRecallMessage struct {
	raw string

	Mode      MemoryRecallMode `json:"mode" wire:"intern"`
	Memories  []RecalledMemory `json:"memories"`
	UUID      string           `json:"uuid"`
	SessionID string           `json:"session_id" wire:"intern"`
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

	Path    string      `json:"path,omitzero"`
	Scope   MemoryScope `json:"scope,omitzero" wire:"intern"`
	Content string      `json:"content,omitzero"`
}

// A MemoryScope says whom a memory belongs to.
type MemoryScope string

// The owners of a memory.
const (
	MemoryScopePersonal     MemoryScope = "personal"
	MemoryScopeTeam         MemoryScope = "team"
	MemoryScopeOrganization MemoryScope = "organization"
)

// A FilesPersistedMessage says which of the session's files have been stored
// and which could not be.
//
//wire:message system files_persisted
type FilesPersistedMessage struct {
	raw string

	Files       []PersistedFile `json:"files"`
	Failed      []FailedFile    `json:"failed"`
	ProcessedAt string          `json:"processed_at"`
	UUID        string          `json:"uuid"`
	SessionID   string          `json:"session_id" wire:"intern"`
}

// A PersistedFile is a file that was stored, under an id.
type PersistedFile struct {
	raw string

	Filename string `json:"filename,omitzero"`
	FileID   string `json:"file_id,omitzero"`
}

// A FailedFile is a file that could not be stored.
type FailedFile struct {
	raw string

	Filename string `json:"filename,omitzero"`
	Error    string `json:"error,omitzero"`
}

// A MirrorErrorMessage says that transcript entries could not be copied to the
// session store. The library that drives the agent makes it, not the agent.
//
//wire:message system mirror_error
type MirrorErrorMessage struct {
	raw string

	Error     string     `json:"error"`
	Key       *MirrorKey `json:"key"`
	UUID      string     `json:"uuid"`
	SessionID string     `json:"session_id" wire:"intern"`
}

// A MirrorKey names the transcript in a session store.
type MirrorKey struct {
	raw string

	ProjectKey string `json:"projectKey,omitzero" wire:"intern"`
	SessionID  string `json:"sessionId,omitzero" wire:"intern"`
	// Subpath names a transcript below the session's own, such as a subagent's.
	Subpath string `json:"subpath,omitzero"`
}

// A SessionWritesLostMessage says that the disk was full and part of the
// session was not written. It comes at most once, when the agent exits, and the
// exit code is 0 all the same.
//
//wire:message system session_writes_lost
type SessionWritesLostMessage struct {
	raw string

	ErrorCode WriteErrorCode `json:"error_code" wire:"intern"`
	// Lost names what is incomplete: "transcript", "global_config".
	Lost []string `json:"lost"`
	// TranscriptSessionIDs are the sessions whose transcripts have gaps.
	TranscriptSessionIDs []string `json:"transcript_session_ids"`
	UUID                 string   `json:"uuid"`
	SessionID            string   `json:"session_id" wire:"intern"`
}

// A WriteErrorCode is the system's reason for a failed write.
type WriteErrorCode string

// The reasons: no space left on the disk, or none left to the user.
const (
	WriteErrorNoSpace WriteErrorCode = "ENOSPC"
	WriteErrorQuota   WriteErrorCode = "EDQUOT"
)
