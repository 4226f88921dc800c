package fleettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/clewdev/clew/fleet"
)

// A feed has the records of a watch that runs in a goroutine.
type feed struct {
	x       *tester
	records chan fleet.Record
	stop    context.CancelFunc
	ended   chan error // has the error of the watch after its end, or nil
}

// watch starts to watch a table, or one key of it.
func (x *tester) watch(t fleet.Table, key string, wants func(string) bool) *feed {
	ctx, cancel := context.WithCancel(x.ctx)
	f := &feed{x, make(chan fleet.Record, 10_000), cancel, make(chan error, 1)}
	go func() {
		var failed error
		for r, err := range x.e.Watch(ctx, t, key, wants) {
			if failed != nil {
				failed = fmt.Errorf("another pair came after the error: %w", failed)
				break
			}
			if failed = err; err == nil {
				f.records <- r
			}
		}
		f.ended <- failed
	}()
	x.Cleanup(f.end)
	return f
}

// end ends the watch, and checks how it ends.
func (f *feed) end() {
	f.x.Helper()
	f.stop()
	select {
	case err := <-f.ended:
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			f.x.Errorf("the watch ended with %v", err)
		}
		f.ended <- nil
	case <-f.x.ctx.Done():
		f.x.Error("the watch does not end with its context")
	}
}

// next returns the next record.
func (f *feed) next() fleet.Record {
	f.x.Helper()
	select {
	case r := <-f.records:
		return r
	case err := <-f.ended:
		f.ended <- nil
		f.x.Fatalf("the watch has ended: %v", err)
	case <-f.x.ctx.Done():
		f.x.Fatal("the watch yields nothing more")
	}
	return fleet.Record{}
}

// there returns the records before the zero record, by key.
func (f *feed) there() map[string]fleet.Record {
	f.x.Helper()
	records := map[string]fleet.Record{}
	for {
		r := f.next()
		if r.Key == "" {
			f.x.check(fleet.Record{}, r)
			return records
		}
		records[r.Key] = r
	}
}

// until reads the changes of a record until it has a revision. Revisions must rise.
func (f *feed) until(key string, revision uint64) fleet.Record {
	f.x.Helper()
	last := uint64(0)
	for {
		r := f.next()
		if r.Key != key {
			continue
		}
		if r.Revision != 0 && r.Revision < last || r.Revision > revision {
			f.x.Errorf("%s: revision %d comes after %d", key, r.Revision, last)
		}
		if r.Revision == revision {
			return r
		}
		last = r.Revision
	}
}

