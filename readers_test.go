package clew

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

// A turn whose result is read was not lost, whatever was believed when its agent died.
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
