package config

var (
	toAgent = []string{"run", "chat"}
	toShow  = []string{"show", "tail"}
	toStats = []string{"stats"}
)

// table has all settings. A file or a folder is personal, since it may hold programs, or what should not be read; so is
// what lets the agent do more.
var table = []Setting{
	{
		Key: "model", Variable: "CLEW_MODEL", Flag: "model", Commands: toAgent, Example: "opus",
		Doc: "Alias or name of the model.",
	},
	{
		Key: "fallback_model", Kind: List, Variable: "CLEW_FALLBACK_MODEL", Flag: "fallback-model", Commands: toAgent,
		Example: "[sonnet, haiku]", Doc: "Models to try while that one is overloaded.",
	},
	{
		Key: "effort", Variable: "CLEW_EFFORT", Flag: "effort", Commands: toAgent, Example: "high",
		Doc: "How much work an answer is worth: low, medium, high, xhigh or max.",
	},
	{
		Key: "timeout", Kind: Duration, Variable: "CLEW_TIMEOUT", Flag: "timeout", Commands: toAgent, Example: "10m",
		Doc: "How long a turn may take; 0s is for ever.",
	},
	{
		Key: "max_turns", Kind: Count, Variable: "CLEW_MAX_TURNS", Flag: "max-turns", Commands: toAgent, Example: "50",
		Doc: "How many answers of the model a prompt may take; 0 is any number.",
	},
	{
		Key: "max_budget_usd", Kind: Amount, Variable: "CLEW_MAX_BUDGET_USD", Flag: "max-budget-usd", Commands: toAgent,
		Example: "2.5", Doc: "How many dollars a session may cost; 0 is no limit.",
	},
	{
		Key: "permission_mode", Variable: "CLEW_PERMISSION_MODE", Flag: "permission-mode", Commands: toAgent,
		Rivals: []string{"dangerously-skip-permissions"}, Example: "plan", Harmless: []string{"default", "plan", "dontAsk"},
		Doc: "What decides whether a tool may run: default, acceptEdits, plan, dontAsk,\nauto or bypassPermissions.",
	},
	{
		Key: "tools", Kind: List, Variable: "CLEW_TOOLS", Flag: "tools", Commands: toAgent,
		Example: "[Read, Grep, Glob]", Doc: "The built-in tools that the agent has; an empty list means none.",
	},
	{
		Key: "allowed_tools", Kind: List, Variable: "CLEW_ALLOWED_TOOLS", Flag: "allowedTools", Commands: toAgent,
		Rivals: []string{"allowed-tools"}, Example: `[Read, "Bash(git log:*)"]`, Personal: true,
		Doc: "Rules for tools that may run without a question.",
	},
	{
		Key: "disallowed_tools", Kind: List, Variable: "CLEW_DISALLOWED_TOOLS", Flag: "disallowedTools", Commands: toAgent,
		Rivals:  []string{"disallowed-tools"},
		Example: "[WebFetch]", Doc: "Rules for tools that may not run.",
	},
	{
		Key: "add_dirs", Kind: FileList, Variable: "CLEW_ADD_DIRS", Flag: "add-dir", Commands: toAgent,
		Example: "[~/notes]", Personal: true, Doc: "Other folders that tools may use.",
	},
	{
		Key: "mcp_config", Kind: FileList, Variable: "CLEW_MCP_CONFIG", Flag: "mcp-config", Commands: toAgent,
		Example: "[servers.json]", Personal: true, Doc: "Files with MCP servers.",
	},
	{
		Key: "strict_mcp_config", Kind: Switch, Variable: "CLEW_STRICT_MCP_CONFIG", Flag: "strict-mcp-config",
		Commands: toAgent, Default: "false", Example: "true",
		Doc: "Whether to use no MCP servers but those of --mcp-config and mcp_config.",
	},
	{
		Key: "settings", Kind: File, Variable: "CLEW_SETTINGS", Flag: "settings", Commands: toAgent,
		Example: "agent.json", Personal: true, Doc: "File with settings of the agent that win over its others.",
	},
	{
		Key: "setting_sources", Kind: List, Variable: "CLEW_SETTING_SOURCES", Flag: "setting-sources", Commands: toAgent,
		Example: "[user, project]", Personal: true,
		Doc: "The agent's own settings that it reads: user, project, local.",
	},
	{
		Key: "agent_path", Kind: Program, Variable: "CLEW_AGENT", Shared: true, Flag: "agent-path", Commands: toAgent,
		Example: "~/bin/claude", Personal: true, Doc: "File of the agent binary.",
	},
	{
		Key: "config_dirs", Kind: FileList, Variable: "CLAUDE_CONFIG_DIR", Shared: true, Example: "[~/.claude]",
		Personal: true,
		Doc:      "Folders in which agents keep their settings and sessions. Agents that clew\nstarts use the first one.",
	},
	{
		Key: "expand", Kind: Switch, Variable: "CLEW_EXPAND", Flag: "expand", Commands: toShow, Default: "false",
		Example: "true", Doc: "Whether to show inputs and results of tools whole.",
	},
	{
		Key: "thinking", Kind: Switch, Variable: "CLEW_THINKING", Flag: "thinking", Commands: toShow, Default: "false",
		Example: "true", Doc: "Whether to show what the agent thought.",
	},
	{
		Key: "timezone", Kind: Zone, Variable: "CLEW_TIMEZONE", Flag: "timezone", Commands: toStats,
		Example: "Europe/Paris", Doc: "Time zone of days in the statistics.",
	},
	{
		Key: "prices", Kind: File, Variable: "CLEW_PRICES", Flag: "prices", Commands: toStats, Example: "prices.json",
		Personal: true, Doc: "File with prices to use besides the built-in ones.",
	},
	{
		Key: "color", Kind: Choice, Choices: []string{"auto", "always", "never"}, Variable: "CLEW_COLOR", Default: "auto",
		Example: "never", Personal: true,
		Doc: "Whether to use colours: auto is on a terminal, without NO_COLOR.",
	},
}

// find returns the setting of that key, or nil.
func find(key string) *Setting {
	for i := range table {
		if table[i].Key == key {
			return &table[i]
		}
	}
	return nil
}
