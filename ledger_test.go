package clew

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// A result that names no prompt answers the oldest one, unless the agent has not begun with it.
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
		{"an agent that does not tell", nil, []string{"a"}},
		{"queued", []wire.Message{state(wire.CommandStateQueued)}, nil},
		{"started", []wire.Message{state(wire.CommandStateQueued), state(wire.CommandStateStarted)}, []string{"a"}},
		{"not heard of, while the agent tells of others", []wire.Message{
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
