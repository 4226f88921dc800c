package clew

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/version"
	"github.com/clewdev/clew/redact"
)

func badOption(option, format string, args ...any) error {
	return &OptionsError{Option: option, Reason: fmt.Sprintf(format, args...)}
}

// validate returns the first error in the options, an [*OptionsError], before anything is started.
func (o *Options) validate() error { return validateFor(o, runtime.GOOS) }

// validateFor is validate on another operating system.
func validateFor(o *Options, goos string) error {
	for _, check := range []func(*Options) error{
		checkDir,
		checkEnv,
		checkSession,
		(*Options).checkReconnect,
		(*Options).checkStore,
		func(o *Options) error { return checkShell(o, goos) },
		checkNumbers,
		checkLists,
		checkModel,
		checkTools,
		checkPermissions,
		checkAgents,
		func(o *Options) error { return checkMCPServers(o.MCPServers) },
		checkPlugins,
		checkHooks,
		checkSettings,
		checkWatching,
		func(o *Options) error { _, err := agentArgs(o); return err },
	} {
		if err := check(o); err != nil {
			return err
		}
	}
	return nil
}

// checkDir checks the working directory. Only a transport knows which directories it has.
func checkDir(o *Options) error {
	switch {
	case strings.Contains(o.AgentPath, "\x00"):
		return badOption("AgentPath", "has a NUL character")
	case o.AgentVersion != "" && !version.Valid(o.AgentVersion):
		return badOption("AgentVersion", "%q is not a version such as %q", o.AgentVersion, MinAgentVersion)
	case strings.Contains(o.Dir, "\x00"):
		return badOption("Dir", "has a NUL character")
	case o.Dir == "" || o.Transport != nil:
		return nil
	}
	info, err := os.Stat(o.Dir)
	switch {
	case os.IsNotExist(err):
		return badOption("Dir", "directory %s does not exist", o.Dir)
	case err != nil:
		return badOption("Dir", "%v", err)
	case !info.IsDir():
		return badOption("Dir", "%s is not a directory", o.Dir)
	}
	return nil
}

// checkEnv does not mention values: they may be secrets.
func checkEnv(o *Options) error {
	for i, entry := range o.Env {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
			return badOption("Env", "entry %d is not KEY=VALUE", i)
		case strings.Contains(entry, "\x00"):
			return badOption("Env", "%q has a NUL character", name)
		}
	}
	for _, name := range o.InheritEnv {
		if name == "" || strings.Contains(name, "=") {
			return badOption("InheritEnv", "%q is not the name of a variable", name)
		}
	}
	return nil
}

func checkSession(o *Options) error {
	resumes := o.Session.Resume != "" || o.Session.Continue
	switch {
	case o.Session.Resume != "" && o.Session.Continue:
		return badOption("Session.Continue", "can't be combined with Session.Resume")
	case o.Session.Fork && !resumes:
		return badOption("Session.Fork", "needs Session.Resume or Session.Continue")
	case o.Session.ID != "" && !newid.IsUUID(o.Session.ID):
		return badOption("Session.ID", "%q is not a UUID", o.Session.ID)
	case o.Session.ID != "" && resumes && !o.Session.Fork:
		return badOption("Session.ID", "with Session.Resume or Session.Continue it needs Session.Fork")
	case o.Session.ResumeAt != "" && o.Session.Resume == "":
		return badOption("Session.ResumeAt", "needs Session.Resume")
	case o.Session.ResumeDropsTurn != nil && o.Session.ResumeAt == "":
		return badOption("Session.ResumeDropsTurn", "needs Session.ResumeAt")
	}
	return nil
}

// checkShell refuses, on Windows, characters that a command interpreter could act on. These values
// often come from other programs.
func checkShell(o *Options, goos string) error {
	if goos != "windows" {
		return nil
	}
	values := []struct{ option, value string }{{"Session.Resume", o.Session.Resume}, {"Session.ResumeAt", o.Session.ResumeAt}}
	if o.Session.ResumeDropsTurn != nil {
		values = append(values, struct{ option, value string }{"Session.ResumeDropsTurn", *o.Session.ResumeDropsTurn})
	}
	for _, v := range values {
		if i := strings.IndexAny(v.value, "&|<>^%!\"\r\n"); i >= 0 {
			return badOption(v.option, "can't contain %q on Windows", v.value[i])
		}
	}
	return nil
}

func checkNumbers(o *Options) error {
	numbers := []struct {
		option string
		value  float64
	}{
		{"Limits.MaxTurns", float64(o.Limits.MaxTurns)},
		{"Limits.MaxBudgetUSD", o.Limits.MaxBudgetUSD},
		{"Limits.TaskBudget", float64(o.Limits.TaskBudget)},
		{"Limits.AutoCompactTokens", float64(o.Limits.AutoCompactTokens)},
		{"Store.Timeout", float64(o.Store.Timeout)},
		{"Limits.IdleTimeout", float64(o.Limits.IdleTimeout)},
		{"Limits.InitializeTimeout", float64(o.Limits.InitializeTimeout)},
		{"Limits.ControlTimeout", float64(o.Limits.ControlTimeout)},
		{"Limits.CloseTimeout", float64(o.Limits.CloseTimeout)},
		{"Limits.MaxFrameBytes", float64(o.Limits.MaxFrameBytes)},
		{"Limits.MaxBacklogBytes", float64(o.Limits.MaxBacklogBytes)},
	}
	for _, n := range numbers {
		switch {
		case math.IsNaN(n.value) || math.IsInf(n.value, 0):
			return badOption(n.option, "is not a number")
		case n.value < 0:
			return badOption(n.option, "is negative")
		}
	}
	return o.Limits.Budget.check()
}

