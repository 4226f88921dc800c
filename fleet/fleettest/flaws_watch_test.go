package fleettest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/fleet"
)

// onList changes what is listed: a record is left out if the function says false.
func onList(change func(*fleet.Record) bool) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.list = func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
			return filtered(f.Engine.List(ctx, t, group, wants), change)
		}
	}
}

// onWatch is like onList, for watches. Each has its own filter.
func onWatch(filter func() func(*fleet.Record) bool) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
			return filtered(f.Engine.Watch(ctx, t, key, wants), filter())
		}
	}
}

func filtered(all records, change func(*fleet.Record) bool) records {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range all {
			if err == nil && !change(&r) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// leavingOut returns a filter that leaves records out.
func leavingOut(isOut func(r fleet.Record, afterZero bool) bool) func() func(*fleet.Record) bool {
	return func() func(*fleet.Record) bool {
		after := false
		return func(r *fleet.Record) bool {
			out := isOut(*r, after)
			after = after || r.Key == ""
			return !out
		}
	}
}

// changing returns a filter that changes records.
func changing(change func(*fleet.Record)) func() func(*fleet.Record) bool {
	return func() func(*fleet.Record) bool {
		return func(r *fleet.Record) bool {
			change(r)
			return true
		}
	}
}

var listFlaws = map[string]flaw{
	"the list ends early": {"list/1000 records", func(f *fakeEngine) {
		f.list = func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
			return func(yield func(fleet.Record, error) bool) {
				for i, r := range collect(f.Engine.List(ctx, t, group, wants)) {
					if i == 500 || !yield(r, nil) {
						return
					}
				}
			}
		}
	}},
	"the list is behind": {"list/records as they were last written", func(f *fakeEngine) {
		f.list = func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
			return filtered(f.Engine.List(ctx, t, group, wants), func(r *fleet.Record) bool {
				*r = collect(f.Engine.History(ctx, t, r.Key))[0]
				return true
			})
		}
	}},
	"the list has no data": {"list/what is wanted has its data", onList(func(r *fleet.Record) bool {
		r.Data = nil
		return true
	})},
	"the list has all groups": {"list/a group", func(f *fakeEngine) {
		f.list = func(ctx context.Context, t fleet.Table, _ string, wants func(string) bool) records {
			return f.Engine.List(ctx, t, "", wants)
		}
	}},
	"the list can be read once": {"list/a loop can be left, and run again", func(f *fakeEngine) {
		f.list = func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
			return once(f.Engine.List(ctx, t, group, wants))
		}
	}},
	"the list locks": {"list/other methods can be called in a loop", func(f *fakeEngine) {
		lock := locking(f)
		f.list = func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
			return lock(f.Engine.List(ctx, t, group, wants))
		}
	}},
}

var watchFlaws = map[string]flaw{
	"the zero record is missing": {"watch/an empty table", onWatch(leavingOut(func(r fleet.Record, _ bool) bool { return r.Key == "" }))},
	"what is there is missing": {
		"watch/what is there comes first", onWatch(leavingOut(func(r fleet.Record, after bool) bool { return r.Key != "" && !after })),
	},
	"changes are missing": {"watch/changes come", onWatch(leavingOut(func(r fleet.Record, after bool) bool { return after }))},
	"removals are missing": {
		"watch/a removed record comes with its key alone", onWatch(leavingOut(func(r fleet.Record, _ bool) bool { return r.Key != "" && r.Revision == 0 })),
	},
	"a key stands for all": {"watch/one key", func(f *fakeEngine) {
		f.watch = func(ctx context.Context, t fleet.Table, _ string, wants func(string) bool) records {
			return f.Engine.Watch(ctx, t, "", wants)
		}
	}},
	"a key has to be there": {"watch/one key that is created later", func(f *fakeEngine) {
		f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
			if _, err := f.Engine.Get(ctx, t, key); key != "" && err != nil {
				return f.Engine.Watch(ctx, t, "another", wants)
			}
			return f.Engine.Watch(ctx, t, key, wants)
		}
	}},
	"tables are watched together": {"watch/one table", oneTable},
	"changes have no data":        {"watch/what is wanted has its data", onWatch(changing(func(r *fleet.Record) { r.Data = nil }))},
	"changes have the data of a text": {"watch/the data of any bytes", onWatch(changing(func(r *fleet.Record) {
		if len(r.Data) > 0 {
			r.Data = []byte(strings.ToValidUTF8(string(r.Data), "?"))
		}
	}))},
	"changes are folded": {"watch/keys of all characters", onWatch(changing(func(r *fleet.Record) { r.Key = strings.ToLower(r.Key) }))},
	"a watch can be read once": {"watch/a loop can be left, and run again", func(f *fakeEngine) {
		f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
			return once(f.Engine.Watch(ctx, t, key, wants))
		}
	}},
	"a watch locks": {"watch/the loop can change what it watches", func(f *fakeEngine) {
		lock := locking(f)
		f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
			return lock(f.Engine.Watch(ctx, t, key, wants))
		}
	}},
	"a watch does not end": {"watch/it ends with its context", endless},
}

