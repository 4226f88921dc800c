package clew

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestInitializeRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want string // all but "hooks"
	}{
		{"nothing", Options{}, `{}`},
		{"custom prompt", Options{SystemPrompt: &SystemPrompt{Custom: []string{"a", SystemPromptDynamicBoundary, "b"}}},
			`{"systemPrompt":["a","__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__","b"]}`},
		{"empty prompt", Options{SystemPrompt: &SystemPrompt{Custom: []string{""}}}, `{"systemPrompt":[""]}`},
		{"no prompt", Options{SystemPrompt: &SystemPrompt{Custom: []string{}}}, `{"systemPrompt":[""]}`},
		{"own prompt", Options{SystemPrompt: &SystemPrompt{Append: "a", ExcludeDynamicSections: true, Fresh: true}},
			`{"appendSystemPrompt":"a","systemPromptSnapshot":false,"excludeDynamicSections":true}`},
		{"own prompt as it is", Options{SystemPrompt: &SystemPrompt{}}, `{}`},
		{"schema", Options{OutputSchema: `{"type":"object"}`}, `{"jsonSchema":{"type":"object"}}`},
		{"plan", Options{PlanModeInstructions: "p"}, `{"planModeInstructions":"p"}`},
		{"aliases", Options{ToolAliases: map[string]string{"a": "b"}}, `{"toolAliases":{"a":"b"}}`},
		{"agents", Options{Agents: map[string]AgentDefinition{"a": {Description: "d", Prompt: "p"}}},
			`{"agents":{"a":{"description":"d","prompt":"p"}}}`},
		{"title", Options{Session: SessionOptions{Title: "t"}}, `{"title":"t"}`},
		{"no skills", Options{Skills: []string{}}, `{"skills":[]}`},
		{"skills", Options{Skills: []string{"a", "b"}}, `{"skills":["a","b"]}`},
		{"all skills", Options{Skills: []string{AllSkills}}, `{}`},
		{"suggestions", Options{PromptSuggestions: true}, `{"promptSuggestions":true}`},
		{"summaries", Options{AgentProgressSummaries: true}, `{"agentProgressSummaries":true}`},
		{"text of subagents", Options{ForwardSubagentText: true}, `{"forwardSubagentText":true}`},
		{"dialogs", Options{SupportedDialogKinds: []string{"d"}}, `{"supportedDialogKinds":["d"]}`},
		{"tasks", Options{PerTaskStop: true}, `{"perTaskStopAffordance":true}`},
		{"plugins by flag", Options{Plugins: []PluginConfig{{Path: "a"}}}, `{}`},
		{"plugins",
			Options{Plugins: []PluginConfig{{Path: "a"}, {"b", true}}, PluginDelivery: PluginsByInitialize},
			`{"plugins":[{"type":"local","path":"a"},{"type":"local","path":"b","skipMcpDiscovery":true}]}`},
		{"servers",
			Options{MCPServers: map[string]MCPServer{
				"outside": &MCPStdioServer{Command: "c"},
				"plain":   &MCPInProcessServer{Handler: nopHandler{}},
				"careful": &MCPInProcessServer{
					Handler: nopHandler{},
					Timeout: 1500 * time.Millisecond,
					Tools:   []MCPToolPolicy{{Name: "rm", Permission: MCPAlwaysAsk}},
				},
			}},
			`{"sdkMcpServers":["careful","plain"],"sdkMcpServerConfigs":{"careful":{"timeout":1500,` +
				`"tools":[{"name":"rm","permission_policy":"always_ask"}]}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Replace(string(toJSON(newInitializeBody(&tt.o))), `"hooks":null`, "", 1)
			if diff := cmp.Diff(tt.want, strings.Replace(got, "{,", "{", 1)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInitializeRequestHooks(t *testing.T) {
	t.Parallel()
	plan, err := new(Options).plan()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(toJSON(plan.initializeRequest(nil))); got != `{"hooks":null}` {
		t.Errorf("without hooks: %s", got)
	}
	if got := string(toJSON(plan.initializeRequest(map[string]int{"Stop": 1}))); got != `{"hooks":{"Stop":1}}` {
		t.Errorf("with hooks: %s", got)
	}
}

func TestLongTextsStayOffTheCommandLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300_000)
	o := &Options{
		SystemPrompt: &SystemPrompt{Custom: []string{long}, Append: long}, PlanModeInstructions: long,
		OutputSchema: wire.JSON(`{"description":"` + long + `"}`),
		Agents:       map[string]AgentDefinition{"a": {Description: "d", Prompt: long}},
		MCPServers:   map[string]MCPServer{"s": &MCPStdioServer{Command: "c", Env: map[string]string{"TOKEN": long}}},
	}
	args, err := agentArgs(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fixedArgs, args); diff != "" {
		t.Errorf("arguments (-want +got):\n%.300s", diff)
	}
	request, err := json.Marshal(newInitializeBody(o))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(request), long); n != 5 {
		t.Errorf("%d of 5 texts are in the request", n)
	}
}

func TestAgentDefinitionJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		a    AgentDefinition
		want string
	}{
		{"least", AgentDefinition{Description: "d", Prompt: "p"}, `{"description":"d","prompt":"p"}`},
		{"no tools", AgentDefinition{Tools: []string{}}, `{"description":"","prompt":"","tools":[]}`},
		{"level", AgentDefinition{Effort: EffortHigh}, `{"description":"","prompt":"","effort":"high"}`},
		{"number", AgentDefinition{Effort: "70"}, `{"description":"","prompt":"","effort":70}`},
		{"all", AgentDefinition{
			Description:     "d",
			Prompt:          "p",
			Tools:           []string{"t"},
			DisallowedTools: []string{"x"},
			Skills:          []string{"s"},
			MCPServers:      []string{"m"},
			OwnMCPServers: map[string]MCPServer{
				"b": &MCPHTTPServer{URL: "u"},
				"a": &MCPStdioServer{Command: "c"},
			},
			Model:                  "inherit",
			Effort:                 EffortLow,
			PermissionMode:         PermissionModePlan,
			MaxTurns:               2,
			AutoCompactWindow:      3,
			InitialPrompt:          "i",
			Background:             true,
			OmitClaudeMD:           true,
			Memory:                 SettingSourceProject,
			Observers:              []string{"o", "q"},
			ObserverMessage:        "w",
			CriticalSystemReminder: "r",
		}, `{
			"description": "d", "prompt": "p", "tools": ["t"], "disallowedTools": ["x"], "skills": ["s"], "model": "inherit",
			"permissionMode": "plan", "maxTurns": 2, "autoCompactWindow": 3, "initialPrompt": "i", "background": true,
			"omitClaudeMd": true, "memory": "project", "observerMessage": "w", "criticalSystemReminder_EXPERIMENTAL": "r",
			"mcpServers": ["m", {"a": {"type": "stdio", "command": "c", "args": []}}, {"b": {"type": "http", "url": "u"}}],
			"effort": "low", "observer": "o,q"
		}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tt.a)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(compactJSON(t, tt.want), string(got)); diff != "" {
				t.Errorf("definition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServerInfo(t *testing.T) {
	t.Parallel()
	answer := recordedAnswer(t, "initialize")
	want := &ServerInfo{
		Version: "2.1.325", PID: 4242, Capabilities: []string{"ui_surface_v1", "mcp_call_result_not_for_model_v1"},
		Account: AccountInfo{
			TokenSource: "none", APIKeySource: wire.APIKeySourceEnvironment, APIProvider: "firstParty",
		},
		Commands: []wire.SlashCommand{
			{Name: "hello", Description: "says hello (project)"},
			{
				Name: "clear", ArgumentHint: "[name]", Aliases: []string{"reset", "new"}, Builtin: true,
				Description: "Start a new session with empty context; " +
					"previous session stays on disk (resumable with /resume)",
			},
		},
		Agents: []AgentInfo{
			{Name: "helper", Description: "helps"},
			{
				Name: "statusline-setup", Model: "sonnet",
				Description: "Use this agent to configure the user's Claude Code status line setting.",
			},
		},
		Models:                []ModelInfo{recordedModel()},
		OutputStyle:           "default",
		AvailableOutputStyles: []string{"default", "Proactive", "Concise", "Explanatory", "Learning"},
		UserOutputStylesDir:   "/home/dev/.claude/output-styles",
		CurrentPermissionMode: wire.PermissionModeDefault,
		SessionState:          wire.SessionStateIdle,
		FastModeState:         wire.FastModeStateOff, FastModeDisabledReason: wire.FastModeDisabledSDKOptInRequired,
		HookOnFailureSupported: true, OtherHookAskOutranksHost: true, AnalyticsDisabled: true,
		FeedbackMode: `{"kind":"disabled"}`, RemoteControlAvailable: new(false),
	}
	checkAnswer(t, answer, want)

	info := new(ServerInfo)
	if err := json.Unmarshal([]byte(answer), info); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire.JSON(answer), info.Raw()); diff != "" {
		t.Errorf("raw (-want +got):\n%s", diff)
	}
	if !info.Supports("ui_surface_v1") || info.Supports("ui_surface") {
		t.Errorf("capabilities %q", info.Capabilities)
	}
}

// Some fields are set only after the request asks for something.
func TestServerInfoOutcomes(t *testing.T) {
	t.Parallel()
	checkAnswer(t, `{"hooks_applied":true,"plugins_applied":false,"managed_settings_applied":true,`+
		`"workspace_trust_recorded":false,"sdk_mcp_manifests_parked":{"greeter":"parked"},`+
		`"code_running_mcp_tools_applied":{"greeter":["run"]},"current_model":"opus","host_worded_asks":true,`+
		`"mcp_servers_applied":true,"hooks_when_unanswered_kept":2,`+
		`"auth_conflict":{"token_source":"ANTHROPIC_AUTH_TOKEN","api_key_source":"apiKeyHelper"},`+
		`"unavailable_models":[{"value":"old","disabled":true}],"session_state":"newer"}`,
		&ServerInfo{
			HooksApplied: new(true), PluginsApplied: new(false), ManagedSettingsApplied: new(true),
			WorkspaceTrustRecorded: new(false), SDKMCPManifestsParked: map[string]string{"greeter": "parked"},
			CodeRunningMCPToolsApplied: map[string][]string{"greeter": {"run"}}, CurrentModel: "opus",
			HostWordedAsks: true, MCPServersApplied: new(true), HooksWhenUnansweredKept: 2,
			AuthConflict: &struct {
				TokenSource  string `json:"token_source"`
				APIKeySource string `json:"api_key_source"`
			}{"ANTHROPIC_AUTH_TOKEN", "apiKeyHelper"},
			UnavailableModels: []ModelInfo{{Value: "old", Disabled: true}}, SessionState: "newer",
		})
}
