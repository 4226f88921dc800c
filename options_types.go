package clew

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A PermissionMode determines how the agent decides whether a tool may run.
type PermissionMode = wire.PermissionMode

// The permission modes that the agent knows.
const (
	// PermissionModeDefault asks about tools that no rule allows.
	PermissionModeDefault = wire.PermissionModeDefault
	// PermissionModeAcceptEdits allows edits of files in the working directories.
	PermissionModeAcceptEdits = wire.PermissionModeAcceptEdits
	// PermissionModeBypassPermissions allows all tools. Use it only in an isolated environment.
	PermissionModeBypassPermissions = wire.PermissionModeBypassPermissions
	// PermissionModePlan lets the agent read and plan, but not change anything.
	PermissionModePlan = wire.PermissionModePlan
	// PermissionModeDontAsk denies tools that no rule allows, without asking.
	PermissionModeDontAsk = wire.PermissionModeDontAsk
	// PermissionModeAuto lets a classifier of the agent decide.
	PermissionModeAuto = wire.PermissionModeAuto
)

// An Effort is a level of effort that the model puts into an answer.
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
	// SettingSourceUser is the directory of the user's settings, ~/.claude.
	SettingSourceUser SettingSource = "user"
	// SettingSourceProject is the project's shared configuration: .claude/settings.json with hooks,
	// .mcp.json, agents, commands, skills and CLAUDE.md. It can run programs.
	SettingSourceProject SettingSource = "project"
	// SettingSourceLocal is the user's own for the project: .claude/settings.local.json. It can
	// come with a directory as well.
	SettingSourceLocal SettingSource = "local"
)

// PermissionPrompts names who decides about a tool if no rule and no permission mode does.
type PermissionPrompts string

// The values that the agent knows.
const (
	// PermissionPromptsHost asks [Options.CanUseTool] or [Options.PermissionPromptTool].
	PermissionPromptsHost PermissionPrompts = "host"
	// PermissionPromptsNone asks nobody: such a tool is denied.
	PermissionPromptsNone PermissionPrompts = "none"
)

// A PreviewFormat is the markup of a preview in a question to the user.
type PreviewFormat string

// The formats that the agent knows.
const (
	// PreviewMarkdown is Markdown.
	PreviewMarkdown PreviewFormat = "markdown"
	// PreviewHTML is HTML.
	PreviewHTML PreviewFormat = "html"
)

// A PluginDelivery is a way to give the agent the plugins of a session.
type PluginDelivery string

// The two ways.
const (
	// PluginsByFlag is --plugin-dir or --plugin-dir-no-mcp for each plugin.
	PluginsByFlag PluginDelivery = "argv"
	// PluginsByInitialize is --await-initialize and initialize plugins. It needs Claude Code
	// 2.1.261.
	PluginsByInitialize PluginDelivery = "initialize"
)

// A PluginConfig is a plugin on disk.
type PluginConfig struct {
	// Path is the directory of the plugin, or a .zip file.
	Path string
	// SkipMCPDiscovery ignores the MCP servers of the plugin.
	SkipMCPDiscovery bool
}

// AllSkills as the only name in [Options.Skills] means every skill that the agent finds.
const AllSkills = "*"

// SystemPromptDynamicBoundary separates, as an element of [SystemPrompt.Custom], the blocks that
// are the same in every session, and can be cached across sessions, from the other blocks.
const SystemPromptDynamicBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

// A SystemPrompt changes the agent's system prompt. Its texts can be long: they are sent in the
// initialize request.
type SystemPrompt struct {
	// Custom replaces Claude Code's own prompt with these blocks: initialize systemPrompt. Nil
	// keeps Claude Code's own; empty means no prompt.
	Custom []string
	// Append is added at the end: initialize appendSystemPrompt.
	Append string
	// ExcludeDynamicSections moves machine-specific sections, such as the working directory, from
	// Claude Code's own prompt to the first message, so that the prompt can be cached across
	// machines: initialize excludeDynamicSections.
	ExcludeDynamicSections bool
	// Fresh renders the prompt again for each request. By default it is recorded with the first
	// request and stays as it was then, even if the session is resumed with another prompt:
	// initialize systemPromptSnapshot.
	Fresh bool
}

