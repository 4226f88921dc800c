package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestToolInput(t *testing.T) {
	type input struct {
		Command string `json:"command"`
	}
	for _, tt := range []struct{ name, block, want string }{
		{"tool use", `{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls","x":1}}`, "ls"},
		{"server tool use", `{"type":"server_tool_use","id":"1","name":"bash","input":{"command":"ls"}}`, "ls"},
		{"MCP tool use", `{"type":"mcp_tool_use","id":"1","name":"run","input":{"command":"ls"}}`, "ls"},
		{"no input", `{"type":"tool_use","id":"1","name":"Bash"}`, ""},
		{"null input", `{"type":"tool_use","id":"1","name":"Bash","input":null}`, ""},
		{"empty input", `{"type":"server_tool_use","id":"1","name":"advisor","input":{}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got input
			block := blockOf[interface {
				wire.Block
				DecodeInput(v any) error
			}](t, tt.block)
			if err := block.DecodeInput(&got); err != nil || got.Command != tt.want {
				t.Errorf("input %+v, %v", got, err)
			}
		})
	}
	var number int
	if err := blockOf[*wire.ToolUseBlock](t, `{"type":"tool_use","id":"1","name":"x","input":{}}`).DecodeInput(&number); err == nil {
		t.Error("an object decodes into an int")
	}
}

// Absent, false and true are three states of is_error.
func TestToolResultIsError(t *testing.T) {
	for member, want := range map[string]*bool{
		``: nil, `,"is_error":null`: nil, `,"is_error":false`: new(false), `,"is_error":true`: new(true),
	} {
		for _, kind := range []string{"tool_result", "mcp_tool_result"} {
			text := `{"type":"` + kind + `","tool_use_id":"1"` + member + `}`
			block := blockOf[interface {
				wire.Block
				Failed() bool
			}](t, text)
			got := isError(block)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
			if failed := want != nil && *want; block.Failed() != failed {
				t.Errorf("%s: failed %t", text, block.Failed())
			}
			if again, err := block.MarshalJSON(); err != nil || string(again) != text {
				t.Errorf("encoded %s, %v, want %s", again, err, text)
			}
		}
	}
}

func isError(block wire.Block) *bool {
	if block, ok := block.(*wire.ToolResultBlock); ok {
		return block.IsError
	}
	return block.(*wire.MCPToolResultBlock).IsError
}

func TestToolResultContent(t *testing.T) {
	for _, tt := range []struct {
		name, member, text string
		blocks             int
	}{
		{"absent", ``, "", 0},
		{"null", `,"content":null`, "", 0},
		{"string", `,"content":"a\nb"`, "a\nb", 1},
		{"empty string", `,"content":""`, "", 1},
		{"empty list", `,"content":[]`, "", 0},
		{"blocks", `,"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`, "ab", 3},
		{"tool reference", `,"content":[{"type":"tool_reference","tool_name":"Bash"}]`, "", 1},
		{"unknown block", `,"content":[{"type":"browser_state","url":"https://a"}]`, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, kind := range []string{"tool_result", "mcp_tool_result"} {
				block := blockOf[interface {
					wire.Block
					Text() string
					Blocks() (wire.Content, error)
				}](t, `{"type":"`+kind+`","tool_use_id":"1"`+tt.member+`}`)
				content, err := block.Blocks()
				if err != nil || len(content) != tt.blocks || block.Text() != tt.text {
					t.Errorf("%d blocks, text %q, %v", len(content), block.Text(), err)
				}
			}
		})
	}
}

// A result of an odd shape is kept; only asking for its blocks fails.
func TestToolResultContentOfAnotherShape(t *testing.T) {
	block := blockOf[*wire.ToolResultBlock](t, `{"type":"tool_result","tool_use_id":"1","content":{"a":1}}`)
	if block.Content != `{"a":1}` || block.Text() != "" {
		t.Errorf("content %s, text %q", block.Content, block.Text())
	}
	if _, err := block.Blocks(); err == nil {
		t.Error("no error")
	}
	if content, err := wire.DecodeContent(`[{"type":"text"`); err == nil {
		t.Errorf("blocks %v of text that is not JSON", content)
	}
}