// checkLists checks lists that are joined by commas, and lists whose elements can't be empty.
func checkLists(o *Options) error {
	lists := []struct {
		option string
		values []string
		joined bool
	}{
		{"AddDirs", o.AddDirs, false},
		{"FallbackModels", o.FallbackModels, true},
		{"Betas", o.Betas, true},
		{"MCPConfigFiles", o.MCPConfigFiles, false},
		{"SupportedDialogKinds", o.SupportedDialogKinds, false},
		{"Settings.Sources", texts(o.Settings.Sources), true},
		{"Debug.Categories", o.Debug.Categories, true},
	}
	for _, list := range lists {
		for _, value := range list.values {
			switch {
			case value == "":
				return badOption(list.option, "an element is empty")
			case list.joined && strings.Contains(value, ","):
				return badOption(list.option, "%q has a comma: use an element for each", value)
			}
		}
	}
	return nil
}

func checkModel(o *Options) error {
	if o.Model != "" && slices.Contains(o.FallbackModels, o.Model) {
		return badOption("FallbackModels", "%q is also the Model: name another one", o.Model)
	}
	if t := o.Thinking; t != nil {
		switch {
		case t.BudgetTokens < 0:
			return badOption("Thinking", "BudgetTokens is negative")
		case t.BudgetTokens > 0 && t.Mode != "" && t.Mode != ThinkingEnabled:
			return badOption("Thinking", "BudgetTokens needs the mode %q, not %q", ThinkingEnabled, t.Mode)
		case t.Display != "" && t.Mode == ThinkingDisabled:
			return badOption("Thinking", "Display has no effect in the mode %q", t.Mode)
		}
	}
	_, err := checkObject("OutputSchema", o.OutputSchema)
	return err
}

func checkPermissions(o *Options) error {
	switch {
	case o.CanUseTool != nil && o.PermissionPromptTool != "":
		return badOption("PermissionPromptTool", "can't be combined with CanUseTool")
	case o.OnQuestion != nil && o.PermissionPromptTool != "":
		return badOption("PermissionPromptTool", "can't be combined with OnQuestion")
	case len(o.SupportedDialogKinds) > 0 && o.OnUserDialog == nil:
		return badOption("SupportedDialogKinds", "needs OnUserDialog")
	}
	return nil
}

func checkAgents(o *Options) error {
	for _, name := range slices.Sorted(maps.Keys(o.Agents)) {
		agent := o.Agents[name]
		if name == "" {
			return badOption("Agents", "an agent has no name")
		}
		if reason := agent.check(); reason != "" {
			return badOption("Agents", "%q %s", name, reason)
		}
	}
	return nil
}

func checkPlugins(o *Options) error {
	switch o.PluginDelivery {
	case "", PluginsByFlag, PluginsByInitialize:
	default:
		return badOption("PluginDelivery", "%q is not known", o.PluginDelivery)
	}
	for i, plugin := range o.Plugins {
		if plugin.Path == "" {
			return badOption("Plugins", "plugin %d has no Path", i)
		}
	}
	return nil
}

func checkWatching(o *Options) error {
	if o.Limits.OnIdle != nil && o.Limits.IdleTimeout == 0 {
		return badOption("Limits.OnIdle", "needs Limits.IdleTimeout")
	}
	return nil
}

