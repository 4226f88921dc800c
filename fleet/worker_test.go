package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// A runner is a runner whose agents do what a function says.
type runner struct {
	ready   func() error
	check   func(*fleet.Job) error
	prepare func(context.Context, *fleet.Task) error
	do      func(context.Context, *fleet.Task) fleet.Event
	traces  fleet.Traces
}

func (r *runner) Ready(context.Context) error {
	if r.ready == nil {
		return nil
	}
	return r.ready()
}

func (r *runner) Check(j *fleet.Job) error {
	if r.check == nil {
		return nil
	}
	return r.check(j)
}

func (r *runner) Prepare(ctx context.Context, t *fleet.Task) (fleet.Run, error) {
	if r.prepare != nil {
		if err := r.prepare(ctx, t); err != nil {
			return nil, err
		}
	}
	return &attempt{r, t}, nil
}

func (r *runner) Look(context.Context, *fleet.Job) (*fleet.Traces, error) {
	t := r.traces
	return &t, nil
}

type attempt struct {
	runner *runner
	task   *fleet.Task
}

func (a *attempt) IDs() (session, prompt, base string) {
	id := fmt.Sprintf("%s-%d", a.task.Job.ID, a.task.Number)
	return "s-" + id, "p-" + id, ""
}

func (a *attempt) Do(ctx context.Context) fleet.Event { return a.runner.do(ctx, a.task) }

func (a *attempt) Close() {}

// say ends an attempt with a text.
func say(text string) fleet.Finish {
	return fleet.Finish{Cause: fleet.ByResult, Result: fleet.Result{Text: text}}
}

// newFleet returns a fleet over an engine in memory.
func newFleet() (*memfleet.Engine, *fleet.Fleet) {
	e := memfleet.New()
	return e, fleet.Open(e, "tester")
}

// job returns a job as it is now.
func job(t *testing.T, f *fleet.Fleet, id string) *fleet.Job {
	t.Helper()
	j, err := f.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// work runs a worker until the test ends, and returns it with a function that stops it at once.
func work(t *testing.T, e fleet.Engine, r fleet.Runner, o *fleet.WorkerOptions) (w *fleet.Worker, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w = fleet.NewWorker(e, r, o)
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Errorf("the worker: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return w, stop
}

func submit(t *testing.T, f *fleet.Fleet, s *fleet.Spec) *fleet.Job {
	t.Helper()
	if s.Prompt == "" {
		s.Prompt = "Do it."
	}
	j, err := f.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// reach waits until a job is in a state.
func reach(t *testing.T, f *fleet.Fleet, id string, want fleet.State) *fleet.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
	defer cancel()
	var last *fleet.Job
	for u, err := range f.Watch(ctx, id) {
		if err != nil {
			t.Fatalf("%v; the job is %+v", err, last)
		}
		if u.Job == nil {
			continue
		}
		if last = u.Job; last.State == want {
			return last
		}
	}
	t.Fatalf("the job has ended as %s by %s (%s), want %s", last.State, last.Cause, last.Text, want)
	return nil
}

func TestWorkerRunsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{do: func(ctx context.Context, task *fleet.Task) fleet.Event {
			j, err := f.Job(ctx, task.Job.ID)
			if err != nil || j.State != fleet.Running || j.Attempt().Prompt == "" {
				t.Errorf("the prompt is sent while the job is %+v: %v", j, err)
			}
			return say("done: " + task.Job.Spec.Prompt)
		}}
		_, stop := work(t, e, r, &fleet.WorkerOptions{Slots: 2})
		for i := range 5 {
			prompt := fmt.Sprintf("Do %d.", i)
			j := submit(t, f, &fleet.Spec{Prompt: prompt})
			end, err := f.Wait(t.Context(), j.ID)
			if err != nil || end.State != fleet.Done || end.Result().Text != "done: "+prompt {
				t.Errorf("%+v, %v", end, err)
			}
		}
		stop()
		if workers, err := f.Workers(t.Context()); err != nil || len(workers) != 0 {
			t.Errorf("%d workers are left: %v", len(workers), err)
		}
	})
}

