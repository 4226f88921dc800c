package natsfleet

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/clewdev/clew/fleet"
)

// TestReadWhileWorkersRenew checks a server whose clients have come back already: workers that renew their
// leases are no damage.
func TestReadWhileWorkersRenew(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), &Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var renewing sync.WaitGroup
	defer func() {
		stop()
		renewing.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
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
	for range 20 {
		if err := e.readRecords(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
