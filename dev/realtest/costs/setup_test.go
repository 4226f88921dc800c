package costs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// options returns options for the agent over the model, in a new directory.
func options(t *testing.T, model *clewtest.Model) *clew.Options {
	t.Helper()
	return scene.Options(t, model, &clew.Options{
		Env: []string{"DISABLE_AUTO_COMPACT=1"}, // whatever usage the model reports
	})
}

// ask runs a turn and returns its result.
func ask(t *testing.T, s *clew.Session, prompt string) *wire.ResultMessage {
	t.Helper()
	var result *wire.ResultMessage
	for msg, err := range s.Turn(t.Context(), clew.Text(prompt)) {
		if err != nil {
			t.Fatalf("%s: %v", prompt, err)
		}
		if r, ok := msg.(*wire.ResultMessage); ok {
			result = r
		}
	}
	return result
}

// A record has the contents of transcripts: all calls, including copies, and the agent's accounts,
// in order.
type record struct {
	calls  []usage.Call
	states []usage.CostState
}

// read returns the records of all sessions, by ID.
func read(t *testing.T, model *clewtest.Model) map[string]record {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(model.ConfigDir(), "projects", "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	records := make(map[string]record)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		for line := range bytes.Lines(data) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // the agent is still writing it
			}
			e, err := transcript.DecodeEntry(bytes.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if c, ok := transcript.CallOf(&e); ok {
				r.calls = append(r.calls, c)
			}
			if s, ok := transcript.CostStateOf(&e); ok {
				r.states = append(r.states, s)
			}
		}
		name := filepath.Base(path)
		records[name[:len(name)-len(".jsonl")]] = r
	}
	return records
}

// sole returns the record of the only session.
func sole(t *testing.T, model *clewtest.Model) record {
	t.Helper()
	records := read(t, model)
	if len(records) != 1 {
		t.Fatalf("%d sessions", len(records))
	}
	for _, r := range records {
		return r
	}
	panic("unreachable")
}

// waitForCalls waits until the only session has a number of calls in its transcript. The agent
// writes with a delay.
func waitForCalls(t *testing.T, model *clewtest.Model, n int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); len(sole(t, model).calls) < n; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("there are not %d calls", n)
		}
	}
}
