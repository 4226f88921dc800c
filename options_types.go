package clew

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A PermissionMode is how the agent decides whether a tool may run.
type PermissionMode = wire.PermissionMode

// The permission modes that the agent knows.
const (
	PermissionModeDefault           = wire.PermissionModeDefault
	PermissionModeAcceptEdits       = wire.PermissionModeAcceptEdits
	PermissionModeBypassPermissions = wire.PermissionModeBypassPermissions
	PermissionModePlan              = wire.PermissionModePlan
	PermissionModeDontAsk           = wire.PermissionModeDontAsk
	PermissionModeAuto              = wire.PermissionModeAuto
)

// An Effort is how much work the model puts into an answer.
type Effort = wire.Effort

// The levels of effort.
const (
	EffortLow    = wire.EffortLow
	EffortMedium = wire.EffortMedium
	EffortHigh   = wire.EffortHigh
	EffortXHigh  = wire.EffortXHigh
	EffortMax    = wire.EffortMax
)

// A SettingSource is a place that the agent reads settings from.
type SettingSource string

// The places that the agent knows.
const (
	// SettingSourceUser is the folder of the user's own settings.
	SettingSourceUser SettingSource = "user"
	// SettingSourceProject is what the project shares: .claude/settings.json, CLAUDE.md and more.
	SettingSourceProject SettingSource = "project"
	// SettingSourceLocal is what the user keeps for the project alone: .claude/settings.local.json.
	SettingSourceLocal SettingSource = "local"
)

// PermissionPrompts says who decides about a tool that neither a rule nor the permission mode decides about.
type PermissionPrompts string

// Who can decide.
const (
	// PermissionPromptsHost asks [Options.CanUseTool] or [Options.PermissionPromptTool].
	PermissionPromptsHost PermissionPrompts = "host"
	// PermissionPromptsNone asks nobody: such a tool is refused.
	PermissionPromptsNone PermissionPrompts = "none"
)

// A PreviewFormat is the markup of a preview in a question to the user.
type PreviewFormat string

// The formats that the agent knows.
const (
	PreviewMarkdown PreviewFormat = "markdown"
	PreviewHTML     PreviewFormat = "html"
)

// A PluginDelivery is a way to tell the agent of plugins.
type PluginDelivery string

// The ways that there are.
const (
	// PluginsByFlag is --plugin-dir or --plugin-dir-no-mcp for each plugin.
	PluginsByFlag PluginDelivery = "argv"
	// PluginsByInitialize is --await-initialize and initialize plugins. Claude Code has it since 2.1.261.
	PluginsByInitialize PluginDelivery = "initialize"
)

// A PluginConfig is a plugin in a folder.
type PluginConfig struct {
	// Path is the folder, or a .zip file.
	Path string
	// SkipMCPDiscovery leaves out the MCP servers of the plugin.
	SkipMCPDiscovery bool
}

// AllSkills as the only name in [Options.Skills] means every skill that the agent finds.
const AllSkills = "*"

// SystemPromptDynamicBoundary as an element of [SystemPrompt.Custom] divides what is the same in every session, and can
// be cached across sessions, from what is not.
const SystemPromptDynamicBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

// A SystemPrompt changes the agent's system prompt. Its texts travel in the initialize request: they can be long.
type SystemPrompt struct {
	// Custom takes the place of Claude Code's own prompt, block by block: initialize systemPrompt. Nil keeps Claude
	// Code's own; empty means no prompt.
	Custom []string
	// Append is added at the end: initialize appendSystemPrompt.
	Append string
	// ExcludeDynamicSections moves what depends on the machine, such as the working folder, from Claude Code's own
	// prompt to the first message, so that the prompt can be cached across machines: initialize excludeDynamicSections.
	ExcludeDynamicSections bool
	// Fresh renders the prompt anew for each request. Otherwise it is recorded with the first one and sent as it was
	// then, also when the session is resumed with another prompt: initialize systemPromptSnapshot.
	Fresh bool
}

// A ThinkingConfig says how the model thinks before it answers.
type ThinkingConfig struct {
	// Mode is --thinking. Empty means [ThinkingEnabled] with a budget, and otherwise the agent's own choice.
	Mode ThinkingMode
	// BudgetTokens is how many tokens the model may spend on thinking, for [ThinkingEnabled] only:
	// --max-thinking-tokens. 0 means no limit of its own. Newer models choose by themselves.
	BudgetTokens int
	// Display is how much of the thinking is shown: --thinking-display. Empty leaves it to the agent.
	Display ThinkingDisplay
}

// A ThinkingMode is whether the model thinks.
type ThinkingMode string

