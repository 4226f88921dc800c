package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// ApplySettings merges settings into the session's settings until it ends; no file changes. A nil
// value removes what an earlier call has set. The agent refuses all of them if one is invalid, and
// ignores keys and some values that it does not know. screens.Settings returns the settings in
// force.
func (s *Session) ApplySettings(ctx context.Context, settings map[string]any) error {
	return s.Control(ctx, "apply_flag_settings", applySettingsRequest{settings}, nil)
}

type applySettingsRequest struct {
	Settings map[string]any `json:"settings"`
}

// UpdateSettings writes settings to a file, from which later sessions also read them. The agent
// accepts few: outputStyle in [SettingSourceLocal] and effortLevel in [SettingSourceUser], both
// strings. It refuses all others, and a file that the session does not read.
func (s *Session) UpdateSettings(ctx context.Context, file SettingSource, settings map[string]any) error {
	return s.Control(ctx, "update_settings", updateSettingsRequest{string(file) + "Settings", settings}, nil)
}

type updateSettingsRequest struct {
	Source   string         `json:"source"`
	Settings map[string]any `json:"settings"`
}

// ReloadPlugins reads plugins again and returns what the session has then. Nil options reload at
// once, also during a turn.
func (s *Session) ReloadPlugins(ctx context.Context, opts *ReloadPluginsOptions) (*PluginReload, error) {
	return call[PluginReload](ctx, s, "reload_plugins", newReloadPluginsRequest(opts))
}

// ReloadPluginsOptions configure [Session.ReloadPlugins].
type ReloadPluginsOptions struct {
	// HoldOnCacheImpact reloads nothing if that would change the tools, and so lose the prompt
	// cache: see [PluginReload.Held].
	HoldOnCacheImpact bool
	// RefuseIfBusy reloads nothing while the session is busy: the error is a [*ControlError] with
	// the Code reload_plugins_busy. An agent without the capability
	// reload_plugins_refuse_if_busy_v1 reloads all the same.
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

// A PluginReload describes a session after its plugins were reloaded.
type PluginReload struct {
	// Commands are the slash commands.
	Commands []wire.SlashCommand `json:"commands"`
	// Agents are the subagents.
	Agents []AgentInfo `json:"agents"`
	// Plugins are the plugins.
	Plugins []wire.Plugin `json:"plugins"`
	// MCPServers are the MCP servers.
	MCPServers []MCPServerStatus `json:"mcpServers"`
	// ErrorCount is the number of plugins, or parts of them, that could not be loaded.
	ErrorCount int `json:"error_count"`
	// Held is true if nothing was reloaded because of CacheImpact. It is nil if the agent did not
	// check.
	Held *bool `json:"held"`
	// CacheImpact describes the changes to the session's tools, or is nil if the agent did not
	// check.
	CacheImpact *struct {
		// MCPServersAdded are the names of new MCP servers.
		MCPServersAdded []string `json:"mcp_servers_added"`
		// MCPServersRemoved are the names of MCP servers that go.
		MCPServersRemoved []string `json:"mcp_servers_removed"`
		// LSPToolChange is adds, may-add, removes, may-remove, or empty.
		LSPToolChange string `json:"lsp_tool_change"`
	} `json:"cache_impact"`
}

// ReloadSkills reads skills again and returns them as slash commands.
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

// ReloadOutputStyles reads output styles again and returns their names.
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
