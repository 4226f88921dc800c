package transcript

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/wire"
)

func TestResultText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		content string
		want    string
		images  int
	}{
		{"nothing", ``, "", 0},
		{"null", `null`, "", 0},
		{"empty string", `""`, "", 0},
		{"string", `"a b"`, "a b", 0},
		{"string with escapes", `"a\n\"b\" \u00e9 \\"`, "a\n\"b\" é \\", 0},
		{"string with other letters", `"日本 é"`, "日本 é", 0},
		{"string with bytes that are no letters", "\"a\xffb\"", "a\uFFFDb", 0},
		{"string with space around", " \"a\\tb\" \n", "a\tb", 0},
		{"string without an end", `"a`, `"a`, 0},
		{"string that ends in a slash", `"a\"`, `"a\"`, 0},
		{"a quote alone", `"`, `"`, 0},
		{"two strings", `"a" "b"`, `"a" "b"`, 0},
		{"empty list", `[]`, "", 0},
		{"one text", `[{"type":"text","text":"a\nb"}]`, "a\nb", 0},
		{"two texts", `[{"type":"text","text":"a"},{"text":"b","type":"text"}]`, "a\nb", 0},
		{
			"pictures",
			`[{"type":"image","source":{"type":"base64","data":"AAAA"}},{"type":"text","text":"a"},{"type":"image"}]`, "a", 2,
		},
		{"a document", `[{"type":"document","source":{"data":"AAAA"}},{"type":"text","text":"a"}]`, "[Document]\na", 0},
		{"a tool", `[{"type":"tool_reference","tool_name":"WebFetch"},{"type":"text","text":"b"}]`, "WebFetch\nb", 0},
		{"bare strings", `["a",{"type":"text","text":"b"}]`, "a\nb", 0},
		{"an unknown block", `[{"type":"hologram","x":[1, 2]},7]`, "{\"type\":\"hologram\",\"x\":[1, 2]}\n7", 0},
		{"a text that is none", `[{"type":"text","text":5},{"type":"text"}]`, `{"type":"text","text":5}
{"type":"text"}`, 0},
		{"an object", `{"a": 1}`, `{"a": 1}`, 0},
		{"a number", `12`, `12`, 0},
		{"a list without an end", `[{"type":"text","text":"a"}`, `[{"type":"text","text":"a"}`, 0},
		{"a list with more behind it", `[] 1`, `[] 1`, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, images := resultText(wire.JSON(test.content))
			if got != test.want || images != test.images {
				t.Errorf("resultText(%s) = %q, %d, want %q, %d", test.content, got, images, test.want, test.images)
			}
		})
	}
}

func TestResultTextThatNeedsNoCopy(t *testing.T) {
	content := wire.JSON(`"` + strings.Repeat("plain text ", 1000) + `"`)
	if n := testing.AllocsPerRun(10, func() { resultText(content) }); n != 0 {
		t.Errorf("%v allocations for a plain string, want none", n)
	}
}

