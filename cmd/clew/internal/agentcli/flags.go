package agentcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// An outputFormat is the format of stdout.
type outputFormat string

const (
	formatText       outputFormat = "text"
	formatJSON       outputFormat = "json"
	formatStreamJSON outputFormat = "stream-json"
)

// Type names the value in the help.
func (f *outputFormat) Type() string { return "format" }

func (f *outputFormat) String() string { return string(*f) }

// Set takes one of the formats.
func (f *outputFormat) Set(text string) error {
	switch format := outputFormat(text); format {
	case formatText, formatJSON, formatStreamJSON:
		*f = format
		return nil
	}
	return errors.New("must be text, json or stream-json")
}

// The Flags are agent options, named like the agent's own flags.
type Flags struct {
	opts clew.Options

	tools, betas, fallback, sources string // lists
	permissionMode, prompts, effort string
	skipPermissions, trust          bool
	thinking                        clew.ThinkingConfig
	thinkingMode, thinkingDisplay   string
	systemPrompt, systemPromptFile  string
	appendPrompt, appendPromptFile  string
	staticPrompt                    bool
	snapshot                        string
	schema, agents, settings        string
	managedSettings, debug          string
	plugins, allowed, disallowed    []string

	changed func(flag string) bool
	typed   func(flag string) bool // and not changed by a setting
}

func (f *Flags) add(cmd *cobra.Command) {
	f.addSession(cmd)
	f.AddTo(cmd)
}

// AddTo adds the flags that are not about one session.
func (f *Flags) AddTo(cmd *cobra.Command) {
	f.changed = cmd.Flags().Changed
	f.typed = func(flag string) bool { return clikit.Typed(cmd.Flags().Lookup(flag)) }
	f.addModel(cmd)
	f.addPrompt(cmd)
	f.addTools(cmd)
	f.addSurroundings(cmd)
	f.addDebug(cmd)
}

func (f *Flags) addSession(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.opts
	set.StringVarP(&o.Session.Resume, "resume", "r", "", "resume the `session` with this ID or title")
	set.VarPF((*clikit.OnOff)(&o.Session.Continue), "continue", "c", "resume the newest session of this directory").NoOptDefVal = "true"
	clikit.AddOnOff(cmd, &o.Session.Fork, "fork-session", "with --resume or --continue, start a new session from a copy")
	set.StringVar(&o.Session.ResumeAt, "resume-session-at", "", "with --resume, resume only up to the message with this `UUID`")
	set.StringVar(&o.Session.ID, "session-id", "", "`UUID` to use as the ID of the new session")
	set.StringVarP(&o.Session.Title, "name", "n", "", "`title` of the session")
	clikit.AddOnOff(cmd, &o.Session.Ephemeral, "no-session-persistence", "do not save the session to disk")
}

func (f *Flags) addModel(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.opts
	set.StringVar(&o.Model, "model", "", "`model` to use, an alias or a full name")
	set.StringVar(&f.fallback, "fallback-model", "", "comma-separated `models` to fall back to when the model is overloaded")
	set.StringVar(&f.effort, "effort", "", "reasoning effort `level`: low, medium, high, xhigh or max")
	set.StringVar(&f.thinkingMode, "thinking", "", "thinking `mode`: adaptive, enabled or disabled")
	set.IntVar(&f.thinking.BudgetTokens, "max-thinking-tokens", 0, "maximum number of thinking `tokens`")
	set.StringVar(&f.thinkingDisplay, "thinking-display", "", "`form` of the returned thinking: summarized or omitted")
	set.StringVar(&f.betas, "betas", "", "comma-separated beta `features` of the API")
	set.IntVar(&o.Limits.MaxTurns, "max-turns", 0, "stop after this `number` of answers from the model")
	set.Float64Var(&o.Limits.MaxBudgetUSD, "max-budget-usd", 0, "stop when the session has cost this many `dollars`")
	set.IntVar(&o.Limits.TaskBudget, "task-budget", 0, "ask the model to stay within this many `tokens`")
	set.IntVar(&o.Limits.AutoCompactTokens, "autocompact", 0, "compact the conversation when it reaches this many `tokens`")
	set.StringVar(&f.schema, "json-schema", "", "JSON schema for the final answer, or a `file` that contains it")
}

