package hook

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// An Output is the answer of a hook to the agent. All fields are optional.
type Output struct {
	// Stop ends the agent's work.
	Stop bool `json:"-"`
	// StopReason says to the user why the work ends.
	StopReason string `json:"stopReason,omitempty"`
	// Decision is for events whose decision is not in Specific.
	Decision Decision `json:"decision,omitempty"`
	// Reason is the reason of the decision.
	Reason string `json:"reason,omitempty"`
	// AdditionalContext is added to the model's context. It is for [PostToolUseFailure],
	// [PostToolBatch], [Notification], [Setup], [PostModelSwitch] and [SubagentStart], and for
	// [Stop] and [SubagentStop], whose agent then continues. The outputs of other events have it in
	// Specific. Not together with Specific.
	AdditionalContext string `json:"-"`
	// SystemMessage is shown to the user.
	SystemMessage string `json:"systemMessage,omitempty"`
	// SuppressOutput keeps the hook's output out of the transcript.
	SuppressOutput bool `json:"suppressOutput,omitempty"`
	// TerminalSequence is an escape sequence for the user's terminal: a title, a notification or a
	// bell. The agent ignores any other.
	TerminalSequence string `json:"terminalSequence,omitempty"`
	// Async makes the agent not wait for the work of this hook. It ignores the rest of the output
	// then.
	Async bool `json:"async,omitempty"`
	// AsyncTimeout limits the time of that work. Zero means the agent's default.
	AsyncTimeout time.Duration `json:"-"`
	// Specific is the output that only this event has, or nil.
	Specific SpecificOutput `json:"-"`
}

// A Decision is a hook's decision about its event.
type Decision string

// The decisions that the agent knows.
const (
	// DecisionApprove lets the agent continue.
	DecisionApprove Decision = "approve"
	// DecisionBlock prevents what the event is about.
	DecisionBlock Decision = "block"
)

// A contextOutput is a [SpecificOutput] for an event that has only additional context.
type contextOutput struct {
	at                Event
	AdditionalContext string `json:"additionalContext"`
}

func (o *contextOutput) event() Event { return o.at }

// specific returns the output that belongs to the event, or nil.
func (o *Output) specific(event Event) (SpecificOutput, error) {
	switch {
	case o.AdditionalContext == "":
		return o.Specific, nil
	case o.Specific != nil:
		return nil, errors.New("AdditionalContext can't be combined with Specific")
	}
	return &contextOutput{event, o.AdditionalContext}, nil
}

// Encode encodes the answer of a hook at an event. A nil output is an empty object.
func (o *Output) Encode(event Event) (wire.JSON, error) {
	if o == nil {
		return "{}", nil
	}
	answer := struct {
		*Output
		Continue     *bool     `json:"continue,omitempty"`
		AsyncTimeout int64     `json:"asyncTimeout,omitempty"`
		Specific     wire.JSON `json:"hookSpecificOutput,omitempty"`
	}{Output: o, AsyncTimeout: o.AsyncTimeout.Milliseconds()}
	if o.Stop {
		answer.Continue = new(false)
	}
	specific, err := o.specific(event)
	if err != nil {
		return "", err
	}
	if answer.Specific, err = encodeSpecific(specific); err != nil {
		return "", err
	}
	return rawjson.Encode(answer)
}

// encodeSpecific encodes an output, with the name of its event as the first member. It returns ""
// for nil and for a nil pointer.
func encodeSpecific(output SpecificOutput) (wire.JSON, error) {
	if use, ok := output.(*PreToolUseOutput); ok && use != nil {
		if _, err := rawjson.EncodeInput(use.UpdatedInput); err != nil {
			return "", err
		}
	}
	object, err := rawjson.Encode(output)
	if err != nil || rawjson.Absent(object) {
		return "", err
	}
	event := output.event()
	if event == "" {
		return object, nil
	}
	members := strings.TrimPrefix(string(object), "{")
	if members != "}" {
		members = "," + members
	}
	return wire.JSON(`{"hookEventName":"` + string(event) + `"` + members), nil
}

