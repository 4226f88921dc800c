package memfleet_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// always returns a client that has a fault in every call of one method.
func always(e *memfleet.Engine, method string, f memfleet.CallFaults) *memfleet.Client {
	return e.Client(&memfleet.Faults{Calls: map[string]memfleet.CallFaults{method: f}})
}

func record(data string) fleet.Record { return fleet.Record{Key: "key", Data: []byte(data)} }

// has checks the data of the record; "" means that there is none.
func has(t *testing.T, e fleet.Engine, want string) {
	t.Helper()
	r, err := e.Get(t.Context(), fleet.Jobs, "key")
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		t.Fatal(err)
	}
	if string(r.Data) != want {
		t.Errorf("got %q, want %q", r.Data, want)
	}
}

func TestCallFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults memfleet.CallFaults
		now    string // the data of the record after the call
		later  string // and an hour later
	}{
		"before": {memfleet.CallFaults{Before: 1}, "", ""},
		"after":  {memfleet.CallFaults{After: 1}, "data", "data"},
		"late":   {memfleet.CallFaults{Late: 1, Delay: time.Minute}, "", "data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				engine := memfleet.New()
				c := always(engine, "Set", test.faults)
				r := record("data")
				if _, err := c.Set(t.Context(), fleet.Jobs, r); !errors.Is(err, memfleet.ErrFault) {
					t.Errorf("got the error %v", err)
				}
				clear(r.Data)
				has(t, engine, test.now)
				time.Sleep(time.Hour)
				has(t, engine, test.later)
				has(t, c, test.later) // other methods have no faults
			})
		})
	}
}

func TestFaultsOfAllMethods(t *testing.T) {
	t.Parallel()
	for _, faults := range []memfleet.CallFaults{{Before: 1}, {After: 1}, {Late: 1}} {
		c := always(memfleet.New(), "", faults)
		ctx := t.Context()
		_, set := c.Set(ctx, fleet.Jobs, record("data"))
		_, get := c.Get(ctx, fleet.Jobs, "key")
		_, open := c.Open(ctx, "file")
		errs := map[string]error{
			"Set": set, "Get": get, "Open": open,
			"List":    last(c.List(ctx, fleet.Jobs, "", nil)),
			"Watch":   last(c.Watch(ctx, fleet.Jobs, "", nil)),
			"History": last(c.History(ctx, fleet.Jobs, "key")),
			"Remove":  c.Remove(ctx, fleet.Jobs, "key", 0),
			"Publish": c.Publish(ctx, "subject", nil),
			"Listen":  last(c.Listen(ctx, "subject")),
			"Put":     c.Put(ctx, "file", strings.NewReader("data")),
			"Delete":  c.Delete(ctx, "file"),
		}
		for name, err := range errs {
			if !errors.Is(err, memfleet.ErrFault) {
				t.Errorf("%+v: %s returned %v", faults, name, err)
			}
		}
	}
}

func last[T any](all func(func(T, error) bool)) (failed error) {
	for _, err := range all {
		failed = err
	}
	return failed
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memfleet.New()
		c := always(engine, "Set", memfleet.CallFaults{Delay: time.Hour})
		begin := time.Now()
		if _, err := c.Set(t.Context(), fleet.Jobs, record("data")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took == 0 || took > 2*time.Hour {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Set(ctx, fleet.Jobs, record("data")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got the error %v", err)
		}
	})
}

// outcomes returns which calls of a client with a seed fail.
func outcomes(t *testing.T, seed uint64) []bool {
	faults := map[string]memfleet.CallFaults{"Get": {Before: 0.3, After: 0.2}}
	c := memfleet.New().Client(&memfleet.Faults{Seed: seed, Calls: faults})
	var failed []bool
	for range 1000 {
		_, err := c.Get(t.Context(), fleet.Jobs, "key")
		failed = append(failed, errors.Is(err, memfleet.ErrFault))
	}
	return failed
}

func TestSeed(t *testing.T) {
	t.Parallel()
	first := outcomes(t, 1)
	if diff := cmp.Diff(first, outcomes(t, 1)); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, outcomes(t, 2)) {
		t.Error("another seed gives the same faults")
	}
	n := 0
	for _, failed := range first {
		if failed {
			n++
		}
	}
	if n < 400 || n > 600 {
		t.Errorf("%d of 1000 calls failed, want about 500", n)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memfleet.New()
		c := engine.Client(nil)
		c.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Set(ctx, fleet.Jobs, record("data")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got the error %v", err)
		}
		has(t, engine, "")
		done := make(chan error)
		go func() {
			_, err := c.Set(t.Context(), fleet.Jobs, record("data"))
			done <- err
		}()
		synctest.Wait()
		has(t, engine, "")
		c.Reconnect()
		if err := <-done; err != nil {
			t.Error(err)
		}
		has(t, engine, "data")
	})
}