// The modes that the agent knows.
const (
	ThinkingAdaptive ThinkingMode = "adaptive"
	ThinkingEnabled  ThinkingMode = "enabled"
	ThinkingDisabled ThinkingMode = "disabled"
)

// A ThinkingDisplay is how much of the model's thinking is shown.
type ThinkingDisplay string

// The displays that the agent knows.
const (
	ThinkingSummarized ThinkingDisplay = "summarized"
	ThinkingOmitted    ThinkingDisplay = "omitted"
)

// An AgentDefinition is a subagent that the model can start. Description and Prompt are needed; the rest is as in the
// session unless it is set.
type AgentDefinition struct {
	// Description tells the model when to use the agent.
	Description string `json:"description"`
	// Prompt is the agent's system prompt.
	Prompt string `json:"prompt"`

	// Tools are the tools that the agent has. Nil means all of the session, empty none.
	Tools []string `json:"tools,omitzero"`
	// DisallowedTools are tools that it does not have.
	DisallowedTools []string `json:"disallowedTools,omitempty"`
	// Skills are loaded before it starts.
	Skills []string `json:"skills,omitempty"`
	// MCPServers are names of servers of the session that it uses.
	MCPServers []string `json:"-"`
	// OwnMCPServers are servers by name that run for this agent alone. They cannot be in this process.
	OwnMCPServers map[string]MCPServer `json:"-"`

	// Model is an alias, the whole name of a model, or "inherit".
	Model string `json:"model,omitempty"`
	// Effort is a level, or a whole number in digits.
	Effort Effort `json:"effort,omitempty"`
	// PermissionMode is the agent's own mode.
	PermissionMode PermissionMode `json:"permissionMode,omitempty"`
	// MaxTurns ends the agent after so many answers of the model.
	MaxTurns int `json:"maxTurns,omitempty"`
	// AutoCompactWindow is how long its conversation may get before it is compacted, in tokens.
	AutoCompactWindow int `json:"autoCompactWindow,omitempty"`

	// InitialPrompt is its first prompt when it leads the session; see [Options.Agent].
	InitialPrompt string `json:"initialPrompt,omitempty"`
	// Background has it run while the session goes on.
	Background bool `json:"background,omitempty"`
	// OmitClaudeMD keeps CLAUDE.md out of its context.
	OmitClaudeMD bool `json:"omitClaudeMd,omitempty"`
	// Memory is where it keeps notes from one run to the next. Empty means that it keeps none.
	Memory SettingSource `json:"memory,omitempty"`
	// Observers are up to four agents that watch this one, and ObserverMessage is what they are told.
	Observers       []string `json:"-"`
	ObserverMessage string   `json:"observerMessage,omitempty"`
	// CriticalSystemReminder is repeated to the model during the run. It is an experiment of the agent's makers.
	CriticalSystemReminder string `json:"criticalSystemReminder_EXPERIMENTAL,omitempty"`
}

// MarshalJSON writes the definition as the agent reads it.
func (a AgentDefinition) MarshalJSON() ([]byte, error) {
	type plain AgentDefinition
	out := struct {
		plain
		MCPServers []any  `json:"mcpServers,omitempty"`
		Effort     any    `json:"effort,omitempty"`
		Observer   string `json:"observer,omitempty"`
	}{plain: plain(a), Observer: strings.Join(a.Observers, ",")}
	for _, name := range a.MCPServers {
		out.MCPServers = append(out.MCPServers, name)
	}
	for _, name := range slices.Sorted(maps.Keys(a.OwnMCPServers)) {
		out.MCPServers = append(out.MCPServers, map[string]MCPServer{name: a.OwnMCPServers[name]})
	}
	if n, err := strconv.Atoi(string(a.Effort)); err == nil {
		out.Effort = n
	} else if a.Effort != "" {
		out.Effort = a.Effort
	}
	return json.Marshal(out)
}

// check returns what is wrong with the definition, or "".
func (a *AgentDefinition) check() string {
	switch {
	case a.Description == "":
		return "has no Description"
	case a.Prompt == "":
		return "has no Prompt"
	case a.MaxTurns < 0 || a.AutoCompactWindow < 0:
		return "has a negative number"
	case len(a.Observers) > 4:
		return "has more than four Observers"
	}
	for _, name := range slices.Sorted(maps.Keys(a.OwnMCPServers)) {
		server := a.OwnMCPServers[name]
		if _, ok := server.(*MCPInProcessServer); ok {
			return "has the server " + strconv.Quote(name) + " in this process, which only the session can have"
		}
		if reason := checkMCPServer(server); reason != "" {
			return "has the server " + strconv.Quote(name) + ", which " + reason
		}
	}
	return ""
}
