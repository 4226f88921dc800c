package clew

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/mcphost"
	"github.com/clewdev/clew/wire"
)

// A launchPlan has everything needed to start and initialize an agent. It is made once for each
// agent: a session that reconnects makes another one from changed options.
type launchPlan struct {
	options  *Options
	args     []string         // of the agent binary, without the name of the program
	env      []string         // the whole environment
	dir      string           // empty, or absolute unless a Transport is set
	body     initializeBody   // of the initialize request, without hooks and manifests
	servers  any              // the body of mcp_set_servers, to be sent after initialize, or nil for none
	warnings []OptionsWarning // valid options that are probably a mistake
	meter    *meter           // knows at least what the arguments let the agent spend

	version      string // of the agent, or "" if it is not known
	hidesReplays bool   // the agent sends prompts back that the caller has not asked for
}

// planFor returns how an agent is started with these options, in the way that its version needs.
// The error is an [*OptionsError].
func (o *Options) planFor(ctx context.Context, onePrompt bool) (*launchPlan, error) {
	plan, err := o.plan()
	if err != nil {
		return nil, err
	}
	err = plan.adapt(o.agentVersion(ctx, onePrompt), onePrompt)
	return plan, err
}

// plan returns how an agent is started with these options. The error is an [*OptionsError].
func (o *Options) plan() (*launchPlan, error) {
	meter := newMeter(o.Limits.Budget) // before the arguments, which have what is left
	args, err := agentArgs(o)
	if err != nil {
		return nil, err
	}
	dir, err := agentDir(o)
	if err != nil {
		return nil, err
	}
	return &launchPlan{
		options:  o,
		args:     args,
		env:      agentEnv(o, os.Environ()),
		dir:      dir,
		body:     newInitializeBody(o),
		servers:  newServersRequest(o.MCPServers),
		warnings: o.Warnings(),
		meter:    meter,
	}, nil
}

// launch returns how to start the agent binary at path, and logs the warnings.
func (p *launchPlan) launch(path string) *Launch {
	for _, w := range p.warnings {
		p.options.logger().Warn("option is probably a mistake", "option", w.Option, "reason", w.Reason)
	}
	return &Launch{
		Path:         path,
		Args:         slices.Clone(p.args), // a transport may change them
		Env:          slices.Clone(p.env),
		Dir:          p.dir,
		Stderr:       p.options.Debug.Stderr,
		CloseTimeout: p.options.closeTimeout(),

		KeepBackground: p.options.KeepBackground,
	}
}

// initializeRequest returns the initialize request. hooks are in the form that the agent reads, or
// nil.
func (p *launchPlan) initializeRequest(hooks any) *initializeBody {
	body := p.body
	body.Hooks = hooks
	return &body
}

// agentDir returns the working directory. It is absolute for a process on this machine, because it
// becomes PWD as well.
func agentDir(o *Options) (string, error) {
	if o.Dir == "" || o.Transport != nil {
		return o.Dir, nil
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", badOption("Dir", "%v", err)
	}
	return dir, nil
}

// needsInput reports whether the agent may still ask something after the prompt, so that its input
// has to stay open.
func needsInput(o *Options) bool {
	hooks := 0
	for _, matchers := range o.Hooks {
		hooks += len(matchers)
	}
	return hooks > 0 || o.CanUseTool != nil || o.OnQuestion != nil || o.OnElicitation != nil || o.OnUserDialog != nil ||
		o.OnOAuthToken != nil || o.OnHostAuthToken != nil || len(inProcessServers(o.MCPServers)) > 0
}

// An agentFlag is a flag of the agent binary and its arguments on the command line.
type agentFlag struct {
	name   string
	option string   // the field of Options that sets it, or "" if it is always the same
	args   []string // flag and value in one argument, so that a value is never taken for another flag
}

