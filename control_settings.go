package clew

import (
	"context"
	"encoding/json"
	"time"

	"github.com/clewdev/clew/wire"
)

// Settings returns the settings of the session: what is in force, and which layer says what.
func (s *Session) Settings(ctx context.Context) (*SettingsReport, error) {
	return call[SettingsReport](ctx, s, "get_settings", nil)
}

// ApplySettings lays settings over those of the session, for as long as it lives; no file changes. A value of nil
// removes what an earlier call has set. The agent refuses all of them if it finds one invalid, and passes over keys and
// some values that it does not know.
func (s *Session) ApplySettings(ctx context.Context, settings map[string]any) error {
	return s.Control(ctx, "apply_flag_settings", applySettingsRequest{settings}, nil)
}

type applySettingsRequest struct {
	Settings map[string]any `json:"settings"`
}

// UpdateSettings writes settings to a file, from which later sessions read them too. The agent takes few: outputStyle
// for [SettingsLayerLocal] and effortLevel for [SettingsLayerUser], as strings. It refuses all others, and a layer that
// the session does not read.
func (s *Session) UpdateSettings(ctx context.Context, layer SettingsLayer, settings map[string]any) error {
	return s.Control(ctx, "update_settings", updateSettingsRequest{layer, settings}, nil)
}

type updateSettingsRequest struct {
	Source   SettingsLayer  `json:"source"`
	Settings map[string]any `json:"settings"`
}

// A SettingsLayer is one of the places that settings come from.
type SettingsLayer string

// The layers, from the one that counts least to the one that counts most.
const (
	// SettingsLayerUser is the user's own file.
	SettingsLayerUser SettingsLayer = "userSettings"
	// SettingsLayerProject is the file that a project shares, .claude/settings.json.
	SettingsLayerProject SettingsLayer = "projectSettings"
	// SettingsLayerLocal is the user's own file for a project, .claude/settings.local.json.
	SettingsLayerLocal SettingsLayer = "localSettings"
	// SettingsLayerFlag is what the session was started with, and [Session.ApplySettings].
	SettingsLayerFlag SettingsLayer = "flagSettings"
	// SettingsLayerPolicy is what an administrator has set.
	SettingsLayerPolicy SettingsLayer = "policySettings"
)

// A SettingsReport is the settings of a session.
type SettingsReport struct {
	// Effective is an object: all layers laid over one another.
	Effective wire.JSON `json:"effective"`
	// Sources are the layers that say something. A later one counts more.
	Sources []LayerSettings `json:"sources"`
	// Applied is what the next prompt will run with, after environment and defaults. Nil is an agent that does not say.
	Applied *AppliedSettings `json:"applied"`
	// Errors are the files that are wrong, and count for nothing.
	Errors []SettingsError `json:"errors"`
	// Withheld is true when the agent has left out settings because others can read its answer.
	Withheld bool `json:"withheld"`
}

// LayerSettings is what one layer says.
type LayerSettings struct {
	Layer SettingsLayer `json:"source"`
	// Settings is an object.
	Settings wire.JSON `json:"settings"`
}

// AppliedSettings is what the next prompt of a session will run with.
type AppliedSettings struct {
	Model string `json:"model"`
	// Effort is empty for a model without levels of effort.
	Effort wire.Effort `json:"effort"`
	// Advisor is the model that advises, or empty.
	Advisor string `json:"advisor"`

	// Ultracode says that the agent runs workflows on its own accord, UltracodeRequested that it was asked to, and
	// UltracodeAvailable that it could.
	Ultracode          bool `json:"ultracode"`
	UltracodeRequested bool `json:"ultracodeRequested"`
	UltracodeAvailable bool `json:"ultracodeAvailable"`
	// UltrathinkAvailable says that the word "ultrathink" in a prompt has an effect.
	UltrathinkAvailable bool `json:"ultrathinkAvailable"`

	// The two say whether the file tools are kept from reading and from writing outside of the working folders.
	OutsideFileToolReadsBlocked  bool `json:"outsideFileToolReadsBlocked"`
	OutsideFileToolWritesBlocked bool `json:"outsideFileToolWritesBlocked"`
}

// A SettingsError says what is wrong with a settings file. All of the file counts for nothing, its permission rules
// included.
type SettingsError struct {
	// File is the file, if it is known.
	File string `json:"file"`
	// Path leads to the setting, with dots. It is empty when the file is wrong as a whole.
	Path    string `json:"path"`
	Message string `json:"message"`
}

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

// Memory returns the instructions and memories that the session can have, as the agent's own dialog shows them.
func (s *Session) Memory(ctx context.Context) (*MemoryReport, error) {
	return call[MemoryReport](ctx, s, "get_memory_dialog", nil)
}

// A MemoryReport lists what an agent remembers, and where.
type MemoryReport struct {
	// Files are instructions such as CLAUDE.md, also those that could be made.
	Files []MemoryFile `json:"files"`
	// Folders are where memories lie, and Memories what is in them.
	Folders  []MemoryFile `json:"folders"`
	Memories []MemoryFile `json:"memories"`
	// AutoMemory says whether the agent takes notes by itself, and AutoDream whether it tidies them up.
	AutoMemory MemorySwitch `json:"auto_memory"`
	AutoDream  MemorySwitch `json:"auto_dream"`
}

