package fleettest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/fleet"
)

// A meeting is of the first two goroutines that come to it. Later ones don't wait.
type meeting struct {
	once  sync.Once
	mu    sync.Mutex
	came  int
	whole chan struct{}
}

// wait waits for the other one, or until the context ends.
func (m *meeting) wait(ctx context.Context) {
	m.once.Do(func() { m.whole = make(chan struct{}) })
	m.mu.Lock()
	m.came++
	if m.came == 2 {
		close(m.whole)
	}
	m.mu.Unlock()
	wait(ctx, m.whole)
}

// onSet changes records before they are written.
func onSet(change func([]fleet.Record) []fleet.Record) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
			revisions, err := f.Engine.Set(ctx, t, change(slices.Clone(records))...)
			if err == nil {
				revisions = append(revisions, make([]uint64, len(records))...)[:len(records)]
			}
			return revisions, err
		}
	}
}

// onGet changes records that are read.
func onGet(change func(*fleet.Record)) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.get = func(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
			r, err := f.Engine.Get(ctx, t, key)
			if err == nil {
				change(&r)
			}
			return r, err
		}
	}
}

// onHistory changes histories.
func onHistory(change func([]fleet.Record) []fleet.Record) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.history = func(ctx context.Context, t fleet.Table, key string) records {
			return func(yield func(fleet.Record, error) bool) {
				for _, r := range change(collect(f.Engine.History(ctx, t, key))) {
					if !yield(r, nil) {
						return
					}
				}
			}
		}
	}
}

func collect(all records) (list []fleet.Record) {
	for r, err := range all {
		if err == nil {
			list = append(list, r)
		}
	}
	return list
}

// eachRecord changes all of some records.
func eachRecord(change func(*fleet.Record)) func([]fleet.Record) []fleet.Record {
	return func(records []fleet.Record) []fleet.Record {
		for i := range records {
			change(&records[i])
		}
		return records
	}
}

// forcing gives records the revisions that they must have, if a function returns true.
func forcing(forces func(current, r fleet.Record) bool) func(*fakeEngine) {
	return func(f *fakeEngine) {
		f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
			forced := slices.Clone(records)
			for i, r := range forced {
				if current, _ := f.Engine.Get(ctx, t, r.Key); forces(current, r) {
					forced[i].Revision = current.Revision
				}
			}
			return f.Engine.Set(ctx, t, forced...)
		}
	}
}

// oneByOne writes records one after the other.
func oneByOne(f *fakeEngine) { oneByOneAnd(f, func(context.Context) {}) }

// oneByOneAnd is oneByOne with something that happens after the first of several records.
func oneByOneAnd(f *fakeEngine, between func(context.Context)) {
	f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) (revisions []uint64, err error) {
		for _, r := range records {
			revision, err := f.Engine.Set(ctx, t, r)
			if err != nil {
				return nil, err
			}
			revisions = append(revisions, revision...)
			if len(records) > 1 && len(revisions) == 1 {
				between(ctx)
			}
		}
		return revisions, nil
	}
}

// checkedEarly compares revisions before another call writes.
func checkedEarly(f *fakeEngine) {
	checkedEarlyAt(f, new(meeting))
}

// checkedEarlyAt is checkedEarly, for calls that meet. Those that make a record don't.
func checkedEarlyAt(f *fakeEngine, between *meeting) {
	f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
		for _, r := range records {
			if current, _ := f.Engine.Get(ctx, t, r.Key); current.Revision != r.Revision {
				return nil, fleet.ErrConflict
			}
		}
		if records[0].Revision != 0 {
			between.wait(ctx)
		}
		for {
			forced := slices.Clone(records)
			for i, r := range forced {
				current, _ := f.Engine.Get(ctx, t, r.Key)
				forced[i].Revision = current.Revision
			}
			if revisions, err := f.Engine.Set(ctx, t, forced...); !errors.Is(err, fleet.ErrConflict) {
				return revisions, err
			}
		}
	}
}

// counted has revisions that count the changes of a key, and that restart after it was removed.
func counted(f *fakeEngine) {
	count := func(t fleet.Table, key string) uint64 {
		return uint64(len(collect(f.Engine.History(context.Background(), t, key))))
	}
	f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
		r := records[0]
		if r.Revision != count(t, r.Key) {
			return nil, fleet.ErrConflict
		}
		current, _ := f.Engine.Get(ctx, t, r.Key)
		r.Revision = current.Revision
		_, err := f.Engine.Set(ctx, t, r)
		return []uint64{count(t, r.Key)}, err
	}
	f.get = func(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
		r, err := f.Engine.Get(ctx, t, key)
		r.Revision = count(t, key)
		return r, err
	}
	f.remove = func(ctx context.Context, t fleet.Table, key string, _ uint64) error {
		current, _ := f.Engine.Get(ctx, t, key)
		return f.Engine.Remove(ctx, t, key, current.Revision)
	}
}

