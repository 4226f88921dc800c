package clew

// A HookEvent is a point in the agent's work at which hooks run. For an event X the input is an XInput and, where the
// agent takes more than [HookOutput] can say for every event, the specific output an XOutput.
type HookEvent string

// Events of the use of tools.
const (
	// HookPreToolUse comes before a tool runs.
	HookPreToolUse HookEvent = "PreToolUse"
	// HookPostToolUse comes after a tool has run.
	HookPostToolUse HookEvent = "PostToolUse"
	// HookPostToolUseFailure comes after a tool has failed.
	HookPostToolUseFailure HookEvent = "PostToolUseFailure"
	// HookPostToolBatch comes after all tools that one answer of the model called.
	HookPostToolBatch HookEvent = "PostToolBatch"
	// HookPermissionRequest comes when the agent asks for permission.
	HookPermissionRequest HookEvent = "PermissionRequest"
	// HookPermissionDenied comes when the use of a tool was denied.
	HookPermissionDenied HookEvent = "PermissionDenied"
)

// Events of a turn.
const (
	// HookUserPromptSubmit comes before the agent takes up a prompt.
	HookUserPromptSubmit HookEvent = "UserPromptSubmit"
	// HookUserPromptExpansion comes when a command becomes the prompt that it stands for.
	HookUserPromptExpansion HookEvent = "UserPromptExpansion"
	// HookMessageDisplay comes while an answer streams, before a part of it is shown.
	HookMessageDisplay HookEvent = "MessageDisplay"
	// HookNotification comes when the agent notifies the user.
	HookNotification HookEvent = "Notification"
	// HookStop comes when the agent is about to end its turn.
	HookStop HookEvent = "Stop"
	// HookStopFailure comes when an error ends the turn.
	HookStopFailure HookEvent = "StopFailure"
)

// Events of a session.
const (
	// HookSetup comes when the agent sets itself up.
	HookSetup HookEvent = "Setup"
	// HookSessionStart comes when a session begins or goes on. Claude Code 2.1.325 asks a callback only at /clear: at its
	// start it has not met the callbacks yet.
	HookSessionStart HookEvent = "SessionStart"
	// HookSessionEnd comes when a session ends. Claude Code 2.1.325 asks a callback only at /clear.
	HookSessionEnd HookEvent = "SessionEnd"
	// HookPreCompact comes before the conversation is compacted.
	HookPreCompact HookEvent = "PreCompact"
	// HookPostCompact comes after the conversation was compacted.
	HookPostCompact HookEvent = "PostCompact"
	// HookPreModelSwitch comes before the session goes on with another model.
	HookPreModelSwitch HookEvent = "PreModelSwitch"
	// HookPostModelSwitch comes after the session has changed its model.
	HookPostModelSwitch HookEvent = "PostModelSwitch"
)

// Events of subagents, teammates and tasks.
const (
	// HookSubagentStart comes when a subagent starts.
	HookSubagentStart HookEvent = "SubagentStart"
	// HookSubagentStop comes when a subagent is about to end.
	HookSubagentStop HookEvent = "SubagentStop"
	// HookTeammateIdle comes when a teammate has nothing to do.
	HookTeammateIdle HookEvent = "TeammateIdle"
	// HookTaskCreated comes when a task is put on the list.
	HookTaskCreated HookEvent = "TaskCreated"
	// HookTaskCompleted comes when a task is done.
	HookTaskCompleted HookEvent = "TaskCompleted"
)

// Events of MCP servers.
const (
	// HookElicitation comes when an MCP server asks the user something.
	HookElicitation HookEvent = "Elicitation"
	// HookElicitationResult comes before the answer goes back to the MCP server.
	HookElicitationResult HookEvent = "ElicitationResult"
)

// Events of the agent's surroundings.
const (
	// HookConfigChange comes when settings have changed on disk.
	HookConfigChange HookEvent = "ConfigChange"
	// HookInstructionsLoaded comes when a file with instructions was read.
	HookInstructionsLoaded HookEvent = "InstructionsLoaded"
	// HookCWDChanged comes when the agent works in another folder.
	HookCWDChanged HookEvent = "CwdChanged"
	// HookDirectoryAdded comes when the agent may work in one more folder.
	HookDirectoryAdded HookEvent = "DirectoryAdded"
	// HookFileChanged comes when a watched file has changed.
	HookFileChanged HookEvent = "FileChanged"
	// HookWorktreeCreate comes when the agent wants a git worktree.
	HookWorktreeCreate HookEvent = "WorktreeCreate"
	// HookWorktreeRemove comes when the agent gives a git worktree up.
	HookWorktreeRemove HookEvent = "WorktreeRemove"
)