// A worker that is stopped at once leaves its jobs to their policies; a worker that drains ends them
// first.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
			select {
			case <-ctx.Done():
				return fleet.Lose{Cause: fleet.ByShutdown, Stored: true}
			case <-time.After(time.Minute):
				return say("done")
			}
		}}
		w, _ := work(t, e, r, &fleet.WorkerOptions{Host: "a"})
		drained := submit(t, f, &fleet.Spec{})
		reach(t, f, drained.ID, fleet.Running)
		w.Drain()
		later := submit(t, f, &fleet.Spec{OnLost: fleet.Resume})
		reach(t, f, drained.ID, fleet.Done)
		_, stop := work(t, e, r, &fleet.WorkerOptions{Host: "b"})
		reach(t, f, later.ID, fleet.Running)
		stop()
		j := reach(t, f, later.ID, fleet.Queued)
		if j.Next != fleet.Continued || j.From == nil {
			t.Errorf("%s, %+v", j.Next, j.From)
		}
	})
}

// A job is canceled while it waits, is prepared and runs.
func TestWorkerCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		slow := func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		r := &runner{
			prepare: func(ctx context.Context, task *fleet.Task) error {
				if task.Job.Spec.Title == "slow" {
					return slow(ctx)
				}
				return nil
			},
			do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
				if err := slow(ctx); !errors.Is(err, fleet.ErrCanceled) {
					t.Errorf("ended by %v", err)
				}
				return fleet.Finish{Cause: fleet.ByPerson}
			},
		}
		work(t, e, r, nil)
		for _, tt := range []struct {
			title string
			at    fleet.State
		}{{"slow", fleet.Claimed}, {"", fleet.Running}} {
			j := submit(t, f, &fleet.Spec{Title: tt.title})
			reach(t, f, j.ID, tt.at)
			if _, err := f.Cancel(t.Context(), j.ID, "not needed"); err != nil {
				t.Fatal(err)
			}
			if end, err := f.Wait(t.Context(), j.ID); err != nil || end.State != fleet.Canceled || end.Cancel.By != "tester" {
				t.Errorf("%s: %+v, %v", tt.at, end, err)
			}
		}
	})
}

// A limit blocks the account until its reset; the job continues by itself and counts no attempt.
func TestWorkerWaitsForLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		begun := time.Now()
		r := &runner{do: func(_ context.Context, task *fleet.Task) fleet.Event {
			if task.Number == 1 && task.Job.Spec.Title == "first" {
				return fleet.Pause{Cause: fleet.ByLimit, Until: begun.Add(5 * time.Hour), Stored: true}
			}
			if time.Since(begun) < 5*time.Hour {
				t.Errorf("job %s began after %v", task.Job.Spec.Title, time.Since(begun))
			}
			return say("done")
		}}
		work(t, e, r, nil)
		first := submit(t, f, &fleet.Spec{Title: "first", Account: "team"})
		reach(t, f, first.ID, fleet.Waiting)
		second := submit(t, f, &fleet.Spec{Title: "second", Account: "team"})
		for _, id := range []string{first.ID, second.ID} {
			if j := reach(t, f, id, fleet.Done); j.Pauses > 1 {
				t.Errorf("%d pauses", j.Pauses)
			}
		}
	})
}

// Jobs that come after others wait for them, and fail with them.
func TestWorkerKeepsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{do: func(_ context.Context, task *fleet.Task) fleet.Event {
			if task.Job.Spec.Title == "bad" {
				return fleet.Finish{Cause: fleet.ByAgent, Result: fleet.Result{Failed: true}}
			}
			return say("done")
		}}
		good, bad := submit(t, f, &fleet.Spec{}), submit(t, f, &fleet.Spec{Title: "bad"})
		after := submit(t, f, &fleet.Spec{After: []string{good.ID}})
		never := submit(t, f, &fleet.Spec{After: []string{good.ID, bad.ID}})
		work(t, e, r, nil)
		reach(t, f, after.ID, fleet.Done)
		if j := reach(t, f, never.ID, fleet.Failed); j.Cause != fleet.ByDependency {
			t.Errorf("%s", j.Cause)
		}
	})
}

