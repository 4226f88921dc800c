package clew

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// launch returns how the agent binary at path is started, and logs the warnings. The error is an [*OptionsError].
func (o *Options) launch(path string) (*Launch, error) {
	args, err := o.args()
	if err != nil {
		return nil, err
	}
	dir, err := o.dir()
	if err != nil {
		return nil, err
	}
	o.logWarnings()
	return &Launch{
		Path:         path,
		Args:         args,
		Env:          o.environ(os.Environ()),
		Dir:          dir,
		Stderr:       o.Stderr,
		CloseTimeout: o.closeTimeout(),
	}, nil
}

// dir returns the working folder, which for a process of this machine is absolute: it is PWD as well.
func (o *Options) dir() (string, error) {
	if o.Dir == "" || o.Transport != nil {
		return o.Dir, nil
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", badOption("Dir", "%v", err)
	}
	return dir, nil
}

func (o *Options) logWarnings() {
	if o.Logger == nil {
		return
	}
	for _, w := range o.Warnings() {
		o.Logger.Warn("an option hardly does what was meant", "option", w.Option, "reason", w.Reason)
	}
}

// needsInput reports whether the agent may still ask something after the prompt, so that its input has to stay open.
func (o *Options) needsInput() bool {
	hooks := 0
	for _, matchers := range o.Hooks {
		hooks += len(matchers)
	}
	return hooks > 0 || o.CanUseTool != nil || o.OnQuestion != nil || o.OnElicitation != nil || o.OnUserDialog != nil ||
		o.OnOAuthToken != nil || o.OnHostAuthToken != nil || len(o.inProcessServers()) > 0
}

// An agentFlag is a flag of the agent binary, and what it becomes on the command line.
type agentFlag struct {
	name   string
	option string   // the field of Options that it comes from, or "" if it is always the same
	args   []string // each the whole of an argument: a value can never be taken for another flag
}

// flags returns all flags that Clew knows in the order in which they are given, those without arguments too.
func (o *Options) flags() []agentFlag {
	thinking := o.thinking()
	return []agentFlag{
		textFlag("output-format", "", "stream-json"),
		toggleFlag("verbose", "", true),
		textFlag("input-format", "", "stream-json"),

		textFlag("thinking", "Thinking", string(thinking.Mode)),
		numberFlag("max-thinking-tokens", "Thinking", thinking.BudgetTokens),
		textFlag("thinking-display", "Thinking", string(thinking.Display)),
		textFlag("effort", "Effort", string(o.Effort)),
		numberFlag("max-turns", "MaxTurns", o.MaxTurns),
		textFlag("max-budget-usd", "MaxBudgetUSD", dollars(o.MaxBudgetUSD)),
		numberFlag("task-budget", "TaskBudget", o.TaskBudget),
		numberFlag("autocompact", "AutoCompactTokens", o.AutoCompactTokens),
		textFlag("model", "Model", o.Model),
		textFlag("agent", "Agent", o.Agent),
		listFlag("betas", "Betas", o.Betas),
		o.debugFlag(),
		textFlag("debug-file", "DebugFile", o.DebugFile),
		textFlag("permission-prompt-tool", "PermissionPromptTool", o.permissionPromptTool()),
		textFlag("permission-prompts", "PermissionPrompts", string(o.PermissionPrompts)),
		toggleFlag("continue", "Continue", o.Continue),
		textFlag("resume", "Resume", o.Resume),
		listFlag("allowedTools", "AllowedTools", o.allowedTools()),
		listFlag("disallowedTools", "DisallowedTools", o.DisallowedTools),
		exactListFlag("tools", "Tools", o.Tools),
		eachFlag("mcp-config", "MCPConfigFiles", o.MCPConfigFiles),
		exactListFlag("setting-sources", "SettingSources", texts(o.SettingSources)),
		toggleFlag("strict-mcp-config", "StrictMCPConfig", o.StrictMCPConfig),
		textFlag("permission-mode", "PermissionMode", string(o.PermissionMode)),
		toggleFlag("allow-dangerously-skip-permissions", "AllowDangerouslySkipPermissions",
			o.AllowDangerouslySkipPermissions),
		listFlag("fallback-model", "FallbackModels", o.FallbackModels),
		toggleFlag("include-hook-events", "IncludeHookEvents", o.IncludeHookEvents),
		toggleFlag("include-partial-messages", "IncludePartialMessages", o.IncludePartialMessages),
		toggleFlag("session-mirror", "Store", o.Store != nil),
		toggleFlag("replay-user-messages", "ReplayUserMessages", o.ReplayUserMessages),
		textFlag("project-config-root", "ProjectConfigRoot", o.ProjectConfigRoot),
		eachFlag("add-dir", "AddDirs", o.AddDirs),
		toggleFlag("await-initialize", "PluginDelivery", o.PluginDelivery == PluginsByInitialize),
		eachFlag("plugin-dir", "Plugins", o.pluginDirs(false)),
		eachFlag("plugin-dir-no-mcp", "Plugins", o.pluginDirs(true)),
		toggleFlag("fork-session", "ForkSession", o.ForkSession),
		textFlag("resume-session-at", "ResumeAt", o.ResumeAt),
		pointerFlag("resume-drops-turn", "ResumeDropsTurn", o.ResumeDropsTurn),
		textFlag("session-id", "SessionID", o.SessionID),
		toggleFlag("no-session-persistence", "Ephemeral", o.Ephemeral),
		toggleFlag("bare", "Bare", o.Bare),
		toggleFlag("safe-mode", "SafeMode", o.SafeMode),
		toggleFlag("restricted", "Restricted", o.Restricted),
		toggleFlag("disable-slash-commands", "DisableSlashCommands", o.DisableSlashCommands),
		textFlag("managed-settings", "ManagedSettings", string(o.ManagedSettings)),
		textFlag("settings", "Settings", o.settingsArg()),
	}
}

