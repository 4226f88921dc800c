package features_test

import (
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

func TestRealQuery(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Hello.")
	k := query(t, model, "Greet me", nil)
	if init := only(t, of[*wire.InitMessage](k)); init.Version != clewtest.AgentVersion {
		t.Errorf("init %s", init.Raw())
	}
	if got := k.answer().Text(); got != "Hello." || k.result.Result != got {
		t.Errorf("answer %q, result %q", got, k.result.Result)
	}
	if got := newest(model).Prompt(); got != "Greet me" {
		t.Errorf("prompt %q", got)
	}
}

func TestRealRun(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Greet me").Reply(clewtest.Text("Hello.")).Usage(100, 42, 300, 20)
	result, err := clew.Run(t.Context(), "Greet me", over(t, model, nil))
	if err != nil {
		t.Fatal(err)
	}
	if result.Result != "Hello." || result.IsError || result.NumTurns != 1 || result.TotalCostUSD <= 0 ||
		result.Usage.OutputTokens != 42 {
		t.Errorf("result %s", result.Raw())
	}
}

func TestRealTurns(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("First").Reply(clewtest.Text("One."))
	model.On("Second").Reply(clewtest.Text("Two."))
	s := connect(t, model, nil)
	first, second := ask(t, s, "First").result, ask(t, s, "Second").result
	if first.Result != "One." || second.Result != "Two." {
		t.Errorf("results %q, %q", first.Result, second.Result)
	}
	if s.ID() == "" || s.ID() != first.SessionID || s.ID() != second.SessionID {
		t.Errorf("session %q, results of %q and %q", s.ID(), first.SessionID, second.SessionID)
	}
	wantText(t, "the second request", string(newest(model).Body), "One.")
}

func TestRealPartialMessages(t *testing.T) {
	t.Parallel()
	const answer = "An answer that comes in pieces, the one after the other."
	model := clewtest.NewModel(t)
	model.On("Tell me").Reply(clewtest.Text(answer)).ChunkSize(7)
	k := query(t, model, "Tell me", &clew.Options{IncludePartialMessages: true})
	var deltas, shown string
	var collector wire.Collector
	for _, msg := range k.messages {
		shown += collector.Add(msg)
	}
	for _, msg := range of[*wire.StreamEventMessage](k) {
		if delta, ok := msg.Event.(*wire.TextDeltaEvent); ok {
			deltas += delta.Text
		}
	}
	if deltas != answer || shown != answer || collector.Text() != answer {
		t.Errorf("deltas %q, shown %q, text %q", deltas, shown, collector.Text())
	}
}

func TestRealThinking(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Think").Reply(clewtest.Thinking("Let me see.", "c2lnbmF0dXJl"), clewtest.Text("I see."))
	k := query(t, model, "Think", nil)
	blocks := k.answer()
	if len(blocks) != 2 || k.result.Result != "I see." {
		t.Fatalf("%d blocks, result %q", len(blocks), k.result.Result)
	}
	thinking, ok := blocks[0].(*wire.ThinkingBlock)
	if !ok || thinking.Thinking != "Let me see." || thinking.Signature != "c2lnbmF0dXJl" {
		t.Errorf("first block %s", blocks[0].Raw())
	}
}
