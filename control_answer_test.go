package clew

import (
	"bytes"
	"encoding/json"
	"math"
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

func TestRecordedDialogs(t *testing.T) {
	t.Parallel()
	none := []string{}
	for subtype, want := range map[string]any{
		"get_memory_dialog": &MemoryReport{
			Files: []MemoryFile{
				{"project", "/home/dev/project/CLAUDE.md", "Project instructions", "Checked in at ./CLAUDE.md", true},
				{"user", "/home/dev/.claude/CLAUDE.md", "User instructions", "Saved in ~/.claude/CLAUDE.md", false},
			},
			Folders: []MemoryFile{{
				Kind: "auto", Path: "/home/dev/.claude/projects/-home-dev-project/memory/", Label: "Open auto-memory folder",
			}},
			Memories:   []MemoryFile{},
			AutoMemory: MemorySwitch{Enabled: true, Toggleable: true, Status: "on"},
			AutoDream:  MemorySwitch{Toggleable: true, Status: "off"},
		},
		"get_skills_dialog": &skillsDialogAnswer{[]SkillInfo{{"hello", "hello", "says hello", "project", "on", true, 5}}},
		"get_sandbox_dialog": &SandboxStatus{
			Supported: true, Mode: "disabled", PolicyOrigins: none,
			AutoAllowAvailable: true, NoSandboxAllowed: true, UnsandboxedFallback: true,
			Dependencies: SandboxDependencies{
				Errors: []string{"bubblewrap (bwrap) not installed", "socat not installed"}, Warnings: none,
			},
			ExcludedCommands: none,
			Restrictions: SandboxRestrictions{
				AllowRead: none, DenyRead: none, AllowWrite: none, DenyWrite: none, AllowedDomains: none,
				DeniedDomains: none, UnixSockets: none, IgnoredPatterns: none,
			},
		},
		"get_chrome_dialog": &ChromeStatus{Allowed: true, URLs: map[string]string{
			"install": "https://claude.ai/chrome", "reconnect": "https://clau.de/chrome/reconnect",
			"permissions": "https://clau.de/chrome/permissions",
		}},
		"get_workspace_diff": &workspaceDiffAnswer{Diff: WorkspaceDiff{
			Stats: DiffStats{Files: 1, LinesAdded: 1}, Files: []ChangedFile{{Path: "notes.txt", Added: 1, Status: "modified"}},
			Hunks:        []FileHunks{{"notes.txt", []DiffHunk{{1, 2, 1, 3, []string{" one", " two", "+three"}}}}},
			SkippedLarge: none, Restricted: none, Omitted: OmittedFiles{Exact: true}, Source: DiffSource{"working-tree"},
		}},
	} {
		t.Run(subtype, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, recordedAnswer(t, subtype), want)
		})
	}
}

