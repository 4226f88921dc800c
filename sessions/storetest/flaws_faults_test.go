package storetest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// oneByOne appends entries one after the other, and pauses in the middle.
func oneByOne(f *fakeStore) {
	f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
		for i, entry := range entries {
			if err := f.Memory.Append(ctx, key, []wire.JSON{entry}); err != nil {
				return err
			}
			if i == len(entries)/2 {
				time.Sleep(2 * time.Millisecond)
			}
		}
		return nil
	}
}

var faultFlaws = map[string]flaw{
	"bad keys are made good": {"faults/bad keys are refused", func(f *fakeStore) {
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if key.Check() != nil {
				key = main
			}
			return f.Memory.Append(ctx, key, entries)
		}
	}},
	"nothing is found under a bad key": {"faults/bad keys are refused", func(f *fakeStore) {
		f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
			if key.Check() != nil {
				return func(func(wire.JSON, error) bool) {}
			}
			return f.Memory.Load(ctx, key)
		}
	}},
	"what is not an entry is left out": {
		"faults/what is not an entry is refused with its append", onAppend(func(entries []wire.JSON) []wire.JSON {
			return slices.DeleteFunc(entries, func(entry wire.JSON) bool {
				_, err := sessions.EntryUUID(entry)
				return err != nil
			})
		}),
	},
	"contexts are ignored": {"faults/a context that has ended", func(f *fakeStore) {
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			return f.Memory.Append(context.WithoutCancel(ctx), key, entries)
		}
	}},
	"a cancelled append is torn": {"faults/an append that is cancelled is whole or not there", oneByOne},
	"a cancelled append says something else": {
		"faults/an append that is cancelled is whole or not there", func(f *fakeStore) {
			f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
				if f.Memory.Append(ctx, key, entries) != nil {
					return errFlaw
				}
				return nil
			}
		},
	},
	"a cancelled load looks whole": {"faults/a load that is cancelled says so", func(f *fakeStore) {
		f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
			return func(yield func(wire.JSON, error) bool) {
				for entry, err := range f.Memory.Load(ctx, key) {
					if err != nil || !yield(entry, nil) {
						return
					}
				}
			}
		}
	}},
	"appends mix":              {"concurrent/appends to one transcript stay together", oneByOne},
	"half an append is loaded": {"concurrent/a load during appends sees whole appends", oneByOne},
	"UUIDs are checked too early": {"concurrent/the same append from many adds once", func(f *fakeStore) {
		withoutUUIDs(f, func(wire.JSON) bool { return true })
		add := f.append
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if there, err := load(ctx, f, key); err != nil || len(there) > 0 {
				return err
			}
			time.Sleep(10 * time.Millisecond)
			return add(ctx, key, entries)
		}
	}},
	"appends get lost": {"concurrent/appends to many transcripts", func(f *fakeStore) {
		var busy sync.Mutex
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if !busy.TryLock() {
				return nil
			}
			defer busy.Unlock()
			time.Sleep(time.Millisecond)
			return f.Memory.Append(ctx, key, entries)
		}
	}},
	"a new store is empty": {"durable", func(f *fakeStore) { *f = *newFake(sessions.NewMemory()) }},
}
