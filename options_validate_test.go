package clew

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

		{"resume and continue", Options{Resume: "a", Continue: true}, "Continue", "Resume"},
		{"fork of nothing", Options{ForkSession: true}, "ForkSession", "needs"},
		{"session ID", Options{SessionID: id}, "", ""},
		{"bad session ID", Options{SessionID: "../../x"}, "SessionID", "not a UUID"},
		{"session ID and resume", Options{SessionID: id, Resume: "a"}, "SessionID", "ForkSession"},
		{"session ID and continue", Options{SessionID: id, Continue: true}, "SessionID", "ForkSession"},
		{"session ID and fork", Options{SessionID: id, Resume: "a", ForkSession: true}, "", ""},
		{"resume at without resume", Options{ResumeAt: "m", Continue: true}, "ResumeAt", "needs Resume"},
		{"resume drops turn without resume at", Options{Resume: "a", ResumeDropsTurn: new("")}, "ResumeDropsTurn",
			"needs ResumeAt"},
		{"resume drops turn", Options{Resume: "a", ResumeAt: "m", ResumeDropsTurn: new("")}, "", ""},

		{"reconnect", Options{Reconnect: &ReconnectOptions{MaxBackoff: time.Second}}, "", ""},
		{"reconnect to nothing", Options{Reconnect: &ReconnectOptions{}, Ephemeral: true}, "Reconnect", "Ephemeral"},
		{"negative attempts", Options{Reconnect: &ReconnectOptions{MaxAttempts: -1}}, "Reconnect", "MaxAttempts is negative"},
		{"negative pause", Options{Reconnect: &ReconnectOptions{MinBackoff: -1}}, "Reconnect", "MinBackoff is negative"},
		{"negative limit", Options{Reconnect: &ReconnectOptions{MaxBackoff: -1}}, "Reconnect", "MaxBackoff is negative"},
		{"pauses upside down", Options{Reconnect: &ReconnectOptions{MinBackoff: 2, MaxBackoff: 1}}, "Reconnect",
			"shorter than MinBackoff"},

		{"negative turns", Options{MaxTurns: -1}, "MaxTurns", "negative"},
		{"negative budget", Options{MaxBudgetUSD: -0.1}, "MaxBudgetUSD", "negative"},
		{"budget that is no number", Options{MaxBudgetUSD: math.NaN()}, "MaxBudgetUSD", "not a number"},
		{"infinite budget", Options{MaxBudgetUSD: math.Inf(1)}, "MaxBudgetUSD", "not a number"},
		{"shared budget of nothing", Options{Budget: new(Budget)}, "Budget", "not positive"},
		{"negative shared budget", Options{Budget: &Budget{LimitUSD: -1}}, "Budget", "not positive"},
		{"shared budget that is no number", Options{Budget: &Budget{LimitUSD: math.NaN()}}, "Budget", "not a number"},
		{"negative task budget", Options{TaskBudget: -1}, "TaskBudget", "negative"},
		{"negative compaction", Options{AutoCompactTokens: -1}, "AutoCompactTokens", "negative"},
		{"negative time-out", Options{CloseTimeout: -time.Second}, "CloseTimeout", "negative"},
		{"negative idle time", Options{IdleTimeout: -1}, "IdleTimeout", "negative"},
		{"negative start time", Options{InitializeTimeout: -1}, "InitializeTimeout", "negative"},
		{"negative frame", Options{MaxFrameBytes: -1}, "MaxFrameBytes", "negative"},
		{"negative backlog", Options{MaxBacklogBytes: -1}, "MaxBacklogBytes", "negative"},
		{"idle callback without time", Options{OnIdle: func(time.Duration) {}}, "OnIdle", "IdleTimeout"},

		{"fallback to the same", Options{Model: "opus", FallbackModels: []string{"sonnet", "opus"}}, "FallbackModels",
			"opus"},
		{"fallback in one text", Options{FallbackModels: []string{"a,b"}}, "FallbackModels", "comma"},
		{"empty beta", Options{Betas: []string{""}}, "Betas", "empty"},
		{"empty folder", Options{AddDirs: []string{"a", ""}}, "AddDirs", "empty"},
		{"folder with comma", Options{AddDirs: []string{"a,b"}}, "", ""},
		{"bad source", Options{SettingSources: []SettingSource{"user,local"}}, "SettingSources", "comma"},
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

		{"settings twice", Options{SettingsFile: "f", Settings: "{}"}, "SettingsFile", "Settings"},
		{"sandbox and file", Options{SettingsFile: "f", Sandbox: &SandboxSettings{}}, "Sandbox", "SettingsFile"},
		{"sandbox and settings", Options{Settings: `{"model":"a"}`, Sandbox: &SandboxSettings{}}, "", ""},
		{"sandbox twice", Options{Settings: `{"sandbox":{}}`, Sandbox: &SandboxSettings{}}, "Sandbox", "already"},
		{"settings that are a path", Options{Settings: "/etc/settings.json"}, "Settings", "not a JSON object"},
		{"managed settings that are a list", Options{ManagedSettings: "[]"}, "ManagedSettings", "not a JSON object"},

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
			"Resume":          {Resume: value},
			"ResumeAt":        {Resume: "a", ResumeAt: value},
			"ResumeDropsTurn": {Resume: "a", ResumeAt: "b", ResumeDropsTurn: &value},
		}
		for option, o := range tests {
			wantBadOption(t, validateFor(&o, "windows"), option, "on Windows")
			wantBadOption(t, validateFor(&o, "linux"), "", "")
		}
	}
}
