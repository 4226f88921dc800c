package fleettest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/fleet"
)

// atOnce calls a function from n goroutines, and waits for them.
func atOnce(n int, call func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	wg.Wait()
}

// concurrentTests call methods from several goroutines.
var concurrentTests = map[string]func(*tester){
	"one of many writes": func(x *tester) {
		revision := uint64(0)
		for round := range 20 {
			var won atomic.Int64
			var winner atomic.Int64
			atOnce(8, func(i int) {
				_, err := x.e.Set(x.ctx, fleet.Jobs, fleet.Record{Key: "key", Revision: revision, Data: []byte(text(i))})
				switch {
				case err == nil:
					won.Add(1)
					winner.Store(int64(i))
				case !errors.Is(err, fleet.ErrConflict):
					x.Error(err)
				}
			})
			if won.Load() != 1 {
				x.Fatalf("round %d: %d of 8 have written", round, won.Load())
			}
			r := x.get(fleet.Jobs, "key")
			if string(r.Data) != text(int(winner.Load())) {
				x.Errorf("the record has %s, and %d has written it", short(r.Data), winner.Load())
			}
			revision = r.Revision
		}
	},
	"many count together": func(x *tester) {
		const writers, each = 8, 15
		x.set(fleet.Jobs, "key", 0, "0")
		atOnce(writers, func(int) {
			for range each {
				if err := increment(x.ctx, x.e, "key"); err != nil {
					x.Error(err)
				}
			}
		})
		x.has(fleet.Jobs, "key", strconv.Itoa(writers*each))
		var want []string
		for i := range writers*each + 1 {
			want = append(want, strconv.Itoa(i))
		}
		x.checkHistory(fleet.Jobs, "key", want...)
	},
	"two records change together": func(x *tester) {
		const writers, each = 6, 10
		x.set(fleet.Jobs, "a", 0, "0")
		x.set(fleet.Jobs, "b", 0, "0")
		atOnce(writers, func(i int) {
			keys := []string{"a", "b"}
			if i%2 == 1 {
				keys = []string{"b", "a"}
			}
			for range each {
				if err := increment(x.ctx, x.e, keys...); err != nil {
					x.Error(err)
				}
			}
		})
		x.has(fleet.Jobs, "a", strconv.Itoa(writers*each))
		x.has(fleet.Jobs, "b", strconv.Itoa(writers*each))
		if got := len(x.history(fleet.Jobs, "a")); got != writers*each+1 {
			x.Errorf("the history has %d records, want %d", got, writers*each+1)
		}
	},
	"a record is changed or removed": func(x *tester) {
		for i := range 30 {
			key := keyOf(i)
			revision := x.set(fleet.Jobs, key, 0, "first")
			var set, removed error
			atOnce(2, func(i int) {
				if i == 0 {
					_, set = x.e.Set(x.ctx, fleet.Jobs, fleet.Record{Key: key, Revision: revision, Data: []byte("second")})
				} else {
					removed = x.e.Remove(x.ctx, fleet.Jobs, key, revision)
				}
			})
			switch {
			case set == nil && errors.Is(removed, fleet.ErrConflict):
				x.checkHistory(fleet.Jobs, key, "first", "second")
			case errors.Is(set, fleet.ErrConflict) && removed == nil:
				x.missing(fleet.Jobs, key)
				x.checkHistory(fleet.Jobs, key)
			default:
				x.Fatalf("Set says %v, and Remove %v", set, removed)
			}
		}
	},
	"many records at once": func(x *tester) {
		atOnce(8, func(w int) {
			for i := range 10 {
				key := fmt.Sprintf("key-%d-%d", w, i)
				revisions, err := x.e.Set(x.ctx, fleet.Jobs, fleet.Record{Key: key, Data: []byte("first")})
				if err == nil {
					_, err = x.e.Set(x.ctx, fleet.Jobs, fleet.Record{Key: key, Revision: revisions[0], Data: []byte(key)})
				}
				if err != nil {
					x.Error(err)
					continue
				}
				if r, err := x.e.Get(x.ctx, fleet.Jobs, key); err != nil || string(r.Data) != key {
					x.Errorf("%s has %s: %v", key, short(r.Data), err)
				}
			}
		})
		got := x.list(fleet.Jobs, nil)
		if len(got) != 80 {
			x.Errorf("List has %d records, want 80", len(got))
		}
		for key, r := range got {
			if string(r.Data) != key {
				x.Errorf("%s has %s", key, short(r.Data))
			}
		}
	},
}

