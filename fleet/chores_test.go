package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
)

// counting is an engine that counts how often jobs are read, and may refuse to write them.
type counting struct {
	fleet.Engine
	reads   atomic.Int64
	refuses bool
}

func (e *counting) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	if t == fleet.Jobs {
		e.reads.Add(1)
	}
	return e.Engine.Get(ctx, t, key)
}

func (e *counting) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if t == fleet.Jobs && e.refuses {
		return nil, errors.New("refused")
	}
	return e.Engine.Set(ctx, t, records...)
}

// paused submits jobs that wait for a time, all for the same one. The limit that they meet keeps the account from more
// jobs, so that each of them waits until all run.
func paused(t *testing.T, e fleet.Engine, f *fleet.Fleet, count int) (ids []string) {
	t.Helper()
	until := time.Now().Add(time.Hour)
	var all sync.WaitGroup
	all.Add(count)
	_, stop := work(t, e, &runner{do: func(context.Context, *fleet.Task) fleet.Event {
		all.Done()
		all.Wait()
		return fleet.Pause{Cause: fleet.ByLimit, Until: until, Stored: true}
	}}, &fleet.WorkerOptions{Slots: count})
	for range count {
		ids = append(ids, submit(t, f, &fleet.Spec{Queue: fleet.DefaultQueue}).ID)
	}
	for _, id := range ids {
		reach(t, f, id, fleet.Waiting)
	}
	stop()
	if time.Until(until) < time.Hour/2 {
		t.Fatalf("the jobs are due in %v", time.Until(until))
	}
	return ids
}

// TestChoresAreShared has four workers that all know which jobs are to be woken. One worker wakes
// each job, even if the job falls to the worker that can't.
func TestChoresAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		const jobs, workers = 100, 4
		ids := paused(t, e, f, jobs)
		engines := make([]*counting, workers)
		for i := range engines {
			engines[i] = &counting{Engine: e, refuses: i == 0}
			work(t, engines[i], &runner{}, &fleet.WorkerOptions{Queues: []string{"another"}})
		}
		for _, id := range ids {
			reach(t, f, id, fleet.Queued)
		}
		reads := 0
		for i, c := range engines {
			if c.reads.Load() == 0 {
				t.Errorf("worker %d has done nothing", i)
			}
			if !c.refuses {
				reads += int(c.reads.Load())
			}
		}
		if reads > jobs*3/2 { // each by itself would be 300
			t.Errorf("%d reads for %d jobs", reads, jobs)
		}
	})
}

// TestManyChores has one worker that wakes many jobs that are due at once.
func TestManyChores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		const jobs = 400
		ids := paused(t, e, f, jobs)
		work(t, e, &runner{}, &fleet.WorkerOptions{Queues: []string{"another"}})
		j, err := f.Job(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(j.Until) + 2*time.Second) // of the bubble
		states := map[fleet.State]int{}
		for s, err := range f.Jobs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			states[s.State]++
		}
		if states[fleet.Queued] != jobs {
			t.Errorf("two seconds after %d jobs were due they are %v", jobs, states)
		}
	})
}

// TestRetentionWaits has old jobs while all slots are taken by chores that take long. They are removed soon after, and
// not an hour later.
func TestRetentionWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		old := submit(t, f, &fleet.Spec{Queue: "nobody"})
		if _, err := f.Cancel(t.Context(), old.ID, ""); err != nil {
			t.Fatal(err)
		}
		dying := e.Client(nil)
		work(t, dying, &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
			<-ctx.Done()
			return fleet.Finish{Cause: fleet.ByPerson}
		}}, &fleet.WorkerOptions{Slots: 8})
		for range 8 {
			reach(t, f, submit(t, f, &fleet.Spec{}).ID, fleet.Running)
		}
		looks := make(chan struct{}, 100)
		work(t, e, slowLook{&runner{}, looks}, &fleet.WorkerOptions{Queues: []string{"another"}, Retain: time.Minute})
		time.Sleep(time.Hour - 40*time.Second) // of the bubble, as all others
		dying.Cut()
		for range 8 {
			<-looks
		}
		time.Sleep(2 * time.Minute)
		if _, err := f.Job(t.Context(), old.ID); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("the old job is still there: %v", err)
		}
		dying.Reconnect()
		time.Sleep(time.Minute) // so that the worker registers again
	})
}

