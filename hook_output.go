package clew

import (
	"errors"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// A HookOutput is what a hook tells the agent. All of it is optional.
type HookOutput struct {
	// Stop ends the agent's work, and StopReason tells the user why.
	Stop       bool   `json:"-"`
	StopReason string `json:"stopReason,omitempty"`
	// Decision is for events that have none of their own in Specific, and Reason is its reason.
	Decision HookDecision `json:"decision,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	// SystemMessage is shown to the user.
	SystemMessage string `json:"systemMessage,omitempty"`
	// SuppressOutput keeps the hook's output out of the transcript.
	SuppressOutput bool `json:"suppressOutput,omitempty"`
	// TerminalSequence is an escape sequence for the user's terminal: a title, a notification or a bell. The agent drops
	// any other.
	TerminalSequence string `json:"terminalSequence,omitempty"`
	// Async tells the agent not to wait for the work of this hook, and AsyncTimeout how long that may take. Zero means
	// the agent's own limit. The rest of the output does not count then.
	Async        bool          `json:"async,omitempty"`
	AsyncTimeout time.Duration `json:"-"`
	// Specific is what only this event takes, or nil.
	Specific HookSpecificOutput `json:"-"`
}

// A HookDecision is what a hook makes of its event.
type HookDecision string

// The decisions that the agent knows.
const (
	HookDecisionApprove HookDecision = "approve"
	HookDecisionBlock   HookDecision = "block"
)

// answer returns what the response says. A nil output says nothing.
func (o *HookOutput) answer() (any, error) {
	if o == nil {
		return struct{}{}, nil
	}
	answer := struct {
		*HookOutput
		Continue     *bool     `json:"continue,omitempty"`
		AsyncTimeout int64     `json:"asyncTimeout,omitempty"`
		Specific     wire.JSON `json:"hookSpecificOutput,omitempty"`
	}{HookOutput: o, AsyncTimeout: o.AsyncTimeout.Milliseconds()}
	if o.Stop {
		answer.Continue = new(false)
	}
	if o.Specific == nil {
		return answer, nil
	}
	specific, err := encodeSpecific(o.Specific)
	answer.Specific = specific
	return answer, err
}

// encodeSpecific writes the object of an output, with the name of its event as the first member. It is empty for a nil
// pointer.
func encodeSpecific(output HookSpecificOutput) (wire.JSON, error) {
	if use, ok := output.(*PreToolUseOutput); ok && use != nil {
		if _, err := encodeInput(use.UpdatedInput); err != nil {
			return "", err
		}
	}
	object, err := encode(output)
	if err != nil || absent(object) {
		return "", err
	}
	event := output.hookEvent()
	if event == "" {
		return object, nil
	}
	members := strings.TrimPrefix(string(object), "{")
	if members != "}" {
		members = "," + members
	}
	return wire.JSON(`{"hookEventName":"` + string(event) + `"` + members), nil
}

// A HookSpecificOutput is what a hook tells the agent beyond what [HookOutput] has for every event. Its variants are
//
//   - [*PreToolUseOutput], [*PostToolUseOutput], [*PostToolUseFailureOutput], [*PostToolBatchOutput],
//     [*PermissionRequestOutput], [*PermissionDeniedOutput]
//   - [*UserPromptSubmitOutput], [*UserPromptExpansionOutput], [*MessageDisplayOutput], [*NotificationOutput],
//     [*StopOutput]
//   - [*SetupOutput], [*SessionStartOutput], [*PreModelSwitchOutput], [*PostModelSwitchOutput]
//   - [*SubagentStartOutput], [*SubagentStopOutput]
//   - [*ElicitationOutput], [*ElicitationResultOutput]
//   - [*CWDChangedOutput], [*FileChangedOutput], [*WorktreeCreateOutput]
//   - [*RawHookOutput], for what this package does not know
//
// Each belongs to the event that it is named after. The agent takes one that does not belong to its event for an error
// of the hook.
type HookSpecificOutput interface {
	hookEvent() HookEvent
}

// A PreToolUseOutput decides about a tool before it runs.
type PreToolUseOutput struct {
	// Decision allows, denies, asks or defers; empty leaves the decision to the agent.
	Decision PermissionBehavior `json:"permissionDecision,omitempty"`
	Reason   string             `json:"permissionDecisionReason,omitempty"`
	// UpdatedInput is what the tool is called with instead: anything that marshals to a JSON object. Nil leaves the
	// input as it is.
	UpdatedInput any `json:"updatedInput,omitempty"`
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A PostToolUseOutput adds to what a tool returned, or replaces it.
type PostToolUseOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// ClassifierContext is told to the classifier of the auto mode, which may take it for the user's will: put nothing
	// in it that a tool or the model said. The agent cuts it to 2,000 UTF-16 units.
	ClassifierContext string `json:"classifierContext,omitempty"`
	// UpdatedToolOutput replaces what the tool returned, unless it is nil.
	UpdatedToolOutput any `json:"updatedToolOutput,omitempty"`
	// UpdatedMCPToolOutput does the same, for tools of MCP servers and older agents.
	UpdatedMCPToolOutput any `json:"updatedMCPToolOutput,omitempty"`
}

// A PostToolUseFailureOutput adds to the error of a tool.
type PostToolUseFailureOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A PostToolBatchOutput adds to what several tools returned.
type PostToolBatchOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A PermissionRequestOutput answers in the place of the user.
type PermissionRequestOutput struct {
	// Decision must be set.
	Decision PermissionResult
}

// MarshalJSON writes the decision.
func (o *PermissionRequestOutput) MarshalJSON() ([]byte, error) {
	if o.Decision == nil {
		return nil, errors.New("clew: a PermissionRequestOutput without a decision")
	}
	answer, err := o.Decision.answer(new(PermissionRequest))
	if err != nil {
		return nil, err
	}
	decision, err := encode(map[string]any{"decision": answer})
	return []byte(decision), err
}

// A PermissionDeniedOutput reacts to a denial.
type PermissionDeniedOutput struct {
	// Retry lets the model try again.
	Retry bool `json:"retry,omitempty"`
}

// A UserPromptSubmitOutput adds to a prompt.
type UserPromptSubmitOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// SessionTitle names the session.
	SessionTitle string `json:"sessionTitle,omitempty"`
	// SuppressOriginalPrompt leaves the prompt out of the message that it was blocked.
	SuppressOriginalPrompt bool `json:"suppressOriginalPrompt,omitempty"`
}

// A UserPromptExpansionOutput adds to the prompt that a command stands for.
type UserPromptExpansionOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// SuppressOriginalPrompt leaves the prompt out of the message that it was blocked.
	SuppressOriginalPrompt bool `json:"suppressOriginalPrompt,omitempty"`
}

// A MessageDisplayOutput changes what the user sees of an answer. The answer itself stays.
type MessageDisplayOutput struct {
	// DisplayContent is shown in the place of the part. Nil shows the part as it is.
	DisplayContent *string `json:"displayContent,omitempty"`
}

// A NotificationOutput adds to a notification.
type NotificationOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A StopOutput keeps the turn from ending.
type StopOutput struct {
	// AdditionalContext is told to the model, which goes on with it.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A SetupOutput adds to the setup.
type SetupOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A SessionStartOutput adds to the start of a session.
type SessionStartOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// InitialUserMessage is the session's first prompt.
	InitialUserMessage string `json:"initialUserMessage,omitempty"`
	// SessionTitle names the session.
	SessionTitle string `json:"sessionTitle,omitempty"`
	// WatchPaths are absolute paths of files whose changes cause [HookFileChanged].
	WatchPaths []string `json:"watchPaths,omitempty"`
	// ReloadSkills makes the agent look for skills again, to find those that the hook has installed.
	ReloadSkills bool `json:"reloadSkills,omitempty"`
}

// A PreModelSwitchOutput decides about a change of the model.
type PreModelSwitchOutput struct {
	// Decision allows, denies or asks; empty leaves the decision to the agent. Where nobody can be asked, ask denies.
	Decision PermissionBehavior `json:"permissionDecision,omitempty"`
	Reason   string             `json:"permissionDecisionReason,omitempty"`
}

// A PostModelSwitchOutput adds to a change of the model.
type PostModelSwitchOutput struct {
	// AdditionalContext is told to the model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A SubagentStartOutput adds to the start of a subagent.
type SubagentStartOutput struct {
	// AdditionalContext is told to the subagent's model.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A SubagentStopOutput keeps a subagent from ending.
type SubagentStopOutput struct {
	// AdditionalContext is told to the subagent's model, which goes on with it.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// An ElicitationOutput answers an MCP server in the place of the user.
type ElicitationOutput struct {
	Action ElicitationAction `json:"action,omitempty"`
	// Content is the form as filled in: anything that marshals to a JSON object.
	Content any `json:"content,omitempty"`
}

// An ElicitationResultOutput replaces the user's answer to an MCP server.
type ElicitationResultOutput struct {
	Action ElicitationAction `json:"action,omitempty"`
	// Content is the form as filled in: anything that marshals to a JSON object.
	Content any `json:"content,omitempty"`
}

// A CWDChangedOutput says what to watch in the new folder.
type CWDChangedOutput struct {
	// WatchPaths are absolute paths of files whose changes cause [HookFileChanged]. Nil says nothing about them.
	WatchPaths []string `json:"watchPaths,omitzero"`
}

// A FileChangedOutput says what to watch from now on.
type FileChangedOutput struct {
	// WatchPaths are absolute paths of files whose changes cause [HookFileChanged]. Nil says nothing about them.
	WatchPaths []string `json:"watchPaths,omitzero"`
}

// A WorktreeCreateOutput says where the hook has made the worktree.
type WorktreeCreateOutput struct {
	// WorktreePath is absolute, and must be set.
	WorktreePath string `json:"worktreePath"`
}

// A RawHookOutput is an output that this package has no type for.
type RawHookOutput struct {
	// JSON is the whole object, with its hookEventName.
	JSON wire.JSON
}

// MarshalJSON returns the object.
func (o *RawHookOutput) MarshalJSON() ([]byte, error) { return o.JSON.MarshalJSON() }

func (*PreToolUseOutput) hookEvent() HookEvent          { return HookPreToolUse }
func (*PostToolUseOutput) hookEvent() HookEvent         { return HookPostToolUse }
func (*PostToolUseFailureOutput) hookEvent() HookEvent  { return HookPostToolUseFailure }
func (*PostToolBatchOutput) hookEvent() HookEvent       { return HookPostToolBatch }
func (*PermissionRequestOutput) hookEvent() HookEvent   { return HookPermissionRequest }
func (*PermissionDeniedOutput) hookEvent() HookEvent    { return HookPermissionDenied }
func (*UserPromptSubmitOutput) hookEvent() HookEvent    { return HookUserPromptSubmit }
func (*UserPromptExpansionOutput) hookEvent() HookEvent { return HookUserPromptExpansion }
func (*MessageDisplayOutput) hookEvent() HookEvent      { return HookMessageDisplay }
func (*NotificationOutput) hookEvent() HookEvent        { return HookNotification }
func (*StopOutput) hookEvent() HookEvent                { return HookStop }
func (*SetupOutput) hookEvent() HookEvent               { return HookSetup }
func (*SessionStartOutput) hookEvent() HookEvent        { return HookSessionStart }
func (*PreModelSwitchOutput) hookEvent() HookEvent      { return HookPreModelSwitch }
func (*PostModelSwitchOutput) hookEvent() HookEvent     { return HookPostModelSwitch }
func (*SubagentStartOutput) hookEvent() HookEvent       { return HookSubagentStart }
func (*SubagentStopOutput) hookEvent() HookEvent        { return HookSubagentStop }
func (*ElicitationOutput) hookEvent() HookEvent         { return HookElicitation }
func (*ElicitationResultOutput) hookEvent() HookEvent   { return HookElicitationResult }
func (*CWDChangedOutput) hookEvent() HookEvent          { return HookCWDChanged }
func (*FileChangedOutput) hookEvent() HookEvent         { return HookFileChanged }
func (*WorktreeCreateOutput) hookEvent() HookEvent      { return HookWorktreeCreate }
func (*RawHookOutput) hookEvent() HookEvent             { return "" }