// agentFlags returns all flags that Clew knows, in the order of the command line. Flags that are
// not set have no arguments.
func agentFlags(o *Options) []agentFlag {
	thinking := thinkingFlags(o.Thinking)
	return []agentFlag{
		textFlag("output-format", "", "stream-json"),
		toggleFlag("verbose", "", true),
		textFlag("input-format", "", "stream-json"),

		textFlag("thinking", "Thinking", string(thinking.Mode)),
		numberFlag("max-thinking-tokens", "Thinking", thinking.BudgetTokens),
		textFlag("thinking-display", "Thinking", string(thinking.Display)),
		textFlag("effort", "Effort", string(o.Effort)),
		numberFlag("max-turns", "Limits.MaxTurns", o.Limits.MaxTurns),
		textFlag("max-budget-usd", "Limits.MaxBudgetUSD", dollars(o.maxBudgetUSD())),
		numberFlag("task-budget", "Limits.TaskBudget", o.Limits.TaskBudget),
		numberFlag("autocompact", "Limits.AutoCompactTokens", o.Limits.AutoCompactTokens),
		textFlag("model", "Model", o.Model),
		textFlag("agent", "Agent", o.Agent),
		listFlag("betas", "Betas", o.Betas),
		debugFlag(o),
		textFlag("debug-file", "Debug.File", o.Debug.File),
		textFlag("permission-prompt-tool", "PermissionPromptTool", permissionPromptTool(o)),
		textFlag("permission-prompts", "PermissionPrompts", string(o.PermissionPrompts)),
		toggleFlag("continue", "Session.Continue", o.Session.Continue),
		textFlag("resume", "Session.Resume", o.Session.Resume),
		listFlag("allowedTools", "AllowedTools", allowedTools(o)),
		listFlag("disallowedTools", "DisallowedTools", o.DisallowedTools),
		exactListFlag("tools", "Tools", o.Tools),
		eachFlag("mcp-config", "MCPConfigFiles", o.MCPConfigFiles),
		exactListFlag("setting-sources", "Settings.Sources", texts(o.Settings.Sources)),
		toggleFlag("strict-mcp-config", "StrictMCPConfig", o.StrictMCPConfig),
		textFlag("permission-mode", "PermissionMode", string(o.PermissionMode)),
		toggleFlag("allow-dangerously-skip-permissions", "AllowDangerouslySkipPermissions",
			o.AllowDangerouslySkipPermissions),
		listFlag("fallback-model", "FallbackModels", o.FallbackModels),
		toggleFlag("include-hook-events", "IncludeHookEvents", o.IncludeHookEvents),
		toggleFlag("include-partial-messages", "IncludePartialMessages", o.IncludePartialMessages),
		toggleFlag("session-mirror", "Store.Store", o.Store.Store != nil),
		toggleFlag("replay-user-messages", "ReplayUserMessages", o.ReplayUserMessages),
		textFlag("project-config-root", "Settings.ProjectConfigRoot", o.Settings.ProjectConfigRoot),
		eachFlag("add-dir", "AddDirs", o.AddDirs),
		toggleFlag("await-initialize", "PluginDelivery", o.PluginDelivery == PluginsByInitialize),
		eachFlag("plugin-dir", "Plugins", pluginDirs(o, false)),
		eachFlag("plugin-dir-no-mcp", "Plugins", pluginDirs(o, true)),
		toggleFlag("fork-session", "Session.Fork", o.Session.Fork),
		textFlag("resume-session-at", "Session.ResumeAt", o.Session.ResumeAt),
		pointerFlag("resume-drops-turn", "Session.ResumeDropsTurn", o.Session.ResumeDropsTurn),
		textFlag("session-id", "Session.ID", o.Session.ID),
		toggleFlag("no-session-persistence", "Session.Ephemeral", o.Session.Ephemeral),
		toggleFlag("bare", "Settings.Bare", o.Settings.Bare),
		toggleFlag("safe-mode", "Settings.SafeMode", o.Settings.SafeMode),
		toggleFlag("restricted", "Restricted", o.Restricted),
		toggleFlag("disable-slash-commands", "DisableSlashCommands", o.DisableSlashCommands),
		textFlag("managed-settings", "Settings.Managed", string(o.Settings.Managed)),
		settingsFlag(o),
	}
}

