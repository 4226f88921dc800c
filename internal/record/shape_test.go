package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ids = `"uuid":"u","session_id":"s"`

func TestShape(t *testing.T) {
	rec := Parse(strings.Join([]string{
		`# CLI 1.2.3 (Claude Code)`,
		`> {"type":"control_request","request_id":"req_1","request":{"subtype":"initialize"}}`,
		`< {"type":"control_response","response":{"subtype":"success","request_id":"req_1"}}`,
		`> {"type":"user","message":{"role":"user","content":"hi"}}`,
		`< {"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool"}}`,
		`> {"type":"control_response","response":{"subtype":"error","request_id":"1","error":"x"}}`,
		`< {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}},` + ids + `}`,
		`< {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}},` + ids + `}`,
		`< {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},"parent_tool_use_id":"t",` + ids + `}`,
		`< {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},` + ids + `}`,
		`< {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},` + ids + `}`,
		`< {"type":"keep_alive"}`,
		`< not JSON`,
		`# exit 3`,
		``,
	}, "\n"))
	want := Shape{
		Host:        []string{"control_request initialize", "user text"},
		HostAnswers: []string{"control_response error"},
		Agent: []string{
			"control_request can_use_tool", "stream_event content_block_delta", "assistant text of a subagent",
			"assistant text", "assistant text", "keep_alive", "*wire.InvalidFrame",
		},
		AgentAnswers: []string{"control_response success"},
		Exit:         "exit 3",
	}
	if diff := cmp.Diff(want, ShapeOf(rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDialogueText(t *testing.T) {
	text := "# CLI 1.2.3 (Claude Code)\n# args \"--verbose\"\n> {\"a\":1}\n< {\"b\":\"<>\"}\n# exit 0\n"
	if diff := cmp.Diff(text, Parse("\n"+text+"\nelse\n>\n").String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