// A ThinkingConfig configures the model's thinking before it answers. [Session.SetThinking] changes
// it during a session.
type ThinkingConfig struct {
	// Mode is --thinking. Empty means [ThinkingEnabled] with a budget, and otherwise the agent's
	// choice.
	Mode ThinkingMode
	// BudgetTokens is the number of tokens the model may spend on thinking, only for
	// [ThinkingEnabled]: --max-thinking-tokens. 0 means no separate limit. Newer models choose by
	// themselves.
	BudgetTokens int
	// Display determines how much of the thinking the messages contain: --thinking-display. Empty
	// leaves it to the agent.
	Display ThinkingDisplay
}

// A ThinkingMode specifies whether the model thinks.
type ThinkingMode string

// The modes that the agent knows.
const (
	// ThinkingAdaptive lets the model choose how much it thinks.
	ThinkingAdaptive ThinkingMode = "adaptive"
	// ThinkingEnabled makes the model think.
	ThinkingEnabled ThinkingMode = "enabled"
	// ThinkingDisabled turns thinking off.
	ThinkingDisabled ThinkingMode = "disabled"
)

// A ThinkingDisplay determines how much of the model's thinking the messages contain.
type ThinkingDisplay string

// The displays that the agent knows.
const (
	// ThinkingSummarized is a summary.
	ThinkingSummarized ThinkingDisplay = "summarized"
	// ThinkingOmitted is nothing.
	ThinkingOmitted ThinkingDisplay = "omitted"
)

// An AgentDefinition is a subagent that the model can start. Description and Prompt must be set.
// Zero fields mean the same as in the session.
type AgentDefinition struct {
	// Description says to the model when to use the agent.
	Description string `json:"description"`
	// Prompt is the agent's system prompt.
	Prompt string `json:"prompt"`

	// Tools are the tools that the agent has. Nil means all tools of the session, empty none.
	Tools []string `json:"tools,omitzero"`
	// DisallowedTools are tools that the agent does not have.
	DisallowedTools []string `json:"disallowedTools,omitempty"`
	// Skills are loaded before the agent starts.
	Skills []string `json:"skills,omitempty"`
	// MCPServers are the names of servers of the session that the agent uses.
	MCPServers []string `json:"-"`
	// OwnMCPServers are servers, by name, that run only for this agent. They can't be in this
	// process.
	OwnMCPServers map[string]MCPServer `json:"-"`

	// Model is an alias, the full name of a model, or "inherit".
	Model string `json:"model,omitempty"`
	// Effort is a level, or a whole number such as "50".
	Effort Effort `json:"effort,omitempty"`
	// PermissionMode is the agent's own mode.
	PermissionMode PermissionMode `json:"permissionMode,omitempty"`
	// MaxTurns ends the agent after this many answers of the model.
	MaxTurns int `json:"maxTurns,omitempty"`
	// AutoCompactWindow is the length at which its conversation is compacted, in tokens.
	AutoCompactWindow int `json:"autoCompactWindow,omitempty"`

	// InitialPrompt is the first prompt of an agent that leads the session: see [Options.Agent].
	InitialPrompt string `json:"initialPrompt,omitempty"`
	// Background runs the agent while the session continues.
	Background bool `json:"background,omitempty"`
	// OmitClaudeMD keeps CLAUDE.md out of the agent's context.
	OmitClaudeMD bool `json:"omitClaudeMd,omitempty"`
	// Memory is the scope in which the agent keeps notes from one run to the next. Empty means that
	// it keeps none.
	Memory SettingSource `json:"memory,omitempty"`
	// Observers are up to four agents that watch this one.
	Observers []string `json:"-"`
	// ObserverMessage is the message to the observers.
	ObserverMessage string `json:"observerMessage,omitempty"`
	// CriticalSystemReminder is repeated to the model during the run. The makers of the agent call
	// it experimental.
	CriticalSystemReminder string `json:"criticalSystemReminder_EXPERIMENTAL,omitempty"`
}

// MarshalJSON encodes the definition in the form that the agent reads.
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

// check returns the error in the definition, or "".
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
