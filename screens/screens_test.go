package screens

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

var _ Controller = (*clew.Session)(nil)

// A fakeAgent answers every request with the same text, and keeps the request.
type fakeAgent struct {
	answer  string
	subtype string
	fields  string
}

var errRefused = errors.New("refused")

func (a *fakeAgent) Control(_ context.Context, subtype string, in, out any) error {
	a.subtype = subtype
	fields, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if a.fields = string(fields); a.answer == "" {
		return errRefused
	}
	return json.Unmarshal([]byte(a.answer), out)
}

// requests are all functions of the package, with the request that each of them sends.
var requests = []struct {
	name, subtype, fields string
	send                  func(ctx context.Context, c Controller) (any, error)
}{
	{"CostText", "get_session_cost", `null`, func(ctx context.Context, c Controller) (any, error) { return CostText(ctx, c) }},
	{"SuggestFiles", "file_suggestions", `{"query":"no"}`, func(ctx context.Context, c Controller) (any, error) {
		return SuggestFiles(ctx, c, "no")
	}},
	{"Context", "get_context_usage", `{"detail":"full"}`, func(ctx context.Context, c Controller) (any, error) {
		return Context(ctx, c, nil)
	}},
	{"Context estimate", "get_context_usage", `{"detail":"summary"}`, func(ctx context.Context, c Controller) (any, error) {
		return Context(ctx, c, &ContextOptions{Estimate: true})
	}},
	{"AccountUsage", "get_usage", `{"skip_behaviors":true}`, func(ctx context.Context, c Controller) (any, error) {
		return AccountUsage(ctx, c, nil)
	}},
	{"AccountUsage with behaviors", "get_usage", `{}`, func(ctx context.Context, c Controller) (any, error) {
		return AccountUsage(ctx, c, &AccountUsageOptions{Behaviors: true})
	}},
	{"Settings", "get_settings", `null`, func(ctx context.Context, c Controller) (any, error) { return Settings(ctx, c) }},
	{"PermissionRules", "list_permission_rules", `null`, func(ctx context.Context, c Controller) (any, error) {
		return PermissionRules(ctx, c)
	}},
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for _, test := range requests {
		agent := &fakeAgent{answer: `{}`}
		if _, err := test.send(t.Context(), agent); err != nil || agent.subtype != test.subtype || agent.fields != test.fields {
			t.Errorf("%s: sent %s %s, %v", test.name, agent.subtype, agent.fields, err)
		}
		if _, err := test.send(t.Context(), &fakeAgent{}); !errors.Is(err, errRefused) {
			t.Errorf("%s: error %v, want the refusal", test.name, err)
		}
		if _, err := test.send(t.Context(), &fakeAgent{answer: `"text"`}); err == nil {
			t.Errorf("%s: an answer that is not an object is not an error", test.name)
		}
	}
}

// A field of another type costs only itself.
func TestFieldsOfOtherTypes(t *testing.T) {
	t.Parallel()
	window, err := Context(t.Context(), &fakeAgent{answer: `{"model":7,"totalTokens":12,"categories":{}}`}, nil)
	if err != nil || window.Model != "" || window.TotalTokens != 12 || window.Categories != nil {
		t.Errorf("window %+v, %v", window, err)
	}
}

// ignoreRaw leaves out of a comparison what the types of package wire were read from.
var ignoreRaw = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "raw"
}, cmp.Ignore())

// recordedAnswer returns an answer of Claude Code 2.1.325, shortened and with other paths, without
// white space.
func recordedAnswer(t *testing.T, subtype string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", subtype+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	return compact.String()
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

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	badFile := []SettingsError{{
		File: "/home/dev/project/.claude/settings.local.json", Message: "Invalid or malformed JSON",
	}}
	settings := wire.JSON(`{"permissions":{"allow":["Bash(npm run:*)"],"deny":["Read(./secret)"]},"hooks":` +
		`{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true","timeout":5}]}]}}`)
	tests := []struct {
		subtype string
		want    any
	}{
		{"get_settings", &SettingsReport{
			Effective: settings, Sources: []LayerSettings{{LayerProject, settings}}, Errors: badFile,
			Applied: &AppliedSettings{Model: "claude-opus-5-5", Effort: wire.EffortMedium, UltracodeAvailable: true},
		}},
		{"list_permission_rules", &permissionAnswer{PermissionReport{
			Rules: []PermissionRule{{
				Rule: "Read(./secret)", Behavior: "deny", Source: string(LayerProject), Editability: "persistent",
			}},
			Directories: []Directory{}, OriginalCWD: "/home/dev/project", Errors: badFile,
		}}},
		{"get_context_usage", recordedContext()},
		{"get_usage", &AccountReport{Session: wire.SessionUsage{
			TotalCostUSD: 0.00028000000000000003, TotalAPIDuration: 152, TotalDuration: 1478, TotalLinesAdded: 2,
			ModelUsage: map[string]wire.ModelUsage{"claude-opus-5-5": {
				InputTokens: 20, OutputTokens: 10, CostUSD: 0.00028000000000000003, ContextWindow: 1_000_000,
				MaxOutputTokens: 128_000, CanonicalModel: "claude-opus-5-5", Provider: "firstParty", CostBasis: "list",
			}},
		}}},
	}
	for _, test := range tests {
		t.Run(test.subtype, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, recordedAnswer(t, test.subtype), test.want)
		})
	}
}

func recordedContext() *ContextFill {
	return &ContextFill{
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
		MCPInstructions: []ContextServer{{"greeter", 26}},
		MemoryFiles:     []wire.ContextUsageMemoryFile{{Path: "/home/dev/project/CLAUDE.md", Type: "Project", Tokens: 23}},
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

// smallAnswers are answers of Claude Code, and some that the documentation of the protocol allows.
var smallAnswers = []struct {
	name   string
	answer string
	want   any
}{
	{"cost", `{"text":"Total cost: $0.0003"}`, &costAnswer{"Total cost: $0.0003"}},
	{
		"suggest files", `{"suggestions":[{"path":"sub/"},{"path":"a","score":0.5}],"cwd":"/home/dev"}`,
		&FileSuggestions{[]FileSuggestion{{Path: "sub/"}, {"a", new(0.5)}}, "/home/dev"},
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
		&AccountReport{
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

func TestScreenAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range smallAnswers {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, test.answer, test.want)
		})
	}
}

// An answer of another shape is an error, and never a panic; null and unknown fields are neither.
func TestScreenAnswersOfOtherShapes(t *testing.T) {
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
}