// agentArgs returns the arguments of the agent binary, without the name of the program. The error
// is an [*OptionsError].
func agentArgs(o *Options) ([]string, error) {
	if err := checkExtraArgs(o.ExtraArgs); err != nil {
		return nil, err
	}
	var args []string
	for _, f := range append(agentFlags(o), agentFlag{option: "ExtraArgs", args: o.ExtraArgs}) {
		for _, arg := range f.args {
			if strings.Contains(arg, "\x00") {
				return nil, badOption(f.option, "has a NUL character")
			}
		}
		args = append(args, f.args...)
	}
	return args, nil
}

// thinkingFlags returns the values of the flags for thinking. A budget implies that thinking is
// enabled.
func thinkingFlags(config *ThinkingConfig) ThinkingConfig {
	if config == nil {
		return ThinkingConfig{}
	}
	t := *config
	if t.BudgetTokens > 0 {
		t.Mode = ""
	}
	return t
}

// permissionPromptTool makes the agent ask through the session if there is a callback to answer.
func permissionPromptTool(o *Options) string {
	if o.CanUseTool != nil || o.OnQuestion != nil {
		return "stdio"
	}
	return o.PermissionPromptTool
}

func settingsFlag(o *Options) agentFlag {
	option := "Settings.JSON"
	if o.Settings.File != "" {
		option = "Settings.File"
	}
	return textFlag("settings", option, settingsArg(o))
}

func debugFlag(o *Options) agentFlag {
	if len(o.Debug.Categories) > 0 {
		return listFlag("debug", "Debug.Categories", o.Debug.Categories)
	}
	return toggleFlag("debug", "Debug.Enabled", o.Debug.Enabled)
}

// pluginDirs returns the directories of the plugins that are given by flag, with or without their
// MCP servers.
func pluginDirs(o *Options, withoutMCP bool) []string {
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

// dollars returns an amount without an exponent, or "" for 0.
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

// textFlag has no argument for an empty value.
func textFlag(name, option, value string) agentFlag {
	if value == "" {
		return agentFlag{name: name, option: option}
	}
	return pointerFlag(name, option, &value)
}

// pointerFlag has no argument for nil.
func pointerFlag(name, option string, value *string) agentFlag {
	if value == nil {
		return agentFlag{name: name, option: option}
	}
	return agentFlag{name, option, []string{"--" + name + "=" + *value}}
}

// numberFlag has no argument for 0.
func numberFlag(name, option string, value int) agentFlag {
	if value == 0 {
		return agentFlag{name: name, option: option}
	}
	return textFlag(name, option, strconv.Itoa(value))
}

// listFlag has no argument for an empty list.
func listFlag(name, option string, values []string) agentFlag {
	return textFlag(name, option, strings.Join(values, ","))
}

// exactListFlag has no argument for nil, and one with an empty value for an empty list.
func exactListFlag(name, option string, values []string) agentFlag {
	if values == nil {
		return agentFlag{name: name, option: option}
	}
	joined := strings.Join(values, ",")
	return pointerFlag(name, option, &joined)
}

// eachFlag has an argument for each value.
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

// logger returns the logger of the options, or a logger that discards everything.
func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

const defaultControlTimeout = time.Minute

func (o *Options) controlTimeout() time.Duration {
	return cmp.Or(o.Limits.ControlTimeout, defaultControlTimeout)
}

const defaultCloseTimeout = 5 * time.Second

func (o *Options) closeTimeout() time.Duration {
	if o.Limits.CloseTimeout <= 0 {
		return defaultCloseTimeout
	}
	return o.Limits.CloseTimeout
}

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
		Title:                  o.Session.Title,
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
