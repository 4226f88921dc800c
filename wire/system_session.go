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
	Tools         []string    `json:"tools"`
	MCPServers    []MCPServer `json:"mcp_servers"`
	Agents        []string    `json:"agents"`
	Skills        []string    `json:"skills"`
	SlashCommands []string    `json:"slash_commands"`
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

// An MCPServer is one MCP server of the session and how its connection stands.
type MCPServer struct {
	raw string

	Name   string `json:"name" wire:"intern"`
	Status string `json:"status" wire:"intern"`
	Source string `json:"source" wire:"intern"`
}

// MemoryPaths says where the agent keeps its memory files.
type MemoryPaths struct {
	raw string

	// Auto is the folder of the notes that the agent writes by itself.
	Auto string `json:"auto" wire:"intern"`
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
