package clewtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/wire"
)

// A modelTB stands in for the test of a model, and keeps what the model reports to it.

type modelTB struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	logs     []string
	cleanups []func()
}

func (tb *modelTB) Errorf(format string, args ...any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.errors = append(tb.errors, fmt.Sprintf(format, args...))
}

func (tb *modelTB) Logf(format string, args ...any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.logs = append(tb.logs, fmt.Sprintf(format, args...))
}

func (tb *modelTB) Cleanup(f func()) { tb.cleanups = append(tb.cleanups, f) }

// end does what the end of a test does.

func (tb *modelTB) end() {
	for _, f := range slices.Backward(tb.cleanups) {
		f()
	}
}

// recordedModel returns a model whose failures are kept and not reported; the caller ends its test.

func recordedModel(t *testing.T) (*Model, *modelTB) {
	t.Helper()
	tb := &modelTB{TB: t}
	return NewModel(tb), tb
}

// ask posts a conversation of one prompt.

func ask(t *testing.T, m *Model, prompt string, stream bool) *http.Response {
	t.Helper()
	return post(t, m, fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%t,"messages":[{"role":"user","content":%q}]}`, stream, prompt))
}

func post(t *testing.T, m *Model, body string) *http.Response {
	t.Helper()
	req := request(t, m, http.MethodPost, messagesPath+"?beta=true", body)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func request(t *testing.T, m *Model, method, path, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, m.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// said returns the text of a plain answer.

func said(t *testing.T, resp *http.Response) string {
	t.Helper()
	var msg wire.APIMessage
	if err := json.Unmarshal([]byte(readAll(t, resp)), &msg); err != nil {
		t.Fatal(err)
	}
	return msg.Content.Text()
}

// eventLines returns the data of the events in a stream, with ids replaced, up to the end or the error.

func eventLines(r io.Reader) ([]string, error) {
	var lines []string
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			lines = append(lines, data)
		}
	}
	return lines, scanner.Err()
}
