package wire

import (
	"cmp"
)

// A HookStartedMessage says that a shell hook has begun to run. Those of
// SessionStart and Setup are always reported, the others only when the agent
// was asked to include hook events. Hooks that are callbacks of the caller are
// not reported.
//
//wire:message system hook_started
type HookStartedMessage struct {
	raw string

	// HookID is shared by all messages about one run of the hook.
	HookID string `json:"hook_id"`
	// HookName is the event and a detail, as in SessionStart:startup.
	HookName  string `json:"hook_name" wire:"intern"`
	HookEvent string `json:"hook_event" wire:"intern"`
	// HookEventName is another spelling of HookEvent.
	HookEventName string `json:"hook_event_name" wire:"intern"`
	UUID          string `json:"uuid"`
	SessionID     string `json:"session_id" wire:"intern"`
}

// Event returns the event that the hook answers to: HookEvent, or else
// HookName, or else HookEventName.
func (m *HookStartedMessage) Event() string {
	return cmp.Or(m.HookEvent, m.HookName, m.HookEventName)
}

// A HookProgressMessage carries what a running hook has printed so far.
//
//wire:message system hook_progress
type HookProgressMessage struct {
	raw string

	HookID        string `json:"hook_id"`
	HookName      string `json:"hook_name" wire:"intern"`
	HookEvent     string `json:"hook_event" wire:"intern"`
	HookEventName string `json:"hook_event_name" wire:"intern"`
	Stdout        string `json:"stdout"`
	Stderr        string `json:"stderr"`
	Output        string `json:"output"`
	UUID          string `json:"uuid"`
	SessionID     string `json:"session_id" wire:"intern"`
}

// Event returns the event that the hook answers to: HookEvent, or else
// HookName, or else HookEventName.
func (m *HookProgressMessage) Event() string {
	return cmp.Or(m.HookEvent, m.HookName, m.HookEventName)
}

// A HookResponseMessage says how a hook ended and what it printed.
//
//wire:message system hook_response
type HookResponseMessage struct {
	raw string

	HookID        string `json:"hook_id"`
	HookName      string `json:"hook_name" wire:"intern"`
	HookEvent     string `json:"hook_event" wire:"intern"`
	HookEventName string `json:"hook_event_name" wire:"intern"`
	Output        string `json:"output"`
	Stdout        string `json:"stdout"`
	Stderr        string `json:"stderr"`
	// ExitCode is nil when the agent gave none.
	ExitCode  *int        `json:"exit_code"`
	Outcome   HookOutcome `json:"outcome" wire:"intern"`
	UUID      string      `json:"uuid"`
	SessionID string      `json:"session_id" wire:"intern"`
}

// Event returns the event that the hook answers to: HookEvent, or else
// HookName, or else HookEventName.
func (m *HookResponseMessage) Event() string {
	return cmp.Or(m.HookEvent, m.HookName, m.HookEventName)
}

// A HookOutcome says how a hook ended.
type HookOutcome string

// The ways a hook ends.
const (
	HookOutcomeSuccess   HookOutcome = "success"
	HookOutcomeError     HookOutcome = "error"
	HookOutcomeCancelled HookOutcome = "cancelled"
)