// watchTests watch tables.
var watchTests = map[string]func(*tester){
	"an empty table": func(x *tester) {
		if got := x.watch(fleet.Jobs, "", nil).there(); len(got) > 0 {
			x.Errorf("got %v", got)
		}
		if got := x.watch(fleet.Jobs, "key", nil).there(); len(got) > 0 {
			x.Errorf("got %v", got)
		}
	},
	"what is there comes first": func(x *tester) {
		x.write(fleet.Jobs, numbered(0, 50)...)
		r := x.get(fleet.Jobs, keyOf(7))
		x.set(fleet.Jobs, r.Key, r.Revision, "changed")
		got := x.watch(fleet.Jobs, "", nil).there()
		if len(got) != 50 {
			x.Errorf("got %d records, want 50", len(got))
		}
		for key, r := range got {
			x.check(x.get(fleet.Jobs, key), r)
		}
	},
	"changes come": func(x *tester) {
		x.set(fleet.Jobs, "before", 0, "data")
		f := x.watch(fleet.Jobs, "", nil)
		f.there()
		first := x.set(fleet.Jobs, "key", 0, "first")
		x.check(x.get(fleet.Jobs, "key"), f.until("key", first))
		second := x.set(fleet.Jobs, "key", first, "second")
		x.check(x.get(fleet.Jobs, "key"), f.until("key", second))
		for i, revision := range x.write(fleet.Jobs, numbered(0, 3)...) {
			x.check(x.get(fleet.Jobs, keyOf(i)), f.until(keyOf(i), revision))
		}
	},
	"a removed record comes with its key alone": func(x *tester) {
		revision := x.write(fleet.Jobs, fleet.Record{Key: "key", Label: "label", Data: []byte("data")})[0]
		all, one := x.watch(fleet.Jobs, "", nil), x.watch(fleet.Jobs, "key", nil)
		unwanted := x.watch(fleet.Jobs, "", func(string) bool { return false })
		for _, f := range []*feed{all, one, unwanted} {
			f.there()
		}
		x.remove(fleet.Jobs, "key", revision)
		for _, f := range []*feed{all, one, unwanted} {
			x.check(fleet.Record{Key: "key"}, f.next())
		}
		again := x.set(fleet.Jobs, "key", 0, "again")
		for _, f := range []*feed{all, one} {
			x.check(x.get(fleet.Jobs, "key"), f.until("key", again))
		}
	},
	"one key": func(x *tester) {
		revision := x.set(fleet.Jobs, "a", 0, "data")
		x.set(fleet.Jobs, "a.b", 0, "data")
		x.set(fleet.Jobs, "A", 0, "data")
		f := x.watch(fleet.Jobs, "a", nil)
		if got := f.there(); len(got) != 1 || got["a"].Revision != revision {
			x.Errorf("got %v", got)
		}
		x.set(fleet.Jobs, "ab", 0, "data")
		x.set(fleet.Jobs, "a.b.c", 0, "data")
		x.set(fleet.Jobs, "a", revision, "changed")
		x.check(x.get(fleet.Jobs, "a"), f.next())
	},
	"one key that is created later": func(x *tester) {
		f := x.watch(fleet.Jobs, "key", nil)
		f.there()
		revision := x.set(fleet.Jobs, "key", 0, "data")
		x.check(x.get(fleet.Jobs, "key"), f.until("key", revision))
	},
	"one table": func(x *tester) {
		x.set(fleet.Workers, "key", 0, "data")
		f := x.watch(fleet.Jobs, "", nil)
		if got := f.there(); len(got) > 0 {
			x.Errorf("got %v", got)
		}
		x.set(fleet.Accounts, "key", 0, "data")
		x.set(fleet.Jobs, "key", 0, "data")
		x.check(x.get(fleet.Jobs, "key"), f.next())
	},
	"what is wanted has its data": func(x *tester) {
		wants := func(label string) bool { return label == "wanted" }
		records := []fleet.Record{
			{Key: "1", Label: "wanted", Data: []byte("data")},
			{Key: "2", Label: "not wanted", Data: []byte("data")},
		}
		revisions := x.write(fleet.Jobs, records...)
		f := x.watch(fleet.Jobs, "", wants)
		check := func(got fleet.Record) {
			x.Helper()
			want := x.get(fleet.Jobs, got.Key)
			if !wants(got.Label) && got.Data == nil {
				want.Data = nil
			}
			x.check(want, got)
		}
		for _, r := range f.there() {
			check(r)
		}
		for i, r := range records { // each becomes what the other one is
			other := records[1-i]
			r.Revision, r.Label = revisions[i], other.Label
			check(f.until(r.Key, x.write(fleet.Jobs, r)[0]))
		}
	},
	"the data of any bytes": func(x *tester) {
		f := x.watch(fleet.Jobs, "", nil)
		f.there()
		data := bytes.Repeat([]byte{0, 0xff, '\n', 'x'}, fleet.MaxRecord/4)
		for i, r := range []fleet.Record{{Label: longLabel(), Data: data}, {Data: []byte{}}, {Data: []byte{0}}} {
			r.Key = keyOf(i)
			r.Revision = x.write(fleet.Jobs, r)[0]
			got := f.until(r.Key, r.Revision)
			r.Time = got.Time
			x.check(r, got)
			clear(got.Data)
			x.has(fleet.Jobs, r.Key, string(r.Data))
		}
	},
	"keys of all characters": func(x *tester) {
		f := x.watch(fleet.Questions, "", nil)
		f.there()
		for _, key := range oddKeys {
			one := x.watch(fleet.Questions, key, nil)
			one.there()
			revision := x.set(fleet.Questions, key, 0, "data")
			f.until(key, revision)
			one.until(key, revision)
			one.end()
		}
	},
	"a loop can be left, and run again": func(x *tester) {
		x.write(fleet.Jobs, numbered(0, 3)...)
		watch := x.e.Watch(x.ctx, fleet.Jobs, "", nil)
		for range 30 {
			n := 0
			for r, err := range watch {
				if err != nil {
					x.Fatal(err)
				}
				if r.Key == "" {
					break
				}
				n++
			}
			if n != 3 {
				x.Fatalf("got %d records, want 3", n)
			}
		}
	},
	"the loop can change what it watches": func(x *tester) {
		x.set(fleet.Jobs, "key", 0, "")
		changes := 0
		for r, err := range x.e.Watch(x.ctx, fleet.Jobs, "", nil) {
			switch {
			case err != nil:
				x.Fatal(err)
			case r.Key == "":
			case changes < 20:
				changes++
				x.set(fleet.Jobs, "key", r.Revision, text(changes))
			default:
				x.has(fleet.Jobs, "key", text(20))
				return
			}
		}
	},
	"it ends with its context": func(x *tester) {
		x.set(fleet.Jobs, "key", 0, "data")
		f := x.watch(fleet.Jobs, "", nil)
		f.there()
		f.end()
		x.set(fleet.Jobs, "other", 0, "data")
		select {
		case r := <-f.records:
			x.Errorf("%s came after the end", r.Key)
		default:
		}
	},
}