func TestServerToolResults(t *testing.T) {
	search := blockOf[*wire.WebSearchToolResultBlock](t, `{"type":"web_search_tool_result","tool_use_id":"1","content":[
		{"type":"web_search_result","title":"Go","url":"https://go","encrypted_content":"eA==","page_age":"1 day"},
		{"type":"web_search_result","title":"Fish","url":"https://fish","encrypted_content":"eQ==","page_age":null}]}`)
	pages, err := search.Results()
	if err != nil || len(pages) != 2 || pages[0].PageAge != "1 day" || pages[1].URL != "https://fish" {
		t.Errorf("pages %+v, %v", pages, err)
	}

	fetch := blockOf[*wire.WebFetchToolResultBlock](t, `{"type":"web_fetch_tool_result","tool_use_id":"1","content":
		{"type":"web_fetch_result","url":"https://go","retrieved_at":"2026-11-14","content":{"type":"document",
		"source":{"type":"text","media_type":"text/plain","data":"words"}}}}`)
	page, err := fetch.Result()
	if err != nil || page.RetrievedAt != "2026-11-14" || page.Content.Source.Data != "words" {
		t.Errorf("page %+v, %v", page, err)
	}

	code := blockOf[*wire.CodeExecutionToolResultBlock](t, `{"type":"code_execution_tool_result","tool_use_id":"1",
		"content":{"type":"encrypted_code_execution_result","encrypted_stdout":"eA==","stderr":"e","return_code":2,
		"content":[{"type":"code_execution_output","file_id":"file_1"}]}}`)
	out, err := code.Result()
	if err != nil || out.EncryptedStdout != "eA==" || out.ReturnCode != 2 || out.Content[0].FileID != "file_1" {
		t.Errorf("output %+v, %v", out, err)
	}

	bash := blockOf[*wire.BashCodeExecutionToolResultBlock](t, `{"type":"bash_code_execution_tool_result",
		"tool_use_id":"1","content":{"type":"bash_code_execution_result","stdout":"o","return_code":0}}`)
	if out, err := bash.Result(); err != nil || out.Stdout != "o" {
		t.Errorf("output %+v, %v", out, err)
	}
}

func TestMoreServerToolResults(t *testing.T) {
	for content, want := range map[string]wire.TextEditorResult{
		`{"type":"v","content":"c","file_type":"text","num_lines":1,"start_line":2,"total_lines":3}`: {
			Type: "v", Content: "c", FileType: "text", NumLines: 1, StartLine: 2, TotalLines: 3},
		`{"type":"c","is_file_update":true}`: {Type: "c", FileUpdate: true},
		`{"type":"s","lines":["-a","+b"],"old_start":1,"old_lines":2,"new_start":3,"new_lines":4}`: {
			Type: "s", Lines: []string{"-a", "+b"}, OldStart: 1, OldLines: 2, NewStart: 3, NewLines: 4},
	} {
		block := wire.TextEditorCodeExecutionToolResultBlock{Content: wire.JSON(content)}
		got, err := block.Result()
		if diff := cmp.Diff(&want, got, exported); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}

	tools := wire.ToolSearchToolResultBlock{Content: `{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"Bash"}]}`}
	if found, err := tools.Result(); err != nil || found.ToolReferences[0].ToolName != "Bash" {
		t.Errorf("found %+v, %v", found, err)
	}

	advisor := wire.AdvisorToolResultBlock{Content: `{"type":"advisor_redacted_result","encrypted_content":"eA==","stop_reason":"end_turn"}`}
	advice, err := advisor.Result()
	if err != nil || advice.EncryptedContent != "eA==" || advice.StopReason != wire.StopReasonEndTurn {
		t.Errorf("advice %+v, %v", advice, err)
	}
}

func TestServerToolErrors(t *testing.T) {
	failed := func(kind string) wire.JSON {
		return wire.JSON(`{"type":"` + kind + `_error","error_code":"unavailable","error_message":null}`)
	}
	for kind, result := range map[string]func(wire.JSON) error{
		"web_search_tool_result": func(c wire.JSON) error {
			_, err := (&wire.WebSearchToolResultBlock{Content: c}).Results()
			return err
		},
		"web_fetch_tool_result": func(c wire.JSON) error {
			_, err := (&wire.WebFetchToolResultBlock{Content: c}).Result()
			return err
		},
		"code_execution_tool_result": func(c wire.JSON) error {
			_, err := (&wire.CodeExecutionToolResultBlock{Content: c}).Result()
			return err
		},
		"bash_code_execution_tool_result": func(c wire.JSON) error {
			_, err := (&wire.BashCodeExecutionToolResultBlock{Content: c}).Result()
			return err
		},
		"text_editor_code_execution_tool_result": func(c wire.JSON) error {
			_, err := (&wire.TextEditorCodeExecutionToolResultBlock{Content: c}).Result()
			return err
		},
		"tool_search_tool_result": func(c wire.JSON) error {
			_, err := (&wire.ToolSearchToolResultBlock{Content: c}).Result()
			return err
		},
		"advisor_tool_result": func(c wire.JSON) error {
			_, err := (&wire.AdvisorToolResultBlock{Content: c}).Result()
			return err
		},
	} {
		var failure *wire.ToolError
		if err := result(failed(kind)); !errors.As(err, &failure) || failure.Code != "unavailable" {
			t.Errorf("%s: %v", kind, err)
		}
		if want := "wire: " + kind + "_error: unavailable"; failure != nil && failure.Error() != want {
			t.Errorf("%q, want %q", failure.Error(), want)
		}
		if err := result(`"odd"`); err == nil || errors.As(err, &failure) {
			t.Errorf("%s of another shape: %v", kind, err)
		}
	}
	with := &wire.ToolError{Type: "t", Code: "c", Message: "m"}
	if want := "wire: t: c: m"; with.Error() != want {
		t.Errorf("%q, want %q", with.Error(), want)
	}
}
