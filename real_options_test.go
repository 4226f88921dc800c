package clew

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

func TestRealOptionsAllAtOnce(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	config := filepath.Join(other, "mcp.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const id = "11111111-2222-4333-8444-555555555555"
	r := runWithOptions(t, model, &Options{
		Dir:                             dir,
		SessionID:                       id,
		Ephemeral:                       true,
		EnableFileCheckpointing:         true,
		Title:                           "A title",
		AddDirs:                         []string{other},
		ProjectConfigRoot:               dir,
		Model:                           "haiku",
		FallbackModels:                  []string{"sonnet", "opus"},
		Betas:                           []string{"context-1m-2025-08-07"},
		Thinking:                        &ThinkingConfig{Mode: ThinkingAdaptive, Display: ThinkingSummarized},
		Effort:                          EffortLow,
		MaxTurns:                        3,
		MaxBudgetUSD:                    0.5,
		TaskBudget:                      50000,
		AutoCompactTokens:               200000,
		SystemPrompt:                    &SystemPrompt{Append: "Appended.", ExcludeDynamicSections: true, Fresh: true},
		Tools:                           []string{"Bash", "Read", "Skill"},
		AllowedTools:                    []string{"Bash(git log:*,x)", "mcp__a__b"},
		DisallowedTools:                 []string{"WebFetch"},
		ToolAliases:                     map[string]string{"Bash": "mcp__a__b"},
		PermissionMode:                  PermissionModeAcceptEdits,
		AllowDangerouslySkipPermissions: true,
		CanUseTool:                      nopCanUseTool,
		PermissionPrompts:               PermissionPromptsHost,
		QuestionPreview:                 PreviewHTML,
		PlanModeInstructions:            "Plan.",
		Sandbox:                         &SandboxSettings{ExcludedCommands: []string{"git"}},
		Agent:                           "reviewer",
		Agents:                          realAgents(),
		MCPConfigFiles:                  []string{config},
		StrictMCPConfig:                 true,
		Plugins:                         []PluginConfig{{Path: other}, {Path: dir, SkipMCPDiscovery: true}},
		Skills:                          []string{"debug"},
		PerTaskStop:                     true,
		IncludePartialMessages:          true,
		IncludeHookEvents:               true,
		ForwardSubagentText:             true,
		PromptSuggestions:               true,
		AgentProgressSummaries:          true,
		ReplayUserMessages:              true,
		Settings:                        `{"outputStyle": "Explanatory"}`,
		ManagedSettings:                 `{"permissions":{"deny":["Write"]}}`,
		SettingSources:                  []SettingSource{},
		DebugCategories:                 []string{"hooks"},
		DebugFile:                       filepath.Join(other, "debug.log"),
	})
	if r.result.Result != "Done." {
		t.Errorf("result %s", r.result.Raw())
	}
	if r.init.SessionID != id || r.init.CWD != dir || !strings.Contains(r.init.Model, "haiku") ||
		r.init.PermissionMode != PermissionModeAcceptEdits || r.init.OutputStyle != "Explanatory" {
		t.Errorf("init %s", r.init.Raw())
	}
	if !slices.Contains(r.init.Tools, "Bash") || slices.Contains(r.init.Tools, "Write") ||
		slices.Contains(r.init.Tools, "WebFetch") {
		t.Errorf("tools %q", r.init.Tools)
	}
	if diff := cmp.Diff([]string{other}, r.init.AdditionalDirectories); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if !slices.Contains(r.init.Agents, "helper") {
		t.Errorf("agents %q", r.init.Agents)
	}
	if _, err := os.Stat(r.o.DebugFile); err != nil {
		t.Error(err)
	}
}

// realAgents are two agents with all fields that an agent can have.
func realAgents() map[string]AgentDefinition {
	return map[string]AgentDefinition{
		"reviewer": {
			Description:            "Reviews",
			Prompt:                 "Review.",
			Tools:                  []string{"Bash", "Read", "Skill"},
			DisallowedTools:        []string{"Write"},
			Skills:                 []string{"debug"},
			MCPServers:             []string{"elsewhere"},
			Model:                  "inherit",
			Effort:                 "50",
			PermissionMode:         PermissionModeAcceptEdits,
			MaxTurns:               2,
			OmitClaudeMD:           true,
			Memory:                 SettingSourceProject,
			Observers:              []string{"helper"},
			ObserverMessage:        "Look.",
			CriticalSystemReminder: "Remember.",
		},
		"helper": {
			Description:       "Helps",
			Prompt:            "Help.",
			Background:        true,
			AutoCompactWindow: 200000,
			InitialPrompt:     "Hi.",
			OwnMCPServers:     map[string]MCPServer{"own": &MCPHTTPServer{URL: "http://127.0.0.1:1/"}},
		},
	}
}

func TestRealOptionsModes(t *testing.T) {
	t.Parallel()
	tests := map[string]*Options{
		"nothing":               {},
		"bare":                  {Bare: true, Debug: true},
		"safe":                  {SafeMode: true, DisableSlashCommands: true},
		"restricted":            {Restricted: true, Tools: []string{}},
		"thinking budget":       {Thinking: &ThinkingConfig{BudgetTokens: 2048, Display: ThinkingOmitted}},
		"thinking disabled":     {Thinking: &ThinkingConfig{Mode: ThinkingDisabled}},
		"thinking enabled":      {Thinking: &ThinkingConfig{Mode: ThinkingEnabled}},
		"plugins by initialize": {PluginDelivery: PluginsByInitialize, Plugins: []PluginConfig{{Path: t.TempDir()}}},
		"bypass":                {PermissionMode: PermissionModeBypassPermissions},
		"default mode":          {PermissionMode: PermissionModeDefault, PermissionPrompts: PermissionPromptsNone},
		"a model like a flag":   {Model: "--evil"},
		"all skills":            {Skills: []string{AllSkills}, Continue: true, ForkSession: true},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runWithOptions(t, clewtest.NewModel(t).Reply("Done."), o)
			if r.result.Result != "Done." {
				t.Errorf("result %s", r.result.Raw())
			}
			if o.Model != "" && r.init.Model != o.Model {
				t.Errorf("model %q", r.init.Model)
			}
			if o.PermissionMode != "" && r.init.PermissionMode != o.PermissionMode {
				t.Errorf("mode %q", r.init.PermissionMode)
			}
		})
	}
}

