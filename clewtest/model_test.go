package clewtest

import (
	"strings"
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
