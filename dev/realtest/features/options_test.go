package features_test

import (
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/sandbox"
	"github.com/clewdev/clew/wire"
)

// An optionsRun is a run of Claude Code with options, and its dialogue.
type optionsRun struct {
	*talk
	init *wire.InitMessage
	// record is the dialogue, frame by frame.
	record string
}

// runWith gives the agent the prompt "Go". No request of the host is refused.
func runWith(t *testing.T, model *clewtest.Model, opts *clew.Options) *optionsRun {
	t.Helper()
	var record strings.Builder
	opts.Debug.Record = &record
	r := &optionsRun{talk: query(t, model, "Go", opts), record: record.String()}
	r.init = only(t, of[*wire.InitMessage](r.talk))
	for line := range strings.Lines(r.record) {
		if strings.Contains(line, `"type":"control_response"`) && strings.Contains(line, `"subtype":"error"`) {
			t.Errorf("an error answer: %s", line)
		}
	}
	return r
}

// request returns the control request that the host has sent, without its subtype.
func (r *optionsRun) request(t *testing.T, subtype string) map[string]any {
	t.Helper()
	for line := range strings.Lines(r.record) {
		frame, ok := strings.CutPrefix(line, "> ")
		if ok && strings.Contains(frame, `"subtype":"`+subtype+`"`) {
			request := decoded[struct{ Request map[string]any }](t, frame).Request
			delete(request, "subtype")
			return request
		}
	}
	t.Fatalf("no request %s in\n%s", subtype, r.record)
	return nil
}

func TestRealOptionsAllAtOnce(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	config, debug := filepath.Join(other, "mcp.json"), filepath.Join(other, "debug.log")
	writeFiles(t, other, map[string]string{"mcp.json": `{"mcpServers":{}}`})
	const id = "11111111-2222-4333-8444-555555555555"
	r := runWith(t, model, &clew.Options{
		Dir:                             dir,
		Session:                         clew.SessionOptions{ID: id, Ephemeral: true, Title: "A title"},
		EnableFileCheckpointing:         true,
		AddDirs:                         []string{other},
		Model:                           "haiku",
		FallbackModels:                  []string{"sonnet", "opus"},
		Betas:                           []string{"context-1m-2025-08-07"},
		Thinking:                        &clew.ThinkingConfig{Mode: clew.ThinkingAdaptive, Display: clew.ThinkingSummarized},
		Effort:                          clew.EffortLow,
		Limits:                          clew.Limits{MaxTurns: 3, MaxBudgetUSD: 0.5, TaskBudget: 50000, AutoCompactTokens: 200000},
		SystemPrompt:                    &clew.SystemPrompt{Append: "Appended.", ExcludeDynamicSections: true, Fresh: true},
		Tools:                           []string{"Bash", "Read", "Skill"},
		AllowedTools:                    []string{"Bash(git log:*,x)", "mcp__a__b"},
		DisallowedTools:                 []string{"WebFetch"},
		ToolAliases:                     map[string]string{"Bash": "mcp__a__b"},
		PermissionMode:                  clew.PermissionModeAcceptEdits,
		AllowDangerouslySkipPermissions: true,
		CanUseTool:                      allows,
		PermissionPrompts:               clew.PermissionPromptsHost,
		QuestionPreview:                 clew.PreviewHTML,
		PlanModeInstructions:            "Plan.",
		Sandbox:                         &sandbox.Settings{ExcludedCommands: []string{"git"}},
		Agent:                           "reviewer",
		Agents:                          realAgents(),
		MCPConfigFiles:                  []string{config},
		StrictMCPConfig:                 true,
		Plugins:                         []clew.PluginConfig{{Path: other}, {Path: dir, SkipMCPDiscovery: true}},
		Skills:                          []string{"debug"},
		PerTaskStop:                     true,
		IncludePartialMessages:          true,
		IncludeHookEvents:               true,
		ForwardSubagentText:             true,
		PromptSuggestions:               true,
		AgentProgressSummaries:          true,
		ReplayUserMessages:              true,
		Settings:                        clew.SettingsOptions{JSON: `{"outputStyle": "Explanatory"}`, Managed: `{"permissions":{"deny":["Write"]}}`, Sources: []clew.SettingSource{}, ProjectConfigRoot: dir},
		Debug:                           clew.DebugOptions{Categories: []string{"hooks"}, File: debug},
	})
	if r.result.Result != "Done." {
		t.Errorf("result %s", r.result.Raw())
	}
	if r.init.SessionID != id || r.init.CWD != dir || !strings.Contains(r.init.Model, "haiku") ||
		r.init.PermissionMode != clew.PermissionModeAcceptEdits || r.init.OutputStyle != "Explanatory" {
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
	if title := r.request(t, "initialize")["title"]; title != "A title" {
		t.Errorf("title %v", title)
	}
	if _, err := os.Stat(debug); err != nil {
		t.Error(err)
	}
}

// realAgents are two agents with all fields that an agent can have.
func realAgents() map[string]clew.AgentDefinition {
	return map[string]clew.AgentDefinition{
		"reviewer": {
			Description:            "Reviews",
			Prompt:                 "Review.",
			Tools:                  []string{"Bash", "Read", "Skill"},
			DisallowedTools:        []string{"Write"},
			Skills:                 []string{"debug"},
			MCPServers:             []string{"elsewhere"},
			Model:                  "inherit",
			Effort:                 "50",
			PermissionMode:         clew.PermissionModeAcceptEdits,
			MaxTurns:               2,
			OmitClaudeMD:           true,
			Memory:                 clew.SettingSourceProject,
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
			OwnMCPServers:     map[string]clew.MCPServer{"own": &clew.MCPHTTPServer{URL: "http://127.0.0.1:1/"}},
		},
	}
}

func TestRealOptionsSchema(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Go").Reply(clewtest.ToolUse("StructuredOutput", map[string]int{"answer": 42}))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	r := runWith(t, model, &clew.Options{
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
		prompt    *clew.SystemPrompt
		want, not []string
	}{
		{"nil", nil, []string{own}, nil},
		{"custom", &clew.SystemPrompt{Custom: []string{"First.", "Second."}},
			[]string{"First.\n\nSecond."}, []string{own}},
		{"custom and more", &clew.SystemPrompt{Custom: []string{"First."}, Append: "At the end."},
			[]string{"First.", "At the end."}, []string{own}},
		{"none", &clew.SystemPrompt{Custom: []string{}}, nil, []string{own}},
		{"more", &clew.SystemPrompt{Append: "At the end.", ExcludeDynamicSections: true},
			[]string{own, "At the end."}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t).Reply("Done.")
			runWith(t, model, &clew.Options{SystemPrompt: tt.prompt})
			system := only(t, model.Requests()).System.Text()
			for _, words := range tt.want {
				wantText(t, "the system prompt", system, words)
			}
			for _, words := range tt.not {
				if strings.Contains(system, words) {
					t.Errorf("%q in %s", words, system)
				}
			}
		})
	}
}