// smallAnswers are answers of Claude Code, and some that the documentation of the protocol allows.
var smallAnswers = []struct {
	name   string
	answer string
	want   any
}{
	{"interrupt", `{"still_queued":["u1"]}`, &InterruptReceipt{StillQueued: []string{"u1"}}},
	{
		"interrupt all", `{"still_queued":[],"cancelled":["u1"]}`,
		&InterruptReceipt{StillQueued: []string{}, Cancelled: []string{"u1"}},
	},
	{"cancel a prompt", `{"cancelled":true}`, &cancelPromptAnswer{true}},
	{"set a model", `{"model":"claude-sonnet-5-5"}`, &setModelAnswer{"claude-sonnet-5-5"}},
	{"set a model, no answer", `{}`, &setModelAnswer{}},
	{"cost", `{"text":"Total cost: $0.0003"}`, &sessionCostAnswer{"Total cost: $0.0003"}},
	{
		"version", `{"version":"2.1.325","buildTime":"2026-11-13T18:52:23Z"}`,
		&BinaryVersion{"2.1.325", time.Date(2026, 11, 13, 18, 52, 23, 0, time.UTC)},
	},
	{"version, no time", `{"version":"2.1.325"}`, &BinaryVersion{Version: "2.1.325"}},
	{
		"status", `{"sections":[{"title":"Session","rows":[{"label":"cwd","value":"/home/dev"},{"value":"Fine."}]}]}`,
		&statusAnswer{[]StatusSection{{"Session", []StatusRow{{"cwd", "/home/dev"}, {"", "Fine."}}}}},
	},
	{
		"set servers", `{"added":["a","b"],"removed":[],"errors":{"b":"ECONNREFUSED"}}`,
		&MCPServersChange{Added: []string{"a", "b"}, Removed: []string{}, Errors: map[string]string{"b": "ECONNREFUSED"}},
	},
	{"a server's mode", `{"warning":"not known"}`, &mcpPermissionModeAnswer{"not known"}},
	{
		"call a tool", `{"content":[{"type":"text","text":"Hello."}],"structuredContent":{"a":1},"_meta":{"k":1}}`,
		&MCPCallResult{
			Content: `[{"type":"text","text":"Hello."}]`, StructuredContent: `{"a":1}`, Meta: `{"k":1}`,
		},
	},
	{
		"call a tool with a deadline", `{"content":"Hello.","staging":{"ok":true,"outputs":[],"inputs_used":[]}}`,
		&MCPCallResult{Content: `"Hello."`, Staging: &MCPStaging{OK: true, Outputs: `[]`, InputsUsed: `[]`}},
	},
	{
		"log in to a server", `{"authUrl":"http://a/","requiresUserAction":true,"callbackExpected":true,` +
			`"redirectScheme":"localhost","state":"s","callbackPort":59878}`,
		&MCPAuth{"http://a/", true, true, "localhost", 59878, "s"},
	},
	{"log in", `{"manualUrl":"https://m/","automaticUrl":"https://a/"}`, &ClaudeAuth{"https://m/", "https://a/"}},
	{
		"feedback", `{"feedback_id":null,"unavailable_reason":"Turned off."}`,
		&FeedbackReceipt{UnavailableReason: "Turned off."},
	},
	{
		"ultrareview", `{"status":"error","message":"Not now.","gate_blocker":"kill_switch"}`,
		&UltrareviewLaunch{"error", "Not now.", "kill_switch"},
	},
	{
		"rewind the conversation",
		`{"rewound":true,"targetMessageUuid":"u1","prefillText":"Hello","precedingAssistantUuid":null}`,
		&ConversationRewind{Rewound: true, Prompt: "Hello"},
	},
	{
		"no such prompt", `{"rewound":false,"prefillText":null,"error":"target not found","reason":"target_not_found"}`,
		&ConversationRewind{Error: "target not found", Reason: "target_not_found"},
	},
	{"no diff", `{"diff":null,"noDiffReason":"no-repository"}`, &workspaceDiffAnswer{NoDiffReason: "no-repository"}},
	{"call a tool, text", `{"content":"Hello."}`, &MCPCallResult{Content: `"Hello."`}},
	{
		"read a resource",
		`{"contents":[{"uri":"ui://a","mimeType":"text/html","text":"<p>","_meta":{"ui":{}}},` +
			`{"uri":"ui://b","blob":"AQI="}]}`,
		&mcpResourceAnswer{[]MCPResourceContent{
			{URI: "ui://a", MIMEType: "text/html", Text: "<p>", Meta: `{"ui":{}}`}, {URI: "ui://b", Blob: []byte{1, 2}},
		}},
	},
	{
		"task output", `{"output":"started\n","total_bytes":8,"truncated":false}`,
		&TaskOutput{Output: "started\n", TotalBytes: 8},
	},
	{"background a task", `{"backgrounded":false}`, &backgroundTaskAnswer{new(false)}},
	{
		"read a file", `{"contents":"b25l","absPath":"/a","truncated":true,"encoding":"base64","requested_path":"a"}`,
		&FileContents{"/a", []byte("one"), true},
	},
	{
		"read a file, older agent", `{"contents":"b25l","absPath":"/a","lossy":false}`,
		&FileContents{"/a", []byte("b25l"), false},
	},
	{
		"preview", `{"canRewind":true,"filesChanged":["/a"],"insertions":0,"deletions":1}`,
		&FileRewind{CanRewind: true, FilesChanged: []string{"/a"}, Deletions: 1},
	},
	{"preview, none", `{"canRewind":false,"error":"No file."}`, &FileRewind{Error: "No file."}},
	{"rewind", `{"canRewind":true,"skippedLinks":2}`, &FileRewind{CanRewind: true, SkippedLinks: 2}},
	{
		"suggest files", `{"suggestions":[{"path":"sub/"},{"path":"a","score":0.5}],"cwd":"/home/dev"}`,
		&FileSuggestions{[]FileSuggestion{{Path: "sub/"}, {"a", new(0.5)}}, "/home/dev"},
	},
	{"title", `{"title":"A name"}`, &titleAnswer{"A name"}},
	{"no title", `{"title":null}`, &titleAnswer{}},
	{"side question", `{"response":"Yes.","synthetic":false}`, &SideAnswer{Response: "Yes."}},
	{
		"side question, fallback",
		`{"response":null,"synthetic":true,"refusal_fallback":{"original_model":"a","fallback_model":"b","content":"c"}}`,
		&SideAnswer{Synthetic: true, RefusalFallback: &SideFallback{"a", "b", "c"}},
	},
	{"plan", `{"exists":true,"content":"# Plan","path":"/p.md"}`, &SessionPlan{true, "# Plan", "/p.md"}},
	{"export", `{"text":"Hi","default_filename":"hi.txt"}`, &ConversationExport{"Hi", "hi.txt"}},
	{"add a root", `{"directory":"/a"}`, &repoRootAnswer{"/a"}},
	{
		"reload skills", `{"skills":[{"name":"hello","description":"says hello","argumentHint":"NAME"}]}`,
		&skillsAnswer{[]wire.SlashCommand{{Name: "hello", Description: "says hello", ArgumentHint: "NAME"}}},
	},
	{"reload styles", `{"available_output_styles":["default"]}`, &outputStylesAnswer{[]string{"default"}}},
	{
		"reload plugins, held", `{"error_count":1,"held":true,"cache_impact":` +
			`{"mcp_servers_added":["plugin:p:s"],"mcp_servers_removed":[],"lsp_tool_change":"may-add"}}`,
		&PluginReload{
			ErrorCount: 1, Held: new(true),
			CacheImpact: &CacheImpact{[]string{"plugin:p:s"}, []string{}, "may-add"},
		},
	},
	{
		"usage of a subscription", `{"subscription_type":"max","rate_limits_available":true,"rate_limits":{` +
			`"five_hour":{"utilization":12.5,"resets_at":"2026-11-15T10:00:00.5+01:00"},"seven_day":null,` +
			`"model_scoped":[{"display_name":"Fable","utilization":null,"resets_at":null}],` +
			`"extra_usage":{"is_enabled":true,"monthly_limit":50,"used_credits":null,"utilization":0,"currency":"EUR"}},` +
			`"behaviors":{"day":{"request_count":3},"week":{"session_count":2,` +
			`"behaviors":[{"key":"cron","pct":7.5,"count":4}],"skills":[{"name":"hello","pct":1}],` +
			`"recommendations":[{"key":"cron","pct":7.5,"title":"Run less"}],` +
			`"fix":{"keys":["cron"],"messages":["/effort low"]}}}}`,
		&UsageOverview{
			Subscription: "max", RateLimitsAvailable: true,
			RateLimits: &RateLimits{
				FiveHour:   &RateLimit{new(12.5), new(time.Date(2026, 11, 15, 9, 0, 0, 500_000_000, time.UTC))},
				Models:     []ModelRateLimit{{DisplayName: "Fable"}},
				ExtraUsage: &ExtraUsage{Enabled: true, MonthlyLimit: new(50.0), Utilization: new(0.0), Currency: "EUR"},
			},
			Behaviors: &UsageHistory{
				Day: UsagePeriod{RequestCount: 3},
				Week: UsagePeriod{
					SessionCount: 2, Behaviors: []UsageBehavior{{"cron", 7.5, 4}}, Skills: []UsageShare{{"hello", 1}},
					Recommendations: []UsageRecommendation{{Key: "cron", Percent: 7.5, Title: "Run less"}},
					Fix:             &UsageFix{[]string{"cron"}, []string{"/effort low"}},
				},
			},
		},
	},
}

func TestSmallAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range smallAnswers {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, test.answer, test.want)
		})
	}
}

// An answer of another shape is an error, and never a panic; null and fields that are not known are neither.
func TestAnswersOfOtherShapes(t *testing.T) {
	t.Parallel()
	for _, test := range smallAnswers {
		kind := reflect.TypeOf(test.want).Elem()
		for _, answer := range []string{`null`, `{}`, `{"newer":{"than":["us"]}}`} {
			if err := json.Unmarshal([]byte(answer), reflect.New(kind).Interface()); err != nil {
				t.Errorf("%s: %s: %v", test.name, answer, err)
			}
		}
		for _, answer := range []string{`[]`, `"text"`, `1`, `true`} {
			if err := json.Unmarshal([]byte(answer), reflect.New(kind).Interface()); err == nil {
				t.Errorf("%s: %s: no error", test.name, answer)
			}
		}
	}
	if err := json.Unmarshal([]byte(`{"contents":"?","encoding":"base64"}`), new(FileContents)); err == nil {
		t.Error("contents that are not base64: no error")
	}
}

func TestHookInfoTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`{}`: 0, `{"timeout":0.25}`: 250 * time.Millisecond, `{"timeout":1e300}`: math.MaxInt64,
	} {
		var hook HookInfo
		if err := json.Unmarshal([]byte(text), &hook); err != nil || hook.Timeout != want {
			t.Errorf("%s: timeout %v, %v; want %v", text, hook.Timeout, err, want)
		}
	}
}

func TestBackgroundTaskFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{}`: true, `{"backgrounded":true}`: true, `{"backgrounded":false}`: false} {
		var answer backgroundTaskAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.found() != want {
			t.Errorf("%s: found %t, %v", text, answer.found(), err)
		}
	}
}

func TestCWDChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		answer string
		change *CWDChange
		err    error
	}{
		{
			`{"status":"ok","cwd":"/a","changed":true,"transcript_relocated":true}`,
			&CWDChange{CWD: "/a", Changed: true, TranscriptRelocated: true}, nil,
		},
		{
			`{"status":"needs_trust","directory":"/a/sub","trust_root":"/a"}`, nil,
			&UntrustedError{Directory: "/a/sub", Root: "/a"},
		},
		{
			`{"status":"rejected","reason":"busy","message":"A turn is in progress"}`, nil,
			&ControlError{Subtype: "set_cwd", Message: "A turn is in progress", Code: "busy"},
		},
		{`{}`, nil, &ControlError{Subtype: "set_cwd"}},
	}
	for _, test := range tests {
		var answer setCWDAnswer
		if err := json.Unmarshal([]byte(test.answer), &answer); err != nil {
			t.Fatal(err)
		}
		change, err := answer.change()
		if diff := cmp.Diff(test.change, change); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.answer, diff)
		}
		if diff := cmp.Diff(test.err, err); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", test.answer, diff)
		}
	}
}

func TestUntrustedErrorText(t *testing.T) {
	t.Parallel()
	err := &UntrustedError{Directory: "/a"}
	if err.Error() != "clew: the folder /a is not trusted" {
		t.Errorf("error %q", err)
	}
}
