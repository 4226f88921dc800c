package entrylex

// The names of the members of a line that more than one package reads, or that decide what a line
// is. The decoders of lines are several, since each reads only what it needs, and all of them take
// the names from here.
const (
	// The kind of the line, and its relation to others.
	KeyType              = "type"
	KeySubtype           = "subtype"
	KeyUUID              = "uuid"
	KeyParentUUID        = "parentUuid"
	KeyLogicalParentUUID = "logicalParentUuid"
	KeyLeafUUID          = "leafUuid"
	KeyTimestamp         = "timestamp"
	KeySessionID         = "sessionId"
	KeyAgentID           = "agentId"

	// The session as it was when the line was written.
	KeyCWD            = "cwd"
	KeyGitBranch      = "gitBranch"
	KeyEntrypoint     = "entrypoint"
	KeyVersion        = "version"
	KeyPermissionMode = "permissionMode"
	KeyPromptID       = "promptId"
	KeyRequestID      = "requestId"
	KeyTeamName       = "teamName"
	KeyAgentName      = "agentName"
	KeySessionKind    = "sessionKind"
	KeyForkedFrom     = "forkedFrom"
	// The session whose request an answer came from, if it is another one.
	KeyRequestSessionID = "requestSessionId"

	// Marks of a line of the conversation.
	KeyIsSidechain       = "isSidechain"
	KeyIsMeta            = "isMeta"
	KeyIsCompactSummary  = "isCompactSummary"
	KeyIsAPIErrorMessage = "isApiErrorMessage"
	KeySourceToolUseID   = "sourceToolUseID"
	KeyParentToolUseID   = "parentToolUseID"

	// The content of a line of the conversation.
	KeyMessage         = "message"
	KeyAttachment      = "attachment"
	KeyData            = "data"
	KeyToolUseResult   = "toolUseResult"
	KeyMCPMeta         = "mcpMeta"
	KeyPermission      = "permissionDecision"
	KeySandboxed       = "sandboxed"
	KeyContent         = "content"
	KeyCompactMetadata = "compactMetadata"
	KeyCostUSD         = "costUSD"
	KeyAPIBlockIndex   = "apiBlockIndex"

	// The entries that a line retracts or replaces: a UUID or a list of them.
	KeySupersedesUUIDs        = "supersedesUuids"
	KeyRetractedMessageUUIDs  = "retractedMessageUuids"
	KeyRefusedUserMessageUUID = "refusedUserMessageUuid"

	// The content of lines beside the conversation.
	KeyCustomTitle = "customTitle"
	KeyAITitle     = "aiTitle"
	KeyLastPrompt  = "lastPrompt"
	KeySummary     = "summary"
	KeyTag         = "tag"
)