func FuzzResultText(f *testing.F) {
	for _, seed := range []string{`"a\n"`, `[{"type":"text","text":"a"},"b",{"type":"image"}]`, `{"a":1}`, `"`, `"\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		var want string
		got, _ := resultText(wire.JSON(content))
		if content != "" && content[0] == '"' && wire.JSON(content).Decode(&want) == nil && got != want {
			t.Errorf("resultText(%q) = %q, want %q", content, got, want)
		}
	})
}

func TestResultsOfToolsAtTheAPI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, block string
		want        string
		failed      bool
	}{
		{
			"web search",
			`{"type":"web_search_tool_result","tool_use_id":"s","content":[
				{"type":"web_search_result","title":"Go","url":"https://go.dev","encrypted_content":"xxx"},
				{"type":"web_search_result","title":"","url":"https://pkg.go.dev"}]}`,
			"Go\nhttps://go.dev\nhttps://pkg.go.dev", false,
		},
		{
			"web search that failed",
			`{"type":"web_search_tool_result","tool_use_id":"s","content":
				{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`,
			"web_search_tool_result_error: max_uses_exceeded", true,
		},
		{
			"program",
			`{"type":"code_execution_tool_result","tool_use_id":"s","content":
				{"type":"code_execution_result","stdout":"out\n","stderr":"err","return_code":0}}`,
			"out\nerr", false,
		},
		{
			"shell command",
			`{"type":"bash_code_execution_tool_result","tool_use_id":"s","content":
				{"type":"bash_code_execution_result","stdout":"out","stderr":"","return_code":0}}`,
			"out", false,
		},
		{
			"advice",
			`{"type":"advisor_tool_result","tool_use_id":"s","content":{"type":"advisor_result","text":"Rest."}}`,
			"Rest.", false,
		},
		{
			"page, which stays JSON",
			`{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_result","url":"https://go.dev"}}`,
			`{"type":"web_fetch_result","url":"https://go.dev"}`, false,
		},
		{
			"file",
			`{"type":"text_editor_code_execution_tool_result","tool_use_id":"s","content":
				{"type":"text_editor_code_execution_tool_result_error","error_code":"file_not_found"}}`,
			"text_editor_code_execution_tool_result_error: file_not_found", true,
		},
		{
			"tools",
			`{"type":"tool_search_tool_result","tool_use_id":"s","content":{"type":"tool_search_tool_search_result"}}`,
			`{"type":"tool_search_tool_search_result"}`, false,
		},
		{
			"MCP",
			`{"type":"mcp_tool_result","tool_use_id":"s","is_error":true,"content":[{"type":"text","text":"no"}]}`,
			"no", true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			call := &wire.MCPToolUseBlock{ID: "s", Name: "tool", Input: `{}`}
			items := itemsOf([]ClassifiedMsg{ai(0, "m", call, unknownBlock(test.block))})
			if len(items) != 1 || items[0].ToolResult != test.want || items[0].ToolError != test.failed {
				t.Errorf("items = %+v, want one with %q, error %v", items, test.want, test.failed)
			}
		})
	}
}

func TestOtherBlocks(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		`{"type":"image","source":{"type":"base64","data":"AAAA"}}`: "[Image]",
		`{"type":"document"}`:                       "[Document]",
		`{"type":"compaction","content":"So far"}`:  "So far",
		`{"type":"text"}`:                           `{"type":"text"}`,
		`"bare"`:                                    `"bare"`,
		`{"type":"tool_reference","tool_name":"X"}`: `{"type":"tool_reference","tool_name":"X"}`,
	} {
		items := itemsOf([]ClassifiedMsg{ai(0, "m", unknownBlock(block))})
		if len(items) != 1 || items[0].Type != ItemOutput || items[0].Text != want {
			t.Errorf("%s gives %+v, want an output %q", block, items, want)
		}
	}
}

// checkLean fails unless the short way to a digest gives the same as the one over blocks.
func checkLean(t *testing.T, line []byte) {
	t.Helper()
	e, err := DecodeEntry(line)
	if err != nil {
		return
	}
	at := wire.Position{Line: 1}
	got, gotNoise := (&classifier{maxResult: -1, sidechain: true}).digest(&e, at)
	c := classifier{maxResult: -1, sidechain: true}
	msg, wantNoise := c.classify(&e)
	var want *digest
	switch {
	case msg != nil:
		want = newDigest(msg, at)
	case wantNoise == entryfacts.KindInterruption:
		want, wantNoise = newInterruption(at, e.Timestamp), ""
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, all); diff != "" || gotNoise != wantNoise {
		t.Fatalf("%s: noise %q, want %q (-blocks +lean):\n%s", line, gotNoise, wantNoise, diff)
	}
}

func FuzzLeanEqualsBlocks(f *testing.F) {
	for _, content := range []string{
		`[{"type":"tool_result","tool_use_id":"a","content":"x\\n\u00e4"}]`,
		`[{"tool_use_id":"a","type":"tool_result","content":[{"type":"text","text":"x"},{"type":"image"}],"is_error":true}]`,
		`[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b","content":7,"is_error":null}]`,
		`[{"type":"tool_result","tool_use_id":"a","cache_control":3},{"type":"text","text":"beside"}]`,
		`[{"type":"tool_result","content":"no call"}]`, `[]`, `"text"`, `[{"type":"tool_result","tool_use_id":7}]`,
	} {
		f.Add([]byte(`{"type":"user","uuid":"u","message":{"role":"user","content":` + content + `},"toolUseResult":{"agentId":"z"}}`))
	}
	for _, path := range recordedTranscripts(f) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte("tool_result")) {
				f.Add(line)
			}
		}
	}
	f.Fuzz(checkLean)
}