func TestRealOptionsSchema(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Go").Reply(clewtest.ToolUse("StructuredOutput", map[string]int{"answer": 42}))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	r := runWithOptions(t, model, &Options{
		OutputSchema: `{"type":"object","properties":{"answer":{"type":"number"}},"required":["answer"]}`,
	})
	if r.result.StructuredOutput != `{"answer":42}` {
		t.Errorf("result %s", r.result.Raw())
	}
}

func TestRealOptionsSystemPrompt(t *testing.T) {
	t.Parallel()
	const own = "Hooks may intercept tool calls"
	tests := []struct {
		name      string
		prompt    *SystemPrompt
		want, not []string
	}{
		{"nil", nil, []string{own}, nil},
		{"custom", &SystemPrompt{Custom: []string{"First.", "Second."}}, []string{"First.\n\nSecond."}, []string{own}},
		{"custom and more", &SystemPrompt{Custom: []string{"First."}, Append: "At the end."},
			[]string{"First.", "At the end."}, []string{own}},
		{"none", &SystemPrompt{Custom: []string{}}, nil, []string{own}},
		{"more", &SystemPrompt{Append: "At the end.", ExcludeDynamicSections: true}, []string{own, "At the end."}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t).Reply("Done.")
			runWithOptions(t, model, &Options{SystemPrompt: tt.prompt})
			requests := model.Requests()
			if len(requests) != 1 {
				t.Fatalf("%d requests", len(requests))
			}
			system := requests[0].System.Text()
			for _, words := range tt.want {
				if !strings.Contains(system, words) {
					t.Errorf("no %q in %s", words, system)
				}
			}
			for _, words := range tt.not {
				if strings.Contains(system, words) {
					t.Errorf("%q in %s", words, system)
				}
			}
		})
	}
}