// A MemoryFile is a file or a folder of memories. Label and Description are for people.
type MemoryFile struct {
	// Kind is user, project, auto, other, or a newer one.
	Kind        string `json:"kind"`
	Path        string `json:"path"`
	Label       string `json:"label"`
	Description string `json:"description"`
	// Exists is false for a file that could be made. The agent does not say it of folders.
	Exists bool `json:"exists"`
}

// A MemorySwitch says whether a part of the memory is on. Status and Detail are for people.
type MemorySwitch struct {
	Enabled    bool   `json:"enabled"`
	Toggleable bool   `json:"toggleable"`
	Shown      bool   `json:"shown"`
	Status     string `json:"status"`
	Detail     string `json:"detail"`
}

// Skills returns the skills of settings and plugins, as the agent's own dialog shows them.
func (s *Session) Skills(ctx context.Context) ([]SkillInfo, error) {
	answer, err := call[skillsDialogAnswer](ctx, s, "get_skills_dialog", nil)
	if err != nil {
		return nil, err
	}
	return answer.Skills, nil
}

type skillsDialogAnswer struct {
	Skills []SkillInfo `json:"skills"`
}

// A SkillInfo is a skill.
type SkillInfo struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
	// Source is where the skill comes from, such as user or project.
	Source string `json:"source"`
	// State is "on", or says how the skill is turned off.
	State string `json:"state"`
	// Advertised is true if the model is told of the skill, which costs it so many Tokens.
	Advertised bool `json:"advertised"`
	Tokens     int  `json:"tokens"`
}

// ReloadPlugins reads plugins anew, and returns what the session has then. Nil options reload at once, also during a
// turn.
func (s *Session) ReloadPlugins(ctx context.Context, opts *ReloadPluginsOptions) (*PluginReload, error) {
	return call[PluginReload](ctx, s, "reload_plugins", newReloadPluginsRequest(opts))
}

// ReloadPluginsOptions say when plugins are read anew, and which ones.
type ReloadPluginsOptions struct {
	// HoldOnCacheImpact reloads nothing if the tools would change and the prompt cache be lost by it: see
	// [PluginReload.Held].
	HoldOnCacheImpact bool
	// RefuseIfBusy reloads nothing while the session is busy: the error is a [*ControlError] with the Code
	// reload_plugins_busy. An agent without the capability reload_plugins_refuse_if_busy_v1 reloads all the same.
	RefuseIfBusy bool
	// AddPlugins are plugins that the session gets in addition, with absolute paths.
	AddPlugins []PluginConfig
}

type reloadPluginsRequest struct {
	HoldOnCacheImpact bool         `json:"hold_on_cache_impact,omitempty"`
	RefuseIfBusy      bool         `json:"refuse_if_busy,omitempty"`
	AddPlugins        []pluginBody `json:"add_plugins,omitempty"`
}

func newReloadPluginsRequest(opts *ReloadPluginsOptions) reloadPluginsRequest {
	if opts == nil {
		return reloadPluginsRequest{}
	}
	return reloadPluginsRequest{opts.HoldOnCacheImpact, opts.RefuseIfBusy, pluginBodies(opts.AddPlugins)}
}

// A PluginReload is what a session has after its plugins were read anew.
type PluginReload struct {
	Commands   []wire.SlashCommand `json:"commands"`
	Agents     []AgentInfo         `json:"agents"`
	Plugins    []wire.Plugin       `json:"plugins"`
	MCPServers []MCPServerStatus   `json:"mcpServers"`
	// ErrorCount is how many plugins, or parts of them, could not be loaded.
	ErrorCount int `json:"error_count"`
	// Held is true if nothing was reloaded because of what CacheImpact says. It is nil if the agent did not look.
	Held        *bool        `json:"held"`
	CacheImpact *CacheImpact `json:"cache_impact"`
}

// A CacheImpact is how a reload of plugins would change the tools of a session.
type CacheImpact struct {
	MCPServersAdded   []string `json:"mcp_servers_added"`
	MCPServersRemoved []string `json:"mcp_servers_removed"`
	// LSPToolChange is adds, may-add, removes, may-remove, or empty.
	LSPToolChange string `json:"lsp_tool_change"`
}

// ReloadSkills reads skills anew, and returns them as the commands that they are.
func (s *Session) ReloadSkills(ctx context.Context) ([]wire.SlashCommand, error) {
	answer, err := call[skillsAnswer](ctx, s, "reload_skills", nil)
	if err != nil {
		return nil, err
	}
	return answer.Skills, nil
}

type skillsAnswer struct {
	Skills []wire.SlashCommand `json:"skills"`
}

// ReloadOutputStyles reads output styles anew, and returns their names.
func (s *Session) ReloadOutputStyles(ctx context.Context) ([]string, error) {
	answer, err := call[outputStylesAnswer](ctx, s, "reload_output_styles", nil)
	if err != nil {
		return nil, err
	}
	return answer.AvailableOutputStyles, nil
}

type outputStylesAnswer struct {
	AvailableOutputStyles []string `json:"available_output_styles"`
}
