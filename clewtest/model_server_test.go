package clewtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestModelHangUntilClientGoes(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("").Hang()
	ctx, cancel := context.WithCancel(t.Context())
	req := request(t, m, http.MethodPost, messagesPath, `{"messages":[]}`).WithContext(ctx)
	failed := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		failed <- err
	}()
	if _, err := m.WaitRequest(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	m.active.Wait() // the model let go of the request, too
}

func TestModelEndsWithTest(t *testing.T) {
	t.Parallel()
	m, tb := recordedModel(t)
	m.On("hang").Hang()
	m.On("delay").Reply(Text("late")).Delay(time.Hour)
	m.On("pace").Reply(Text("late")).Pace(time.Hour)
	failed := make(chan error, 3)
	for _, prompt := range []string{"hang", "delay", "pace"} {
		body := fmt.Sprintf(`{"stream":true,"messages":[{"role":"user","content":%q}]}`, prompt)
		req := request(t, m, http.MethodPost, messagesPath, body)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			failed <- err
		}()
	}
	if _, err := m.WaitRequest(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	tb.end()
	for range 3 {
		if err := <-failed; err == nil {
			t.Error("a request that was still waiting got an answer")
		}
	}
	if len(tb.errors) > 0 {
		t.Errorf("the model reported %q", tb.errors)
	}
	if _, err := m.WaitRequest(t.Context(), 4); err == nil {
		t.Error("WaitRequest found a request after the end")
	}
}

func TestModelOtherPaths(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	tests := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodHead, "/", "", 200, ""},
		{http.MethodGet, "/", "", 200, "{}"},
		{http.MethodHead, "/api/hello", "", 200, ""},
		{http.MethodPost, "/api/event_logging/batch", "{}", 200, "{}"},
		{http.MethodGet, "/v1/models", "", 404, "not_found_error"},
		{http.MethodGet, messagesPath, "", 404, "not_found_error"},
		{http.MethodPost, countPath + "?beta=true", `{"messages":[{"role":"user","content":"foo"}]}`, 200, `{"input_tokens":12}`},
		{http.MethodPost, countPath, `[`, 400, "invalid_request_error"},
	}
	for _, tt := range tests {
		resp, err := http.DefaultClient.Do(request(t, m, tt.method, tt.path, tt.body))
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, resp)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: status %d, %s", tt.method, tt.path, resp.StatusCode, got)
		}
	}
	if len(m.AllRequests()) != len(tests) || len(m.Requests()) != 0 {
		t.Errorf("%d requests in all, %d of them for an answer", len(m.AllRequests()), len(m.Requests()))
	}
}

func TestModelRefusesOthers(t *testing.T) {
	t.Parallel()
	m := NewModel(t).Reply("hi")
	tests := []struct {
		remote, target string
		status         int
	}{
		{"127.0.0.1:1234", "http://127.0.0.1:80/v1/messages", 200},
		{"127.0.0.1:1234", "http://localhost/v1/messages", 200},
		{"[::1]:1234", "http://[::1]/v1/messages", 200},
		{"192.0.2.1:1234", "http://127.0.0.1/v1/messages", 403},
		{"127.0.0.1:1234", "http://example.com/v1/messages", 403},
		{"127.0.0.1:1234", "http://127.0.0.1.example.com:80/v1/messages", 403},
		{"[2001:db8::1]:1234", "http://127.0.0.1/v1/messages", 403},
	}
	for _, tt := range tests {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.target, bytes.NewReader([]byte(`{"messages":[]}`)))
		r.RemoteAddr = tt.remote
		w := httptest.NewRecorder()
		m.serve(w, r)
		if w.Code != tt.status {
			t.Errorf("from %s to %s: status %d, want %d", tt.remote, tt.target, w.Code, tt.status)
		}
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
