package clew

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/sandbox"
)

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	const id = "11111111-2222-4333-8444-555555555555"
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	withAgent := func(a AgentDefinition) Options { return Options{Agents: map[string]AgentDefinition{"a": a}} }
	withServer := func(s MCPServer) Options { return Options{MCPServers: map[string]MCPServer{"s": s}} }
	tests := []struct {
		name   string
		o      Options
		option string // "" means that nothing is wrong
		reason string // a part of it
	}{
		{"nothing", Options{}, "", ""},

		{"folder", Options{Dir: dir}, "", ""},
		{"missing folder", Options{Dir: filepath.Join(dir, "missing")}, "Dir", filepath.Join(dir, "missing") +
			" does not exist"},
		{"file for a folder", Options{Dir: file}, "Dir", "not a directory"},
		{"folder of a transport", Options{Dir: "/no/such/folder", Transport: nopTransport{}}, "", ""},
		{"folder with NUL", Options{Dir: "a\x00"}, "Dir", "NUL"},
		{"binary with NUL", Options{AgentPath: "a\x00"}, "AgentPath", "NUL"},
		{"variables", Options{Env: []string{"A=", "A=b=c"}, InheritEnv: []string{"PATH"}}, "", ""},
		{"variable without value", Options{Env: []string{"A=b", "SECRET"}}, "Env", "entry 1 is not KEY=VALUE"},
		{"variable without name", Options{Env: []string{"=b"}}, "Env", "entry 0"},
		{"variable with NUL", Options{Env: []string{"A=b\x00"}}, "Env", `"A" has a NUL`},
		{"inherited variable with value", Options{InheritEnv: []string{"A=b"}}, "InheritEnv", "not the name"},

		{"resume and continue", Options{Session: SessionOptions{Resume: "a", Continue: true}}, "Session.Continue", "Session.Resume"},
		{"fork of nothing", Options{Session: SessionOptions{Fork: true}}, "Session.Fork", "needs"},
		{"session ID", Options{Session: SessionOptions{ID: id}}, "", ""},
		{"bad session ID", Options{Session: SessionOptions{ID: "../../x"}}, "Session.ID", "not a UUID"},
		{"session ID and resume", Options{Session: SessionOptions{ID: id, Resume: "a"}}, "Session.ID", "Session.Fork"},
		{"session ID and continue", Options{Session: SessionOptions{ID: id, Continue: true}}, "Session.ID", "Session.Fork"},
		{"session ID and fork", Options{Session: SessionOptions{ID: id, Resume: "a", Fork: true}}, "", ""},
		{"resume at without resume", Options{Session: SessionOptions{ResumeAt: "m", Continue: true}}, "Session.ResumeAt", "needs Session.Resume"},
		{"resume drops turn without resume at", Options{Session: SessionOptions{Resume: "a", ResumeDropsTurn: new("")}}, "Session.ResumeDropsTurn",
			"needs Session.ResumeAt"},
		{"resume drops turn", Options{Session: SessionOptions{Resume: "a", ResumeAt: "m", ResumeDropsTurn: new("")}}, "", ""},

		{"reconnect", Options{Reconnect: &ReconnectOptions{MaxBackoff: time.Second}}, "", ""},
		{"reconnect to nothing", Options{Reconnect: &ReconnectOptions{}, Session: SessionOptions{Ephemeral: true}}, "Reconnect", "Session.Ephemeral"},
		{"negative attempts", Options{Reconnect: &ReconnectOptions{MaxAttempts: -1}}, "Reconnect", "MaxAttempts is negative"},
		{"negative pause", Options{Reconnect: &ReconnectOptions{MinBackoff: -1}}, "Reconnect", "MinBackoff is negative"},
		{"negative limit", Options{Reconnect: &ReconnectOptions{MaxBackoff: -1}}, "Reconnect", "MaxBackoff is negative"},
		{"pauses upside down", Options{Reconnect: &ReconnectOptions{MinBackoff: 2, MaxBackoff: 1}}, "Reconnect",
			"shorter than MinBackoff"},

		{"negative turns", Options{Limits: Limits{MaxTurns: -1}}, "Limits.MaxTurns", "negative"},
		{"negative budget", Options{Limits: Limits{MaxBudgetUSD: -0.1}}, "Limits.MaxBudgetUSD", "negative"},
		{"budget that is no number", Options{Limits: Limits{MaxBudgetUSD: math.NaN()}}, "Limits.MaxBudgetUSD", "not a number"},
		{"infinite budget", Options{Limits: Limits{MaxBudgetUSD: math.Inf(1)}}, "Limits.MaxBudgetUSD", "not a number"},
		{"shared budget of nothing", Options{Limits: Limits{Budget: new(Budget)}}, "Limits.Budget", "not positive"},
		{"negative shared budget", Options{Limits: Limits{Budget: &Budget{LimitUSD: -1}}}, "Limits.Budget", "not positive"},
		{"shared budget that is no number", Options{Limits: Limits{Budget: &Budget{LimitUSD: math.NaN()}}}, "Limits.Budget", "not a number"},
		{"negative task budget", Options{Limits: Limits{TaskBudget: -1}}, "Limits.TaskBudget", "negative"},
		{"negative compaction", Options{Limits: Limits{AutoCompactTokens: -1}}, "Limits.AutoCompactTokens", "negative"},
		{"negative time-out", Options{Limits: Limits{CloseTimeout: -time.Second}}, "Limits.CloseTimeout", "negative"},
		{"negative idle time", Options{Limits: Limits{IdleTimeout: -1}}, "Limits.IdleTimeout", "negative"},
		{"negative start time", Options{Limits: Limits{InitializeTimeout: -1}}, "Limits.InitializeTimeout", "negative"},
		{"negative frame", Options{Limits: Limits{MaxFrameBytes: -1}}, "Limits.MaxFrameBytes", "negative"},
		{"negative backlog", Options{Limits: Limits{MaxBacklogBytes: -1}}, "Limits.MaxBacklogBytes", "negative"},
		{"idle callback without time", Options{Limits: Limits{OnIdle: func(time.Duration) {}}}, "Limits.OnIdle", "Limits.IdleTimeout"},

		{"fallback to the same", Options{Model: "opus", FallbackModels: []string{"sonnet", "opus"}}, "FallbackModels",
			"opus"},
		{"fallback in one text", Options{FallbackModels: []string{"a,b"}}, "FallbackModels", "comma"},
		{"empty beta", Options{Betas: []string{""}}, "Betas", "empty"},
		{"empty folder", Options{AddDirs: []string{"a", ""}}, "AddDirs", "empty"},
		{"folder with comma", Options{AddDirs: []string{"a,b"}}, "", ""},
		{"bad source", Options{Settings: SettingsOptions{Sources: []SettingSource{"user,local"}}}, "Settings.Sources", "comma"},
		{"negative thinking", Options{Thinking: &ThinkingConfig{BudgetTokens: -1}}, "Thinking", "negative"},
		{"budget without thinking", Options{Thinking: &ThinkingConfig{Mode: ThinkingDisabled, BudgetTokens: 1}},
			"Thinking", "disabled"},
		{"adaptive budget", Options{Thinking: &ThinkingConfig{Mode: ThinkingAdaptive, BudgetTokens: 1}}, "Thinking",
			"adaptive"},
		{"display without thinking", Options{Thinking: &ThinkingConfig{Mode: ThinkingDisabled,
			Display: ThinkingOmitted}}, "Thinking", "Display"},
		{"schema", Options{OutputSchema: `{"type":"object"}`}, "", ""},
		{"schema that is no object", Options{OutputSchema: `[1]`}, "OutputSchema", "not a JSON object"},
		{"schema that is null", Options{OutputSchema: `null`}, "OutputSchema", "not a JSON object"},
		{"schema that is no JSON", Options{OutputSchema: `{`}, "OutputSchema", "not a JSON object"},

		{"callback and tool", Options{CanUseTool: nopCanUseTool, PermissionPromptTool: "t"}, "PermissionPromptTool",
			"CanUseTool"},
		{"question and tool", Options{OnQuestion: nopQuestion, PermissionPromptTool: "t"}, "PermissionPromptTool",
			"OnQuestion"},
		{"dialogs without callback", Options{SupportedDialogKinds: []string{"a"}}, "SupportedDialogKinds", "OnUserDialog"},
		{"dialogs", Options{SupportedDialogKinds: []string{"a"}, OnUserDialog: nopUserDialog}, "", ""},
		{"rule that is two", Options{AllowedTools: []string{"Read", "Bash,Write"}}, "AllowedTools", "several"},
		{"tool that is two", Options{Tools: []string{"Bash Write"}}, "Tools", "several"},
		{"empty rule", Options{DisallowedTools: []string{""}}, "DisallowedTools", "empty"},
		{"skill that is a rule", Options{Skills: []string{"x),Bash(*"}}, "Skills", "character"},
		{"all skills and one", Options{Skills: []string{AllSkills, "pdf"}}, "Skills", "pattern"},

		{"agent", withAgent(AgentDefinition{Description: "d", Prompt: "p"}), "", ""},
		{"agent without name", Options{Agents: map[string]AgentDefinition{"": {}}}, "Agents", "no name"},
		{"agent without prompt", withAgent(AgentDefinition{Description: "d"}), "Agents", `"a" has no Prompt`},
		{"agent without description", withAgent(AgentDefinition{Prompt: "p"}), "Agents", "no Description"},
		{"agent with negative turns", withAgent(AgentDefinition{Description: "d", Prompt: "p", MaxTurns: -1}), "Agents",
			"negative"},
		{"agent with five observers", withAgent(AgentDefinition{Description: "d", Prompt: "p", Observers: make([]string, 5)}),
			"Agents", "four"},
		{"agent with a server of this process", withAgent(AgentDefinition{Description: "d", Prompt: "p",
			OwnMCPServers: withServer(&MCPInProcessServer{Handler: nopHandler{}}).MCPServers}),
			"Agents", `"s" in this process`},
		{"agent with a bad server", withAgent(AgentDefinition{Description: "d", Prompt: "p",
			OwnMCPServers: withServer(&MCPStdioServer{}).MCPServers}), "Agents", `"s", which has no Command`},

		{"server", withServer(&MCPStdioServer{Command: "c", Timeout: time.Second}), "", ""},
		{"server without name", Options{MCPServers: map[string]MCPServer{"": nil}}, "MCPServers", "no name"},
		{"server without command", withServer(&MCPStdioServer{}), "MCPServers", `"s" has no Command`},
		{"server without URL", withServer(&MCPHTTPServer{}), "MCPServers", "no URL"},
		{"server of events without URL", withServer(&MCPSSEServer{}), "MCPServers", "no URL"},
		{"server without handler", withServer(&MCPInProcessServer{}), "MCPServers", "no Handler"},
		{"server that is nil", withServer(nil), "MCPServers", "is nil"},
		{"server that is a nil pointer", withServer((*MCPStdioServer)(nil)), "MCPServers", "is nil"},
		{"server with short time-out", withServer(&MCPHTTPServer{URL: "u", Timeout: time.Millisecond}), "MCPServers",
			"less than a second"},
		{"plugin without path", Options{Plugins: []PluginConfig{{Path: "a"}, {}}}, "Plugins", "plugin 1"},
		{"odd delivery", Options{PluginDelivery: "mail"}, "PluginDelivery", "mail"},

		{"settings twice", Options{Settings: SettingsOptions{File: "f", JSON: "{}"}}, "Settings.File", "Settings.JSON"},
		{"sandbox and file", Options{Settings: SettingsOptions{File: "f"}, Sandbox: &sandbox.Settings{}}, "Sandbox", "Settings.File"},
		{"sandbox and settings", Options{Settings: SettingsOptions{JSON: `{"model":"a"}`}, Sandbox: &sandbox.Settings{}}, "", ""},
		{"sandbox twice", Options{Settings: SettingsOptions{JSON: `{"sandbox":{}}`}, Sandbox: &sandbox.Settings{}}, "Sandbox", "already"},
		{"settings that are a path", Options{Settings: SettingsOptions{JSON: "/etc/settings.json"}}, "Settings.JSON", "not a JSON object"},
		{"managed settings that are a list", Options{Settings: SettingsOptions{Managed: "[]"}}, "Settings.Managed", "not a JSON object"},

		{"NUL", Options{Model: "\x00"}, "Model", "NUL"},
		{"flag of a field", Options{ExtraArgs: []string{"--model=x"}}, "ExtraArgs", "Model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantBadOption(t, tt.o.validate(), tt.option, tt.reason)
		})
	}
}

func wantBadOption(t *testing.T, err error, option, reason string) {
	t.Helper()
	var bad *OptionsError
	switch {
	case option == "":
		if err != nil {
			t.Error(err)
		}
	case !errors.As(err, &bad) || bad.Option != option || !strings.Contains(bad.Reason, reason):
		t.Errorf("%v, want the option %s: ...%s", err, option, reason)
	}
}

func TestOptionsValidateForWindows(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"&", "|", "<", ">", "^", "%", "!", `"`, "\r", "\n"} {
		value := "a" + char + "b"
		tests := map[string]Options{
			"Session.Resume":          {Session: SessionOptions{Resume: value}},
			"Session.ResumeAt":        {Session: SessionOptions{Resume: "a", ResumeAt: value}},
			"Session.ResumeDropsTurn": {Session: SessionOptions{Resume: "a", ResumeAt: "b", ResumeDropsTurn: &value}},
		}
		for option, o := range tests {
			wantBadOption(t, validateFor(&o, "windows"), option, "on Windows")
			wantBadOption(t, validateFor(&o, "linux"), "", "")
		}
	}
}
