package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

var controlExamples = []example{
	{"control_request", new(wire.ControlRequestMessage), `{
		"type": "control_request", "request_id": "q1",
		"request": {
			"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "toolu_1",
			"permission_suggestions": [], "blocked_path": null
		}
	}`},
	{"control_response", new(wire.ControlResponseMessage), `{
		"type": "control_response",
		"response": {
			"subtype": "success", "request_id": "q1", "response": {"commands": [], "pid": 4711},
			"pending_permission_requests": [
				{"type": "control_request", "request_id": "q2", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}}
			],
			"pending_user_dialog_requests": [
				{"type": "control_request", "request_id": "q3", "request": {"subtype": "request_user_dialog"}}
			],
			"pending_elicitation_requests": [
				{"type": "control_request", "request_id": "q4", "request": {"subtype": "elicitation"}}
			]
		}
	}`},
	{"control_response", new(wire.ControlResponseMessage), `{
		"type": "control_response",
		"response": {
			"subtype": "error", "request_id": "q1", "error": "not supported", "error_code": "unsupported_request",
			"pending_permission_requests": []
		}
	}`},
	{"control_cancel_request", new(wire.ControlCancelRequestMessage), `{
		"type": "control_cancel_request", "request_id": "q1"
	}`},
}

// The body of a request depends on its subtype: it stays JSON, for the caller to
// decode, and none of its fields counts as unknown.
func TestControlRequestBody(t *testing.T) {
	msg := decodeAs[*wire.ControlRequestMessage](t, controlExamples[0].frame)
	var body struct {
		ToolName string    `json:"tool_name"`
		Input    wire.JSON `json:"input"`
	}
	if err := json.Unmarshal([]byte(msg.Request.Raw()), &body); err != nil {
		t.Fatal(err)
	}
	if body.ToolName != "Bash" || string(body.Input) != `{"command": "ls"}` {
		t.Errorf("body %+v", body)
	}
}

func TestControlResponseWithoutBody(t *testing.T) {
	for frame, want := range map[string]wire.JSON{
		`{"type":"control_response","response":{"subtype":"success","request_id":"1"}}`:                 "",
		`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":null}}`: "",
		`{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{}}}`:   "{}",
	} {
		msg := decodeAs[*wire.ControlResponseMessage](t, frame)
		if diff := cmp.Diff(want, msg.Response.Response); diff != "" {
			t.Errorf("%s (-want +got):\n%s", frame, diff)
		}
		if got := encoded(t, msg); string(got) != frame {
			t.Errorf("encoded %s, want %s", got, frame)
		}
	}
}

// A request that is nothing we can read still has to be answered: its id counts.
func TestControlRequestOfUnknownShape(t *testing.T) {
	for _, request := range []string{`null`, `"interrupt"`, `[]`, `{}`, `{"subtype":5}`, `{"subtype":"brand_new"}`} {
		frame := `{"type":"control_request","request_id":"q","request":` + request + `}`
		msg := decodeAs[*wire.ControlRequestMessage](t, frame)
		if msg.RequestID != "q" {
			t.Errorf("%s: id %q", frame, msg.RequestID)
		}
		if diff := cmp.Diff(value(t, []byte(frame)), value(t, encoded(t, msg))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", frame, diff)
		}
	}
}

func TestControlRequestMadeByHand(t *testing.T) {
	msg := &wire.ControlRequestMessage{RequestID: "q", Request: wire.ControlRequest{Subtype: "interrupt"}}
	const want = `{"type":"control_request","request_id":"q","request":{"subtype":"interrupt"}}`
	if got := encoded(t, msg); string(got) != want {
		t.Errorf("encoded %s, want %s", got, want)
	}
}