// args returns the arguments of the agent binary, without the name of the program. The error is an [*OptionsError].
func (o *Options) args() ([]string, error) {
	if err := o.checkExtraArgs(); err != nil {
		return nil, err
	}
	var args []string
	for _, f := range append(o.flags(), agentFlag{option: "ExtraArgs", args: o.ExtraArgs}) {
		for _, arg := range f.args {
			if strings.Contains(arg, "\x00") {
				return nil, badOption(f.option, "has a NUL character")
			}
		}
		args = append(args, f.args...)
	}
	return args, nil
}

// thinking returns Thinking as flags: a budget says that thinking is enabled.
func (o *Options) thinking() ThinkingConfig {
	if o.Thinking == nil {
		return ThinkingConfig{}
	}
	t := *o.Thinking
	if t.BudgetTokens > 0 {
		t.Mode = ""
	}
	return t
}

// permissionPromptTool has the agent ask through the session if there is somebody to answer.
func (o *Options) permissionPromptTool() string {
	if o.CanUseTool != nil || o.OnQuestion != nil {
		return "stdio"
	}
	return o.PermissionPromptTool
}

func (o *Options) debugFlag() agentFlag {
	if len(o.DebugCategories) > 0 {
		return listFlag("debug", "DebugCategories", o.DebugCategories)
	}
	return toggleFlag("debug", "Debug", o.Debug)
}

// pluginDirs returns the folders of the plugins that are given by flag, with or without their MCP servers.
func (o *Options) pluginDirs(withoutMCP bool) []string {
	if o.PluginDelivery == PluginsByInitialize {
		return nil
	}
	var dirs []string
	for _, plugin := range o.Plugins {
		if plugin.SkipMCPDiscovery == withoutMCP {
			dirs = append(dirs, plugin.Path)
		}
	}
	return dirs
}

// dollars writes an amount without an exponent, and nothing for none.
func dollars(amount float64) string {
	if amount == 0 {
		return ""
	}
	return strconv.FormatFloat(amount, 'f', -1, 64)
}

func toggleFlag(name, option string, on bool) agentFlag {
	if !on {
		return agentFlag{name: name, option: option}
	}
	return agentFlag{name, option, []string{"--" + name}}
}

// textFlag gives no argument for an empty value.
func textFlag(name, option, value string) agentFlag {
	if value == "" {
		return agentFlag{name: name, option: option}
	}
	return pointerFlag(name, option, &value)
}

// pointerFlag gives no argument for nil.
func pointerFlag(name, option string, value *string) agentFlag {
	if value == nil {
		return agentFlag{name: name, option: option}
	}
	return agentFlag{name, option, []string{"--" + name + "=" + *value}}
}

// numberFlag gives no argument for 0.
func numberFlag(name, option string, value int) agentFlag {
	if value == 0 {
		return agentFlag{name: name, option: option}
	}
	return textFlag(name, option, strconv.Itoa(value))
}

// listFlag gives no argument for an empty list.
func listFlag(name, option string, values []string) agentFlag {
	return textFlag(name, option, strings.Join(values, ","))
}

// exactListFlag gives no argument for nil, and one without a value for an empty list.
func exactListFlag(name, option string, values []string) agentFlag {
	if values == nil {
		return agentFlag{name: name, option: option}
	}
	joined := strings.Join(values, ",")
	return pointerFlag(name, option, &joined)
}

// eachFlag gives an argument for each value.
func eachFlag(name, option string, values []string) agentFlag {
	f := agentFlag{name: name, option: option}
	for _, value := range values {
		f.args = append(f.args, "--"+name+"="+value)
	}
	return f
}

// texts returns values as strings. Nil stays nil, and empty stays empty.
func texts[S ~string](values []S) []string {
	if values == nil {
		return nil
	}
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = string(value)
	}
	return list
}
