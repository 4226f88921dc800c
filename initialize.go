package clew

import (
	"maps"
	"slices"

	"github.com/clewdev/clew/internal/mcphost"
	"github.com/clewdev/clew/wire"
)

// An initializeBody is the initialize request without its subtype. Zero fields are left out, except
// hooks.
type initializeBody struct {
	Hooks                  any                          `json:"hooks"`
	SDKMCPServers          []string                     `json:"sdkMcpServers,omitempty"`
	SDKMCPServerConfigs    map[string]serverBody        `json:"sdkMcpServerConfigs,omitempty"`
	SDKMCPServerManifests  map[string]*mcphost.Manifest `json:"sdkMcpServerManifests,omitempty"`
	JSONSchema             wire.JSON                    `json:"jsonSchema,omitempty"`
	SystemPrompt           any                          `json:"systemPrompt,omitempty"` // []string, or a string for older agents
	AppendSystemPrompt     string                       `json:"appendSystemPrompt,omitempty"`
	SystemPromptSnapshot   *bool                        `json:"systemPromptSnapshot,omitempty"`
	ExcludeDynamicSections bool                         `json:"excludeDynamicSections,omitempty"`
	PlanModeInstructions   string                       `json:"planModeInstructions,omitempty"`
	ToolAliases            map[string]string            `json:"toolAliases,omitempty"`
	Agents                 map[string]AgentDefinition   `json:"agents,omitempty"`
	Title                  string                       `json:"title,omitempty"`
	Skills                 []string                     `json:"skills,omitzero"` // an empty list is sent
	PromptSuggestions      bool                         `json:"promptSuggestions,omitempty"`
	AgentProgressSummaries bool                         `json:"agentProgressSummaries,omitempty"`
	ForwardSubagentText    bool                         `json:"forwardSubagentText,omitempty"`
	SupportedDialogKinds   []string                     `json:"supportedDialogKinds,omitempty"`
	PerTaskStopAffordance  bool                         `json:"perTaskStopAffordance,omitempty"`
	Plugins                []pluginBody                 `json:"plugins,omitempty"`
}

type serverBody struct {
	Timeout int64           `json:"timeout,omitempty"`
	Tools   []MCPToolPolicy `json:"tools,omitempty"`
}

type pluginBody struct {
	Type             string `json:"type"`
	Path             string `json:"path"`
	SkipMCPDiscovery bool   `json:"skipMcpDiscovery,omitempty"`
}

// newInitializeBody returns the initialize request for options, without hooks and manifests of
// servers.
func newInitializeBody(o *Options) initializeBody {
	body := initializeBody{
		JSONSchema:             o.OutputSchema,
		PlanModeInstructions:   o.PlanModeInstructions,
		ToolAliases:            o.ToolAliases,
		Agents:                 o.Agents,
		Title:                  o.Title,
		Skills:                 o.Skills,
		PromptSuggestions:      o.PromptSuggestions,
		AgentProgressSummaries: o.AgentProgressSummaries,
		ForwardSubagentText:    o.ForwardSubagentText,
		SupportedDialogKinds:   o.SupportedDialogKinds,
		PerTaskStopAffordance:  o.PerTaskStop,
	}
	if slices.Contains(o.Skills, AllSkills) {
		body.Skills = nil
	}
	body.setSystemPrompt(o.SystemPrompt)
	body.setServers(inProcessServers(o.MCPServers))
	body.setPlugins(o)
	return body
}

func (b *initializeBody) setSystemPrompt(p *SystemPrompt) {
	if p == nil {
		return
	}
	switch {
	case len(p.Custom) > 0:
		b.SystemPrompt = p.Custom
	case p.Custom != nil:
		b.SystemPrompt = []string{""}
	}
	b.AppendSystemPrompt = p.Append
	b.ExcludeDynamicSections = p.ExcludeDynamicSections
	if p.Fresh {
		b.SystemPromptSnapshot = new(false)
	}
}

// setServers sets the in-process servers. Only those with a time-out or tool policies need a
// configuration.
func (b *initializeBody) setServers(servers map[string]*MCPInProcessServer) {
	b.SDKMCPServers = slices.Sorted(maps.Keys(servers))
	b.SDKMCPServerConfigs = map[string]serverBody{}
	for name, s := range servers {
		if s.Timeout != 0 || len(s.Tools) > 0 {
			b.SDKMCPServerConfigs[name] = serverBody{Timeout: s.Timeout.Milliseconds(), Tools: s.Tools}
		}
	}
}

// setHosted sets the in-process servers that a session has now.
func (b *initializeBody) setHosted(servers map[string]mcphost.Server) {
	inside := make(map[string]*MCPInProcessServer)
	for name, s := range servers {
		if s, ok := s.(hostedServer); ok {
			inside[name] = s.MCPInProcessServer
		}
	}
	b.setServers(inside)
}

func (b *initializeBody) setPlugins(o *Options) {
	if o.PluginDelivery == PluginsByInitialize {
		b.Plugins = pluginBodies(o.Plugins)
	}
}

// pluginBodies returns plugins in the form that the agent reads.
func pluginBodies(plugins []PluginConfig) []pluginBody {
	var bodies []pluginBody
	for _, p := range plugins {
		bodies = append(bodies, pluginBody{Type: "local", Path: p.Path, SkipMCPDiscovery: p.SkipMCPDiscovery})
	}
	return bodies
}
