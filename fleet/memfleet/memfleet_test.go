package memfleet_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/fleet/memfleet"
)

func TestEngine(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(*testing.T) fleet.Engine { return memfleet.New() })
}

func TestClientWithoutFaults(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(*testing.T) fleet.Engine { return memfleet.New().Client(nil) })
}

// An engine in memory refuses what others can't keep.
func TestRefused(t *testing.T) {
	t.Parallel()
	e, ctx := memfleet.New(), t.Context()
	long := strings.Repeat("k", 513)
	_, setErr := e.Set(ctx, fleet.Jobs, fleet.Record{Key: long})
	_, getErr := e.Get(ctx, fleet.Jobs, long)
	_, openErr := e.Open(ctx, long)
	for name, err := range map[string]error{
		"Set": setErr, "Get": getErr, "Remove": e.Remove(ctx, fleet.Jobs, long, 1),
		"Open": openErr, "Delete": e.Delete(ctx, long), "Put": e.Put(ctx, long, strings.NewReader("")), "Publish": e.Publish(ctx, long, nil),
		"List": first(e.List(ctx, fleet.Decisions, long, nil)), "Watch": first(e.Watch(ctx, fleet.Jobs, long, nil)),
		"History": first(e.History(ctx, fleet.Jobs, long)), "Listen": first(e.Listen(ctx, long)),
	} {
		text := fmt.Sprint(err)
		if !strings.HasPrefix(text, "memfleet: ") || !strings.Contains(text, "must be 1 to 512 bytes, got 513") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// first returns the error of the first pair.
func first[T any](pairs iter.Seq2[T, error]) error {
	for _, err := range pairs {
		return err
	}
	return nil
}
