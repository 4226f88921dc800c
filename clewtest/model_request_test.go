package clewtest

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
