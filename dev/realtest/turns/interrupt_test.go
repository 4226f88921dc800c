package turns_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

func TestRealInterruptText(t *testing.T) {
	t.Parallel()
	model := slowModel(t)
	opts := options(t, model)
	opts.IncludePartialMessages = true
	s := scene.Connect(t, opts)

	receipt, err := s.Interrupt(t.Context(), nil)
	if diff := cmp.Diff(&clew.InterruptReceipt{StillQueued: []string{}}, receipt); err != nil || diff != "" {
		t.Errorf("before the first turn: %v (-want +got):\n%s", err, diff)
	}
	var once sync.Once
	got := read(s.Turn(t.Context(), clew.Text("Slow")), on(func(msg *wire.StreamEventMessage) {
		if _, ok := msg.Event.(*wire.TextDeltaEvent); ok {
			once.Do(func() { interrupt(t, s) })
		}
	}))
	got.wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	answers := scene.Of[*wire.AssistantMessage](got.messages)
	if len(answers) != 1 || !answers[0].Aborted || !strings.HasPrefix(answers[0].Content.Text(), "word ") {
		t.Errorf("the part that was said is missing: %v", answers)
	}
	ask(t, s, "And now?").wantText(t, "Hi.")
}

func TestRealInterruptTool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := options(t, model)
	opts.AllowedTools = []string{"Bash"}
	begun := filepath.Join(opts.Dir, "begun")
	model.On("Work").Reply(scene.Bash("touch begun; sleep 600.25")).Once()
	model.Reply("Hi.")
	s := scene.Connect(t, opts)

	got := read(s.Turn(t.Context(), clew.Text("Work")), on(func(*wire.AssistantMessage) {
		waitForFile(t, begun)
		interrupt(t, s)
	}))
	got.wantInterrupted(t, wire.TerminalReasonAbortedTools)
	ask(t, s, "And now?").wantText(t, "Hi.")
}

// An interrupt withdraws the question that the agent has asked its host.
func TestRealInterruptQuestion(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Work").Reply(scene.Bash("touch done")).Once()
	model.Reply("Hi.")
	opts := options(t, model)
	var s *clew.Session
	withdrawn := make(chan struct{})
	opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
		interrupt(t, s) //nolint:contextcheck // ctx ends with it
		<-ctx.Done()
		close(withdrawn)
		return nil, ctx.Err()
	}
	s = scene.Connect(t, opts)
	read(s.Turn(t.Context(), clew.Text("Work")), nil).wantInterrupted(t, wire.TerminalReasonAbortedTools)
	<-withdrawn
	ask(t, s, "And now?").wantText(t, "Hi.")
}

// queueTwo runs a turn that continues until act stops it. act is called once the model was asked
// and two more prompts wait. It returns the outcomes of all three.
func queueTwo(t *testing.T, s *clew.Session, model *clewtest.Model, act func(waiting []string)) [3]*outcome {
	t.Helper()
	var got [3]*outcome
	var behind sync.WaitGroup
	var waiting []string
	got[0] = read(s.Turn(t.Context(), clew.Text("Slow")), func(msg wire.Message) {
		if _, ok := msg.(*wire.InitMessage); ok {
			behind.Go(func() { got[1] = read(s.Turn(t.Context(), clew.Text("Second")), nil) })
			behind.Go(func() { got[2] = read(s.Turn(t.Context(), clew.Text("Third")), nil) })
		}
		if queued, ok := msg.(*wire.CommandLifecycleMessage); ok && queued.State == wire.CommandStateQueued {
			if waiting = append(waiting, queued.CommandUUID); len(waiting) == 3 {
				if _, err := model.WaitRequest(t.Context(), 1); err != nil {
					t.Error(err)
				}
				act(waiting[1:])
			}
		}
	})
	behind.Wait()
	return got
}

// The agent processes the prompts that waited for the turn together, and answers them with one
// result.
func TestRealInterruptKeepsQueue(t *testing.T) {
	t.Parallel()
	model := slowModel(t)
	s := scene.Connect(t, options(t, model))
	got := queueTwo(t, s, model, func(waiting []string) {
		receipt, err := s.Interrupt(t.Context(), nil)
		want := &clew.InterruptReceipt{StillQueued: waiting}
		if diff := cmp.Diff(want, receipt); err != nil || diff != "" {
			t.Errorf("receipt: %v (-want +got):\n%s", err, diff)
		}
	})
	got[0].wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	got[1].wantText(t, "Hi.")
	got[2].wantText(t, "Hi.")
	if got[1].result(t) != got[2].result(t) {
		t.Error("the prompts that waited have a result each")
	}
	prompt := model.Requests()[1].Prompt()
	if !strings.Contains(prompt, "Second") || !strings.Contains(prompt, "Third") {
		t.Errorf("the model was asked %q", prompt)
	}
}

func TestRealInterruptAll(t *testing.T) {
	t.Parallel()
	model := slowModel(t)
	s := scene.Connect(t, options(t, model))
	got := queueTwo(t, s, model, func(waiting []string) {
		receipt, err := s.Interrupt(t.Context(), &clew.InterruptOptions{CancelQueued: true})
		want := &clew.InterruptReceipt{StillQueued: []string{}, Canceled: waiting}
		if diff := cmp.Diff(want, receipt); err != nil || diff != "" {
			t.Errorf("receipt: %v (-want +got):\n%s", err, diff)
		}
	})
	got[0].wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	for _, cancelled := range got[1:] {
		if !errors.Is(cancelled.err, clew.ErrCanceled) || len(scene.Of[*wire.ResultMessage](cancelled.messages)) > 0 {
			t.Errorf("error %v after %d messages", cancelled.err, len(cancelled.messages))
		}
	}
	ask(t, s, "And now?").wantText(t, "Hi.")
	for _, r := range model.Requests() {
		if strings.Contains(r.Prompt(), "Second") || strings.Contains(r.Prompt(), "Third") {
			t.Errorf("the model was asked a cancelled prompt: %q", r.Prompt())
		}
	}
}
