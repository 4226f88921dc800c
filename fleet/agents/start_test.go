package agents_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
)

// A job whose repository is not there fails with the reason. A good one does not wait for that.
func TestNoRepository(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		bad, err := s.Submit(t.Context(), &fleet.Spec{Prompt: "Work.", Repo: &fleet.Repo{URL: filepath.Join(s.repo, "typo")}})
		if err != nil {
			t.Fatal(err)
		}
		s.work()
		began := time.Now()
		s.checkDone(s.submit(fleet.Hold))
		if took := time.Since(began); took > time.Minute { // by the clock of the bubble
			t.Errorf("the good job was done after %v", took)
		}
		if j := s.reach(bad.ID, fleet.Failed); j.Cause != fleet.ByWorker || !strings.Contains(j.Text, "typo") || len(j.Attempts) != 10 {
			t.Errorf("%s by %s after %d attempts: %s", j.State, j.Cause, len(j.Attempts), j.Text)
		}
	})
}

// A worker that can't start agents reports it, and takes no jobs until it can. One job that can't
// start its agent is that job's own affair.
func TestAgentsDoNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start = never
		s.work()
		id := s.submit(fleet.Hold)
		time.Sleep(time.Hour)
		j, err := s.Job(t.Context(), id)
		if err != nil || j.State != fleet.Queued || j.Cause != fleet.ByMachine || len(j.Attempts) != 1 || j.Releases != 0 {
			t.Errorf("%+v, %v", j, err)
		}
		workers, err := s.Workers(t.Context())
		if err != nil || len(workers) != 1 || !strings.Contains(workers[0].Problem, errFault.Error()) {
			t.Errorf("%+v, %v", workers, err)
		}
		s.mu.Lock()
		s.start = failing(1) // the next probe fails, and the one after it does not
		s.mu.Unlock()
		if j := s.checkDone(id); len(j.Attempts) != 2 {
			t.Errorf("%d attempts", len(j.Attempts))
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.start = failing(1) // once, and the probe after it does not fail
		s.mu.Unlock()
		if j := s.checkDone(s.submit(fleet.Hold)); len(j.Attempts) != 2 || j.Attempts[0].Cause != fleet.ByWorker {
			t.Errorf("%+v", j.Attempts)
		}
	})
}
