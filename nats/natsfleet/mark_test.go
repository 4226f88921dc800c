package natsfleet

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/soak"
)

// TestCompareStates has lists that are whole, that have to be made again, and that lack records.
func TestCompareStates(t *testing.T) {
	t.Parallel()
	state := func(records int, last uint64) jetstream.StreamState {
		return jetstream.StreamState{NumSubjects: uint64(records), LastSeq: last}
	}
	for name, test := range map[string]struct {
		before, after jetstream.StreamState
		count         uint64
		missing       uint64
		again         bool
	}{
		"nothing":                   {state(0, 0), state(0, 0), 0, 0, false},
		"all":                       {state(8, 9), state(8, 9), 8, 0, false},
		"a record is damaged":       {state(8, 9), state(8, 9), 7, 1, false},
		"a worker renews its lease": {state(8, 9), state(8, 10), 7, 1, true},
		"all, and one is created":   {state(8, 9), state(9, 10), 8, 0, true},
		"one that is new is listed": {state(8, 9), state(9, 10), 9, 0, true},
		"the mark of one goes":      {state(8, 9), state(7, 9), 7, 0, false},
	} {
		missing, again := compareStates(test.before, test.after, test.count)
		if missing != test.missing || again != test.again {
			t.Errorf("%s: %d are missing, again: %t", name, missing, again)
		}
	}
}

// TestReadWhileWorkersRenew checks a server whose clients are already back: workers that renew
// their leases are not damage.
func TestReadWhileWorkersRenew(t *testing.T) {
	t.Parallel()
	soak.Search(t)
	e := start(t, &Options{Dir: t.TempDir()})
	ctx, stop := context.WithCancel(t.Context())
	var renewing sync.WaitGroup
	defer func() {
		stop()
		renewing.Wait()
		end(t, e)
	}()
	for i := range 8 {
		renewing.Go(func() {
			r := fleet.Record{Key: fmt.Sprint("worker", i), Data: []byte("{}")}
			for {
				revisions, err := e.Set(ctx, fleet.Workers, r)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				r.Revision = revisions[0]
			}
		})
	}
	for range 200 {
		if err := e.readRecords(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