// oneTable keeps all records in one table.
func oneTable(f *fakeEngine) {
	m := f.Engine
	f.set = func(ctx context.Context, _ fleet.Table, records ...fleet.Record) ([]uint64, error) {
		for i := range records {
			current, _ := m.Get(ctx, fleet.Jobs, records[i].Key)
			records[i].Revision = current.Revision
		}
		return m.Set(ctx, fleet.Jobs, records...)
	}
	f.get = func(ctx context.Context, _ fleet.Table, key string) (fleet.Record, error) {
		return m.Get(ctx, fleet.Jobs, key)
	}
}

var recordFlaws = map[string]flaw{
	"labels are forgotten": {"records/a record comes back", onSet(eachRecord(func(r *fleet.Record) { r.Label = "" }))},
	"changes are forgotten": {"records/a record is replaced", func(f *fakeEngine) {
		f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
			if records[0].Revision > 0 {
				return []uint64{records[0].Revision + 1}, nil
			}
			return f.Engine.Set(ctx, t, records...)
		}
	}},
	"revisions are ignored":   {"records/an old revision is refused", forcing(func(fleet.Record, fleet.Record) bool { return true })},
	"a new record replaces":   {"records/a record that is there is not created", forcing(func(_, r fleet.Record) bool { return r.Revision == 0 })},
	"a replacement is new":    {"records/a record that is not there is not replaced", forcing(func(c, _ fleet.Record) bool { return c.Revision == 0 })},
	"newer revisions will do": {"records/the revision of another record is refused", forcing(func(c, r fleet.Record) bool { return r.Revision > c.Revision })},
	"the rest of a batch is forgotten": {"records/records are written together", onSet(func(records []fleet.Record) []fleet.Record {
		return records[:1]
	})},
	"half of a batch is written":    {"records/all records are written or none", oneByOne},
	"revisions begin anew":          {"records/revisions rise", counted},
	"revisions of new ones are low": {"records/a removed record is created again", counted},
	"what is not there is empty": {"records/what was never written is not there", func(f *fakeEngine) {
		f.get = func(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
			r, _ := f.Engine.Get(ctx, t, key)
			return r, nil
		}
	}},
	"a call without records fails": {"records/a call without records", func(f *fakeEngine) {
		f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
			if len(records) == 0 {
				return nil, errFlaw
			}
			return f.Engine.Set(ctx, t, records...)
		}
	}},
	"tables are one": {"records/tables are apart", oneTable},
	"nothing is removed": {"records/a record is removed", func(f *fakeEngine) {
		f.remove = func(context.Context, fleet.Table, string, uint64) error { return nil }
	}},
	"what has changed is removed": {"records/a record that has changed is not removed", func(f *fakeEngine) {
		f.remove = func(ctx context.Context, t fleet.Table, key string, _ uint64) error {
			r, _ := f.Engine.Get(ctx, t, key)
			return f.Engine.Remove(ctx, t, key, r.Revision)
		}
	}},
	"what is not there can't be removed": {"records/what is not there is removed already", func(f *fakeEngine) {
		f.remove = func(ctx context.Context, t fleet.Table, key string, revision uint64) error {
			if _, err := f.Engine.Get(ctx, t, key); err != nil {
				return err
			}
			return f.Engine.Remove(ctx, t, key, revision)
		}
	}},
	"a revision is checked too early":     {"concurrent/one of many writes", checkedEarly},
	"a counter is checked too early":      {"concurrent/many count together", checkedEarly},
	"two records are not written at once": {"concurrent/two records change together", func(f *fakeEngine) { oneByOneAnd(f, new(meeting).wait) }},
	"a removal is checked too early": {"concurrent/a record is changed or removed", func(f *fakeEngine) {
		between := new(meeting)
		checkedEarlyAt(f, between)
		f.remove = func(ctx context.Context, t fleet.Table, key string, revision uint64) error {
			if r, err := f.Engine.Get(ctx, t, key); err == nil && r.Revision != revision {
				return fleet.ErrConflict
			}
			between.wait(ctx)
			r, _ := f.Engine.Get(ctx, t, key)
			return f.Engine.Remove(ctx, t, key, r.Revision)
		}
	}},
	"writes get lost": {"concurrent/many records at once", func(f *fakeEngine) {
		var busy sync.Mutex
		var between meeting
		f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
			if !busy.TryLock() {
				between.wait(ctx)
				return make([]uint64, len(records)), nil
			}
			defer busy.Unlock()
			between.wait(ctx)
			return f.Engine.Set(ctx, t, records...)
		}
	}},
	"a new engine is empty": {"durable", func(f *fakeEngine) {
		clean := opener(func(*fakeEngine) {})(nil, time.Now().String()).(*fakeEngine)
		*f = *clean
	}},
}

