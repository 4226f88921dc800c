package clewtest

import (
	"net/http"
	"strings"
	"testing"
)

const (
	titleFormat = `"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"title":{}}}}}`
	titleSystem = `"system":"Return JSON with a single \"title\" field."`
)

// backgroundCases are requests of Claude Code, and whether it made them on its own behalf. The words of the rule are
// in all of them.
var backgroundCases = []struct {
	name, members, content string
	want                   bool
}{
	{"a title", `"stream":true,` + titleSystem + `,` + titleFormat, `[{"type":"text","text":"<session>\nHi</session>"}]`, true},
	{"a web search", `"stream":true,"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"Hi"`, true},
	{"a look whether a model works", `"max_tokens":1`, `[{"type":"text","text":"Hi"}]`, true},
	{"a turn", `"stream":true,"thinking":{"type":"adaptive"},"tools":[{"name":"Bash","input_schema":{}}]`, `"Hi"`, false},
	{"a turn without tools and thinking", `"stream":true,"tools":[]`, `"Hi"`, false},
	{"a turn of one token", `"stream":true,"max_tokens":1,"tools":[]`, `"Hi"`, false},
	{"a plain turn of one token", `"max_tokens":1,"tools":[]`, `"Hi there"`, false},
	{
		"a plain turn of one token with reminders", `"max_tokens":1`,
		`[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"Hi"}]`, false,
	},
	{"a turn for a title, by a tool", `"tools":[{"name":"StructuredOutput","input_schema":{}}],` + titleSystem + `,` + titleFormat, `"Hi"`, false},
	{"a turn for a title, by other instructions", `"system":"Be brief.",` + titleFormat, `"Hi"`, false},
}

// askAsAgent posts a request as Claude Code, and returns what was answered.
func askAsAgent(t *testing.T, m *Model, body string) string {
	t.Helper()
	req := request(t, m, http.MethodPost, messagesPath, body)
	req.Header.Set("User-Agent", "claude-cli/2.1.325 (external, sdk-cli)")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return readAll(t, resp)
}

func TestModelBackground(t *testing.T) {
	t.Parallel()
	for _, tt := range backgroundCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, tb := recordedModel(t)
			defer tb.end()
			m.Reply("default").On("Hi").Reply(Text("rule"))
			want, count, logs := `"text":"rule"`, 1, 0
			if tt.want {
				want, count, logs = `"text":"ok"`, 0, 1
			}
			body := `{"model":"m",` + tt.members + `,"messages":[{"role":"user","content":` + tt.content + `}]}`
			if got := askAsAgent(t, m, body); !strings.Contains(got, want) {
				t.Errorf("answer %s, want %s", got, want)
			}
			if len(m.Requests()) != count || len(m.AllRequests()) != 1 || m.AllRequests()[0].Background() != tt.want {
				t.Errorf("%d requests, %d in all", len(m.Requests()), len(m.AllRequests()))
			}
			if len(tb.logs) != logs || len(tb.errors) > 0 {
				t.Errorf("logs %q, errors %q", tb.logs, tb.errors)
			}
		})
	}
}

func TestModelBackgroundByRule(t *testing.T) {
	t.Parallel()
	m, tb := recordedModel(t)
	defer tb.end()
	m.When((*Request).Background).Reply(Text("no quota")).Once()
	const body = `{"max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`
	for _, want := range []string{"no quota", "ok"} {
		if got := askAsAgent(t, m, body); !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("answer %s, want %s", got, want)
		}
	}
	if len(tb.logs) != 1 || !strings.Contains(tb.logs[0], `newest prompt: "quota"`) {
		t.Errorf("logs %q", tb.logs)
	}
}