// The jobs of a worker that is cut off are lost, and continue by their policies; its late result is
// a note.
func TestWorkerIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		shared := e
		client := shared.Client(nil)
		cut := &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
			<-ctx.Done()
			if err := context.Cause(ctx); !errors.Is(err, fleet.ErrLease) {
				t.Errorf("ended by %v", err)
			}
			return say("too late")
		}}
		work(t, client, cut, &fleet.WorkerOptions{Host: "a", Slots: 2})
		held, resumed := submit(t, f, &fleet.Spec{}), submit(t, f, &fleet.Spec{OnLost: fleet.Resume})
		reach(t, f, held.ID, fleet.Running)
		reach(t, f, resumed.ID, fleet.Running)
		other := &runner{traces: fleet.Traces{Stored: true}, do: func(_ context.Context, task *fleet.Task) fleet.Event {
			if task.Job.From == nil {
				t.Errorf("%s begins anew", task.Job.ID)
			}
			return say("resumed")
		}}
		cutAt := time.Now()
		client.Cut()
		work(t, e, other, &fleet.WorkerOptions{Host: "b"})
		reach(t, f, held.ID, fleet.Lost)
		if took := time.Since(cutAt); took > fleet.DefaultLease+3*time.Second+fleet.DefaultLease/3 {
			t.Errorf("lost after %v", took)
		}
		reach(t, f, resumed.ID, fleet.Done)
		client.Reconnect()
		for {
			j, err := f.Job(t.Context(), held.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(j.Notes) > 0 && j.Notes[0].Result != nil && j.Notes[0].Result.Text == "too late" {
				break
			}
			time.Sleep(time.Second)
		}
	})
}

// A question is answered by the first answer, or expires.
func TestWorkerAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{do: func(ctx context.Context, task *fleet.Task) fleet.Event {
			a, err := task.Ask(ctx, &fleet.Question{Tool: "Bash", Input: []byte(`{}`)}, false)
			if err != nil {
				t.Error(err)
				return fleet.Lose{Cause: fleet.ByExit}
			}
			return say(fmt.Sprintf("%v %v %s", a.Allow, a.Expired, a.Text))
		}}
		work(t, e, r, nil)
		for _, tt := range []struct {
			ask  *fleet.Ask
			want string
		}{
			{&fleet.Ask{}, "false false better not"},
			{&fleet.Ask{Wait: fleet.Duration(time.Hour)}, "false true Nobody has answered in time. This is not a refusal. Go on without it, or stop and say what you need."},
			{nil, "false false Nobody is there to be asked. Go on without it, or stop and say what you need."},
		} {
			j := submit(t, f, &fleet.Spec{Ask: tt.ask})
			if tt.ask != nil && tt.ask.Wait == 0 {
				reach(t, f, j.ID, fleet.Running)
				synctest.Wait()
				for q, err := range f.Questions(t.Context(), "") {
					if err != nil {
						t.Fatal(err)
					}
					if _, err := f.Answer(t.Context(), q.Job, q.ID, fleet.Answer{Text: "better not"}); err != nil {
						t.Error(err)
					}
					if _, err := f.Answer(t.Context(), q.Job, q.ID, fleet.Answer{Allow: true}); !errors.Is(err, fleet.ErrAnswered) {
						t.Errorf("a second answer: %v", err)
					}
				}
				synctest.Wait()
				if is := job(t, f, j.ID); is.State != fleet.Done {
					t.Errorf("the worker has the answer, and the job is %s: it waits for a tick", is.State)
				}
			}
			if end := reach(t, f, j.ID, fleet.Done); end.Result().Text != tt.want {
				t.Errorf("%q, want %q", end.Result().Text, tt.want)
			}
		}
	})
}

// A parked job continues when its question is answered.
func TestWorkerParks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{do: func(ctx context.Context, task *fleet.Task) fleet.Event {
			if task.Number > 1 {
				return say("after " + string(task.Job.From.Cause))
			}
			q := &fleet.Question{Tool: "Bash", Input: []byte(`{}`)}
			if _, err := task.Ask(ctx, q, true); !errors.Is(err, fleet.ErrParked) {
				t.Errorf("%v", err)
			}
			return fleet.Park{Question: q.ID}
		}}
		work(t, e, r, nil)
		j := reach(t, f, submit(t, f, &fleet.Spec{Ask: &fleet.Ask{}}).ID, fleet.Asking)
		time.Sleep(time.Hour)
		if _, err := f.Answer(t.Context(), j.ID, j.Question, fleet.Answer{Allow: true}); err != nil {
			t.Fatal(err)
		}
		if end := reach(t, f, j.ID, fleet.Done); end.Result().Text != "after question" {
			t.Errorf("%q", end.Result().Text)
		}
	})
}

