// Package fleettest tests engines of package fleet, and the histories of jobs. [Run] has the engine
// tests, which define the promises of [fleet.Engine]. Run them on the engine that you write; the
// engines of Clew pass them.
//
//	func TestEngine(t *testing.T) {
//		fleettest.Run(t, func(t *testing.T) fleet.Engine { return openMine(t) })
//	}
//
// [Check] reads the histories of jobs after a test in which machines and engines fail, and reports
// broken promises.
package fleettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
)

// Run tests an engine in subtests of t. Each subtest calls open, which returns a new, empty engine and
// closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) fleet.Engine) {
	t.Helper()
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) { test(newTester(t, open(t))) })
			}
		})
	}
}

var groups = map[string]map[string]func(*tester){
	"records":    recordTests,
	"values":     valueTests,
	"history":    historyTests,
	"list":       listTests,
	"watch":      watchTests,
	"changes":    changeTests,
	"concurrent": concurrentTests,
	"messages":   messageTests,
	"files":      fileTests,
	"contexts":   contextTests,
}

// RunDurable is like [Run], for an engine that keeps its data in the directory dir. It also tests that the
// data is there after the engine was closed and opened again.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) fleet.Engine) {
	t.Helper()
	Run(t, func(t *testing.T) fleet.Engine { return open(t, t.TempDir()) })
	t.Run("durable", func(t *testing.T) {
		dir := t.TempDir()
		var before fleet.Record
		t.Run("write", func(t *testing.T) {
			x := newTester(t, open(t, dir))
			revision := x.set(fleet.Jobs, "job", 0, "first")
			x.set(fleet.Jobs, "job", revision, "second")
			x.remove(fleet.Jobs, "other", x.set(fleet.Jobs, "other", 0, "gone"))
			x.put("job/1/patch", []byte("a patch"))
			before = x.get(fleet.Jobs, "job")
		})
		t.Run("read", func(t *testing.T) {
			x := newTester(t, open(t, dir))
			x.check(before, x.get(fleet.Jobs, "job"))
			x.checkHistory(fleet.Jobs, "job", "first", "second")
			x.missing(fleet.Jobs, "other")
			x.checkFile("job/1/patch", []byte("a patch"))
		})
		t.Run("go on", func(t *testing.T) {
			x := newTester(t, open(t, dir))
			if after := x.set(fleet.Jobs, "job", before.Revision, "third"); after <= before.Revision {
				t.Errorf("revision %d comes after %d", after, before.Revision)
			}
			x.checkHistory(fleet.Jobs, "job", "first", "second", "third")
		})
	})
}

// patience is the time that a test waits before it reports that something does not come.
var patience = 3 * time.Minute

// A tester has the engine of one test.
type tester struct {
	*testing.T
	e   fleet.Engine
	ctx context.Context // ends a test that hangs
}

func newTester(t *testing.T, e fleet.Engine) *tester {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // it lasts until the last cleanup
	t.Cleanup(cancel)
	return &tester{t, e, ctx}
}

// set writes a record without a label, and returns its revision.
func (x *tester) set(t fleet.Table, key string, revision uint64, data string) uint64 {
	x.Helper()
	return x.write(t, fleet.Record{Key: key, Revision: revision, Data: []byte(data)})[0]
}

// write writes records, and returns their revisions.
func (x *tester) write(t fleet.Table, records ...fleet.Record) []uint64 {
	x.Helper()
	revisions, err := x.e.Set(x.ctx, t, records...)
	if err != nil {
		x.Fatalf("Set of %d records of %s, the first of them %s: %v", len(records), t, records[0].Key, err)
	}
	if len(revisions) != len(records) {
		x.Fatalf("Set returned %d revisions for %d records", len(revisions), len(records))
	}
	return revisions
}

// conflict writes records, which must be refused.
func (x *tester) conflict(t fleet.Table, records ...fleet.Record) {
	x.Helper()
	_, err := x.e.Set(x.ctx, t, records...)
	if !errors.Is(err, fleet.ErrConflict) {
		x.Errorf("Set of %s with revision %d: got the error %v, want ErrConflict", records[0].Key, records[0].Revision, err)
	}
	if errors.Is(err, fleet.ErrNotFound) {
		x.Errorf("Set of %s: the error is both ErrConflict and ErrNotFound", records[0].Key)
	}
}

