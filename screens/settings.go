package screens

import (
	"context"
	"encoding/json"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// Settings returns the settings of the session: the settings in force, and the settings of each
// layer. To change them, see [clew.Session.ApplySettings] and [clew.Session.UpdateSettings].
func Settings(ctx context.Context, c Controller) (*SettingsReport, error) {
	return ask[SettingsReport](ctx, c, "get_settings", nil)
}

// A SettingsReport lists the settings of a session.
type SettingsReport struct {
	// Effective is an object with the settings in force: all layers merged.
	Effective wire.JSON `json:"effective"`
	// Sources are the layers that set something. A later one overrides an earlier one.
	Sources []LayerSettings `json:"sources"`
	// Applied are the settings that the next prompt will run with, after environment and defaults.
	// It is nil if the agent does not report it.
	Applied *AppliedSettings `json:"applied"`
	// Errors are settings files with errors. The agent ignores them.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent leaves out settings because others can read its answer.
	Withheld bool `json:"withheld"`
}

// A SettingsLayer is one of the places that settings come from.
type SettingsLayer string

// The layers. Each overrides those before it.
const (
	// LayerUser is the user's own file.
	LayerUser SettingsLayer = "userSettings"
	// LayerProject is the file that a project shares, .claude/settings.json.
	LayerProject SettingsLayer = "projectSettings"
	// LayerLocal is the user's own file for a project, .claude/settings.local.json.
	LayerLocal SettingsLayer = "localSettings"
	// LayerFlag holds what the session was started with, and [clew.Session.ApplySettings].
	LayerFlag SettingsLayer = "flagSettings"
	// LayerPolicy holds the settings of an administrator.
	LayerPolicy SettingsLayer = "policySettings"
)

// LayerSettings are the settings of one layer.
type LayerSettings struct {
	// Layer is the source of the settings.
	Layer SettingsLayer `json:"source"`
	// Settings is an object.
	Settings wire.JSON `json:"settings"`
}

// AppliedSettings are the settings that the next prompt of a session will run with.
type AppliedSettings struct {
	// Model is the ID of the model.
	Model string `json:"model"`
	// Effort is empty for a model without levels of effort.
	Effort wire.Effort `json:"effort"`
	// Advisor is the model that advises, or empty.
	Advisor string `json:"advisor"`

	// Ultracode reports whether the agent runs workflows without being asked to.
	Ultracode bool `json:"ultracode"`
	// UltracodeRequested reports whether the user turned that on.
	UltracodeRequested bool `json:"ultracodeRequested"`
	// UltracodeAvailable reports whether the user could turn that on.
	UltracodeAvailable bool `json:"ultracodeAvailable"`
	// UltrathinkAvailable is the field of that name in the agent's answer.
	UltrathinkAvailable bool `json:"ultrathinkAvailable"`

	// OutsideFileToolReadsBlocked reports whether the file tools can't read outside the working
	// directories.
	OutsideFileToolReadsBlocked bool `json:"outsideFileToolReadsBlocked"`
	// OutsideFileToolWritesBlocked reports whether the file tools can't write outside the working
	// directories.
	OutsideFileToolWritesBlocked bool `json:"outsideFileToolWritesBlocked"`
}

// A SettingsError is an error in a settings file. The agent ignores the whole file, including its
// permission rules.
type SettingsError struct {
	// File is the path of the file, or empty if it is unknown.
	File string `json:"file"`
	// Path leads to the setting, with dots. It is empty when the whole file is invalid.
	Path string `json:"path"`
	// Message is the error for people.
	Message string `json:"message"`
}

// PermissionRules returns the permission rules that the session has now, from settings, flags and
// answers given so far, and the additional working directories.
func PermissionRules(ctx context.Context, c Controller) (*PermissionReport, error) {
	answer, err := ask[permissionAnswer](ctx, c, "list_permission_rules", nil)
	if err != nil {
		return nil, err
	}
	return &answer.State, nil
}

type permissionAnswer struct {
	State PermissionReport `json:"state"`
}

// A PermissionReport lists the permission rules and working directories of a session.
type PermissionReport struct {
	// Rules are all rules, including rules that are not in effect.
	Rules []PermissionRule `json:"rules"`
	// Directories are directories that the agent may work in, in addition to its own.
	Directories []Directory `json:"workspaceDirectories"`
	// OriginalCWD is the directory that the session started in.
	OriginalCWD string `json:"originalCwd"`
	// ManagedOnly means that only the rules of an administrator apply.
	ManagedOnly bool `json:"managedOnly"`
	// Errors are settings files with errors. Their rules are missing.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent leaves out rules because others can read its answer.
	Withheld bool `json:"withheld"`
}

// A PermissionRule is a permission rule and where it comes from.
type PermissionRule struct {
	// Rule is the rule as it was written, such as "Bash(npm run:*)". It can hold control
	// characters.
	Rule string `json:"rule"`
	// Behavior is the effect of the rule: allow, deny or ask.
	Behavior clew.PermissionBehavior `json:"behavior"`
	// Source is a [SettingsLayer] or another place: cliArg, command, session, mcpMount,
	// toolsNarrowing, mcpServerPolicy, hostCredential or a newer one.
	Source string `json:"source"`
	// Editability is persistent for a rule in a file, session for a rule that ends with the
	// session, and readonly for a rule that the user can't change.
	Editability string `json:"editability"`
	// Description is the rule in words, or nil.
	Description *RuleDescription `json:"description"`
	// NotInEffect is true when ManagedOnly turns the rule off.
	NotInEffect bool `json:"notInEffect"`
}

// A RuleDescription is a rule in words, in three parts to be shown one after the other.
type RuleDescription struct {
	// Prefix is the text before the emphasis.
	Prefix string `json:"prefix"`
	// Emphasis is text of the rule itself. It can hold control characters.
	Emphasis string `json:"emphasis"`
	// Suffix is the text after the emphasis.
	Suffix string `json:"suffix"`
}

// A Directory is a directory that the agent may work in.
type Directory struct {
	// Path is the absolute path.
	Path string `json:"path"`
	// Source is a [SettingsLayer], cliArg or session.
	Source string `json:"source"`
}

// Hooks returns the hooks of the session that come from settings files, plugins and the session
// itself. Callbacks of [clew.Options.Hooks] are not among them.
func Hooks(ctx context.Context, c Controller) (*HooksReport, error) {
	return ask[HooksReport](ctx, c, "get_hooks_listing", nil)
}

// A HooksReport lists the hooks of a session and reports whether they run. Its texts are made for
// people, with control characters made visible.
type HooksReport struct {
	// Hooks are all hooks, in the order of their events in a session.
	Hooks []Hook `json:"hooks"`
	// Events are the events that have hooks.
	Events []EventHooks `json:"events"`
	// Catalog are all events that hooks can run on.
	Catalog []EventHooks `json:"eventCatalog"`

	// Policy is the administrator's policy for hooks.
	Policy HooksPolicy `json:"policy"`
	// SafeMode is nil unless the agent was started in safe mode, in which most hooks don't run.
	SafeMode *struct {
		// ManagedHooksStillApply reports whether the hooks of an administrator run all the same.
		ManagedHooksStillApply bool `json:"managedHooksStillApply"`
		// ExitHint says to people how to leave the mode.
		ExitHint string `json:"exitHint"`
	} `json:"safeMode"`
	// BareMode is nil unless the agent was started bare. No hook runs then, not even from
	// [clew.Options.Hooks].
	BareMode *struct {
		// ExitHint says to people how to leave the mode.
		ExitHint string `json:"exitHint"`
	} `json:"bareMode"`
	// Errors are settings files with errors. Their hooks are missing.
	Errors []SettingsError `json:"errors"`
}

// An EventHooks describes an event that hooks can run on.
type EventHooks struct {
	// Name is the name of the event.
	Name clew.HookEvent `json:"name"`
	// Summary describes when the event happens.
	Summary string `json:"summary"`
	// SupportsMatcher reports whether a hook can have a matcher, such as the name of a tool.
	SupportsMatcher bool `json:"supportsMatcher"`
	// HookCount is the number of hooks. It is 0 in a catalog.
	HookCount int `json:"hookCount"`
}

// A Hook is one hook of settings, plugins or the session.
type Hook struct {
	// Event is the event that the hook runs on.
	Event clew.HookEvent `json:"event"`
	// Matcher is empty for a hook that always runs.
	Matcher string `json:"matcher"`
	// Source is a [SettingsLayer] or another place, such as pluginHook.
	Source string `json:"source"`
	// SourceLabel is the source for people.
	SourceLabel string `json:"sourceLabel"`
	// PluginName is the plugin that brings the hook, or empty.
	PluginName string `json:"pluginName"`
	// Type is command, prompt, agent, http, mcp_tool or a newer one.
	Type string `json:"type"`
	// CommandText is the text that runs, such as a shell command.
	CommandText string `json:"commandText"`
	// ContentLabel is the label of CommandText, such as "Command".
	ContentLabel string `json:"contentLabel"`
	// DisplayText is one line for a list.
	DisplayText string `json:"displayText"`
	// StatusMessage is the text that the agent shows while the hook runs, or empty.
	StatusMessage string `json:"statusMessage"`
	// Condition limits when the hook runs, or is empty.
	Condition string `json:"condition"`
	// Timeout is 0 for a hook that has the agent's default.
	Timeout time.Duration `json:"timeout"`
	// RunsOnce is true for a hook that runs at most once in a session.
	RunsOnce bool `json:"runsOnce"`
	// RunsInBackground is true for a hook that the agent does not wait for.
	RunsInBackground bool `json:"runsInBackground"`
	// Disabled is true when a policy or a mode turns the hook off.
	Disabled bool `json:"disabled"`
	// Editable is the hook as its file has it, or nil if the file can't be written.
	Editable *EditableHook `json:"editable"`
}

// UnmarshalJSON reads the hook as the agent writes it, with a timeout in seconds.
func (h *Hook) UnmarshalJSON(data []byte) error {
	type plain Hook
	in := struct {
		*plain
		Timeout float64 `json:"timeout"`
	}{plain: (*plain)(h)}
	err := json.Unmarshal(data, &in)
	h.Timeout = wire.Millis(in.Timeout * 1000).Duration()
	return err
}

// An EditableHook is a hook as it stands in a settings file, unchanged.
type EditableHook struct {
	// Matcher is empty for a hook that always runs.
	Matcher string `json:"matcher"`
	// Config is an object.
	Config wire.JSON `json:"config"`
	// HeadersRedacted is true if the values of HTTP headers in Config are blank.
	HeadersRedacted bool `json:"headersRedacted"`
}

// HooksPolicy is the administrator's policy for hooks.
type HooksPolicy struct {
	// DisabledByPolicy means that no hook runs.
	DisabledByPolicy bool `json:"disabledByPolicy"`
	// ManagedOnly means that only hooks of managed settings run. They are not listed.
	ManagedOnly bool `json:"managedOnly"`
	// PluginOnly means that only plugins can bring hooks.
	PluginOnly bool `json:"pluginOnly"`
	// AllDisabled means that some setting turns all hooks off.
	AllDisabled bool `json:"allDisabled"`
	// PolicyHookCount is the number of hooks in managed settings.
	PolicyHookCount int `json:"policyHookCount"`
	// PolicyUnreadable means that managed settings exist and could not be read.
	PolicyUnreadable bool `json:"policyUnreadable"`
}

// Sandbox returns how the commands of the agent are confined.
func Sandbox(ctx context.Context, c Controller) (*SandboxStatus, error) {
	return ask[SandboxStatus](ctx, c, "get_sandbox_dialog", nil)
}

// A SandboxStatus reports whether and how commands are confined.
type SandboxStatus struct {
	// Supported is false on a platform without a sandbox.
	Supported bool `json:"supported"`
	// Enabled reports whether commands are confined. It is false if the settings ask for a sandbox
	// and something is missing: see Dependencies.
	Enabled bool `json:"enabled"`
	// EnabledInSettings reports whether the settings ask for a sandbox.
	EnabledInSettings bool `json:"enabled_in_settings"`
	// Mode is disabled, or how the agent permits commands in the sandbox.
	Mode string `json:"mode"`
	// Locked is true if an administrator turned the sandbox on or off.
	Locked bool `json:"locked"`
	// OverridesLocked is true if an administrator has fixed the exceptions.
	OverridesLocked bool `json:"overrides_locked"`
	// PolicyOrigins are the origins of the administrator's settings.
	PolicyOrigins []string `json:"policy_origins"`
	// AutoAllowAvailable reports whether commands in the sandbox could run without a question.
	AutoAllowAvailable bool `json:"auto_allow_available"`
	// NoSandboxAllowed reports whether the model may ask to run a command outside.
	NoSandboxAllowed bool `json:"no_sandbox_allowed"`
	// UnsandboxedFallback reports whether a command runs outside when the sandbox fails.
	UnsandboxedFallback bool `json:"unsandboxed_fallback"`
	// Dependencies lists missing dependencies of the sandbox on this machine, for people.
	Dependencies SandboxDependencies `json:"dependencies"`
	// ExcludedCommands run outside the sandbox.
	ExcludedCommands []string `json:"excluded_commands"`
	// Restrictions describes the reach of a confined command.
	Restrictions SandboxRestrictions `json:"restrictions"`
}

// SandboxDependencies lists missing dependencies of the sandbox.
type SandboxDependencies struct {
	// Errors keep the sandbox from working.
	Errors []string `json:"errors"`
	// Warnings do not.
	Warnings []string `json:"warnings"`
}

// SandboxRestrictions describes the reach of a confined command.
type SandboxRestrictions struct {
	// AllowRead are paths that commands can read although DenyRead has a path above.
	AllowRead []string `json:"fs_allow_read"`
	// DenyRead are paths that commands can't read.
	DenyRead []string `json:"fs_deny_read"`
	// AllowWrite are paths that commands can write.
	AllowWrite []string `json:"fs_allow_write"`
	// DenyWrite are paths that commands can't write, within AllowWrite.
	DenyWrite []string `json:"fs_deny_write"`
	// AllowedDomains are hosts that commands can reach.
	AllowedDomains []string `json:"network_allowed_domains"`
	// DeniedDomains are hosts that commands can't reach.
	DeniedDomains []string `json:"network_denied_domains"`
	// NetworkManaged is true if only an administrator decides about domains.
	NetworkManaged bool `json:"network_managed"`
	// UnixSockets are sockets that commands can use.
	UnixSockets []string `json:"unix_sockets"`
	// AllowAllUnixSockets is true if commands can use all of them.
	AllowAllUnixSockets bool `json:"allow_all_unix_sockets"`
	// IgnoredPatterns are patterns that the sandbox of this platform does not support.
	IgnoredPatterns []string `json:"ignored_glob_patterns"`
}
