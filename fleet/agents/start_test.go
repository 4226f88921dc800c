package agents_test

import (
	"path/filepath"
	"slices"
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
		s.work()
		time.Sleep(time.Minute) // until it knows that agents start
		s.mu.Lock()
		s.start = never
		s.mu.Unlock()
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

// Before a worker takes anything, it starts an agent and learns from it whether it can run jobs. Otherwise it takes
// none, without an attempt, and gives a reason that helps.
func TestAgentIsChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start    func() error
		greeting string
		problem  string
	}{
		"missing": {never, "", errFault.Error()},
		"too old": {failing(0), `{"claude_code_version":"2.1.300"}`, "Claude Code 2.1.300 is too old for jobs: update it to version 2.1.317 or newer"},
		"nobody": {
			failing(0), `{"hook_on_failure_supported":true,"account":{"tokenSource":"none","apiProvider":"firstParty"}}`,
			"no credentials for the account default",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start, s.greeting = tt.start, func([]string) string { return tt.greeting }
				s.work()
				id := s.submit(fleet.Hold)
				time.Sleep(time.Minute)
				if j, err := s.Job(t.Context(), id); err != nil || j.State != fleet.Queued || len(j.Attempts) > 0 {
					t.Errorf("%+v, %v", j, err)
				}
				workers, err := s.Workers(t.Context())
				if err != nil || len(workers) != 1 || !strings.Contains(workers[0].Problem, tt.problem) {
					t.Fatalf("%v, %v", workers, err)
				}
				s.mu.Lock()
				s.start, s.greeting = failing(0), able
				s.mu.Unlock()
				s.checkDone(id)
			})
		})
	}
}

// The jobs of an account wait while its agents can't work, and the worker takes the jobs of others: without, the first
// such job would hold the account on all machines. It tries again, less and less often, and with that account alone.
func TestAccountDoesNotWork(t *testing.T) {
	t.Parallel()
	const nobody = `{"hook_on_failure_supported":true,"account":{"tokenSource":"none","apiProvider":"firstParty"}}`
	for name, tt := range map[string]struct{ greeting, problem string }{
		"no login": {nobody, "no credentials for the account b"},
		"too old":  {`{"claude_code_version":"2.1.300"}`, "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.accounts = map[string][]string{"a": {"KEY=a"}, "b": nil, fleet.DefaultAccount: {"KEY=d"}}
				good, bad := 0, 0
				s.greeting = func(env []string) string {
					if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "KEY=") }) {
						good++
						return able(env)
					}
					bad++
					return tt.greeting
				}
				s.work()
				waiting, err := s.Submit(t.Context(), &fleet.Spec{Prompt: "Work.", Account: "b"})
				if err != nil {
					t.Fatal(err)
				}
				s.checkDone(s.submit(fleet.Hold))
				time.Sleep(time.Hour)
				if j, err := s.Job(t.Context(), waiting.ID); err != nil || j.State != fleet.Queued || j.Releases > 0 || len(j.Attempts) > 0 {
					t.Errorf("%+v, %v", j, err)
				}
				workers, err := s.Workers(t.Context())
				if err != nil || len(workers) != 1 || workers[0].Problem != "" || !strings.Contains(workers[0].Held["b"], tt.problem) {
					t.Errorf("%+v, %v", workers, err)
				}
				s.mu.Lock()
				if good != 3 || bad < 2 || bad > 12 { // two probes and a job
					t.Errorf("started %d agents of other accounts, and %d of that one", good, bad)
				}
				s.greeting = able
				s.mu.Unlock()
				s.reach(waiting.ID, fleet.Done)
			})
		})
	}
}

// While no account works, all are probed each time, so that none has to wait long after the logins.
func TestAccountsLogIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.accounts = map[string][]string{"a": {"KEY=a"}, "b": {"KEY=b"}}
		in := map[string]bool{}
		s.greeting = func(env []string) string {
			for _, v := range env {
				if key, ok := strings.CutPrefix(v, "KEY="); ok && in[key] {
					return able(env)
				}
			}
			return `{"hook_on_failure_supported":true,"account":{"tokenSource":"none","apiProvider":"firstParty"}}`
		}
		s.work()
		logIn := func(account string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			in[account] = true
		}
		time.Sleep(time.Hour)
		logIn("a")
		time.Sleep(time.Minute)
		logIn("b")
		began := time.Now()
		j, err := s.Submit(t.Context(), &fleet.Spec{Prompt: "Work.", Account: "b"})
		if err != nil {
			t.Fatal(err)
		}
		s.reach(j.ID, fleet.Done)
		// The pauses between its probes double only since an account works: the one that the job meets is 80 seconds
		// at most, and one more for the job. Had they doubled all the time, it would be ten minutes.
		if took := time.Since(began); took > 2*time.Minute { // by the clock of the bubble
			t.Errorf("the job waited for %v", took)
		}
	})
}
