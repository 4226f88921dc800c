package agents_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/fleet"
)

// The work of an agent is stored soon after a call that may have changed files, and not only every five minutes.
func TestSnapshotAfterCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.calls = func(a *clewtest.Scenario) *clewtest.Scenario {
			return a.Send(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`).Do(clewtest.Hang())
		}
		s.work()
		id := s.submit(fleet.Hold)
		s.reach(id, fleet.Running)
		time.Sleep(15 * time.Second)
		j, err := s.Job(t.Context(), id)
		if err != nil || j.Attempt().Snapshot == "" {
			t.Errorf("%+v, %v", j, err)
		}
	})
}

// The record of an attempt whose agent ended without a result shows that all files are stored.
func TestSavedAfterExit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.calls = func(a *clewtest.Scenario) *clewtest.Scenario { return a }
		s.work()
		j := s.reach(s.submit(fleet.Hold), fleet.Lost)
		if a := j.Attempt(); a.Cause != fleet.ByExit || a.Snapshot == "" || !a.Saved {
			t.Errorf("%+v", a)
		}
		synctest.Wait()
		if trees := s.trees(); len(trees) > 0 {
			t.Errorf("there are still %q", trees)
		}
	})
}