// endless has watches that don't end with their context.
func endless(f *fakeEngine) {
	f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
		return f.Engine.Watch(context.WithoutCancel(ctx), t, key, wants)
	}
}

// withoutLast leaves out the last of 200 changes.
var withoutLast = onWatch(leavingOut(func(r fleet.Record, _ bool) bool { return string(r.Data) == text(199) }))

var changeFlaws = map[string]flaw{
	"only some watches get changes": {"changes/several watches", func(f *fakeEngine) {
		var watches atomic.Int64
		f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
			return filtered(f.Engine.Watch(ctx, t, key, wants), leavingOut(func(_ fleet.Record, after bool) bool {
				return after && watches.Load() > 8
			})())
		}
		watch := f.watch
		f.watch = func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
			watches.Add(1)
			return watch(ctx, t, key, wants)
		}
	}},
	"the last change is missing":          {"changes/the last of many changes comes", withoutLast},
	"the last change of a key is missing": {"changes/the last change of each record comes", withoutLast},
	"changes are missing at the beginning": {"changes/nothing is missed while a watch begins", func(f *fakeEngine) {
		listed, changed := make(chan struct{}), make(chan struct{})
		isListed := sync.OnceFunc(func() { close(listed) })
		var sets atomic.Int64
		f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
			wait(ctx, listed) // so that no list has the change
			revisions, err := f.Engine.Set(ctx, t, records...)
			if sets.Add(1) == 20 { // all of the first round
				close(changed)
			}
			return revisions, err
		}
		f.watch = listThenWatch(f, func(ctx context.Context) {
			isListed()
			wait(ctx, changed)
		})
	}},
	"a slow reader loses changes": {"changes/a reader that is slow", onWatch(func() func(*fleet.Record) bool {
		last := uint64(0)
		return func(r *fleet.Record) bool {
			if r.Revision > last+100 {
				return false
			}
			last = max(last, r.Revision)
			return true
		}
	})},
	"a removed key is watched no more": {"changes/a record that is removed and created again", onWatch(func() func(*fleet.Record) bool {
		removed := map[string]bool{}
		return func(r *fleet.Record) bool {
			out := removed[r.Key]
			removed[r.Key] = out || r.Key != "" && r.Revision == 0
			return !out
		}
	})},
}

// wait waits for a channel, or until the context ends.
func wait(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// listThenWatch lists the records, and watches them after something else.
func listThenWatch(f *fakeEngine, between func(context.Context)) func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
	return func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
		return func(yield func(fleet.Record, error) bool) {
			for r, err := range f.Engine.List(ctx, t, "", wants) {
				if (key == "" || r.Key == key) && !yield(r, err) {
					return
				}
			}
			if !yield(fleet.Record{}, nil) {
				return
			}
			between(ctx)
			after := false
			for r, err := range f.Engine.Watch(ctx, t, key, wants) {
				if after && !yield(r, err) {
					return
				}
				after = after || r.Key == ""
			}
		}
	}
}

var contextFlaws = map[string]flaw{
	"contexts are ignored": {"contexts/a call whose context is over", func(f *fakeEngine) {
		f.get = func(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
			return f.Engine.Get(context.WithoutCancel(ctx), t, key)
		}
	}},
	"a list that has ended looks whole": {"contexts/a list whose context ends", func(f *fakeEngine) {
		f.list = func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
			return withoutError(f.Engine.List(ctx, t, group, wants))
		}
	}},
	"a history that has ended looks whole": {"contexts/a history whose context ends", func(f *fakeEngine) {
		f.history = func(ctx context.Context, t fleet.Table, key string) records {
			return withoutError(f.Engine.History(ctx, t, key))
		}
	}},
	"a watch begins without a context": {"contexts/a watch whose context is over", endless},
}

func withoutError(all records) records {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range all {
			if err != nil || !yield(r, nil) {
				return
			}
		}
	}
}
