package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
)

// Twenty jobs can't start: their repositories can't be reached, which takes a while to find out, their
// agent does not start, or the policy refuses them. Good jobs behind them wait for one try of each at
// most, and not for their pauses. The bad ones fail after some tries, each with its reason.
func TestBadJobsHoldUpNothing(t *testing.T) {
	t.Parallel()
	const fetch = 20 * time.Second
	reasons := map[string]string{"fetch": "the repository can't be reached", "agent": "the agent does not start", "policy": "the policy does not allow the tool Bash"}
	causes := map[string]fleet.Cause{"fetch": fleet.ByWorker, "agent": fleet.ByWorker, "policy": fleet.ByPolicy}
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{
			check: func(j *fleet.Job) error {
				if j.Spec.Title == "policy" {
					return errors.New(reasons["policy"])
				}
				return nil
			},
			prepare: func(ctx context.Context, task *fleet.Task) error {
				title := task.Job.Spec.Title
				if title == "fetch" {
					time.Sleep(fetch)
				}
				if why := reasons[title]; why != "" {
					return errors.New(why)
				}
				return nil
			},
			do: func(context.Context, *fleet.Task) fleet.Event { return say("done") },
		}
		bad := map[string][]string{}
		for range 10 {
			bad["fetch"] = append(bad["fetch"], submit(t, f, &fleet.Spec{Title: "fetch"}).ID)
		}
		for range 5 {
			bad["agent"] = append(bad["agent"], submit(t, f, &fleet.Spec{Title: "agent"}).ID)
			bad["policy"] = append(bad["policy"], submit(t, f, &fleet.Spec{Title: "policy"}).ID)
		}
		var good []string
		for range 20 {
			good = append(good, submit(t, f, &fleet.Spec{Title: "good"}).ID)
		}
		for range 2 {
			work(t, e, r, &fleet.WorkerOptions{Slots: 2})
		}
		began := time.Now()
		for _, id := range good {
			reach(t, f, id, fleet.Done)
		}
		if took, most := time.Since(began), 3*fetch+5*time.Second; took > most { // by the clock of the bubble
			t.Errorf("the good jobs were done after %v; one try of each bad job takes %v", took, most)
		}
		for kind, ids := range bad {
			for _, id := range ids {
				if j := reach(t, f, id, fleet.Failed); j.Cause != causes[kind] || j.Text != reasons[kind] || j.Releases != 10 {
					t.Errorf("%s: a bad job has failed by %s after %d tries: %s", kind, j.Cause, j.Releases, j.Text)
				}
			}
		}
	})
}

// A job that one worker refuses and another one may take, although not now, is not counted as refused.
func TestOneWorkerMayTakeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		work(t, e, &runner{check: func(*fleet.Job) error { return errors.New("not here") }}, nil)
		free := make(chan struct{})
		work(t, e, &runner{do: func(_ context.Context, task *fleet.Task) fleet.Event {
			if task.Job.Spec.Title == "first" {
				<-free
			}
			return say("done")
		}}, nil)
		reach(t, f, submit(t, f, &fleet.Spec{Title: "first"}).ID, fleet.Running)
		second := submit(t, f, &fleet.Spec{})
		time.Sleep(time.Hour)
		if j := job(t, f, second.ID); j.State != fleet.Queued || j.Releases != 0 {
			t.Errorf("the job is %s by %s after %d tries", j.State, j.Cause, j.Releases)
		}
		close(free)
		reach(t, f, second.ID, fleet.Done)
	})
}