// A worker that was cut off itself takes no jobs away from others when it comes back.
func TestWorkerWasCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		slow := &runner{do: func(context.Context, *fleet.Task) fleet.Event {
			time.Sleep(time.Hour)
			return say("done")
		}}
		work(t, e, slow, &fleet.WorkerOptions{Host: "a", Slots: 20})
		var jobs []*fleet.Job
		for range 20 {
			jobs = append(jobs, submit(t, f, &fleet.Spec{}))
		}
		for _, j := range jobs {
			reach(t, f, j.ID, fleet.Running)
		}
		client := e.Client(nil)
		work(t, client, slow, &fleet.WorkerOptions{Host: "b"})
		for range 10 {
			time.Sleep(time.Minute)
			client.Cut()
			time.Sleep(time.Minute)
			client.Reconnect()
		}
		for _, j := range jobs {
			reach(t, f, j.ID, fleet.Done)
		}
	})
}

// A run that lost its job is ended, although its worker has its lease.
func TestWorkerEndsWhatWasTakenAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		ended := make(chan error, 1)
		r := &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return say("too late")
		}}
		work(t, e, r, nil)
		j := reach(t, f, submit(t, f, &fleet.Spec{}).ID, fleet.Running)
		record, err := e.Get(t.Context(), fleet.Jobs, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		lost, err := j.Apply(fleet.Lose{Attempt: 1, Cause: fleet.ByLoss}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if record.Data, err = json.Marshal(lost); err != nil {
			t.Fatal(err)
		}
		record.Label = strings.Replace(record.Label, "running", "lost", 1)
		if _, err := e.Set(t.Context(), fleet.Jobs, record); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, fleet.ErrStale) {
			t.Errorf("ended by %v", err)
		}
	})
}

// Questions that nobody waits for are closed.
func TestWorkerClosesQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{do: func(ctx context.Context, task *fleet.Task) fleet.Event {
			if _, err := task.Ask(ctx, &fleet.Question{Tool: "Bash", Input: []byte(`{}`)}, false); err == nil {
				t.Error("there was an answer")
			}
			return fleet.Finish{Cause: fleet.ByPerson}
		}}
		work(t, e, r, nil)
		j := reach(t, f, submit(t, f, &fleet.Spec{Ask: &fleet.Ask{}}).ID, fleet.Running)
		time.Sleep(time.Minute)
		if _, err := f.Cancel(t.Context(), j.ID, ""); err != nil {
			t.Fatal(err)
		}
		reach(t, f, j.ID, fleet.Canceled)
		time.Sleep(time.Minute)
		for q, err := range f.Questions(t.Context(), j.ID) {
			if err != nil || q.Answer == nil || !q.Answer.Expired {
				t.Errorf("%+v, %v", q, err)
			}
		}
	})
}

// Jobs that can't start hold up no others: they wait by themselves, give the reason, and fail after
// some time.
func TestWorkerHasBadJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		r := &runner{
			prepare: func(_ context.Context, task *fleet.Task) error {
				if task.Job.Spec.Title == "bad" {
					return errors.New("no such repository")
				}
				return nil
			},
			do: func(context.Context, *fleet.Task) fleet.Event { return say("done") },
		}
		var bad, good []string
		for range 4 {
			bad = append(bad, submit(t, f, &fleet.Spec{Title: "bad"}).ID)
		}
		for range 5 {
			good = append(good, submit(t, f, &fleet.Spec{Title: "good"}).ID)
		}
		for range 2 {
			work(t, e, r, &fleet.WorkerOptions{Slots: 2})
		}
		time.Sleep(2 * time.Second)
		for _, id := range good {
			if j := job(t, f, id); j.State != fleet.Done {
				t.Errorf("a good job is %s after two seconds", j.State)
			}
		}
		for _, id := range bad {
			if j := job(t, f, id).Summary(); j.State != fleet.Waiting || j.Cause != fleet.ByWorker || j.Text != "no such repository" {
				t.Errorf("a bad job is %s by %s: %s", j.State, j.Cause, j.Text)
			}
		}
		time.Sleep(15 * time.Minute)
		for _, id := range bad {
			if j := job(t, f, id); j.State != fleet.Failed || j.Cause != fleet.ByWorker || j.Text != "no such repository" || len(j.Attempts) != 10 {
				t.Errorf("a bad job is %s by %s after %d attempts: %s", j.State, j.Cause, len(j.Attempts), j.Text)
			}
		}
	})
}