// slowLook is a runner that can't read sessions in time.
type slowLook struct {
	*runner
	looks chan struct{}
}

func (r slowLook) Look(ctx context.Context, _ *fleet.Job) (*fleet.Traces, error) {
	r.looks <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestSlowChore has a worker that looks for a long time at the session of a job whose worker is dead. Meanwhile it
// ends an attempt that was canceled, and wakes a job that waits.
func TestSlowChore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		untilEnd := &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
			<-ctx.Done()
			return fleet.Finish{Cause: fleet.ByPerson}
		}}
		dying := e.Client(nil)
		work(t, dying, untilEnd, &fleet.WorkerOptions{Queues: []string{"dying"}})
		lost := submit(t, f, &fleet.Spec{Queue: "dying"})
		reach(t, f, lost.ID, fleet.Running)
		looks := make(chan struct{}, 100)
		work(t, e, slowLook{untilEnd, looks}, &fleet.WorkerOptions{Queues: []string{"own"}})
		own := submit(t, f, &fleet.Spec{Queue: "own"})
		reach(t, f, own.ID, fleet.Running)
		before := submit(t, f, &fleet.Spec{Queue: "nobody"})
		after := submit(t, f, &fleet.Spec{Queue: "nobody", After: []string{before.ID}})
		dying.Cut()
		<-looks
		began := time.Now()
		for _, id := range []string{own.ID, before.ID} {
			if _, err := f.Cancel(t.Context(), id, "enough"); err != nil {
				t.Fatal(err)
			}
		}
		reach(t, f, own.ID, fleet.Canceled)
		reach(t, f, after.ID, fleet.Failed)
		if took := time.Since(began); took > 5*time.Second { // by the clock of the bubble
			t.Errorf("it took %v, as long as a session is looked at", took)
		}
		reach(t, f, lost.ID, fleet.Lost)
		dying.Reconnect()
		time.Sleep(time.Minute) // of the bubble, so that the worker registers again
	})
}

// A skewed engine is an engine whose clock differs from its workers' clocks.
type skewed struct {
	fleet.Engine
	by time.Duration
}

func (e skewed) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	r, err := e.Engine.Get(ctx, t, key)
	r.Time = r.Time.Add(e.by)
	return r, err
}

func (e skewed) List(ctx context.Context, t fleet.Table, group string, wants func(string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range e.Engine.List(ctx, t, group, wants) {
			r.Time = r.Time.Add(e.by)
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestRetentionByTheEnginesClock has a worker whose clock is forty days ahead of the engine's. It drops jobs when they
// are old by the engine's clock, and not before.
func TestRetentionByTheEnginesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, _ := newFleet()
		const day = 24 * time.Hour
		f := fleet.Open(e, "tester")
		old := submit(t, f, &fleet.Spec{Queue: "nobody"})
		if _, err := f.Cancel(t.Context(), old.ID, ""); err != nil {
			t.Fatal(err)
		}
		// The record was written by a machine whose clock was forty days behind.
		r, err := e.Get(t.Context(), fleet.Jobs, old.ID)
		if err != nil {
			t.Fatal(err)
		}
		j := job(t, f, old.ID)
		j.Changed = j.Changed.Add(-40 * day)
		if r.Data, err = json.Marshal(j); err != nil {
			t.Fatal(err)
		}
		r.Label = j.Summary().Label()
		if _, err := e.Set(t.Context(), fleet.Jobs, r); err != nil {
			t.Fatal(err)
		}
		work(t, skewed{e, -40 * day}, &runner{}, &fleet.WorkerOptions{Retain: 3 * time.Hour})
		time.Sleep(2*time.Hour + time.Minute) // it looks every hour
		job(t, f, old.ID)
		time.Sleep(3 * time.Hour)
		if _, err := f.Job(t.Context(), old.ID); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("the old job is still there: %v", err)
		}
	})
}
