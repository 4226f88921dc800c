package clew_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// smallFrames is a limit that ordinary frames of these tests keep.
const smallFrames = 1000

// A frame that can't be read, or that nobody knows, costs that frame: it comes as a message, and so does the rest.
func TestOddFrames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault clewtest.Fault
		want  string
	}{
		"a line of text":         {clewtest.Garbage("[SandboxDebug] hm"), "*wire.TextLine"},
		"half of a frame":        {clewtest.Garbage(`{"type":"assist`), "*wire.InvalidFrame"},
		"a field that is off":    {clewtest.Garbage(`{"type":"assistant","message":7}`), "*wire.InvalidFrame"},
		"no type":                {clewtest.Garbage(`{"a":1}`), "*wire.InvalidFrame"},
		"an unknown type":        {clewtest.Garbage(`{"type":"sing","song":"la"}`), "*wire.UnknownMessage"},
		"an unknown subtype":     {clewtest.Garbage(`{"type":"system","subtype":"sing"}`), "*wire.SystemMessage"},
		"bytes that are no text": {clewtest.InvalidUTF8(), "caf\ufffd \ufffd\ufffd \ufffd\ufffd"},
		"a frame too large":      {clewtest.BigFrame(smallFrames + 1), "*wire.InvalidFrame"},
		"an answer without id":   {clewtest.Garbage(`{"type":"control_response"}`), "*wire.InvalidFrame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario := connected().Expect(promptFrame("p", "Hi")).Send(assistantFrame("before")).Do(test.fault).
				Send(assistantFrame("after"), resultFrame("done", "p"))
			t.Run("session", func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					s, _ := simulate(t, scenario, &clew.Options{MaxFrameBytes: smallFrames})
					wantTurn(t, s, "Hi", "before", test.want, "after", "result: done")
				})
			})
			t.Run("query", func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					agent := clewtest.NewAgent(t, scenario)
					opts := inMemory(agent, &clew.Options{MaxFrameBytes: smallFrames})
					got, err := heard(clew.Query(t.Context(), "Hi", opts))
					want := []string{"before", test.want, "after", "result: done"}
					if diff := cmp.Diff(want, got); diff != "" || err != nil {
						t.Errorf("error %v; messages (-want +got):\n%s", err, diff)
					}
				})
			})
		})
	}
}

// What is too large says so, and is not kept.
func TestFrameTooLarge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Do(clewtest.BigFrame(10<<20)), &clew.Options{MaxFrameBytes: smallFrames})
		for msg, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			invalid, ok := msg.(*clew.InvalidFrame)
			if !ok || len(invalid.Raw()) > smallFrames {
				t.Fatalf("%T of %d bytes", msg, len(msg.Raw()))
			}
			wantError(t, invalid, wire.ErrFrameTooLarge)
			break
		}
	})
}
