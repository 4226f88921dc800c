package clew

import (
	"errors"
	"slices"
	"testing"

	"github.com/clewdev/clew/wire"
)

// A sequence of prompts needs a new agent.
func TestSequenceOnSession(t *testing.T) {
	t.Parallel()
	for _, on := range []Runner{new(Session), new(Pool)} {
		if _, err := Run(t.Context(), slices.Values([]*wire.UserMessage{Text("Hi")}), on); !errors.Is(err, errOneMessage) {
			t.Errorf("%T: %v", on, err)
		}
	}
}