// changeTests watch many changes.
var changeTests = map[string]func(*tester){
	"several watches": func(x *tester) {
		var feeds []*feed
		for range 10 {
			feeds = append(feeds, x.watch(fleet.Jobs, "", nil), x.watch(fleet.Jobs, "key", nil))
		}
		for _, f := range feeds {
			f.there()
		}
		feeds[3].end()
		revision := x.set(fleet.Jobs, "key", 0, "data")
		for i, f := range feeds {
			if i != 3 {
				f.until("key", revision)
			}
		}
	},
	"the last of many changes comes": func(x *tester) {
		f := x.watch(fleet.Jobs, "", nil)
		f.there()
		revision := uint64(0)
		for i := range 200 {
			revision = x.set(fleet.Jobs, "key", revision, text(i))
		}
		if got := f.until("key", revision); string(got.Data) != text(199) {
			x.Errorf("got %s", short(got.Data))
		}
	},
	"the last change of each record comes": func(x *tester) {
		f := x.watch(fleet.Jobs, "", nil)
		f.there()
		const keys = 20
		last := map[string]uint64{}
		for i := range 10 * keys {
			key := keyOf(i % keys)
			last[key] = x.set(fleet.Jobs, key, last[key], text(i))
		}
		for len(last) > 0 {
			if r := f.next(); r.Revision == last[r.Key] {
				delete(last, r.Key)
			}
		}
	},
	"nothing is missed while a watch begins": func(x *tester) {
		var wg sync.WaitGroup
		defer wg.Wait()
		for round := range 10 {
			key := keyOf(round)
			last := make(chan uint64, 1)
			wg.Go(func() {
				revision := uint64(0)
				for i := range 20 {
					revisions, err := x.e.Set(x.ctx, fleet.Jobs, fleet.Record{Key: key, Revision: revision, Data: []byte(text(i))})
					if err != nil {
						x.Error(err)
						break
					}
					revision = revisions[0]
				}
				last <- revision
			})
			f, one := x.watch(fleet.Jobs, "", nil), x.watch(fleet.Jobs, key, nil)
			revision := <-last
			f.until(key, revision)
			one.until(key, revision)
			f.end()
			one.end()
		}
	},
	"a reader that is slow": func(x *tester) {
		x.set(fleet.Jobs, "first", 0, "data")
		last := map[string]uint64{}
		seen := false
		for r, err := range x.e.Watch(x.ctx, fleet.Jobs, "", nil) {
			if err != nil {
				x.Fatal(err)
			}
			if !seen { // as long as this takes, it reads nothing
				seen = true
				data := string(bytes.Repeat([]byte("x"), 64<<10))
				for i := range 300 {
					key := keyOf(i % 3)
					last[key] = x.set(fleet.Jobs, key, last[key], data)
				}
			}
			if r.Key != "" && r.Revision == last[r.Key] {
				delete(last, r.Key)
			}
			if len(last) == 0 {
				return
			}
		}
		x.Errorf("the watch has ended without %v", last)
	},
	"a record that is removed and created again": func(x *tester) {
		f := x.watch(fleet.Jobs, "", nil)
		f.there()
		for i := range 3 {
			revision := x.set(fleet.Jobs, "key", 0, text(i))
			f.until("key", revision)
			x.remove(fleet.Jobs, "key", revision)
			x.check(fleet.Record{Key: "key"}, f.next())
		}
		for i := range 20 { // quickly
			x.remove(fleet.Jobs, "key", x.set(fleet.Jobs, "key", 0, text(i)))
		}
		f.until("key", x.set(fleet.Jobs, "key", 0, "the last one"))
	},
}