// A host that is a tool of an agent starts another agent as if it were not: the inner agent
// inherits nothing that the outer agent gives its tools.
func TestRealOptionsInsideAnAgent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no env command")
	}
	outer, env := runForVariables(t)
	for name, value := range env {
		t.Setenv(name, value)
	}
	for _, name := range []string{"BUN_OPTIONS", "NODE_OPTIONS"} {
		t.Setenv(name, "--inspect") // with that, the agent would not start
	}
	inner, _ := runForVariables(t)
	if diff := cmp.Diff(namesOf(outer), namesOf(inner)); diff != "" {
		t.Errorf("variables of the agent (-outside +inside):\n%s", diff)
	}
}

// runForVariables runs an agent with the variables of this process, and returns the variables that
// it got by option, and the variables that it gave a tool.
func runForVariables(t *testing.T) (given, passedOn map[string]string) {
	t.Helper()
	model := clewtest.NewModel(t)
	model.On("Go").Reply(bash("env"))
	model.OnToolResult("CLAUDECODE=").Reply(clewtest.Text("Done."))
	opts := over(t, model, &clew.Options{PermissionMode: clew.PermissionModeBypassPermissions})
	opts.InheritEnv = nil
	opts.Transport = &clew.ProcessTransport{Wrap: func(launch *clew.Launch) error {
		given = agentVariables(slices.Values(launch.Env))
		return nil
	}}
	k := succeed(t, clew.Query(t.Context(), "Go", opts))
	userAgent := regexp.MustCompile(`\(external, sdk-cli, agent-sdk/[^)]+\)$`)
	if got := newest(model).Header.Get("User-Agent"); k.result.Result != "Done." || !userAgent.MatchString(got) {
		t.Fatalf("User-Agent %q, result %s", got, k.result.Raw())
	}
	return given, agentVariables(strings.Lines(only(t, k.toolResults()).Text()))
}

// agentVariables returns the variables that are about agents.
func agentVariables(entries iter.Seq[string]) map[string]string {
	variables := map[string]string{}
	for entry := range entries {
		name, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if strings.HasPrefix(name, "CLAUDE") || strings.HasPrefix(name, "AI_") || strings.HasSuffix(name, "_OPTIONS") {
			variables[name] = value
		}
	}
	return variables
}

func namesOf(variables map[string]string) []string { return slices.Sorted(maps.Keys(variables)) }