// A SpecificOutput is the part of an output that only one event has. Its variants are
//
//   - [*PreToolUseOutput], [*PostToolUseOutput], [*PermissionRequestOutput],
//     [*PermissionDeniedOutput]
//   - [*UserPromptSubmitOutput], [*UserPromptExpansionOutput], [*MessageDisplayOutput]
//   - [*SessionStartOutput], [*PreModelSwitchOutput]
//   - [*ElicitationOutput], [*ElicitationResultOutput]
//   - [*CWDChangedOutput], [*FileChangedOutput], [*WorktreeCreateOutput]
//   - [*RawOutput], for outputs that this package does not know
//
// Each belongs to the event that it is named after. An output for another event is an error of the
// hook.
type SpecificOutput interface {
	event() Event
}

// A PreToolUseOutput decides about a tool before it runs.
type PreToolUseOutput struct {
	// Decision allows, denies, asks or defers; empty leaves the decision to the agent.
	Decision permission.Behavior `json:"permissionDecision,omitempty"`
	// Reason is the reason of the decision. The model sees it if the tool is denied.
	Reason string `json:"permissionDecisionReason,omitempty"`
	// UpdatedInput replaces the tool's input: anything that marshals to a JSON object. Nil leaves
	// the input as it is.
	UpdatedInput any `json:"updatedInput,omitempty"`
	// AdditionalContext is added to the model's context.
	AdditionalContext string `json:"additionalContext,omitempty"`
}

// A PostToolUseOutput adds to a tool's result, or replaces it.
type PostToolUseOutput struct {
	// AdditionalContext is added to the model's context.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// ClassifierContext is for the classifier of the auto mode, which may take it for the user's
	// will: it must not contain text of a tool or of the model. The agent cuts it to 2,000 UTF-16
	// units.
	ClassifierContext string `json:"classifierContext,omitempty"`
	// UpdatedToolOutput replaces the tool's result, unless it is nil.
	UpdatedToolOutput any `json:"updatedToolOutput,omitempty"`
	// UpdatedMCPToolOutput does the same for tools of MCP servers, with older agents.
	UpdatedMCPToolOutput any `json:"updatedMCPToolOutput,omitempty"`
}

// A PermissionRequestOutput answers in place of the user.
type PermissionRequestOutput struct {
	// Decision is an [*permission.AllowResult] or a [*permission.DenyResult]. It must be set.
	Decision permission.Result
}

// MarshalJSON encodes the decision.
func (o *PermissionRequestOutput) MarshalJSON() ([]byte, error) {
	if o.Decision == nil {
		return nil, errors.New("clew: PermissionRequestOutput has no decision")
	}
	decision, err := o.Decision.MarshalJSON() // a nil pointer panics, which is a failure of the hook
	return slices.Concat([]byte(`{"decision":`), decision, []byte("}")), err
}

// A PermissionDeniedOutput reacts to a denial.
type PermissionDeniedOutput struct {
	// Retry lets the model try again.
	Retry bool `json:"retry,omitempty"`
}

// A UserPromptSubmitOutput adds to a prompt.
type UserPromptSubmitOutput struct {
	// AdditionalContext is added to the model's context.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// SessionTitle becomes the title of the session.
	SessionTitle string `json:"sessionTitle,omitempty"`
	// SuppressOriginalPrompt leaves the text of a blocked prompt out of the message about it.
	SuppressOriginalPrompt bool `json:"suppressOriginalPrompt,omitempty"`
}

// A UserPromptExpansionOutput adds to the prompt that a command stands for.
type UserPromptExpansionOutput struct {
	// AdditionalContext is added to the model's context.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// SuppressOriginalPrompt leaves the text of a blocked prompt out of the message about it.
	SuppressOriginalPrompt bool `json:"suppressOriginalPrompt,omitempty"`
}

// A MessageDisplayOutput changes what the user sees of an answer. The answer itself does not
// change.
type MessageDisplayOutput struct {
	// DisplayContent is shown in place of the part. Nil shows the part as it is.
	DisplayContent *string `json:"displayContent,omitempty"`
}

