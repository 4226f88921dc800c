package simmodel

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// start returns a model that ends with the test. Package clewtest tests the rest of it.
func start(t *testing.T) *Model {
	t.Helper()
	m, err := Start(t.Context(), t.TempDir(), t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestModelHangUntilClientGoes(t *testing.T) {
	t.Parallel()
	m := start(t)
	m.Add(PromptContains(""), NewAnswer(AnswerHang))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL()+messagesPath, strings.NewReader(`{"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
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
	m.active.Wait() // the model has ended the request as well
}

func TestModelRefusesOthers(t *testing.T) {
	t.Parallel()
	m := start(t)
	m.SetFallback(NewAnswer(AnswerReply, &wire.TextBlock{Text: "hi"}))
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

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		n    int
		want []string
	}{
		{"", 3, nil},
		{"abc", 3, []string{"abc"}},
		{"abcd", 3, []string{"abc", "d"}},
		{"äöü", 1, []string{"ä", "ö", "ü"}},
		{"abcd", 0, []string{"abcd"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, split(tt.text, tt.n)); diff != "" {
			t.Errorf("%q by %d (-want +got):\n%s", tt.text, tt.n, diff)
		}
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