func TestRealOptionsMCPServers(t *testing.T) {
	t.Parallel()
	remote := &idleToolServer{tools: []string{"far"}}
	server := httptest.NewServer(remote)
	defer server.Close()
	r := runWithOptions(t, clewtest.NewModel(t).Reply("Done."), &Options{
		StrictMCPConfig: true,
		MCPServers: map[string]MCPServer{
			"remote": &MCPHTTPServer{URL: server.URL, Headers: map[string]string{"Authorization": "Bearer hidden"}},
			"inside": &MCPInProcessServer{Handler: &idleToolServer{tools: []string{"near"}}, Timeout: time.Minute},
			"broken": &MCPStdioServer{Command: filepath.Join(t.TempDir(), "missing")},
		},
	})
	for _, name := range []string{"mcp__remote__far", "mcp__inside__near"} {
		if !slices.Contains(r.init.Tools, name) {
			t.Errorf("no %s in %q", name, r.init.Tools)
		}
	}
	var change struct{ Errors map[string]string }
	answer := r.answers["mcp_set_servers"]
	if err := answer.Decode(&change); err != nil || len(change.Errors) != 1 || change.Errors["broken"] == "" {
		t.Errorf("answer %s, %v", answer, err)
	}
	remote.mu.Lock()
	defer remote.mu.Unlock()
	if diff := cmp.Diff([]string{"Bearer hidden"}, slices.Compact(remote.headers)); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// TestRealOptionsRules checks that the agent takes a list of rules apart as checkRule says.
func TestRealOptionsRules(t *testing.T) {
	t.Parallel()
	rules := []string{"Bash(git log:*,x y)", "Read", "--evil", "mcp__a__*", "Edit(docs/ü.md)"}
	o := &Options{AllowedTools: rules, Skills: []string{"my skill"}}
	r := runWithOptions(t, clewtest.NewModel(t).Reply("Done."), o, "list_permission_rules")
	var answer struct {
		State struct {
			Rules []struct{ Rule, Source string }
		}
	}
	if err := r.answers["list_permission_rules"].Decode(&answer); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rule := range answer.State.Rules {
		if rule.Source == "cliArg" {
			got = append(got, rule.Rule)
		}
	}
	if diff := cmp.Diff(append(rules, "Skill(my skill)"), got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestRealOptionsInsideAnAgent(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	runWithOptions(t, model, &Options{})
	want := fmt.Sprintf("(external, sdk-cli, agent-sdk/%s)", sdkVersion())
	if got := model.Requests()[0].Header.Get("User-Agent"); !strings.HasSuffix(got, want) {
		t.Errorf("User-Agent %q", got)
	}
}

// TestRealOptionsForeignVariables looks for variables of an agent that another one should not inherit from its tools.
func TestRealOptionsForeignVariables(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no env command")
	}
	model := clewtest.NewModel(t)
	model.On("Go").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "env", "description": "Print variables"}))
	model.OnToolResult("CLAUDECODE=").Reply(clewtest.Text("Done."))
	r := runWithOptions(t, model, &Options{PermissionMode: PermissionModeBypassPermissions})
	if r.result.Result != "Done." {
		t.Fatalf("result %s", r.result.Raw())
	}
	var given environment
	for _, entry := range r.o.environ(nil) {
		given.set(entry)
	}
	for line := range strings.Lines(model.Requests()[1].ToolResults()[0].Text()) {
		name := given.name(line)
		own := strings.HasPrefix(name, "CLAUDE") || strings.HasPrefix(name, "AI_")
		if own && given.index(name) < 0 && !slices.Contains(foreignVariables, name) {
			t.Errorf("the agent sets %s", name)
		}
	}
}
