package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// options returns what the flags say.
func (f *agentFlags) options(ctx context.Context) (*clew.Options, error) {
	o := f.opts
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
		o.SettingSources = []clew.SettingSource{}
		for _, name := range list(f.sources) {
			o.SettingSources = append(o.SettingSources, clew.SettingSource(name))
		}
	}
	if o.Debug = f.debug == allDebug; !o.Debug {
		o.DebugCategories = list(f.debug)
	}
	for _, path := range f.plugins {
		o.Plugins = append(o.Plugins, clew.PluginConfig{Path: path})
	}
	return &o, errors.Join(f.resume(ctx, &o), f.permissions(&o), f.prompt(ctx, &o), f.objects(ctx, &o))
}

var partOfID = regexp.MustCompile(`^[0-9a-f]{4,8}(-[0-9a-f-]{0,26})?$`)

// resume completes the ID of the session to go on with, of which "clew ls" shows the beginning. What is none may be a
// title, which the agent finds.
func (f *agentFlags) resume(ctx context.Context, o *clew.Options) error {
	if !partOfID.MatchString(o.Resume) {
		return nil
	}
	found, err := sessionsBy(ctx, o.Resume)
	switch {
	case ctx.Err() != nil:
		return findError(ctx, err)
	case len(found) > 1:
		return ambiguous(o.Resume, found)
	case len(found) == 1:
		o.Resume = found[0].ID
	}
	return nil
}

func (f *agentFlags) thinkingConfig() *clew.ThinkingConfig {
	t := f.thinking
	t.Mode, t.Display = clew.ThinkingMode(f.thinkingMode), clew.ThinkingDisplay(f.thinkingDisplay)
	if t == (clew.ThinkingConfig{}) {
		return nil
	}
	return &t
}

func (f *agentFlags) permissions(o *clew.Options) error {
	o.PermissionMode = clew.PermissionMode(f.permissionMode)
	o.PermissionPrompts = clew.PermissionPrompts(f.prompts)
	if !f.skipPermissions {
		return nil
	}
	if o.PermissionMode != "" && o.PermissionMode != clew.PermissionModeBypassPermissions {
		return badFlag("--dangerously-skip-permissions and --permission-mode say different things")
	}
	o.PermissionMode = clew.PermissionModeBypassPermissions
	return nil
}

// prompt sets the system prompt.
func (f *agentFlags) prompt(ctx context.Context, o *clew.Options) error {
	custom, err := f.textOrFile(ctx, "system-prompt", f.systemPrompt, f.systemPromptFile)
	if err != nil {
		return err
	}
	behind, err := f.textOrFile(ctx, "append-system-prompt", f.appendPrompt, f.appendPromptFile)
	if err != nil {
		return err
	}
	prompt := clew.SystemPrompt{ExcludeDynamicSections: f.staticPrompt}
	if custom != nil {
		prompt.Custom = []string{*custom}
	}
	if behind != nil {
		prompt.Append = *behind
	}
	switch f.snapshot {
	case "", "on":
	case "off":
		prompt.Fresh = true
	default:
		return badFlag("--system-prompt-snapshot is on or off")
	}
	if custom != nil || prompt.Append != "" || prompt.ExcludeDynamicSections || prompt.Fresh {
		o.SystemPrompt = &prompt
	}
	return nil
}

// textOrFile returns the text that a flag or its companion for files gives, or nil.
func (f *agentFlags) textOrFile(ctx context.Context, flag, text, file string) (*string, error) {
	inFile := f.changed(flag + "-file")
	switch {
	case inFile && f.changed(flag):
		return nil, badFlag(fmt.Sprintf("--%s and --%s-file are the same", flag, flag))
	case inFile:
		content, err := readFlagFile(ctx, flag+"-file", file)
		return &content, err
	case f.changed(flag):
		return &text, nil
	}
	return nil, nil // neither is given
}

// objects sets what is JSON.
func (f *agentFlags) objects(ctx context.Context, o *clew.Options) error {
	o.ManagedSettings = wire.JSON(f.managedSettings)
	if isObject(f.settings) {
		o.Settings = wire.JSON(f.settings)
	} else {
		o.SettingsFile = f.settings
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
		return badFlag("--agents: " + printable(strings.TrimPrefix(err.Error(), "json: ")))
	}
	return nil
}

func isObject(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }

// readObject returns the JSON object that a flag gives, or that is in the file that
// it names.
func readObject(ctx context.Context, flag, value string) (wire.JSON, error) {
	name, text := "--"+flag, value
	if !isObject(value) {
		var err error
		if text, err = readFlagFile(ctx, flag, value); err != nil {
			return "", err
		}
		name = printable(value)
	}
	var object map[string]wire.JSON
	if err := wire.JSON(text).Decode(&object); err != nil || object == nil {
		return "", &failure{code: exitInput, err: fmt.Errorf("%s is no JSON object", name)}
	}
	return wire.JSON(text), nil
}

// readFlagFile reads the file that a flag names.
func readFlagFile(ctx context.Context, flag, name string) (string, error) {
	if name == "" || name == "-" {
		return "", badFlag(fmt.Sprintf("--%s takes the name of a file", flag))
	}
	in, err := openInput(ctx, name, nil)
	if err != nil {
		var f *failure
		if errors.As(err, &f) && f.hint != "" {
			f.hint = fmt.Sprintf("Give --%s the path of a file.", flag)
		}
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return "", &failure{code: exitInput, err: in.readError(err)}
	}
	return string(text), nil
}