// A SessionStartOutput adds to the start of a session.
type SessionStartOutput struct {
	// AdditionalContext is added to the model's context.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// InitialUserMessage becomes the session's first prompt.
	InitialUserMessage string `json:"initialUserMessage,omitempty"`
	// SessionTitle becomes the title of the session.
	SessionTitle string `json:"sessionTitle,omitempty"`
	// WatchPaths are absolute paths of files whose changes cause [FileChanged].
	WatchPaths []string `json:"watchPaths,omitempty"`
	// ReloadSkills makes the agent look for skills again, for example skills that the hook
	// installed.
	ReloadSkills bool `json:"reloadSkills,omitempty"`
}

// A PreModelSwitchOutput decides about a change of the model.
type PreModelSwitchOutput struct {
	// Decision allows, denies or asks; empty leaves the decision to the agent. If nobody can be
	// asked, asking denies.
	Decision permission.Behavior `json:"permissionDecision,omitempty"`
	// Reason is the reason of the decision.
	Reason string `json:"permissionDecisionReason,omitempty"`
}

// An ElicitationOutput answers an MCP server in place of the user.
type ElicitationOutput struct {
	// Action takes the place of the user's action.
	Action wire.ElicitationAction `json:"action,omitempty"`
	// Content is the form as filled in: anything that marshals to a JSON object.
	Content any `json:"content,omitempty"`
}

// An ElicitationResultOutput replaces the user's answer to an MCP server.
type ElicitationResultOutput struct {
	// Action is sent to the MCP server as the user's action.
	Action wire.ElicitationAction `json:"action,omitempty"`
	// Content is the form as filled in: anything that marshals to a JSON object.
	Content any `json:"content,omitempty"`
}

// A CWDChangedOutput sets the files to watch in the new directory.
type CWDChangedOutput struct {
	// WatchPaths are absolute paths of files whose changes cause [FileChanged]. Nil leaves them as
	// they are, and empty means none.
	WatchPaths []string `json:"watchPaths,omitzero"`
}

// A FileChangedOutput sets the files to watch from now on.
type FileChangedOutput struct {
	// WatchPaths are absolute paths of files whose changes cause [FileChanged]. Nil leaves them as
	// they are, and empty means none.
	WatchPaths []string `json:"watchPaths,omitzero"`
}

// A WorktreeCreateOutput names the worktree that the hook created.
type WorktreeCreateOutput struct {
	// WorktreePath is absolute, and must be set.
	WorktreePath string `json:"worktreePath"`
}

// A RawOutput is an output that has no type in this package.
type RawOutput struct {
	// JSON is the whole object, with its hookEventName.
	JSON wire.JSON
}

// MarshalJSON returns the object.
func (o *RawOutput) MarshalJSON() ([]byte, error) { return o.JSON.MarshalJSON() }

func (*PreToolUseOutput) event() Event          { return PreToolUse }
func (*PostToolUseOutput) event() Event         { return PostToolUse }
func (*PermissionRequestOutput) event() Event   { return PermissionRequest }
func (*PermissionDeniedOutput) event() Event    { return PermissionDenied }
func (*UserPromptSubmitOutput) event() Event    { return UserPromptSubmit }
func (*UserPromptExpansionOutput) event() Event { return UserPromptExpansion }
func (*MessageDisplayOutput) event() Event      { return MessageDisplay }
func (*SessionStartOutput) event() Event        { return SessionStart }
func (*PreModelSwitchOutput) event() Event      { return PreModelSwitch }
func (*ElicitationOutput) event() Event         { return Elicitation }
func (*ElicitationResultOutput) event() Event   { return ElicitationResult }
func (*CWDChangedOutput) event() Event          { return CWDChanged }
func (*FileChangedOutput) event() Event         { return FileChanged }
func (*WorktreeCreateOutput) event() Event      { return WorktreeCreate }
func (*RawOutput) event() Event                 { return "" }
