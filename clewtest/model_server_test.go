package clewtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The paths that a model serves.
const (
	messagesPath = "/v1/messages"
	countPath    = "/v1/messages/count_tokens"
)

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

func TestModelEnv(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows needs variables of its own")
	}
	for _, name := range []string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDECODE", "NODE_OPTIONS", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "of the caller")
	}
	t.Setenv("PATH", "/of/the/caller")
	m := NewModel(t)
	root := filepath.Dir(m.Home())
	want := map[string]string{
		"PATH":                "/of/the/caller",
		"HOME":                m.Home(),
		"TMPDIR":              filepath.Join(root, "tmp"),
		"LANG":                "C.UTF-8",
		"CLAUDE_CONFIG_DIR":   m.ConfigDir(),
		"ANTHROPIC_BASE_URL":  m.URL(),
		"ANTHROPIC_API_KEY":   "clewtest",
		"DISABLE_AUTOUPDATER": "1",
		"HTTP_PROXY":          m.URL(),
		"HTTPS_PROXY":         m.URL(),
		"NO_PROXY":            "127.0.0.1,localhost,::1",
		"http_proxy":          m.URL(),
		"https_proxy":         m.URL(),
		"no_proxy":            "127.0.0.1,localhost,::1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}
	if os.Geteuid() == 0 {
		want["IS_SANDBOX"] = "1"
	}
	got := map[string]string{}
	for _, pair := range m.Env() {
		name, value, _ := strings.Cut(pair, "=")
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestModelFoldersEndWithTest(t *testing.T) {
	t.Parallel()
	var root string
	t.Run("inner", func(t *testing.T) {
		m := NewModel(t)
		root = filepath.Dir(m.Home())
		for _, dir := range []string{m.Home(), m.ConfigDir(), filepath.Join(root, "tmp")} {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("%s: %d entries, %v", dir, len(entries), err)
			}
		}
	})
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", root, err)
	}
}