// A worker whose slots are all taken names the jobs that it will not take, however many there are before them.
func TestBusyWorkerRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{
			check: func(j *fleet.Job) error {
				if j.Spec.Title == "bad" {
					return errors.New("not allowed")
				}
				return nil
			},
			do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
				<-ctx.Done()
				return fleet.Lose{Cause: fleet.ByShutdown}
			},
		}
		work(t, e, r, nil)
		reach(t, f, submit(t, f, &fleet.Spec{}).ID, fleet.Running)
		for range 10 {
			submit(t, f, &fleet.Spec{})
		}
		bad := submit(t, f, &fleet.Spec{Title: "bad"})
		if j := reach(t, f, bad.ID, fleet.Waiting); j.Cause != fleet.ByPolicy || j.Text != "not allowed" || time.Since(j.Created) > 5*time.Second {
			t.Errorf("after %v the job waits by %s: %s", time.Since(j.Created), j.Cause, j.Text)
		}
	})
}

// A worker takes nothing, and says so, before it knows whether it can run jobs.
func TestWorkerChecksFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		checked := make(chan struct{})
		r := &runner{
			ready: func() error {
				<-checked
				return nil
			},
			do: func(context.Context, *fleet.Task) fleet.Event { return say("done") },
		}
		work(t, e, r, nil)
		j := submit(t, f, &fleet.Spec{})
		time.Sleep(time.Minute)
		workers, err := f.Workers(t.Context())
		if err != nil || len(workers) != 1 || workers[0].Problem == "" || job(t, f, j.ID).State != fleet.Queued {
			t.Errorf("%v, %v", fmt.Sprintf("%+v", workers), err)
		}
		close(checked)
		reach(t, f, j.ID, fleet.Done)
	})
}

// The jobs of an account that no worker can use wait, and neither fail nor keep other jobs waiting, even if the worker
// finds out only when a job starts.
func TestUnusableAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		var isKnown, isUsable atomic.Bool
		why := fmt.Errorf("%w: no login", fleet.ErrAccount)
		r := &runner{
			check: func(j *fleet.Job) error {
				if j.Spec.Account == "" || isUsable.Load() || !isKnown.Load() {
					return nil
				}
				return why
			},
			prepare: func(_ context.Context, task *fleet.Task) error {
				if task.Job.Spec.Account == "" || isUsable.Load() {
					return nil
				}
				isKnown.Store(true)
				return why
			},
			do: func(context.Context, *fleet.Task) fleet.Event { return say("done") },
		}
		bad := submit(t, f, &fleet.Spec{Account: "team"})
		work(t, e, r, nil)
		time.Sleep(time.Minute)
		good := submit(t, f, &fleet.Spec{})
		reach(t, f, good.ID, fleet.Done)
		time.Sleep(time.Hour)
		if j := job(t, f, bad.ID); j.State != fleet.Queued || j.Releases > 0 || len(j.Attempts) != 1 || !strings.Contains(j.Text, "no login") {
			t.Errorf("%+v", j)
		}
		workers, err := f.Workers(t.Context())
		if err != nil || len(workers) != 1 || workers[0].Problem != "" || !strings.Contains(workers[0].Held["team"], "no login") || len(workers[0].Refused) > 0 {
			t.Errorf("%+v, %v", workers, err)
		}
		isUsable.Store(true)
		reach(t, f, bad.ID, fleet.Done)
	})
}

// A job whose repository does not answer frees its slot after a while, and has the reason.
func TestPrepareTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		work(t, e, &runner{
			prepare: func(ctx context.Context, task *fleet.Task) error {
				if task.Job.Spec.Title != "silent" {
					return nil
				}
				<-ctx.Done()
				return errors.New("the fetch was killed")
			},
			do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
				time.Sleep(time.Hour) // which is not bounded
				return say("done")
			},
		}, &fleet.WorkerOptions{PrepareTimeout: 20 * time.Minute})
		silent := submit(t, f, &fleet.Spec{Title: "silent"})
		reach(t, f, silent.ID, fleet.Claimed)
		good := submit(t, f, &fleet.Spec{})
		j := reach(t, f, silent.ID, fleet.Waiting)
		if want := "it could not start within 20 min: the fetch was killed"; j.Cause != fleet.ByWorker || j.Text != want {
			t.Errorf("%s: %s, want %s", j.Cause, j.Text, want)
		}
		reach(t, f, good.ID, fleet.Done)
	})
}