// A worker that can run no job at all takes none until it can, and gives the reason. Jobs taken
// before don't count it as an attempt.
func TestWorkerIsNotReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		isMissing := func() error { return fmt.Errorf("%w: claude is not there", fleet.ErrNotReady) }
		var missing, tried atomic.Int64
		r := &runner{
			ready: func() error {
				if missing.Load() > 0 {
					return isMissing()
				}
				return nil
			},
			prepare: func(context.Context, *fleet.Task) error {
				if tried.Add(1); missing.Load() > 0 {
					return isMissing()
				}
				return nil
			},
			do: func(context.Context, *fleet.Task) fleet.Event { return say("done") },
		}
		work(t, e, r, &fleet.WorkerOptions{Slots: 2})
		reach(t, f, submit(t, f, &fleet.Spec{}).ID, fleet.Done)
		missing.Store(1) // the worker does not know yet
		tried.Store(0)
		var ids []string
		for range 50 {
			ids = append(ids, submit(t, f, &fleet.Spec{}).ID)
		}
		time.Sleep(time.Hour)
		if n := tried.Load(); n < 1 || n > 2 {
			t.Errorf("the worker has tried %d times", n)
		}
		workers, err := f.Workers(t.Context())
		if err != nil || len(workers) != 1 || !strings.Contains(workers[0].Problem, "claude is not there") {
			t.Errorf("%+v, %v", workers, err)
		}
		for _, id := range ids {
			if j := job(t, f, id); j.State != fleet.Queued || j.Releases != 0 {
				t.Errorf("a job is %s after %d releases", j.State, j.Releases)
			}
		}
		missing.Store(0)
		for _, id := range ids {
			reach(t, f, id, fleet.Done)
		}
		time.Sleep(time.Minute)
		if workers, err := f.Workers(t.Context()); err != nil || len(workers) != 1 || workers[0].Problem != "" {
			t.Errorf("%+v, %v", workers, err)
		}
	})
}

// A worker that is stopped while the engine does not answer ends all the same.
func TestWorkerStopsWithoutEngine(t *testing.T) {
	for name, end := range map[string]fleet.Event{
		"with a cost":  fleet.Finish{Cause: fleet.ByResult, CostUSD: 1},
		"with a limit": fleet.Pause{Cause: fleet.ByLimit, Stored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, f := newFleet()
				r := &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
					<-ctx.Done()
					return end
				}}
				c := e.Client(nil)
				_, stop := work(t, c, r, nil)
				reach(t, f, submit(t, f, &fleet.Spec{}).ID, fleet.Running)
				c.Cut()
				back := time.AfterFunc(time.Hour, c.Reconnect)
				stop()
				if !back.Stop() {
					t.Error("it ended only when the engine was back")
				}
			})
		})
	}
}

// A repeated submit finds the existing job, even if not every call succeeds.
func TestSubmitTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		faults := &memfleet.Faults{Seed: seed, Calls: map[string]memfleet.CallFaults{"Set": {Before: 0.1, After: 0.1}, "Get": {Before: 0.1}}}
		f := fleet.Open(memfleet.New().Client(faults), "tester")
		first := submit(t, f, &fleet.Spec{Key: "key"})
		if second := submit(t, f, &fleet.Spec{Key: "key"}); second.ID != first.ID {
			t.Errorf("seed %d: got %s and %s", seed, first.ID, second.ID)
		}
	}
}

// A worker says soon why it does not take a job, not only at its next renewal.
func TestWorkerTellsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		work(t, e, &runner{check: func(*fleet.Job) error { return errors.New("no such repository here") }}, &fleet.WorkerOptions{Lease: time.Minute})
		time.Sleep(5 * time.Second)
		j := submit(t, f, &fleet.Spec{})
		time.Sleep(3 * time.Second)
		if j = job(t, f, j.ID); j.Cause != fleet.ByPolicy || j.Text != "no such repository here" {
			t.Errorf("the job is %s by %s: %s", j.State, j.Cause, j.Text)
		}
	})
}
