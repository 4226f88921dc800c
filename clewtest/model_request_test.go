package clewtest

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModelBackground(t *testing.T) {
	t.Parallel()
	const tool = `"tools":[{"name":"Bash","input_schema":{}}]`
	tests := []struct {
		name, members string
		want          bool
	}{
		{"a title", `"max_tokens":128000`, true},
		{"a web search", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, true},
		{"a look whether the key works", `"max_tokens":1,` + tool, true},
		{"a turn", `"max_tokens":128000,"thinking":{"type":"adaptive"},` + tool, false},
		{"a turn without tools", `"thinking":{"type":"adaptive"}`, false},
		{"a turn without thinking", tool, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := NewModel(t).Reply("default")
			m.On("x").Reply(Text("rule"))
			req := request(t, m, http.MethodPost, messagesPath,
				`{"model":"m",`+tt.members+`,"messages":[{"role":"user","content":"x"}]}`)
			req.Header.Set("User-Agent", "claude-cli/2.1.325 (external, sdk-cli)")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			want, count := "rule", 1
			if tt.want {
				want, count = "ok", 0
			}
			if got := said(t, resp); got != want {
				t.Errorf("answer %q, want %q", got, want)
			}
			if len(m.Requests()) != count || len(m.AllRequests()) != 1 || m.AllRequests()[0].Background() != tt.want {
				t.Errorf("%d requests, %d in all", len(m.Requests()), len(m.AllRequests()))
			}
		})
	}
}

func TestModelRequests(t *testing.T) {
	t.Parallel()
	m := NewModel(t).Reply("hi")
	const body = `{"model":"m","max_tokens":7,"stream":true,"system":[{"type":"text","text":"be brief"}],` +
		`"tools":[{"name":"Bash","description":"runs","input_schema":{"type":"object"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nx\n</system-reminder>\n"},{"type":"text","text":"one"}]}]}`
	post(t, m, body)
	ask(t, m, "two", false)
	first, err := m.WaitRequest(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if string(first.Body) != body || first.Method != http.MethodPost || first.Path != messagesPath || first.RawQuery != "beta=true" {
		t.Errorf("%s %s?%s %s", first.Method, first.Path, first.RawQuery, first.Body)
	}
	if first.Model != "m" || first.MaxTokens != 7 || !first.Stream || first.System.Text() != "be brief" || first.Prompt() != "one" {
		t.Errorf("model %s, max tokens %d, stream %t, system %q, prompt %q",
			first.Model, first.MaxTokens, first.Stream, first.System.Text(), first.Prompt())
	}
	want := []RequestTool{{Name: "Bash", Description: "runs", InputSchema: `{"type":"object"}`}}
	if diff := cmp.Diff(want, first.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if list := m.Requests(); len(list) != 2 || list[1].Prompt() != "two" {
		t.Errorf("%d requests", len(list))
	}
}

func TestModelWaitRequestErrors(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.WaitRequest(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := m.WaitRequest(t.Context(), 0); err == nil {
		t.Error("request 0 exists")
	}
}

func TestWithoutReminders(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":      "",
		"plain": "plain",
		"a<system-reminder>x</system-reminder>b<system-reminder>y</system-reminder>": "ab",
		"a<system-reminder>x":  "a<system-reminder>x",
		"a</system-reminder>b": "a</system-reminder>b",
	}
	for text, want := range tests {
		if got := withoutReminders(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