func (f *Flags) addPrompt(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.systemPrompt, "system-prompt", "", "`text` that replaces Claude Code's system prompt")
	set.StringVar(&f.systemPromptFile, "system-prompt-file", "", "read the text of --system-prompt from this `file`")
	set.StringVar(&f.appendPrompt, "append-system-prompt", "", "`text` to append to the system prompt")
	set.StringVar(&f.appendPromptFile, "append-system-prompt-file", "", "read the text of --append-system-prompt from this `file`")
	clikit.AddOnOff(cmd, &f.staticPrompt, "exclude-dynamic-system-prompt-sections",
		"move machine-specific sections from the system prompt to the first message")
	set.StringVar(&f.snapshot, "system-prompt-snapshot", "",
		"`off` rebuilds the system prompt for each request")
}

func (f *Flags) addTools(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.opts
	set.StringVar(&f.permissionMode, "permission-mode", "",
		"permission `mode`: default, acceptEdits, plan, dontAsk, auto or bypassPermissions")
	clikit.AddOnOff(cmd, &f.skipPermissions, "dangerously-skip-permissions", "same as --permission-mode bypassPermissions")
	set.StringVar(&f.prompts, "permission-prompts", "", "`who` answers permission requests: host or none")
	set.StringVar(&o.PermissionPromptTool, "permission-prompt-tool", "", "MCP `tool` that answers permission requests")
	set.Var((*joined)(&f.tools), "tools", "comma-separated built-in `tools`; an empty list means none")
	set.StringArrayVar(&o.AllowedTools, "allowedTools", nil,
		"`rule` for tools that may run without asking, such as \"Bash(git log:*)\"; repeatable")
	set.StringArrayVar(&o.DisallowedTools, "disallowedTools", nil, "`rule` for tools that may not run; repeatable")
	set.StringArrayVar(&f.allowed, "allowed-tools", nil, "same as --allowedTools")
	set.StringArrayVar(&f.disallowed, "disallowed-tools", nil, "same as --disallowedTools")
	set.Lookup("allowed-tools").Hidden = true
	set.Lookup("disallowed-tools").Hidden = true
}

func (f *Flags) addSurroundings(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.opts
	set.StringVar(&o.Agent, "agent", "", "`name` of the agent for the main session")
	set.StringVar(&f.agents, "agents", "", "JSON object of subagents by name, or a `file` that contains it")
	set.StringArrayVar(&o.AddDirs, "add-dir", nil, "additional `directory` that tools may use; repeatable")
	set.StringArrayVar(&o.MCPConfigFiles, "mcp-config", nil, "`file` with MCP servers; repeatable")
	clikit.AddOnOff(cmd, &o.StrictMCPConfig, "strict-mcp-config", "use only MCP servers from --mcp-config")
	set.StringArrayVar(&f.plugins, "plugin-dir", nil, "`directory` or .zip file of a plugin; repeatable")
	set.StringVar(&f.settings, "settings", "", "`file` or JSON object with settings that override the others")
	set.StringVar(&f.managedSettings, "managed-settings", "", "JSON `object` of settings that can only add restrictions")
	set.StringVar(&f.sources, "setting-sources", "", "comma-separated `sources` of settings: user, project, local; \"\" means none")
	clikit.AddOnOff(cmd, &f.trust, "trust", "let this directory's settings, hooks and MCP servers run programs")
	set.StringVar(&o.Settings.ProjectConfigRoot, "project-config-root", "", "read the project's settings from this `directory`")
	clikit.AddOnOff(cmd, &o.Settings.Bare, "bare", "disable hooks, plugins, memory, CLAUDE.md and most tools")
	clikit.AddOnOff(cmd, &o.Settings.SafeMode, "safe-mode", "disable all customizations")
	clikit.AddOnOff(cmd, &o.Restricted, "restricted", "disable tools that run code, and restrict others to the working directories")
	clikit.AddOnOff(cmd, &o.DisableSlashCommands, "disable-slash-commands", "disable all skills and commands")
	clikit.AddOnOff(cmd, &o.KeepBackground, "keep-background", "do not end background processes that the agent started")
	set.StringVar(&o.AgentPath, "agent-path", "", "use this `file` as the agent binary (default $CLEW_AGENT, or claude in PATH)")
	set.StringArrayVar(&o.ExtraArgs, "agent-arg", nil, "additional `argument` for the agent, such as --new=1; repeatable")
}

