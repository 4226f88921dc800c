package main

import (
	"context"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// TestGreet plays a dialogue that was recorded. It fails if greet says something else to the agent
// than it did then.
func TestGreet(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, clewtest.LoadDialogue(t, "testdata/dialogue.txt"))
	opts := &clew.Options{Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		return agent.Conn(), nil
	})}
	answer, err := greet(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := "The agent says: Hello."; answer != want {
		t.Errorf("got %q, want %q", answer, want)
	}
}