// allowedTools returns AllowedTools, and then the rules for Skills.
func allowedTools(o *Options) []string {
	rules := slices.Clone(o.AllowedTools)
	for _, name := range o.Skills {
		rule := "Skill(" + name + ")"
		if name == AllSkills {
			rule = "Skill"
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// checkTools checks the names of tools and skills, and permission rules.
func checkTools(o *Options) error {
	for _, list := range []struct {
		option string
		rules  []string
	}{{"Tools", o.Tools}, {"AllowedTools", o.AllowedTools}, {"DisallowedTools", o.DisallowedTools}} {
		for _, rule := range list.rules {
			if reason := checkRule(rule); reason != "" {
				return badOption(list.option, "%q %s", rule, reason)
			}
		}
	}
	if slices.Contains(o.Skills, AllSkills) && len(o.Skills) == 1 {
		return nil
	}
	for _, name := range o.Skills {
		if reason := checkSkill(name); reason != "" {
			return badOption("Skills", "%q %s", name, reason)
		}
	}
	return nil
}

// checkRule returns why the agent would not read rule as one permission rule, or "". The agent
// splits a list at commas and spaces, except between a parenthesis and the next closing one,
// regardless of quotes and nesting.
func checkRule(rule string) string {
	if rule == "" {
		return "is empty"
	}
	inside := false
	for _, r := range rule {
		switch {
		case r == '(':
			inside = true
		case r == ')':
			inside = false
		case unicode.IsControl(r):
			return "has a control character"
		case !inside && (r == ',' || r == ' '):
			return "would be read as several rules"
		}
	}
	if inside {
		return "has a parenthesis that is not closed"
	}
	return ""
}

// checkSkill returns why name can't be in a permission rule, where nothing can be escaped, or "".
func checkSkill(name string) string {
	switch {
	case name == "":
		return "is empty"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.TrimSpace(name) != name:
		return "has leading or trailing space"
	case strings.ContainsAny(name, "(),\uFEFF") || strings.ContainsFunc(name, unicode.IsControl):
		return "has a character that a skill cannot have"
	case name == AllSkills || strings.HasSuffix(name, ":*") || strings.HasSuffix(name, " *"):
		return "is a pattern"
	case strings.HasPrefix(name, "/"):
		return "begins with a slash"
	case strings.Contains(name, `\\`) || strings.HasSuffix(name, `\`):
		return "has a backslash that escapes something"
	}
	return ""
}

// An OptionsWarning reports an option that is valid but probably a mistake.
type OptionsWarning struct {
	// Option is the field of [Options], with its group, such as Model or Session.Resume.
	Option string
	// Reason describes the effect that the option does not have.
	Reason string
}

func (w OptionsWarning) String() string { return "option " + w.Option + ": " + w.Reason }

// Warnings reports combinations of options that are valid but probably a mistake: a CanUseTool that
// is not asked about some tools, or about any, because something else decides first. The same is
// logged when an agent starts. Nil options have none.
func (o *Options) Warnings() []OptionsWarning {
	if o == nil || o.CanUseTool == nil {
		return nil
	}
	var list []OptionsWarning
	add := func(reason string) { list = append(list, OptionsWarning{Option: "CanUseTool", Reason: reason}) }
	if reason := modeWarnings[o.PermissionMode]; reason != "" {
		add(reason + ": PermissionMode is " + string(o.PermissionMode))
	}
	if o.PermissionPrompts == PermissionPromptsNone {
		add("is not asked: PermissionPrompts is " + string(o.PermissionPrompts))
	}
	if names := wholeTools(allowedTools(o)); len(names) > 0 {
		add("is not asked about tools that are always allowed: " + strings.Join(names, ", "))
	}
	return list
}

// modeWarnings describes the tools that a CanUseTool is not asked about, by mode.
var modeWarnings = map[PermissionMode]string{
	PermissionModeBypassPermissions: "is not asked",
	PermissionModeDontAsk:           "is not asked: tools that it could allow are denied",
	PermissionModeAcceptEdits:       "is not asked about edits and simple file commands in the working directories",
	PermissionModeAuto:              "is not asked about tools that the agent's classifier decides about",
}

// wholeTools returns the tools that rules allow whatever their input is, each once.
func wholeTools(rules []string) []string {
	var names []string
	for _, rule := range rules {
		name, input, _ := strings.Cut(rule, "(")
		if (input == "" || input == ")" || input == "*)") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// extraArg is a flag with or without a value, in one argument.
var extraArg = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^--([A-Za-z][A-Za-z0-9-]*)(=.*)?$`)
})

// ownedFlags are flags that Clew does not use, with the field of Options that does the same in
// another way. Those without a field would end the session before it starts.
var ownedFlags = map[string]string{
	"print":   "",
	"help":    "",
	"version": "",

	"agents":                                 "Agents",
	"allowed-tools":                          "AllowedTools",
	"append-system-prompt":                   "SystemPrompt",
	"append-system-prompt-file":              "SystemPrompt",
	"dangerously-skip-permissions":           "PermissionMode",
	"disallowed-tools":                       "DisallowedTools",
	"exclude-dynamic-system-prompt-sections": "SystemPrompt",
	"forward-subagent-text":                  "ForwardSubagentText",
	"json-schema":                            "OutputSchema",
	"prompt-suggestions":                     "PromptSuggestions",
	"system-prompt":                          "SystemPrompt",
	"system-prompt-file":                     "SystemPrompt",
	"system-prompt-snapshot":                 "SystemPrompt",
}

// checkExtraArgs refuses arguments that are not a flag, and flags that Clew sets itself.
func checkExtraArgs(args []string) error {
	if len(args) == 0 {
		return nil
	}
	owners := map[string]string{}
	for _, f := range agentFlags(&Options{}) {
		owners[f.name] = f.option
	}
	for name, option := range ownedFlags {
		owners[name] = option
	}
	for _, arg := range args {
		match := extraArg().FindStringSubmatch(arg)
		if match == nil {
			name, _, _ := strings.Cut(arg, "=")
			return badOption("ExtraArgs", "%q is neither --flag nor --flag=value", redact.Mask(name))
		}
		option, owned := owners[match[1]]
		switch {
		case owned && option == "":
			return badOption("ExtraArgs", "--%s is reserved for Clew", match[1])
		case owned:
			return badOption("ExtraArgs", "--%s is the option %s", match[1], option)
		}
	}
	return nil
}
