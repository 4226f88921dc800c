package clew

import (
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
