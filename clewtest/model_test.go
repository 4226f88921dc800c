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

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestModelStream(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("go").Reply(Thinking("Hm, é.", "c2ln"), Text("Hello"), ToolUse("Bash", map[string]string{"command": "ls"})).
		Usage(100, 42, 300, 20).ChunkSize(4).Model("claude-x")
	resp := ask(t, m, "go", true)
	got, err := eventLines(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"message":{"id":"msg_clewtest000002","type":"message","role":"assistant","model":"claude-x","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":100,"cache_creation_input_tokens":20,` +
			`"cache_read_input_tokens":300,"output_tokens":1}},"type":"message_start"}`,
		`{"type":"ping"}`,
		`{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}`,
		`{"delta":{"thinking":"Hm, ","type":"thinking_delta"},"index":0,"type":"content_block_delta"}`,
		`{"delta":{"thinking":"é.","type":"thinking_delta"},"index":0,"type":"content_block_delta"}`,
		`{"delta":{"signature":"c2ln","type":"signature_delta"},"index":0,"type":"content_block_delta"}`,
		`{"index":0,"type":"content_block_stop"}`,
		`{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}`,
		`{"delta":{"text":"Hell","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"delta":{"text":"o","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"index":1,"type":"content_block_stop"}`,
		`{"content_block":{"id":"toolu_clewtest000003","input":{},"name":"Bash","type":"tool_use"},"index":2,"type":"content_block_start"}`,
		`{"delta":{"partial_json":"{\"co","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"delta":{"partial_json":"mman","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"delta":{"partial_json":"d\":\"","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"delta":{"partial_json":"ls\"}","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"index":2,"type":"content_block_stop"}`,
		`{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"input_tokens":100,` +
			`"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":42}}`,
		`{"type":"message_stop"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if id := resp.Header.Get("request-id"); id != "req_clewtest000001" {
		t.Errorf("request-id %q", id)
	}
}

func TestModelPlain(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("").Reply(Text("a"), &wire.RedactedThinkingBlock{Data: "x"}).Stop("max_tokens").Usage(1, 2, 3, 4)
	got := readAll(t, ask(t, m, "hello", false))
	want := `{"id":"msg_clewtest000002","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"},` +
		`{"type":"redacted_thinking","data":"x"}],"stop_reason":"max_tokens","stop_sequence":null,` +
		`"usage":{"input_tokens":1,"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"output_tokens":2}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestModelUsageMember(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On("").Reply(Text("a")).Usage(9, 9, 9, 9).UsageMember("speed", "fast").
		UsageMember("cache_creation", map[string]int{"x": 7}).Usage(1, 2, 3, 4)
	const want = `"usage":{"input_tokens":1,"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"output_tokens":2,` +
		`"cache_creation":{"x":7},"speed":"fast"}`
	if got := readAll(t, ask(t, m, "hello", false)); !strings.Contains(got, want) {
		t.Errorf("answer %s, want %s", got, want)
	}
	if got := readAll(t, ask(t, m, "hello", true)); !strings.Contains(got, want) {
		t.Errorf("events %s, want %s", got, want)
	}
}

func TestToolUseInput(t *testing.T) {
	t.Parallel()
	for _, input := range []any{nil, map[string]string(nil), (*struct{})(nil)} {
		if got := ToolUse("Read", input).Input; got != "{}" {
			t.Errorf("the input %#v is %s", input, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an input that does not marshal was taken")
		}
	}()
	ToolUse("Read", func() {})
}

func TestToolUseInputIsObject(t *testing.T) {
	t.Parallel()
	m, tb := recordedModel(t)
	defer tb.end()
	m.On("").Reply(ToolUse("Read", struct{ Path string }{"a"}), &wire.ToolUseBlock{Name: "Read"})
	m.On("").Reply(Text("hm"), ToolUse("Bash", "ls"), ToolUse("Bash", []int{1}))
	want := []string{
		`clewtest: the input of the tool Bash must be an object, not "ls"`,
		`clewtest: the input of the tool Bash must be an object, not [1]`,
	}
	if diff := cmp.Diff(want, tb.errors); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

const (
	titleFormat = `"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"title":{}}}}}`
	titleSystem = `"system":"Return JSON with a single \"title\" field."`
)

// backgroundCases are requests of Claude Code, and whether it made them on its own behalf. All of
// them contain the rule's words.
var backgroundCases = []struct {
	name, members, content string
	want                   bool
}{
	{"a title", `"stream":true,` + titleSystem + `,` + titleFormat, `[{"type":"text","text":"<session>\nHi</session>"}]`, true},
	{"a web search", `"stream":true,"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"Hi"`, true},
	{"a check that a model works", `"max_tokens":1`, `[{"type":"text","text":"Hi"}]`, true},
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

// askAsAgent posts a request as Claude Code does, and returns the answer.
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

// A modelTB is the test of a model. It keeps what the model reports.
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

// end runs the cleanups, as at the end of a test.
func (tb *modelTB) end() {
	for _, f := range slices.Backward(tb.cleanups) {
		f()
	}
}

// recordedModel returns a model whose failures are kept and not reported. The caller must call end.
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

// eventLines returns the data of the events in a stream, with ids replaced, up to the end or the
// error.
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
