package clew

import "github.com/clewdev/clew/wire"

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
	AgentID   string     `json:"agent_id"`
	AgentType string     `json:"agent_type"`
	Effort    HookEffort `json:"effort"`
}

// HookEffort is how much work the model puts into its answers.
type HookEffort struct {
	Level wire.Effort `json:"level"`
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
	if err := decode("the input of a hook", data, &head); err != nil {
		return nil, err
	}
	in := newHookInput(head.Event)
	reader := looseReader{"the input of a hook at " + string(head.Event), c.log}
	if err := reader.decode(data, in, "tool_name", "prompt"); err != nil {
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
