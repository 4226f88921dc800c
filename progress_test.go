package clew

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

// A task that has ended starts a turn: it is not over before the result of that, whenever somebody asks.
func TestProgressOfATask(t *testing.T) {
	t.Parallel()
	var p progress
	p.sent("prompt")
	for _, step := range []struct {
		frame   string
		settled bool
	}{
		{`{"type":"system","subtype":"task_started","task_id":"t","description":"d","task_type":"local_agent",` +
			`"session_id":"s","uuid":"1"}`, false},
		{`{"type":"result","subtype":"success","result":"","session_id":"s","uuid":"2"}`, false},
		{`{"type":"system","subtype":"task_notification","task_id":"t","status":"completed",` +
			`"output_file":"","summary":"","session_id":"s","uuid":"3"}`, false},
		{`{"type":"result","subtype":"success","result":"","session_id":"s","uuid":"4",` +
			`"origin":{"kind":"task-notification"}}`, true},
	} {
		p.see(wire.Decode([]byte(step.frame)))
		if got := p.settled(); got != step.settled {
			t.Errorf("after %s: settled %t", step.frame, got)
		}
	}
}
