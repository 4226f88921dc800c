// Package hook defines hooks, the Go functions that an agent calls at events of its work.
//
// An [Input] describes the event, and an [Output] answers it. The option Hooks of an agent is a map
// from events to lists of [Matcher]:
//
//	Hooks: map[hook.Event][]hook.Matcher{
//		hook.PreToolUse: {{Matcher: "Bash", Hooks: []hook.Func{audit}}},
//	}
package hook

import (
	"context"
	"time"
)

// A Func is called by the agent at an event. The type of its input identifies the event:
//
//	func audit(ctx context.Context, in hook.Input) (*hook.Output, error) {
//		switch in := in.(type) {
//		case *hook.PreToolUseInput:
//			log.Println("about to use", in.ToolName)
//		}
//		return nil, nil
//	}
//
// A nil output lets the agent continue. An error, a panic, and an input that this package can't
// decode are failures. By default the agent continues after a failure as well. A hook that is meant
// to prevent something needs [FailureBlock] in [Matcher.OnFailure].
//
// The agent waits for its hooks, and may call several at once. The context ends after
// [Matcher.Timeout], or when the agent exits. A failure after that is not sent: the agent stopped
// waiting, and does not use the tool that a late [PreToolUse] was about.
type Func func(ctx context.Context, in Input) (*Output, error)

// A Matcher is a set of hooks for an event, and a condition for them.
type Matcher struct {
	// Matcher limits the hooks to some of the events, such as "Bash" or "Edit|Write" for events
	// about tools. The event determines which text it is compared with. A matcher that is not a
	// list of names is a regular expression of JavaScript. Empty and "*" mean always.
	Matcher string
	// Hooks are the hooks that run, at least one.
	Hooks []Func
	// Timeout is the time the agent waits for each hook. Zero means the agent's default.
	Timeout time.Duration
	// OnFailure is the agent's reaction to a failing hook. Empty means [FailureContinue].
	OnFailure Failure
}

// A Failure is the agent's reaction to a failing hook.
type Failure string

// The agent can't block at Stop, SubagentStop, TaskCompleted and TeammateIdle.
const (
	// FailureContinue continues as if there were no hook.
	FailureContinue Failure = "continue"
	// FailureBlock prevents what the event is about, such as the use of a tool.
	FailureBlock Failure = "block"
)

// An Event is a point in the agent's work at which hooks run. The input at an event X is an XInput.
// If the event has an output that other events don't have, it is an XOutput in [Output.Specific].
type Event string

// Events of the use of tools.
const (
	// PreToolUse comes before a tool runs, and can deny it or change its input.
	PreToolUse Event = "PreToolUse"
	// PostToolUse comes after a tool has run, and can change its result.
	PostToolUse Event = "PostToolUse"
	// PostToolUseFailure comes after a tool fails.
	PostToolUseFailure Event = "PostToolUseFailure"
	// PostToolBatch comes after all tools that one answer of the model called.
	PostToolBatch Event = "PostToolBatch"
	// PermissionRequest comes when the agent asks for permission.
	PermissionRequest Event = "PermissionRequest"
	// PermissionDenied comes when the use of a tool was denied.
	PermissionDenied Event = "PermissionDenied"

	// Events of a turn.

	// UserPromptSubmit comes before the agent starts on a prompt, and can add to it or block it.
	UserPromptSubmit Event = "UserPromptSubmit"
	// UserPromptExpansion comes when a slash command is replaced by its prompt.
	UserPromptExpansion Event = "UserPromptExpansion"
	// MessageDisplay comes while an answer streams, before a part of it is shown.
	MessageDisplay Event = "MessageDisplay"
	// Notification comes when the agent notifies the user.
	Notification Event = "Notification"
	// Stop comes when the agent is about to end its turn, and can make it continue.
	Stop Event = "Stop"
	// StopFailure comes when an error ends the turn.
	StopFailure Event = "StopFailure"

	// Events of a session.

	// Setup comes when the agent sets itself up.
	Setup Event = "Setup"
	// SessionStart comes when a session starts or is resumed. Claude Code 2.1.325 calls callbacks
	// only at /clear, because it does not have them yet when it starts.
	SessionStart Event = "SessionStart"
	// SessionEnd comes when a session ends. Claude Code 2.1.325 calls callbacks only at /clear.
	SessionEnd Event = "SessionEnd"
	// PreCompact comes before the conversation is compacted.
	PreCompact Event = "PreCompact"
	// PostCompact comes after the conversation was compacted.
	PostCompact Event = "PostCompact"
	// PreModelSwitch comes before the session changes its model, and can deny that.
	PreModelSwitch Event = "PreModelSwitch"
	// PostModelSwitch comes after the session changes its model.
	PostModelSwitch Event = "PostModelSwitch"

	// Events of subagents, teammates and tasks.

	// SubagentStart comes when a subagent starts.
	SubagentStart Event = "SubagentStart"
	// SubagentStop comes when a subagent is about to end.
	SubagentStop Event = "SubagentStop"
	// TeammateIdle comes when a teammate has nothing to do.
	TeammateIdle Event = "TeammateIdle"
	// TaskCreated comes when a task is added to the agent's list.
	TaskCreated Event = "TaskCreated"
	// TaskCompleted comes when a task of the list is done.
	TaskCompleted Event = "TaskCompleted"

	// Events of MCP servers.

	// Elicitation comes when an MCP server asks the user something.
	Elicitation Event = "Elicitation"
	// ElicitationResult comes before the answer goes back to the MCP server.
	ElicitationResult Event = "ElicitationResult"

	// Events of settings, files and directories.

	// ConfigChange comes when settings change on disk.
	ConfigChange Event = "ConfigChange"
	// InstructionsLoaded comes when a file with instructions was read.
	InstructionsLoaded Event = "InstructionsLoaded"
	// CWDChanged comes when the working directory changes.
	CWDChanged Event = "CwdChanged"
	// DirectoryAdded comes when the agent may work in another directory as well.
	DirectoryAdded Event = "DirectoryAdded"
	// FileChanged comes when a watched file changes.
	FileChanged Event = "FileChanged"
	// WorktreeCreate comes when the agent needs a git worktree.
	WorktreeCreate Event = "WorktreeCreate"
	// WorktreeRemove comes when the agent no longer needs a git worktree.
	WorktreeRemove Event = "WorktreeRemove"
)
