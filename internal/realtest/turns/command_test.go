package turns_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// The commands of one session, the one that forgets it all last.
func TestRealCommands(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("CRITICAL: Respond with TEXT ONLY").Reply(clewtest.Text("<summary>\nTalked about words.\n</summary>"))
	model.Reply("Yes.")
	s := turnsConnect(t, turnsOptions(t, model))
	turnsAsk(t, s, "First words")
	t.Run("cost", func(t *testing.T) { testLocalCommand(t, s, "cost", "Total cost:") })
	t.Run("context", func(t *testing.T) { testLocalCommand(t, s, "context", "Context Usage") })
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	t.Run("compact", func(t *testing.T) { testCompact(t, s, model) })
	t.Run("clear", func(t *testing.T) { testClear(t, s, model) })
}

// A command that needs no model is a turn like any other: its result names the prompt.
func testLocalCommand(t *testing.T, s *clew.Session, command, words string) {
	got := turnsAsk(t, s, "/"+command)
	result := got.result(t)
	if result.LocalCommand != command || !strings.Contains(result.Result, words) {
		t.Errorf("result %s", result.Raw())
	}
	states := turnsOf[*wire.CommandLifecycleMessage](got.messages)
	started := states[len(states)-1].CommandUUID
	if diff := cmp.Diff([]string{started}, result.UserMessageUUIDs); diff != "" {
		t.Errorf("the prompts of the result (-want +got):\n%s", diff)
	}
}

func testCompact(t *testing.T, s *clew.Session, model *clewtest.Model) {
	id := s.ID()
	got := turnsAsk(t, s, "/compact")
	boundaries := turnsOf[*wire.CompactBoundaryMessage](got.messages)
	if len(boundaries) != 1 || boundaries[0].Metadata.Trigger != wire.CompactTriggerManual {
		t.Errorf("boundaries %v", boundaries)
	}
	states := turnsOf[*wire.StatusMessage](got.messages)
	if len(states) != 2 || states[0].Status != wire.SessionStatusCompacting || states[1].CompactResult != "success" {
		t.Errorf("states %v", states)
	}
	turnsAsk(t, s, "Second words")
	said := turnsNewest(model)
	if strings.Contains(said, "First words") || !strings.Contains(said, "Talked about words.") {
		t.Errorf("after that the model was told %q", said)
	}
	if s.ID() != id {
		t.Error("the session has another id")
	}
}

func testClear(t *testing.T, s *clew.Session, model *clewtest.Model) {
	old := s.ID()
	got := turnsAsk(t, s, "/clear")
	resets := turnsOf[*wire.ConversationResetMessage](got.messages)
	if len(resets) != 1 || resets[0].Trigger != wire.ResetTriggerClear || resets[0].SessionID != old {
		t.Errorf("resets %v", resets)
	}
	if id := got.result(t).SessionID; id == old || s.ID() != id {
		t.Errorf("the session is %q, the result says %q, before it was %q", s.ID(), id, old)
	}
	turnsAsk(t, s, "Third words")
	if said := turnsNewest(model); strings.Contains(said, "Second words") || !strings.Contains(said, "Third words") {
		t.Errorf("after that the model was told %q", said)
	}
	if !strings.Contains(turnsTranscript(t, model, s.ID()), "Third words") {
		t.Error("what was said is not in the transcript of the new session")
	}
}

// turnsNewest returns what user and model have said in the newest request.
func turnsNewest(model *clewtest.Model) string {
	requests := model.Requests()
	return strings.Join(turnsSaid(requests[len(requests)-1]), "\n")
}
