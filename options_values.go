package clew

import "github.com/clewdev/clew/wire"

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
