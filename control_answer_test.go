package clew

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// ignoreRaw leaves out of a comparison what the types of package wire were read from.
var ignoreRaw = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "raw"
}, cmp.Ignore())

// recordedAnswer returns an answer of Claude Code 2.1.325, shortened and with other paths, without white space.
func recordedAnswer(t *testing.T, subtype string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "control", subtype+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	return compact.String()
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	badFile := []SettingsError{{
		File: "/home/dev/project/.claude/settings.local.json", Message: "Invalid or malformed JSON",
	}}
	settings := wire.JSON(`{"permissions":{"allow":["Bash(npm run:*)"],"deny":["Read(./secret)"]},"hooks":` +
		`{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true","timeout":5}]}]}}`)
	failed := MCPServerStatus{
		Name: "bad", State: MCPStateFailed,
		Error:  "ECONNREFUSED: Unable to connect. Is the computer able to access the url?",
		Config: `{"type":"http","url":"http://127.0.0.1:8080/"}`, Transport: "http", Scope: "dynamic", Source: "dynamic",
	}
	preToolUse := HookEventInfo{Name: "PreToolUse", Summary: "Before tool execution", SupportsMatcher: true}
	hooked := preToolUse
	hooked.HookCount = 1
	tests := []struct {
		subtype string
		want    any
	}{
		{"get_settings", &SettingsReport{
			Effective: settings, Sources: []LayerSettings{{SettingsLayerProject, settings}}, Errors: badFile,
			Applied: &AppliedSettings{Model: "claude-opus-5-5", Effort: wire.EffortMedium, UltracodeAvailable: true},
		}},
		{"get_hooks_listing", &HooksReport{
			Hooks: []HookInfo{{
				Event: "PreToolUse", Matcher: "Bash", Type: "command", Timeout: 5 * time.Second,
				Source: string(SettingsLayerProject), SourceLabel: "Project settings (.claude/settings.json)",
				CommandText: "true", ContentLabel: "Command", DisplayText: "true",
				Editable: &EditableHook{Matcher: "Bash", Config: `{"type":"command","command":"true","timeout":5}`},
			}},
			Events: []HookEventInfo{hooked}, Catalog: []HookEventInfo{preToolUse}, Errors: badFile,
		}},
		{"list_permission_rules", &permissionRulesAnswer{PermissionRules{
			Rules: []PermissionRuleInfo{{
				Rule: "Read(./secret)", Behavior: "deny", Source: string(SettingsLayerProject), Editability: "persistent",
			}},
			Directories: []PermissionDirectory{}, OriginalCWD: "/home/dev/project", Errors: badFile,
		}}},
		{"get_context_usage", recordedContext()},
		{"get_usage", &UsageOverview{Session: wire.SessionUsage{
			TotalCostUSD: 0.00028000000000000003, TotalAPIDuration: 152, TotalDuration: 1478, TotalLinesAdded: 2,
			ModelUsage: map[string]wire.ModelUsage{"claude-opus-5-5": {
				InputTokens: 20, OutputTokens: 10, CostUSD: 0.00028000000000000003, ContextWindow: 1_000_000,
				MaxOutputTokens: 128_000, CanonicalModel: "claude-opus-5-5", Provider: "firstParty", CostBasis: "list",
			}},
		}}},
		{"list_models", &modelsAnswer{[]ModelInfo{recordedModel()}}},
		{"mcp_status", &mcpStatusAnswer{[]MCPServerStatus{{
			Name: "greeter", State: MCPStateConnected, ServerInfo: &MCPServerInfo{"greeter", "1.2.3"},
			Config:    `{"type":"http","url":"http://127.0.0.1:8080"}`,
			Transport: "http", Scope: "dynamic", Source: "dynamic",
			Tools: []MCPServerTool{{
				Name: "greet", Annotations: MCPToolAnnotations{ReadOnly: new(true)},
				Meta: `{"ui":{"resourceUri":"ui://greeter/page"}}`,
			}},
		}, failed}}},
		{"reload_plugins", &PluginReload{
			Commands:   []wire.SlashCommand{{Name: "hello", Description: "says hello (project)"}},
			Agents:     []AgentInfo{{Name: "helper", Description: "helps"}},
			Plugins:    []wire.Plugin{{Name: "cc-plugin-agents-md", Path: "builtin", Source: "cc-plugin-agents-md@builtin"}},
			MCPServers: []MCPServerStatus{failed},
		}},
	}
	for _, test := range tests {
		t.Run(test.subtype, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, recordedAnswer(t, test.subtype), test.want)
		})
	}
}

// checkAnswer decodes an answer into a new value of want's type.
func checkAnswer(t *testing.T, answer string, want any) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
	if err := json.Unmarshal([]byte(answer), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, ignoreRaw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func recordedModel() ModelInfo {
	return ModelInfo{
		Value: "default", ResolvedModel: "claude-opus-5-5", DisplayName: "Default (recommended)",
		Description:    "Use the default model (currently Opus 5.5) · $4/$20 per Mtok",
		SupportsEffort: true,
		SupportedEffortLevels: []wire.Effort{
			wire.EffortLow, wire.EffortMedium, wire.EffortHigh, wire.EffortXHigh, wire.EffortMax,
		},
		SupportsAdaptiveThinking: true, SupportsFastMode: true, SupportsAutoMode: true, SupportsThinkingOff: new(false),
	}
}

func recordedContext() *ContextReport {
	return &ContextReport{
		Model: "claude-opus-5-5", TotalTokens: 10_237, MaxTokens: 1_000_000, RawMaxTokens: 1_000_000, Percentage: 1,
		AutoCompactEnabled: true, AutoCompactThreshold: 967_000, AutoCompactSource: "model-default",
		Categories: []ContextCategory{
			{ID: "system_prompt", Name: "System prompt", Tokens: 1652, Color: "promptBorder", Kind: "used"},
			{
				ID: "system_tools_deferred", Name: "System tools (deferred)", Tokens: 4435,
				Color: "inactive", Kind: "deferred",
			},
			{ID: "free_space", Name: "Free space", Tokens: 956_763, Color: "promptBorder", Kind: "free"},
		},
		MCPTools:        []ContextTool{{Name: "mcp__greeter__greet", ServerName: "greeter", Loaded: new(false)}},
		MCPInstructions: []ContextMCPServer{{"greeter", 26}},
		MemoryFiles:     []wire.ContextMemoryFile{{Path: "/home/dev/project/CLAUDE.md", Type: "Project", Tokens: 23}},
		Agents: []ContextAgent{{
			AgentType: "helper", Source: "projectSettings", Path: "/home/dev/project/.claude/agents/helper.md", Tokens: 24,
		}},
		SlashCommands: &ContextCommands{14, 14, 474},
		Skills: &ContextSkills{14, 14, 2070, []ContextSkill{
			{
				Name: "hello", Source: "projectSettings", Path: "/home/dev/project/.claude/skills/hello/SKILL.md",
				Tokens: 6,
			},
			{Name: "dataviz", Source: "built-in", Tokens: 482},
		}},
		Messages: &ContextMessages{
			UserTokens: 2, AssistantTokens: 8, ToolCallTokens: 36, ToolResultTokens: 51, AttachmentTokens: 18_928,
			Tools: []ContextToolCalls{{"Write", 36, 51}}, Attachments: []ContextItem{{"date", 9}},
		},
		APIUsage: &wire.Usage{InputTokens: 10, OutputTokens: 5},
		Grid: [][]ContextSquare{{{
			Category: "System prompt", Color: "promptBorder", Filled: true, Fullness: 0.3304, Tokens: 1652,
		}}},
	}
}
