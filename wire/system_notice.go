package wire

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

	Path    string      `json:"path"`
	Scope   MemoryScope `json:"scope" wire:"intern"`
	Content string      `json:"content"`
}

// A MemoryScope says whom a memory belongs to.
type MemoryScope string

// The owners of a memory.
const (
	MemoryScopePersonal     MemoryScope = "personal"
	MemoryScopeTeam         MemoryScope = "team"
	MemoryScopeOrganization MemoryScope = "organization"
)