// addReports adds flags for additional messages of the agent.
func (f *Flags) addReports(cmd *cobra.Command) {
	o := &f.opts
	clikit.AddOnOff(cmd, &o.IncludeHookEvents, "include-hook-events", "with stream-json, also print hook events")
	clikit.AddOnOff(cmd, &o.ForwardSubagentText, "forward-subagent-text", "with stream-json, also print the text of subagents")
	clikit.AddOnOff(cmd, &o.ReplayUserMessages, "replay-user-messages", "with stream-json, also print the prompt")
	clikit.AddOnOff(cmd, &o.PromptSuggestions, "prompt-suggestions", "with stream-json, also print a suggestion for the next prompt")
}

// allDebug stands for all categories of the debug log.
const allDebug = "all"

func (f *Flags) addDebug(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&f.debug, "debug", "d", "", "write the agent's debug log, optionally only for comma-separated `categories`")
	set.Lookup("debug").NoOptDefVal = allDebug
	set.StringVar(&f.opts.Debug.File, "debug-file", "", "`file` for the debug log")
}

// A joined flag joins its values with commas.
type joined string

// Type names the value in the help.
func (j *joined) Type() string { return "string" }

func (j *joined) String() string { return string(*j) }

// Set adds to the list.
func (j *joined) Set(text string) error {
	*j += joined("," + text)
	return nil
}

// list splits a list at commas and spaces.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func badFlag(text string) error {
	return &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New(text), Hint: `Run "clew run --help" for help.`}
}

// checkPrompt returns a prompt as valid UTF-8, and refuses an empty one.
func checkPrompt(text string) (string, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "", badFlag("the prompt is empty")
	}
	return text, nil
}

// startLimit is the time limit for the agent to start. The screen shows that it is starting, and
// the user can stop it: a busy machine gets more time than a program would give it.
const startLimit = 5 * time.Minute

// Options returns the options that the flags set.
func (f *Flags) Options(ctx context.Context) (*clew.Options, error) {
	o := f.opts
	o.Limits.InitializeTimeout = startLimit
	o.Effort = clew.Effort(f.effort)
	o.FallbackModels = list(f.fallback)
	o.Betas = list(f.betas)
	o.Thinking = f.thinkingConfig()
	o.AllowedTools = slices.Concat(o.AllowedTools, f.allowed)
	o.DisallowedTools = slices.Concat(o.DisallowedTools, f.disallowed)
	if f.changed("tools") {
		o.Tools = append([]string{}, list(f.tools)...)
	}
	if f.changed("setting-sources") {
		o.Settings.Sources = []clew.SettingSource{}
		for _, name := range list(f.sources) {
			o.Settings.Sources = append(o.Settings.Sources, clew.SettingSource(name))
		}
	}
	if o.Debug.Enabled = f.debug == allDebug; !o.Debug.Enabled {
		o.Debug.Categories = list(f.debug)
	}
	for _, path := range f.plugins {
		o.Plugins = append(o.Plugins, clew.PluginConfig{Path: path})
	}
	return &o, errors.Join(f.resume(ctx, &o), f.permissions(&o), f.prompt(ctx, &o), f.objects(ctx, &o))
}

