package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// hasty is an engine that stores the first end of a job, lets somebody requeue it, and reports a
// conflict.
type hasty struct {
	fleet.Engine
	hurried bool
}

func (e *hasty) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	revisions, err := e.Engine.Set(ctx, t, records...)
	if t != fleet.Jobs || e.hurried || !strings.HasPrefix(records[0].Label, string(fleet.Failed)) {
		return revisions, err
	}
	e.hurried = true
	if _, err := fleet.Open(e.Engine, "person").Requeue(ctx, records[0].Key, fleet.Requeue{Start: fleet.Fresh}); err != nil {
		return nil, err
	}
	return nil, fleet.ErrConflict
}

// TestRefusedAndStored has a write that is refused although it was stored. It does not come late.
func TestRefusedAndStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		h := &hasty{Engine: e}
		work(t, h, &runner{do: func(_ context.Context, task *fleet.Task) fleet.Event {
			if task.Number == 2 {
				return say("done")
			}
			return fleet.Finish{Cause: fleet.ByAgent, CostUSD: 1, Result: fleet.Result{Text: "first"}}
		}}, nil)
		submitted := submit(t, f, &fleet.Spec{})
		time.Sleep(time.Hour) // of the bubble: to watch the job would end at its first end, too
		j, err := f.Job(t.Context(), submitted.ID)
		if err != nil || j.State != fleet.Done {
			t.Fatalf("the job is %+v, %v", j, err)
		}
		for _, n := range j.Notes {
			if n.Result != nil {
				t.Errorf("a result came late: %+v", n)
			}
		}
		accounts, err := f.Accounts(t.Context())
		if err != nil || len(accounts) != 1 || accounts[0].SpentUSD != 1 || !h.hurried {
			t.Errorf("the accounts are %+v, %v", accounts, err)
		}
	})
}

// closing is an engine in which a worker closes each question just before it is removed.
type closing struct{ fleet.Engine }

func (e closing) Remove(ctx context.Context, t fleet.Table, key string, revision uint64) error {
	if t == fleet.Questions {
		job, id, _ := strings.Cut(key, ".")
		_, err := fleet.Open(e.Engine, "worker").Answer(ctx, job, id, fleet.Answer{})
		if err != nil && !errors.Is(err, fleet.ErrAnswered) {
			return err
		}
	}
	return e.Engine.Remove(ctx, t, key, revision)
}

// TestDropWhileClosed drops a job whose question is closed meanwhile.
func TestDropWhileClosed(t *testing.T) {
	t.Parallel()
	e := memfleet.New()
	f := fleet.Open(closing{e}, "person")
	j := submit(t, f, &fleet.Spec{})
	if _, err := f.Cancel(t.Context(), j.ID, ""); err != nil {
		t.Fatal(err)
	}
	question := fleet.Record{Key: j.ID + ".q", Label: "open", Data: []byte(`{"job":"` + j.ID + `","id":"q"}`)}
	if _, err := e.Set(t.Context(), fleet.Questions, question); err != nil {
		t.Fatal(err)
	}
	if err := f.Drop(t.Context(), j.ID); err != nil {
		t.Error(err)
	}
	if _, err := e.Get(t.Context(), fleet.Questions, question.Key); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("the question: %v", err)
	}
}
