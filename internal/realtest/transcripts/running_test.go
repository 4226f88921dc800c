package transcripts_test

import (
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/sessions"
)

// A session is running while its agent has it open, and what the agent says of itself is right.
func TestRealRunning(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Hi").Hang()
	s := play(t, sceneOptions(t, model))
	idle := waitRunning(t, model, "idle")
	if info := s.Info(); idle.PID != info.PID || idle.ID == "" || idle.Version != clewtest.AgentVersion || idle.Entrypoint == "" ||
		time.Since(idle.Started) > time.Hour {
		t.Errorf("got %+v", idle)
	}
	if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
		t.Fatal(err)
	}
	if busy := waitRunning(t, model, "busy"); busy.ID != idle.ID {
		t.Errorf("got %+v, and before %+v", busy, idle)
	}
	if err := s.Close(); err != nil {
		t.Logf("closing: %v", err) // the turn did not end
	}
	if got, err := sessions.Running(t.Context(), model.ConfigDir()); err != nil || len(got) != 0 {
		t.Errorf("after its end: %+v, %v", got, err)
	}
}

// waitRunning waits until the only session has a status.
func waitRunning(t *testing.T, model *clewtest.Model, status string) sessions.RunningSession {
	t.Helper()
	for {
		got, err := sessions.Running(t.Context(), model.ConfigDir())
		if err == nil && len(got) == 1 && got[0].Status == status {
			return got[0]
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("got %+v, %v", got, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