var partOfID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{4,8}(-[0-9a-f-]{0,27})?$`)
})

// resume completes the ID of the session to resume from the prefix that "clew ls" shows, and has the agent look in the
// directory that the session is in. Other values may be titles, which the agent finds.
func (f *Flags) resume(ctx context.Context, o *clew.Options) error {
	if !partOfID().MatchString(o.Session.Resume) {
		return nil
	}
	found, err := input.ByPrefix(ctx, o.Session.Resume)
	switch {
	case ctx.Err() != nil:
		return input.FindError(ctx, err)
	case len(found) > 1:
		return input.Ambiguous(o.Session.Resume, found)
	case len(found) == 1:
		o.Session.Resume = found[0].ID
		if config := sessions.OtherConfigDir(found[0].Path); config != "" {
			o.Env = append(slices.Clip(o.Env), "CLAUDE_CONFIG_DIR="+config)
		}
	}
	return nil
}

func (f *Flags) thinkingConfig() *clew.ThinkingConfig {
	t := f.thinking
	t.Mode, t.Display = clew.ThinkingMode(f.thinkingMode), clew.ThinkingDisplay(f.thinkingDisplay)
	if t == (clew.ThinkingConfig{}) {
		return nil
	}
	return &t
}

func (f *Flags) permissions(o *clew.Options) error {
	o.PermissionMode = clew.PermissionMode(f.permissionMode)
	o.PermissionPrompts = clew.PermissionPrompts(f.prompts)
	if !f.skipPermissions {
		return nil
	}
	if o.PermissionMode != "" && o.PermissionMode != clew.PermissionModeBypassPermissions {
		return badFlag("--dangerously-skip-permissions can't be used with another --permission-mode")
	}
	o.PermissionMode = clew.PermissionModeBypassPermissions
	return nil
}

// prompt sets the system prompt.
func (f *Flags) prompt(ctx context.Context, o *clew.Options) error {
	custom, err := f.textOrFile(ctx, "system-prompt", f.systemPrompt, f.systemPromptFile)
	if err != nil {
		return err
	}
	appended, err := f.textOrFile(ctx, "append-system-prompt", f.appendPrompt, f.appendPromptFile)
	if err != nil {
		return err
	}
	prompt := clew.SystemPrompt{ExcludeDynamicSections: f.staticPrompt}
	if custom != nil {
		prompt.Custom = []string{*custom}
	}
	if appended != nil {
		prompt.Append = *appended
	}
	switch f.snapshot {
	case "", "on":
	case "off":
		prompt.Fresh = true
	default:
		return badFlag("--system-prompt-snapshot must be on or off")
	}
	if custom != nil || prompt.Append != "" || prompt.ExcludeDynamicSections || prompt.Fresh {
		o.SystemPrompt = &prompt
	}
	return nil
}

// textOrFile returns the text of a flag or of its -file variant, or nil.
func (f *Flags) textOrFile(ctx context.Context, flag, text, file string) (*string, error) {
	inFile := f.changed(flag + "-file")
	switch {
	case inFile && f.changed(flag):
		return nil, badFlag(fmt.Sprintf("--%s can't be used with --%s-file", flag, flag))
	case inFile:
		content, err := readFlagFile(ctx, flag+"-file", file)
		return &content, err
	case f.changed(flag):
		return &text, nil
	}
	return nil, nil // neither was given
}

// objects sets the options that are JSON objects.
func (f *Flags) objects(ctx context.Context, o *clew.Options) error {
	o.Settings.Managed = wire.JSON(f.managedSettings)
	if isObject(f.settings) {
		o.Settings.JSON = wire.JSON(f.settings)
	} else {
		o.Settings.File = f.settings
	}
	if f.changed("json-schema") {
		schema, err := readObject(ctx, "json-schema", f.schema)
		if err != nil {
			return err
		}
		o.OutputSchema = schema
	}
	if !f.changed("agents") {
		return nil
	}
	agents, err := readObject(ctx, "agents", f.agents)
	if err != nil {
		return err
	}
	known := json.NewDecoder(strings.NewReader(string(agents)))
	known.DisallowUnknownFields()
	if err := known.Decode(&o.Agents); err != nil {
		return badFlag("--agents: " + clikit.Printable(strings.TrimPrefix(err.Error(), "json: ")))
	}
	return nil
}

func isObject(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }

// readObject returns the JSON object in a flag, or in the file that the flag names.
func readObject(ctx context.Context, flag, value string) (wire.JSON, error) {
	name, text := "--"+flag, value
	if !isObject(value) {
		var err error
		if text, err = readFlagFile(ctx, flag, value); err != nil {
			return "", err
		}
		name = clikit.Printable(value)
	}
	var object map[string]wire.JSON
	if err := wire.JSON(text).Decode(&object); err != nil || object == nil {
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: fmt.Errorf("%s is not a JSON object", name)}
	}
	return wire.JSON(text), nil
}

// readFlagFile reads the file that a flag names.
func readFlagFile(ctx context.Context, flag, name string) (string, error) {
	if name == "" || name == "-" {
		return "", badFlag(fmt.Sprintf("--%s needs the path of a file", flag))
	}
	in, err := input.Open(ctx, name, nil)
	if err != nil {
		var f *clikit.Failure
		if errors.As(err, &f) && f.Hint != "" {
			f.Hint = fmt.Sprintf("Give --%s the path of a file.", flag)
		}
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: in.ReadError(err)}
	}
	return string(text), nil
}
