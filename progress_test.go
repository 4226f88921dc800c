package clew

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// A task that ended starts a turn: the run is not settled before the result of that.
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

// A result that names no prompt answers the oldest one, unless the agent has not started it.
func TestLedgerResultWithoutPrompt(t *testing.T) {
	t.Parallel()
	state := func(s wire.CommandState) wire.Message {
		return &wire.CommandLifecycleMessage{CommandUUID: "a", State: s}
	}
	result := &wire.ResultMessage{Subtype: wire.ResultSuccess}
	tests := []struct {
		name   string
		before []wire.Message
		want   []string
	}{
		{"an agent that does not report states", nil, []string{"a"}},
		{"queued", []wire.Message{state(wire.CommandStateQueued)}, nil},
		{"started", []wire.Message{state(wire.CommandStateQueued), state(wire.CommandStateStarted)}, []string{"a"}},
		{"not reported, while the agent reports others", []wire.Message{
			&wire.CommandLifecycleMessage{CommandUUID: "x", State: wire.CommandStateStarted},
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var l ledger
			l.sent("a")
			l.sent("b")
			for _, msg := range tt.before {
				l.see(msg)
			}
			if diff := cmp.Diff(tt.want, l.see(result)); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}

// A turn whose result is read was not lost, even if it counted as lost when its agent died.
func TestTurnThatWasAnsweredAfterAll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		msg  wire.Message
		lost bool
	}{
		"by a result":    {&wire.ResultMessage{UserMessageUUID: "p"}, false},
		"by a new agent": {&wire.SessionReconnectedMessage{LostPrompts: []string{"p"}}, true},
	} {
		var r readers
		turn := newTurn()
		turn.id = "p"
		if err := r.join(turn); err != nil {
			t.Fatal(err)
		}
		r.sent("p")
		r.lose([]string{"p"}, &LostError{Exit: new(ExitError)})
		if _, over := r.see(turn, test.msg); !over || isLost(turn.err()) != test.lost {
			t.Errorf("%s: over %v, error %v", name, over, turn.err())
		}
	}
}
