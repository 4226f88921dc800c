package agents_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/gittest"
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

// The working directory of an attempt stays if a snapshot can't have all files of it and the job may continue. It goes
// with the end of the job.
func TestPartStays(t *testing.T) {
	hang := func(a *clewtest.Scenario) *clewtest.Scenario { return a.Do(clewtest.Hang()) }
	for _, tt := range []struct {
		name  string
		agent func(*clewtest.Scenario) *clewtest.Scenario
		end   func(s *stage, id string, stop func())
		state fleet.State
		cause fleet.Cause
		stays bool
	}{
		{"exit", func(a *clewtest.Scenario) *clewtest.Scenario { return a }, nil, fleet.Lost, fleet.ByExit, true},
		{"limit", func(a *clewtest.Scenario) *clewtest.Scenario {
			return a.Send(`{"type":"result","subtype":"success","is_error":true,"result":"Later.","api_error_status":529}`)
		}, nil, fleet.Lost, fleet.ByThrottling, true},
		{"shutdown", hang, func(_ *stage, _ string, stop func()) { stop() }, fleet.Lost, fleet.ByShutdown, true},
		{"cancel", hang, func(s *stage, id string, _ func()) {
			if _, err := s.Cancel(s.Context(), id, "enough"); err != nil {
				s.Fatal(err)
			}
		}, fleet.Canceled, fleet.ByPerson, false},
		{"result", func(a *clewtest.Scenario) *clewtest.Scenario { return a.Send(worked) }, nil, fleet.Done, fleet.ByResult, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.calls = func(a *clewtest.Scenario) *clewtest.Scenario {
					for _, file := range s.trees() {
						if out, err := gittest.Try(t, filepath.Dir(file), "init", "-q", "cloned"); err != nil {
							t.Error(err, out)
						}
						if err := os.WriteFile(filepath.Join(filepath.Dir(file), "cloned", "file"), nil, 0o600); err != nil {
							t.Error(err)
						}
					}
					return tt.agent(a)
				}
				stop := s.work()
				id := s.submit(fleet.Hold)
				if tt.end != nil {
					s.reach(id, fleet.Running)
					synctest.Wait() // until the agent has its prompt
					tt.end(s, id, stop)
				}
				j := s.reach(id, tt.state)
				synctest.Wait()
				s.runner() // another one with the same directory leaves the tree
				trees := s.trees()
				if a := j.Attempt(); j.Cause != tt.cause || a.Saved || (len(trees) == 1) != tt.stays {
					t.Errorf("%s by %s: %+v, and there are %q", j.State, j.Cause, a, trees)
				}
				for _, file := range trees {
					if _, err := os.Stat(filepath.Join(filepath.Dir(file), "cloned", "file")); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
