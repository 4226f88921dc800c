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
)

func badOption(option, format string, args ...any) error {
	return &OptionsError{Option: option, Reason: fmt.Sprintf(format, args...)}
}

// validate returns the first thing that is wrong, as an [*OptionsError], before anything is started.
func (o *Options) validate() error { return o.validateFor(runtime.GOOS) }

// validateFor is validate on another system.
func (o *Options) validateFor(goos string) error {
	for _, check := range []func() error{
		o.checkPlace,
		o.checkEnv,
		o.checkSession,
		o.checkReconnect,
		o.checkStore,
		func() error { return o.checkShell(goos) },
		o.checkNumbers,
		o.checkLists,
		o.checkModel,
		o.checkTools,
		o.checkPermissions,
		o.checkAgents,
		o.checkMCPServers,
		o.checkPlugins,
		o.checkHooks,
		o.checkSettings,
		o.checkWatching,
		func() error { _, err := o.args(); return err },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkPlace looks at the working folder. Only a transport knows which folders it has.
func (o *Options) checkPlace() error {
	switch {
	case strings.Contains(o.AgentPath, "\x00"):
		return badOption("AgentPath", "has a NUL character")
	case strings.Contains(o.Dir, "\x00"):
		return badOption("Dir", "has a NUL character")
	case o.Dir == "" || o.Transport != nil:
		return nil
	}
	info, err := os.Stat(o.Dir)
	switch {
	case os.IsNotExist(err):
		return badOption("Dir", "the folder %s does not exist", o.Dir)
	case err != nil:
		return badOption("Dir", "%v", err)
	case !info.IsDir():
		return badOption("Dir", "%s is not a folder", o.Dir)
	}
	return nil
}

// checkEnv says nothing of values: they may be secrets.
func (o *Options) checkEnv() error {
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

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (o *Options) checkSession() error {
	resumes := o.Resume != "" || o.Continue
	switch {
	case o.Resume != "" && o.Continue:
		return badOption("Continue", "not together with Resume")
	case o.ForkSession && !resumes:
		return badOption("ForkSession", "needs Resume or Continue")
	case o.SessionID != "" && !uuidPattern.MatchString(o.SessionID):
		return badOption("SessionID", "%q is not a UUID", o.SessionID)
	case o.SessionID != "" && resumes && !o.ForkSession:
		return badOption("SessionID", "with Resume or Continue it needs ForkSession")
	case o.ResumeAt != "" && o.Resume == "":
		return badOption("ResumeAt", "needs Resume")
	case o.ResumeDropsTurn != nil && o.ResumeAt == "":
		return badOption("ResumeDropsTurn", "needs ResumeAt")
	}
	return nil
}

// checkShell refuses, on Windows, what a command interpreter on the way to the agent could take for its own. These
// values often come from elsewhere.
func (o *Options) checkShell(goos string) error {
	if goos != "windows" {
		return nil
	}
	values := []struct{ option, value string }{{"Resume", o.Resume}, {"ResumeAt", o.ResumeAt}}
	if o.ResumeDropsTurn != nil {
		values = append(values, struct{ option, value string }{"ResumeDropsTurn", *o.ResumeDropsTurn})
	}
	for _, v := range values {
		if i := strings.IndexAny(v.value, "&|<>^%!\"\r\n"); i >= 0 {
			return badOption(v.option, "cannot have %q on Windows", v.value[i])
		}
	}
	return nil
}

func (o *Options) checkNumbers() error {
	numbers := []struct {
		option string
		value  float64
	}{
		{"MaxTurns", float64(o.MaxTurns)},
		{"MaxBudgetUSD", o.MaxBudgetUSD},
		{"TaskBudget", float64(o.TaskBudget)},
		{"AutoCompactTokens", float64(o.AutoCompactTokens)},
		{"StoreTimeout", float64(o.StoreTimeout)},
		{"IdleTimeout", float64(o.IdleTimeout)},
		{"InitializeTimeout", float64(o.InitializeTimeout)},
		{"CloseTimeout", float64(o.CloseTimeout)},
		{"MaxFrameBytes", float64(o.MaxFrameBytes)},
		{"MaxBacklogBytes", float64(o.MaxBacklogBytes)},
	}
	for _, n := range numbers {
		switch {
		case math.IsNaN(n.value) || math.IsInf(n.value, 0):
			return badOption(n.option, "is not a number")
		case n.value < 0:
			return badOption(n.option, "is negative")
		}
	}
	return nil
}

// checkLists looks at lists whose elements the agent tells apart by commas, or that cannot be empty texts.
func (o *Options) checkLists() error {
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
		{"SettingSources", texts(o.SettingSources), true},
		{"DebugCategories", o.DebugCategories, true},
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

func (o *Options) checkModel() error {
	if o.Model != "" && slices.Contains(o.FallbackModels, o.Model) {
		return badOption("FallbackModels", "%q is the Model itself", o.Model)
	}
	if t := o.Thinking; t != nil {
		switch {
		case t.BudgetTokens < 0:
			return badOption("Thinking", "BudgetTokens is negative")
		case t.BudgetTokens > 0 && t.Mode != "" && t.Mode != ThinkingEnabled:
			return badOption("Thinking", "BudgetTokens is for the mode %q, not for %q", ThinkingEnabled, t.Mode)
		case t.Display != "" && t.Mode == ThinkingDisabled:
			return badOption("Thinking", "Display has no use in the mode %q", t.Mode)
		}
	}
	_, err := checkObject("OutputSchema", o.OutputSchema)
	return err
}

func (o *Options) checkPermissions() error {
	switch {
	case o.CanUseTool != nil && o.PermissionPromptTool != "":
		return badOption("PermissionPromptTool", "not together with CanUseTool")
	case o.OnQuestion != nil && o.PermissionPromptTool != "":
		return badOption("PermissionPromptTool", "not together with OnQuestion")
	case len(o.SupportedDialogKinds) > 0 && o.OnUserDialog == nil:
		return badOption("SupportedDialogKinds", "needs OnUserDialog")
	}
	return nil
}

func (o *Options) checkAgents() error {
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

func (o *Options) checkPlugins() error {
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

func (o *Options) checkWatching() error {
	if o.OnIdle != nil && o.IdleTimeout == 0 {
		return badOption("OnIdle", "needs IdleTimeout")
	}
	return nil
}