var valueFlaws = map[string]flaw{
	"data is text": {"values/data of any bytes", onSet(eachRecord(func(r *fleet.Record) { r.Data = bytes.ToValidUTF8(r.Data, []byte("?")) }))},
	"empty data is nil": {"values/empty data is not nil", onGet(func(r *fleet.Record) {
		if len(r.Data) == 0 {
			r.Data = nil
		}
	})},
	"data is cut":        {"values/data and labels up to their limits", onSet(eachRecord(func(r *fleet.Record) { r.Data = r.Data[:min(len(r.Data), 128<<10)] }))},
	"labels are trimmed": {"values/labels of all characters", onSet(eachRecord(func(r *fleet.Record) { r.Label = strings.TrimSpace(r.Label) }))},
	"keys are folded": {"values/keys of all characters", func(f *fakeEngine) {
		onSet(eachRecord(func(r *fleet.Record) { r.Key = strings.ToLower(r.Key) }))(f)
		f.get = func(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
			return f.Engine.Get(ctx, t, strings.ToLower(key))
		}
	}},
	"data is shared": {"values/the data is the engine's own", func(f *fakeEngine) {
		read := map[string][]byte{}
		onGet(func(r *fleet.Record) {
			if read[r.Key] == nil {
				read[r.Key] = r.Data
			}
			r.Data = read[r.Key]
		})(f)
	}},
	"the time is that of the call": {"values/the time of a record", onGet(func(r *fleet.Record) { r.Time = r.Time.Add(time.Second) })},
	"the oldest is forgotten": {"history/the oldest comes first", onHistory(func(records []fleet.Record) []fleet.Record {
		return records[min(len(records), 1):]
	})},
	"history has no labels": {"history/each record is whole", onHistory(eachRecord(func(r *fleet.Record) { r.Label = "" }))},
	"history has 64 records": {"history/300 changes", onHistory(func(records []fleet.Record) []fleet.Record {
		return records[max(0, len(records)-64):]
	})},
	"history is that of a prefix": {"history/keys are apart", func(f *fakeEngine) {
		f.history = func(ctx context.Context, t fleet.Table, prefix string) records {
			return func(yield func(fleet.Record, error) bool) {
				for _, r := range collect(f.Engine.List(ctx, t, "", nil)) {
					for old, err := range f.Engine.History(ctx, t, r.Key) {
						if strings.HasPrefix(r.Key, prefix) && !yield(old, err) {
							return
						}
					}
				}
			}
		}
	}},
	"history can be read once": {"history/a loop can be left, and run again", func(f *fakeEngine) {
		f.history = func(ctx context.Context, t fleet.Table, key string) records {
			return once(f.Engine.History(ctx, t, key))
		}
	}},
	"history locks": {"history/a record can be changed in the loop", func(f *fakeEngine) {
		lock := locking(f)
		f.history = func(ctx context.Context, t fleet.Table, key string) records {
			return lock(f.Engine.History(ctx, t, key))
		}
	}},
}

// once returns a sequence that can be read once.
func once(all records) records {
	read := false
	return func(yield func(fleet.Record, error) bool) {
		if !read {
			read = true
			all(yield)
		}
	}
}

// locking lets Set wait while a sequence is read. It returns a function that makes such sequences.
func locking(f *fakeEngine) func(records) records {
	lock := make(chan struct{}, 1)
	f.set = func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
		select {
		case lock <- struct{}{}:
			defer func() { <-lock }()
			return f.Engine.Set(ctx, t, records...)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func(all records) records {
		return func(yield func(fleet.Record, error) bool) {
			lock <- struct{}{}
			defer func() { <-lock }()
			all(yield)
		}
	}
}