// increment adds one to the number in each of some records, in one call.
func increment(ctx context.Context, e fleet.Engine, keys ...string) error {
	for {
		var records []fleet.Record
		for _, key := range keys {
			r, err := e.Get(ctx, fleet.Jobs, key)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(r.Data))
			if err != nil {
				return err
			}
			records = append(records, fleet.Record{Key: key, Revision: r.Revision, Data: []byte(strconv.Itoa(n + 1))})
		}
		if _, err := e.Set(ctx, fleet.Jobs, records...); !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// contextTests call methods with a context that is over.
var contextTests = map[string]func(*tester){
	"a call whose context is over": func(x *tester) {
		x.set(fleet.Jobs, "key", 0, "data")
		x.put("file", []byte("data"))
		over, cancel := context.WithCancel(x.ctx)
		cancel()
		for name, call := range calls {
			done := make(chan error, 1)
			go func() { done <- call(over, x.e) }()
			select {
			case err := <-done:
				if err == nil || errors.Is(err, fleet.ErrConflict) || errors.Is(err, fleet.ErrNotFound) {
					x.Errorf("%s returned %v", name, err)
				}
			case <-x.ctx.Done():
				x.Fatalf("%s does not return", name)
			}
		}
		for name := range x.list(fleet.Jobs, nil) {
			if name != "key" && name != "new" {
				x.Errorf("there is a record %q", name)
			}
		}
	},
	"a list whose context ends": func(x *tester) {
		x.write(fleet.Jobs, numbered(0, 50)...)
		x.checkEnd(func(ctx context.Context) iter.Seq2[fleet.Record, error] { return x.e.List(ctx, fleet.Jobs, "", nil) })
	},
	"a history whose context ends": func(x *tester) {
		revision := uint64(0)
		for i := range 50 {
			revision = x.set(fleet.Jobs, "key", revision, text(i))
		}
		x.checkEnd(func(ctx context.Context) iter.Seq2[fleet.Record, error] { return x.e.History(ctx, fleet.Jobs, "key") })
	},
	"a watch whose context is over": func(x *tester) {
		ctx, cancel := context.WithCancel(x.ctx)
		cancel()
		done := make(chan error, 2)
		go func() { done <- last(x.e.Watch(ctx, fleet.Jobs, "", nil)) }()
		go func() { done <- last(x.e.Listen(ctx, "subject")) }()
		for range 2 {
			select {
			case <-done:
			case <-x.ctx.Done():
				x.Fatal("a loop does not end")
			}
		}
	},
}

// checkEnd reads the first of 50 records and ends the context. The loop must not look whole if it is not.
func (x *tester) checkEnd(records func(context.Context) iter.Seq2[fleet.Record, error]) {
	x.Helper()
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	n := 0
	var failed error
	for _, err := range records(ctx) {
		cancel()
		if failed = err; err == nil {
			n++
		}
	}
	if failed == nil && n < 50 {
		x.Errorf("the loop has ended after %d of 50 records, without an error", n)
	}
}

// calls are the methods that return by themselves.
var calls = map[string]func(ctx context.Context, e fleet.Engine) error{
	"Set": func(ctx context.Context, e fleet.Engine) error {
		_, err := e.Set(ctx, fleet.Jobs, fleet.Record{Key: "new", Data: []byte("data")})
		return err
	},
	"Get": func(ctx context.Context, e fleet.Engine) error {
		_, err := e.Get(ctx, fleet.Jobs, "key")
		return err
	},
	"Remove": func(ctx context.Context, e fleet.Engine) error {
		return e.Remove(ctx, fleet.Workers, "not-there", 0)
	},
	"List": func(ctx context.Context, e fleet.Engine) error {
		return last(e.List(ctx, fleet.Jobs, "", nil))
	},
	"History": func(ctx context.Context, e fleet.Engine) error {
		return last(e.History(ctx, fleet.Jobs, "key"))
	},
	"Open": func(ctx context.Context, e fleet.Engine) error {
		_, err := readFile(ctx, e, "file")
		return err
	},
	"Put": func(ctx context.Context, e fleet.Engine) error {
		return e.Put(ctx, "file", strings.NewReader("data"))
	},
	"Publish": func(ctx context.Context, e fleet.Engine) error { return e.Publish(ctx, "subject", nil) },
}

// last returns the error that ends a sequence.
func last[T any](all iter.Seq2[T, error]) (failed error) {
	for _, err := range all {
		failed = err
	}
	return failed
}
