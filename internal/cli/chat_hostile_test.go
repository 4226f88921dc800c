package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// Whatever the agent says of itself, nothing of it reaches the terminal unescaped.
func TestChatHostile(t *testing.T) {
	quoted, err := json.Marshal("\x1b]0;owned\x07\u202e\u2066\r\u009b\u2028owned\x00")
	if err != nil {
		t.Fatal(err)
	}
	lines := `> {"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}
< {"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{"current_model":BAD,"current_permission_mode":BAD,"commands":[{"name":BAD,"description":BAD}]}}}
> {"type":"user","message":{"role":"user"}}
< {"type":"system","subtype":"init","model":BAD,"permissionMode":BAD,"slash_commands":[BAD],"session_id":BAD,"uuid":"1"}
< {"type":"assistant","message":{"content":[{"type":"text","text":BAD},{"type":"tool_use","id":"t","name":BAD,"input":{"command":BAD}}]},"session_id":BAD,"uuid":"2"}
< {"type":"control_request","request_id":"may","request":{"subtype":"can_use_tool","tool_name":BAD,"input":{"command":BAD},"tool_use_id":"t"}}
> {"type":"control_response","response":{"request_id":"may","subtype":"success","response":{"behavior":"deny"}}}
< {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":BAD}]},"session_id":BAD,"uuid":"3"}
< {"type":"result","subtype":"error_max_turns","is_error":true,"errors":[BAD],"session_id":BAD,"uuid":"4"}
> {"type":"control_request","request_id":"m","request":{"subtype":"set_model"}}
< {"type":"control_response","response":{"request_id":"m","subtype":"success","response":{"model":BAD}}}
> {"type":"control_request","request_id":"p","request":{"subtype":"set_permission_mode"}}
< {"type":"control_response","response":{"request_id":"p","subtype":"error","error":BAD}}
> {"type":"control_request","request_id":"c","request":{"subtype":"get_session_cost"}}
< {"type":"control_response","response":{"request_id":"c","subtype":"success","response":{"text":BAD}}}
> {"type":"control_request","request_id":"x","request":{"subtype":"get_context_usage"}}
< {"type":"control_response","response":{"request_id":"x","subtype":"success","response":{"categories":[{"name":BAD}]}}}
`
	scenario, err := clewtest.ReadDialogue(strings.NewReader(strings.ReplaceAll(lines, "BAD", string(quoted))))
	if err != nil {
		t.Fatal(err)
	}
	useAgent(t, scenario)
	var out, errs bytes.Buffer
	in := strings.NewReader("Hi\n/model x\n/mode x\n/cost\n/context\n/model\n/mode\n/help\n")
	if code := execute(t.Context(), []string{"chat"}, Streams{In: in, Out: &out, Err: &errs}); code != exitFailed {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
	if n := strings.Count(out.String(), "owned"); n < 8 {
		t.Errorf("stdout:\n%s", out.String())
	}
	checkHarmless(t, "stdout", out.String())
	checkHarmless(t, "stderr", errs.String())
}