// The answer of a call is also lost if its request arrived.
func TestCutDuringCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memfleet.New()
		c := always(engine, "Set", memfleet.CallFaults{Delay: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() {
			for _, err := range engine.Watch(ctx, fleet.Jobs, "key", nil) {
				if r, getErr := engine.Get(ctx, fleet.Jobs, "key"); err == nil && getErr == nil && len(r.Data) > 0 {
					c.Cut()
					return
				}
			}
		}()
		if _, err := c.Set(ctx, fleet.Jobs, record("data")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got the error %v", err)
		}
		has(t, engine, "data")
	})
}

func TestWatchFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memfleet.New()
		if _, err := engine.Set(t.Context(), fleet.Jobs, record("data")); err != nil {
			t.Fatal(err)
		}
		broken := engine.Client(&memfleet.Faults{Break: 1})
		if err := last(broken.Watch(t.Context(), fleet.Jobs, "", nil)); !errors.Is(err, memfleet.ErrFault) {
			t.Errorf("got the error %v", err)
		}
		begin := time.Now()
		slow := engine.Client(&memfleet.Faults{Lag: time.Hour})
		for r, err := range slow.Watch(t.Context(), fleet.Jobs, "", nil) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Key == "" {
				break
			}
		}
		if time.Since(begin) == 0 {
			t.Error("nothing was late")
		}
	})
}

func TestWatchWhileCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memfleet.New()
		c := engine.Client(nil)
		var seen []string
		go func() {
			for r, err := range c.Watch(t.Context(), fleet.Jobs, "", nil) {
				if err == nil && r.Key != "" {
					seen = append(seen, string(r.Data))
				}
			}
		}()
		synctest.Wait()
		c.Cut()
		if _, err := engine.Set(t.Context(), fleet.Jobs, record("data")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(seen) > 0 {
			t.Errorf("it got %q", seen)
		}
		c.Reconnect()
		synctest.Wait()
		if diff := cmp.Diff([]string{"data"}, seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memfleet.New()
		c := always(engine, "Set", memfleet.CallFaults{Delay: time.Hour})
		errs := make(chan error)
		go func() { errs <- last(c.Watch(t.Context(), fleet.Jobs, "", nil)) }()
		go func() { errs <- last(c.Listen(t.Context(), "subject")) }()
		go func() {
			_, err := c.Set(t.Context(), fleet.Jobs, record("data"))
			errs <- err
		}()
		synctest.Wait()
		c.Kill()
		for range 3 {
			if err := <-errs; !errors.Is(err, memfleet.ErrKilled) {
				t.Errorf("got the error %v", err)
			}
		}
		if err := c.Publish(t.Context(), "subject", nil); !errors.Is(err, memfleet.ErrKilled) {
			t.Errorf("got the error %v", err)
		}
		has(t, engine, "")
	})
}

func TestMessageFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults memfleet.Faults
		cut    bool // whether the listener is
		want   int
	}{
		"none":            {want: 1},
		"dropped":         {faults: memfleet.Faults{Drop: 1}},
		"doubled":         {faults: memfleet.Faults{Double: 1}, want: 2},
		"the cut off one": {cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				engine := memfleet.New()
				listener := engine.Client(nil)
				got := 0
				go func() {
					for _, err := range listener.Listen(t.Context(), "subject") {
						if err == nil {
							got++
						}
					}
				}()
				synctest.Wait()
				if test.cut {
					listener.Cut()
				}
				if err := engine.Client(&test.faults).Publish(t.Context(), "subject", []byte("message")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got != test.want {
					t.Errorf("got %d messages, want %d", got, test.want)
				}
			})
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	engine, ctx := memfleet.New(), t.Context()
	for name, r := range map[string]fleet.Record{
		"no key":       {},
		"odd key":      {Key: "a b"},
		"slash in key": {Key: "a/b"},
		"long label":   {Key: "key", Label: strings.Repeat("x", 2<<10+1)},
		"odd label":    {Key: "key", Label: "a\nb"},
		"wide label":   {Key: "key", Label: "é"},
		"large data":   {Key: "key", Data: make([]byte, fleet.MaxRecord+1)},
	} {
		if _, err := engine.Set(ctx, fleet.Jobs, r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := engine.Set(ctx, "tables", record("data")); err == nil {
		t.Error("unknown table: no error")
	}
	if _, err := engine.Set(ctx, fleet.Jobs, record("one"), record("two")); err == nil {
		t.Error("a key twice: no error")
	}
	if err := engine.Put(ctx, "a b", strings.NewReader("")); err == nil {
		t.Error("odd name of a file: no error")
	}
	if file, err := engine.Open(ctx, ""); err == nil {
		t.Error("no name of a file: no error")
		_, _ = io.Copy(io.Discard, file)
	}
	for _, err := range []error{
		last(engine.List(ctx, "tables", "", nil)), last(engine.Watch(ctx, "tables", "", nil)),
		last(engine.Watch(ctx, fleet.Jobs, "a b", nil)), last(engine.History(ctx, fleet.Jobs, "")),
		engine.Remove(ctx, "tables", "key", 0),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
}
