package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// checked is an engine that checks records, as an engine with checksums does: a record that it
// can't read has no data.
type checked struct{ fleet.Engine }

var errChecksum = errors.New("it does not match its checksum")

const garbage = "garbage"

func (e checked) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	r, err := e.Engine.Get(ctx, t, key)
	if string(r.Data) == garbage {
		return fleet.Record{}, errChecksum
	}
	return r, err
}

func (e checked) List(ctx context.Context, t fleet.Table, group string, wants func(string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		var damage error
		for r, err := range e.Engine.List(ctx, t, group, nil) {
			if string(r.Data) == garbage && (wants == nil || wants(r.Label)) {
				damage = errChecksum
			} else if !yield(r, err) || err != nil {
				return
			}
		}
		if damage != nil {
			yield(fleet.Record{}, damage)
		}
	}
}

func (e checked) Watch(ctx context.Context, t fleet.Table, key string, wants func(string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range e.Engine.Watch(ctx, t, key, wants) {
			if string(r.Data) == garbage {
				r.Data = nil
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// damage makes a record unreadable.
func damage(t *testing.T, e fleet.Engine, table fleet.Table, key string) {
	t.Helper()
	r, err := e.Get(t.Context(), table, key)
	if err == nil {
		r.Data = []byte(garbage)
		_, err = e.Set(t.Context(), table, r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// damageForms has an engine that returns unreadable records, and an engine that refuses to.
var damageForms = map[string]func(fleet.Engine) fleet.Engine{
	"unchecked": func(e fleet.Engine) fleet.Engine { return e },
	"checked":   func(e fleet.Engine) fleet.Engine { return checked{e} },
}

// TestDamagedWorker damages the record of a dead worker. Others take its job when its lease is
// over. A worker that starts later does not know the lease, and waits longer.
func TestDamagedWorker(t *testing.T) {
	t.Parallel()
	for name, wrap := range damageForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, _ := newFleet()
				takeFromDamaged(t, e, wrap, true, fleet.DefaultLease, 2*fleet.DefaultLease)
				takeFromDamaged(t, e, wrap, false, 10*time.Minute, 11*time.Minute)
			})
		})
	}
}

// takeFromDamaged lets a worker die whose record is damaged then, and another one take its job away. It checks how long
// that takes, by the clock of the bubble.
func takeFromDamaged(t *testing.T, e *memfleet.Engine, wrap func(fleet.Engine) fleet.Engine, known bool, atLeast, atMost time.Duration) {
	t.Helper()
	f := fleet.Open(wrap(e), "person")
	dying := e.Client(nil)
	_, stop := work(t, dying, &runner{do: func(ctx context.Context, _ *fleet.Task) fleet.Event {
		<-ctx.Done()
		return fleet.Finish{Cause: fleet.ByPerson}
	}}, nil)
	j := submit(t, f, &fleet.Spec{})
	j = reach(t, f, j.ID, fleet.Running)
	other := func() func() {
		_, stop := work(t, wrap(e), &runner{}, &fleet.WorkerOptions{Queues: []string{"another"}})
		time.Sleep(fleet.DefaultLease)
		return stop
	}
	stopOther := func() {}
	if known {
		stopOther = other()
	}
	dying.Cut()
	time.Sleep(time.Second)
	damage(t, e, fleet.Workers, j.Worker())
	began := time.Now()
	if !known {
		stopOther = other()
	}
	workers, err := f.Workers(t.Context())
	if err != nil || len(workers) != 2 {
		t.Errorf("%d workers, %v", len(workers), err)
	}
	reach(t, f, j.ID, fleet.Lost)
	if took := time.Since(began); took < atLeast || took > atMost {
		t.Errorf("the job was taken away after %v", took)
	}
	time.Sleep(time.Hour)
	if workers, err = f.Workers(t.Context()); err != nil || len(workers) != 1 {
		t.Errorf("%d workers are left, %v", len(workers), err)
	}
	stopOther()
	dying.Reconnect()
	time.Sleep(time.Minute) // so that the worker registers again
	stop()
}

// TestDamagedJob damages the record of a job. A worker reports it once, and people can drop it.
func TestDamagedJob(t *testing.T) {
	t.Parallel()
	for name, wrap := range damageForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, _ := newFleet()
				f := fleet.Open(wrap(e), "person")
				var log lockedBuffer
				client := e.Client(nil)
				work(t, wrap(client), &runner{}, &fleet.WorkerOptions{Queues: []string{"another"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				j := submit(t, f, &fleet.Spec{})
				damage(t, e, fleet.Jobs, j.ID)
				time.Sleep(time.Minute) // of the bubble
				client.Cut()
				time.Sleep(time.Second)
				client.Reconnect() // then the worker reads all again
				time.Sleep(time.Minute)
				if n := strings.Count(log.String(), "a record can't be read"); n != 1 || !strings.Contains(log.String(), j.ID) {
					t.Errorf("the damage is reported %d times:\n%s", n, log.String())
				}
				if _, err := f.Cancel(t.Context(), j.ID, ""); err == nil {
					t.Error("the job can be canceled")
				}
				if err := f.Drop(t.Context(), j.ID[:11]); err != nil {
					t.Errorf("drop: %v", err)
				}
				if _, err := f.Job(t.Context(), j.ID); !errors.Is(err, fleet.ErrNotFound) {
					t.Errorf("after it was dropped: %v", err)
				}
				open := submit(t, f, &fleet.Spec{})
				for _, id := range []string{"", open.ID} {
					if err := f.Drop(t.Context(), id); err == nil {
						t.Errorf("%q can be dropped", id)
					}
				}
				if _, err := f.Job(t.Context(), open.ID); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// TestDamagedQuestion damages the question of a waiting agent, and of an agent that no longer
// waits. The first gets an answer when the time is over, and the other agent asks again.
func TestDamagedQuestion(t *testing.T) {
	t.Parallel()
	for name, wrap := range damageForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, _ := newFleet()
				f := fleet.Open(wrap(e), "person")
				asked := 0
				work(t, wrap(e), &runner{do: func(ctx context.Context, task *fleet.Task) fleet.Event {
					asked++
					a, err := task.Ask(ctx, &fleet.Question{ID: "q", Tool: "Bash"}, true)
					switch {
					case errors.Is(err, fleet.ErrParked):
						return fleet.Park{Question: "q"}
					case err != nil:
						return fleet.Finish{Cause: fleet.ByAgent, Text: err.Error()}
					case a.Expired:
						return say("expired")
					}
					return say(a.Text)
				}}, nil)
				waits := submit(t, f, &fleet.Spec{Ask: &fleet.Ask{Wait: fleet.Duration(time.Hour), Park: -1}})
				reach(t, f, waits.ID, fleet.Running)
				began := time.Now()
				time.Sleep(time.Minute) // of the bubble
				damage(t, e, fleet.Questions, waits.ID+".q")
				j := reach(t, f, waits.ID, fleet.Done)
				if took := time.Since(began); j.Result().Text != "expired" || took > time.Hour+time.Minute {
					t.Errorf("after %v: %+v", took, j.Result())
				}
				asked = 0
				parks := submit(t, f, &fleet.Spec{Ask: &fleet.Ask{Park: fleet.Duration(time.Minute)}})
				reach(t, f, parks.ID, fleet.Asking)
				damage(t, e, fleet.Questions, parks.ID+".q")
				reach(t, f, parks.ID, fleet.Running)
				reach(t, f, parks.ID, fleet.Asking)
				if _, err := f.Answer(t.Context(), parks.ID, "q", fleet.Answer{Text: "no"}); err != nil {
					t.Fatal(err)
				}
				if j := reach(t, f, parks.ID, fleet.Done); j.Result().Text != "no" || asked != 3 {
					t.Errorf("asked %d times: %+v", asked, j.Result())
				}
			})
		})
	}
}

// stray is an engine whose job lists end with an error, after all readable jobs.
type stray struct{ fleet.Engine }

func (e stray) List(ctx context.Context, t fleet.Table, group string, wants func(string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range e.Engine.List(ctx, t, group, wants) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		if t == fleet.Jobs {
			yield(fleet.Record{}, errors.New("there is something else"))
		}
	}
}

// TestStray finds jobs by short IDs, and removes old ones, where something is among the records that does not belong
// there.
func TestStray(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, _ := newFleet()
		f := fleet.Open(stray{e}, "person")
		work(t, stray{e}, &runner{}, &fleet.WorkerOptions{Retain: time.Hour})
		j := submit(t, f, &fleet.Spec{Queue: "another"})
		if _, err := f.Cancel(t.Context(), j.ID[:11], ""); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Hour) // of the bubble
		if _, err := f.Job(t.Context(), j.ID); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("the old job is still there: %v", err)
		}
	})
}
