package turns_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A command in the background is a task: its output can be read while it runs, and it can be stopped.
func TestRealBackgroundCommand(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := turnsNewSleeper(t, model)
	model.On("Serve").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "echo serving; touch begun; " + sleeper.sleep, "description": "Serve", "run_in_background": true,
	}))
	s := turnsConnect(t, sleeper.opts)
	started := turnsOf[*wire.TaskStartedMessage](turnsAsk(t, s, "Serve").messages)
	if len(started) != 1 || started[0].TaskType != "local_bash" || !started[0].Backgrounded {
		t.Fatalf("tasks %v", started)
	}
	sleeper.awake(t)
	output, err := s.TaskOutput(t.Context(), started[0].TaskID)
	if diff := cmp.Diff(&clew.TaskOutput{Output: "serving\n", TotalBytes: 8}, output); err != nil || diff != "" {
		t.Errorf("output: %v (-want +got):\n%s", err, diff)
	}
	if err := s.StopTask(t.Context(), started[0].TaskID); err != nil {
		t.Error(err)
	}
	for msg, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.TaskNotificationMessage); ok {
			if msg.TaskID != started[0].TaskID || msg.Status != wire.TaskStatusStopped {
				t.Errorf("notification %s", msg.Raw())
			}
			break
		}
	}
	sleeper.wantGone(t)
}

// Closing a session ends what it has left running in the background.
func TestRealCloseEndsBackgroundCommand(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := turnsNewSleeper(t, model)
	model.On("Serve").Reply(clewtest.ToolUse("Bash", map[string]any{
		"command": "touch begun; " + sleeper.sleep, "description": "Serve", "run_in_background": true,
	}))
	s := turnsConnect(t, sleeper.opts)
	turnsAsk(t, s, "Serve")
	sleeper.awake(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	sleeper.wantGone(t)
}

// A command that the turn waits for can be sent to the background: the turn goes on without it.
func TestRealMoveToBackground(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := turnsNewSleeper(t, model)
	s := turnsConnect(t, sleeper.opts)
	got := turnsRead(s.Turn(t.Context(), "Work"), turnsOn(func(msg *wire.TaskStartedMessage) {
		if moved, err := s.BackgroundTask(t.Context(), msg.ToolUseID); err != nil || !moved {
			t.Errorf("moved %t, %v", moved, err)
		}
	}))
	got.wantText(t, "Yes.")
	if !sleeper.runs(t) {
		t.Error("the command has ended")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	sleeper.wantGone(t)
}
