package clew

import (
	"context"
	"encoding/json"
	"time"

	"github.com/clewdev/clew/wire"
)

// Hooks returns the hooks of the session that come from settings files, plugins and the session itself. Callbacks of
// [Options.Hooks] are not among them.
func (s *Session) Hooks(ctx context.Context) (*HooksReport, error) {
	return call[HooksReport](ctx, s, "get_hooks_listing", nil)
}

// A HooksReport is which hooks a session has, and whether they run. Its texts are made for people, with control
// characters shown as such.
type HooksReport struct {
	// Hooks are all hooks, in the order of their events in a session.
	Hooks []HookInfo `json:"hooks"`
	// Events are the events that have hooks, and Catalog are all events.
	Events  []HookEventInfo `json:"events"`
	Catalog []HookEventInfo `json:"eventCatalog"`

	Policy HooksPolicy `json:"policy"`
	// SafeMode is nil unless the agent was started in safe mode, and BareMode unless it was started bare: most hooks
	// don't run then.
	SafeMode *HooksSafeMode `json:"safeMode"`
	BareMode *HooksBareMode `json:"bareMode"`
	// Errors are the settings files that are wrong, and whose hooks are therefore missing.
	Errors []SettingsError `json:"errors"`
}

// A HookEventInfo describes an event that hooks can run on.
type HookEventInfo struct {
	Name    HookEvent `json:"name"`
	Summary string    `json:"summary"`
	// SupportsMatcher says whether a hook can choose by a matcher, such as the name of a tool.
	SupportsMatcher bool `json:"supportsMatcher"`
	// HookCount is 0 in a catalog.
	HookCount int `json:"hookCount"`
}

// A HookInfo describes a hook.
type HookInfo struct {
	Event HookEvent `json:"event"`
	// Matcher is empty for a hook that always runs.
	Matcher string `json:"matcher"`
	// Source is a [SettingsLayer] or another place, such as pluginHook; SourceLabel is the same for people.
	Source      string `json:"source"`
	SourceLabel string `json:"sourceLabel"`
	PluginName  string `json:"pluginName"`
	// Type is command, prompt, agent, http, mcp_tool or a newer one.
	Type string `json:"type"`
	// CommandText is what runs, a command for example, and ContentLabel says what it is.
	CommandText  string `json:"commandText"`
	ContentLabel string `json:"contentLabel"`
	// DisplayText is one line for a list.
	DisplayText   string `json:"displayText"`
	StatusMessage string `json:"statusMessage"`
	Condition     string `json:"condition"`
	// Timeout is 0 for a hook without one of its own.
	Timeout          time.Duration `json:"timeout"`
	RunsOnce         bool          `json:"runsOnce"`
	RunsInBackground bool          `json:"runsInBackground"`
	// Disabled is true when policy or mode keep the hook from running.
	Disabled bool `json:"disabled"`
	// Editable is the hook as its file has it, or nil if the file can't be written.
	Editable *EditableHook `json:"editable"`
}

// UnmarshalJSON reads the hook as the agent writes it, with a timeout in seconds.
func (h *HookInfo) UnmarshalJSON(data []byte) error {
	type plain HookInfo
	in := struct {
		*plain
		Timeout float64 `json:"timeout"`
	}{plain: (*plain)(h)}
	err := json.Unmarshal(data, &in)
	h.Timeout = wire.Millis(in.Timeout * 1000).Duration()
	return err
}

// An EditableHook is a hook as it stands in a settings file, without any change for display.
type EditableHook struct {
	Matcher string `json:"matcher"`
	// Config is an object. The values of HTTP headers are blank if HeadersRedacted is true.
	Config          wire.JSON `json:"config"`
	HeadersRedacted bool      `json:"headersRedacted"`
}

// HooksPolicy is what an administrator has decided about hooks.
type HooksPolicy struct {
	// DisabledByPolicy means that no hook runs at all.
	DisabledByPolicy bool `json:"disabledByPolicy"`
	// ManagedOnly means that only hooks of managed settings run, which are not listed.
	ManagedOnly bool `json:"managedOnly"`
	// PluginOnly means that only plugins can bring hooks.
	PluginOnly bool `json:"pluginOnly"`
	// AllDisabled means that hooks are off, by whichever setting.
	AllDisabled bool `json:"allDisabled"`
	// PolicyHookCount is how many hooks managed settings bring.
	PolicyHookCount int `json:"policyHookCount"`
	// PolicyUnreadable means that there are managed settings that could not be read.
	PolicyUnreadable bool `json:"policyUnreadable"`
}

// HooksSafeMode is what safe mode means for hooks.
type HooksSafeMode struct {
	ManagedHooksStillApply bool `json:"managedHooksStillApply"`
	// ExitHint tells people how to leave the mode.
	ExitHint string `json:"exitHint"`
}

// HooksBareMode is what a bare start means for hooks: not even those of [Options.Hooks] would run.
type HooksBareMode struct {
	// ExitHint tells people how to leave the mode.
	ExitHint string `json:"exitHint"`
}
