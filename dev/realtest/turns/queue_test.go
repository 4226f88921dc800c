package turns_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/wire"
)

func TestRealTwoTurns(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("First").Reply(clewtest.Text("One."))
	model.On("Second").Reply(clewtest.Text("Two."))
	s := scene.Connect(t, options(t, model))
	if s.ID() != "" {
		t.Errorf("id %q before the first turn", s.ID())
	}
	first := ask(t, s, "First")
	first.wantText(t, "One.")
	second := ask(t, s, "Second")
	second.wantText(t, "Two.")
	if first.result(t).SessionID != s.ID() || second.result(t).SessionID != s.ID() {
		t.Errorf("the turns are in sessions %q and %q", first.result(t).SessionID, second.result(t).SessionID)
	}
	if first.result(t).TotalCostUSD >= second.result(t).TotalCostUSD {
		t.Error("the costs don't add up over the session")
	}
	if diff := cmp.Diff([]string{"First", "One.", "Second"}, scene.Said(model.Requests()[1])); diff != "" {
		t.Errorf("the second request (-want +got):\n%s", diff)
	}
}

// A prompt that is sent while a tool runs goes to the model with the tool's result, and the turn
// answers both.
func TestRealPromptDuringTool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	model.On("Work").Reply(scene.Bash(untilGo)).Once()
	model.Reply("Both done.")
	first, second := foldPrompt(t, opts, nil)
	first.wantText(t, "Both done.")
	second.wantText(t, "Both done.")
	if first.result(t) != second.result(t) {
		t.Error("the prompts have a result each")
	}
	if body := string(model.Requests()[1].Body); !strings.Contains(body, "And this") {
		t.Error("the model was not told of the second prompt")
	}
}

// An interrupt stops such a turn for both prompts.
func TestRealInterruptPromptDuringTool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.IncludePartialMessages = true
	model.On("Work").Reply(scene.Bash(untilGo)).Once()
	model.OnToolResult("").Reply(clewtest.Text(longText)).Pace(20 * time.Millisecond)
	var once sync.Once
	first, second := foldPrompt(t, opts, func(s *clew.Session, msg wire.Message) {
		if event, ok := msg.(*wire.StreamEventMessage); ok {
			if _, ok := event.Event.(*wire.TextDeltaEvent); ok {
				once.Do(func() { interrupt(t, s) })
			}
		}
	})
	first.wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	second.wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
}

// foldPrompt runs a turn in which the agent waits for the file go, sends another prompt during that
// time, and writes the file. act gets the messages of the first turn, and may be nil.
func foldPrompt(t *testing.T, opts *clew.Options, act func(*clew.Session, wire.Message)) (first, second *outcome) {
	t.Helper()
	opts.AllowedTools = []string{"Bash"}
	s := scene.Connect(t, opts)
	var behind sync.WaitGroup
	var queued int
	first = read(s.Turn(t.Context(), clew.Text("Work")), func(msg wire.Message) {
		switch msg := msg.(type) {
		case *wire.AssistantMessage:
			if msg.Content.Text() == "" {
				behind.Go(func() { second = read(s.Turn(t.Context(), clew.Text("And this")), nil) })
			}
		case *wire.CommandLifecycleMessage:
			if msg.State == wire.CommandStateQueued {
				if queued++; queued == 2 {
					writeFile(t, opts.Dir, "go")
				}
			}
		}
		if act != nil {
			act(s, msg)
		}
	})
	behind.Wait()
	return first, second
}

// A caller that only sends prompts reads all messages in one loop.
func TestRealSendAndMessages(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.Reply("Hi.")
	s := scene.Connect(t, options(t, model))
	var open []string
	for _, prompt := range []string{"First", "Second"} {
		id, err := s.Send(t.Context(), clew.Text(prompt))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, id)
	}
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if result, ok := msg.(*wire.ResultMessage); ok {
			open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(result.UserMessageUUIDs, id) })
		}
		if len(open) == 0 {
			break
		}
	}
	ask(t, s, "Third").wantText(t, "Hi.")
}

// A prompt that asks for no turn waits for the next one.
func TestRealPromptWithoutTurn(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.Reply("Hi.")
	s := scene.Connect(t, options(t, model))
	note := clew.Text("By the way")
	note.ShouldQuery = new(bool)
	if _, err := s.Send(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "First").wantText(t, "Hi.")
	if diff := cmp.Diff([]string{"By the way", "First"}, scene.Said(model.Requests()[0])); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

// The rest of a turn that the caller has left is not part of the next one.
func TestRealTurnLeft(t *testing.T) {
	t.Parallel()
	model := slowModel(t)
	opts := options(t, model)
	opts.IncludePartialMessages = true
	s := scene.Connect(t, opts)
	for msg, err := range s.Turn(t.Context(), clew.Text("Slow")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := msg.(*wire.StreamEventMessage); ok {
			break
		}
	}
	interrupt(t, s)
	got := ask(t, s, "And now?")
	got.wantText(t, "Hi.")
	if n := len(scene.Of[*wire.ResultMessage](got.messages)); n != 1 {
		t.Errorf("%d results", n)
	}
	for _, answer := range scene.Of[*wire.AssistantMessage](got.messages) {
		if strings.Contains(answer.Content.Text(), "word") {
			t.Errorf("the answer of the turn before is still there: %s", answer.Content.Text())
		}
	}
}

func TestRealCancelPrompt(t *testing.T) {
	t.Parallel()
	model := slowModel(t)
	s := scene.Connect(t, options(t, model))
	got := queueTwo(t, s, model, func(waiting []string) {
		cancelled, err := s.CancelPrompt(t.Context(), waiting[0])
		if err != nil || !cancelled {
			t.Errorf("cancelled %t, %v", cancelled, err)
		}
		cancelled, err = s.CancelPrompt(t.Context(), waiting[0])
		if err != nil || cancelled {
			t.Errorf("cancelled again: %t, %v", cancelled, err)
		}
		interrupt(t, s)
	})
	got[0].wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	cancelled, answered := got[1], got[2]
	if cancelled.err == nil {
		cancelled, answered = answered, cancelled
	}
	if !errors.Is(cancelled.err, clew.ErrCanceled) {
		t.Errorf("error %v", cancelled.err)
	}
	answered.wantText(t, "Hi.")
	prompt := model.Requests()[1].Prompt()
	if strings.Contains(prompt, "Second") == strings.Contains(prompt, "Third") {
		t.Errorf("the model was asked %q, want one of the two prompts", prompt)
	}
}