func (x *tester) get(t fleet.Table, key string) fleet.Record {
	x.Helper()
	r, err := x.e.Get(x.ctx, t, key)
	if err != nil {
		x.Fatalf("Get %s %s: %v", t, key, err)
	}
	return r
}

// has compares the data of a record.
func (x *tester) has(t fleet.Table, key, want string) {
	x.Helper()
	if r := x.get(t, key); string(r.Data) != want {
		x.Errorf("%s %s has the data %s, want %s", t, key, short(r.Data), short([]byte(want)))
	}
}

// missing checks that a record is not there.
func (x *tester) missing(t fleet.Table, key string) {
	x.Helper()
	r, err := x.e.Get(x.ctx, t, key)
	if !errors.Is(err, fleet.ErrNotFound) {
		x.Errorf("Get %s %s: got %s and the error %v, want ErrNotFound", t, key, short(r.Data), err)
	}
	if errors.Is(err, fleet.ErrConflict) {
		x.Errorf("Get %s %s: the error is both ErrNotFound and ErrConflict", t, key)
	}
}

func (x *tester) remove(t fleet.Table, key string, revision uint64) {
	x.Helper()
	if err := x.e.Remove(x.ctx, t, key, revision); err != nil {
		x.Fatalf("Remove %s %s: %v", t, key, err)
	}
}

// check compares two records.
func (x *tester) check(want, got fleet.Record) {
	x.Helper()
	if !bytes.Equal(want.Data, got.Data) {
		x.Errorf("%s has the data %s, want %s", got.Key, short(got.Data), short(want.Data))
	}
	if (want.Data == nil) != (got.Data == nil) {
		x.Errorf("%s: the data is nil: %t, want %t", got.Key, got.Data == nil, want.Data == nil)
	}
	want.Data, got.Data = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("%s (-want +got):\n%s", want.Key, diff)
	}
}

func (x *tester) history(t fleet.Table, key string) []fleet.Record {
	x.Helper()
	var records []fleet.Record
	for r, err := range x.e.History(x.ctx, t, key) {
		if err != nil {
			x.Fatalf("History of %s %s: %v", t, key, err)
		}
		records = append(records, r)
	}
	return records
}

// checkHistory compares the data of everything that was written under a key.
func (x *tester) checkHistory(t fleet.Table, key string, want ...string) {
	x.Helper()
	var got []string
	last := uint64(0)
	for _, r := range x.history(t, key) {
		if r.Key != key {
			x.Errorf("the history of %s has a record of %s", key, r.Key)
		}
		if r.Revision <= last {
			x.Errorf("the history of %s has revision %d after %d", key, r.Revision, last)
		}
		last = r.Revision
		got = append(got, string(r.Data))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("history of %s %s (-want +got):\n%s", t, key, diff)
	}
}

// list returns the records of a table by key, each of which must come once.
func (x *tester) list(t fleet.Table, wants func(string) bool) map[string]fleet.Record {
	x.Helper()
	records := map[string]fleet.Record{}
	for r, err := range x.e.List(x.ctx, t, "", wants) {
		if err != nil {
			x.Fatalf("List %s: %v", t, err)
		}
		if _, twice := records[r.Key]; twice {
			x.Errorf("List %s has %s twice", t, r.Key)
		}
		records[r.Key] = r
	}
	return records
}

// short returns data for a message.
func short(data []byte) string {
	if len(data) > 60 {
		return fmt.Sprintf("%.60q… (%d bytes)", data[:60], len(data))
	}
	return fmt.Sprintf("%q", data)
}

// text returns the data of a number.
func text(i int) string { return fmt.Sprintf("data %d", i) }

// keyOf returns the key of a number.
func keyOf(i int) string { return fmt.Sprintf("key-%d", i) }

// numbered returns new records with the numbers from a up to, but not including, b.
func numbered(a, b int) []fleet.Record {
	var records []fleet.Record
	for i := a; i < b; i++ {
		records = append(records, fleet.Record{Key: keyOf(i), Label: fmt.Sprintf(`{"n":%d}`, i), Data: []byte(text(i))})
	}
	return records
}
