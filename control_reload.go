package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

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
