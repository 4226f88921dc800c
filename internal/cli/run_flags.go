package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
	"github.com/spf13/cobra"
)

// An outputFormat says what stdout gets.
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
	return errors.New("it is text, json or stream-json")
}

// The agentFlags are options of the agent, under the names that its own flags have.
type agentFlags struct {
	opts           clew.Options
	tools          []string
	permissionMode string
	effort         string
	sources        string
	fallback       string
	systemPrompt   string
	appendPrompt   string
	schemaFile     string

	changed func(flag string) bool
}

func (f *agentFlags) add(cmd *cobra.Command) {
	set, o := cmd.Flags(), &f.opts
	f.changed = set.Changed
	set.StringVarP(&o.Resume, "resume", "r", "", "go on with the `session` of this ID or title")
	set.VarPF((*onOff)(&o.Continue), "continue", "c", "go on with the newest session of this folder").NoOptDefVal = "true"
	addOnOff(cmd, &o.ForkSession, "fork-session", "with --resume or --continue, leave the old session as it is")
	set.StringVar(&o.SessionID, "session-id", "", "ID of the new session, a `UUID`")
	addOnOff(cmd, &o.Ephemeral, "no-session-persistence", "keep the session off the disk")
	set.StringVar(&o.Model, "model", "", "alias or name of the `model`")
	set.StringVar(&f.fallback, "fallback-model", "", "`models` to try while that one is overloaded, with commas")
	set.StringVar(&f.effort, "effort", "", "how much work an answer is worth, a `level`: low, medium, high, xhigh or max")
	set.StringVar(&o.Agent, "agent", "", "`name` of the agent that leads the session")
	set.StringVar(&f.systemPrompt, "system-prompt", "", "`text` in place of Claude Code's own system prompt")
	set.StringVar(&f.appendPrompt, "append-system-prompt", "", "`text` behind the system prompt")
	set.IntVar(&o.MaxTurns, "max-turns", 0, "end after this `number` of answers of the model")
	set.Float64Var(&o.MaxBudgetUSD, "max-budget-usd", 0, "end when the session has cost these `dollars`")
	set.StringVar(&f.schemaFile, "json-schema", "", "`file` with the JSON schema that the final answer has to fit")
	set.StringVar(&f.permissionMode, "permission-mode", "",
		"`mode` that decides whether a tool may run: default, acceptEdits, plan, dontAsk, auto, bypassPermissions")
	set.StringArrayVar(&f.tools, "tools", nil, "built-in `tools`, with commas; an empty list means none")
	set.StringArrayVar(&o.AllowedTools, "allowedTools", nil,
		"`rule` for tools that may run, such as \"Bash(git log:*)\"; repeatable")
	set.StringArrayVar(&o.DisallowedTools, "disallowedTools", nil, "`rule` for tools that may not run; repeatable")
	set.StringArrayVar(&o.AddDirs, "add-dir", nil, "another `folder` that tools may use; repeatable")
	set.StringArrayVar(&o.MCPConfigFiles, "mcp-config", nil, "`file` with MCP servers; repeatable")
	addOnOff(cmd, &o.StrictMCPConfig, "strict-mcp-config", "use no other MCP servers than those")
	set.StringVar(&o.SettingsFile, "settings", "", "`file` with settings that win over the others")
	set.StringVar(&f.sources, "setting-sources", "", "`settings` to read, with commas: user, project, local")
	set.StringVar(&o.AgentPath, "agent-path", "", "`file` of the agent binary (default $CLEW_AGENT, or claude in PATH)")
}

// options returns what the flags say.
func (f *agentFlags) options(ctx context.Context) (*clew.Options, error) {
	o := f.opts
	o.PermissionMode = clew.PermissionMode(f.permissionMode)
	o.Effort = clew.Effort(f.effort)
	o.FallbackModels = list(f.fallback)
	if f.changed("tools") {
		o.Tools = append([]string{}, list(strings.Join(f.tools, ","))...)
	}
	if f.changed("setting-sources") {
		o.SettingSources = []clew.SettingSource{}
		for _, name := range list(f.sources) {
			o.SettingSources = append(o.SettingSources, clew.SettingSource(name))
		}
	}
	if f.changed("system-prompt") || f.appendPrompt != "" {
		o.SystemPrompt = &clew.SystemPrompt{Append: f.appendPrompt}
		if f.changed("system-prompt") {
			o.SystemPrompt.Custom = []string{f.systemPrompt}
		}
	}
	if !f.changed("json-schema") {
		return &o, nil
	}
	schema, err := readSchema(ctx, f.schemaFile)
	o.OutputSchema = schema
	return &o, err
}

// list splits a list at its commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// readSchema reads the file of a JSON schema.
func readSchema(ctx context.Context, name string) (wire.JSON, error) {
	if name == "" {
		return "", badFlag("--json-schema is empty: it is the name of a file")
	}
	in, err := openInput(ctx, name, nil)
	if err != nil {
		var f *failure
		if errors.As(err, &f) && f.hint != "" {
			f.hint = "Give --json-schema the path of a file with a JSON schema."
		}
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return "", &failure{code: exitInput, err: in.readError(err)}
	}
	var object map[string]wire.JSON
	if err := wire.JSON(text).Decode(&object); err != nil || object == nil {
		err = fmt.Errorf("%s is no JSON schema: it has to be a JSON object", printable(name))
		return "", &failure{code: exitInput, err: err}
	}
	return wire.JSON(text), nil
}

func badFlag(text string) error {
	return &failure{code: exitUsage, err: errors.New(text), hint: `Run "clew run --help" for help.`}
}

// checkPrompt returns a prompt as the agent can take it.
func checkPrompt(text string) (string, error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "", badFlag("the prompt is empty")
	}
	return text, nil
}
