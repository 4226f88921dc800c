package fleettest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
)

// recordTests write, read and remove records.
var recordTests = map[string]func(*tester){
	"a record comes back": func(x *tester) {
		r := fleet.Record{Key: "key", Label: `{"s":"queued"}`, Data: []byte(`{"id":"key"}`)}
		r.Revision = x.write(fleet.Jobs, r)[0]
		got := x.get(fleet.Jobs, "key")
		if r.Revision == 0 || got.Time.IsZero() {
			x.Errorf("revision %d and time %v can't be zero", r.Revision, got.Time)
		}
		r.Time = got.Time
		x.check(r, got)
	},
	"a record is replaced": func(x *tester) {
		first := x.write(fleet.Jobs, fleet.Record{Key: "key", Label: "old", Data: []byte("a long first text")})[0]
		r := fleet.Record{Key: "key", Revision: first, Label: "new", Data: []byte("second")}
		r.Revision = x.write(fleet.Jobs, r)[0]
		got := x.get(fleet.Jobs, "key")
		r.Time = got.Time
		x.check(r, got)
	},
	"an old revision is refused": func(x *tester) {
		first := x.set(fleet.Jobs, "key", 0, "first")
		second := x.set(fleet.Jobs, "key", first, "second")
		x.conflict(fleet.Jobs, fleet.Record{Key: "key", Revision: first, Data: []byte("third")})
		x.conflict(fleet.Jobs, fleet.Record{Key: "key", Revision: second + 1, Data: []byte("third")})
		x.has(fleet.Jobs, "key", "second")
		x.set(fleet.Jobs, "key", second, "third")
	},
	"a record that is there is not created": func(x *tester) {
		x.set(fleet.Jobs, "key", 0, "first")
		x.conflict(fleet.Jobs, fleet.Record{Key: "key", Data: []byte("second")})
		x.has(fleet.Jobs, "key", "first")
	},
	"a record that is not there is not replaced": func(x *tester) {
		there := x.set(fleet.Jobs, "there", 0, "data")
		for _, revision := range []uint64{1, there, 1 << 40} {
			x.conflict(fleet.Jobs, fleet.Record{Key: "key", Revision: revision, Data: []byte("data")})
		}
		x.missing(fleet.Jobs, "key")
	},
	"the revision of another record is refused": func(x *tester) {
		x.set(fleet.Jobs, "one", 0, "first")
		two := x.set(fleet.Jobs, "two", 0, "first")
		x.conflict(fleet.Jobs, fleet.Record{Key: "one", Revision: two, Data: []byte("second")})
		x.has(fleet.Jobs, "one", "first")
	},
	"records are written together": func(x *tester) {
		records := numbered(0, 100)
		for round := range 2 {
			for i, revision := range x.write(fleet.Jobs, records...) {
				records[i].Revision = revision
			}
			for _, r := range records {
				got := x.get(fleet.Jobs, r.Key)
				r.Time = got.Time
				x.check(r, got)
			}
			records = append(records, numbered(100*(round+1), 100*(round+1)+5)...)
		}
	},
	"all records are written or none": func(x *tester) {
		x.set(fleet.Jobs, keyOf(2), 0, "in the way")
		x.set(fleet.Jobs, keyOf(7), 0, "replaced")
		seven := x.get(fleet.Jobs, keyOf(7))
		for bad := range 6 {
			records := numbered(3, 8)
			records[4].Revision = seven.Revision
			records = slices.Insert(records, bad, numbered(2, 3)...) // is there already
			x.conflict(fleet.Jobs, records...)
			for i := 3; i < 7; i++ {
				x.missing(fleet.Jobs, keyOf(i))
			}
		}
		x.check(seven, x.get(fleet.Jobs, keyOf(7)))
		x.has(fleet.Jobs, keyOf(2), "in the way")
		x.checkHistory(fleet.Jobs, keyOf(7), "replaced")
		x.checkHistory(fleet.Jobs, keyOf(4))
	},
	"revisions rise": func(x *tester) {
		last := map[string]uint64{}
		for i := range 30 {
			key := keyOf(i % 3)
			if i == 15 {
				x.remove(fleet.Jobs, key, last[key])
				x.conflict(fleet.Jobs, fleet.Record{Key: key, Revision: last[key], Data: []byte("no")})
			}
			replaces := last[key]
			if i == 15 {
				replaces = 0
			}
			revision := x.set(fleet.Jobs, key, replaces, text(i))
			if revision <= last[key] {
				x.Errorf("%s: revision %d comes after %d", key, revision, last[key])
			}
			if got := x.get(fleet.Jobs, key).Revision; got != revision {
				x.Errorf("%s: Get says revision %d, and Set said %d", key, got, revision)
			}
			last[key] = revision
		}
	},
	"what was never written is not there": func(x *tester) {
		for _, t := range fleet.Tables {
			x.missing(t, "key")
			x.checkHistory(t, "key")
			if got := x.list(t, nil); len(got) > 0 {
				x.Errorf("List %s has %d records", t, len(got))
			}
		}
	},
	"a call without records": func(x *tester) {
		x.set(fleet.Jobs, "key", 0, "data")
		revisions, err := x.e.Set(x.ctx, fleet.Jobs)
		if err != nil || len(revisions) > 0 {
			x.Errorf("got %v, %v", revisions, err)
		}
		x.checkHistory(fleet.Jobs, "key", "data")
	},
	"tables are apart": func(x *tester) {
		revisions := map[fleet.Table]uint64{}
		for _, t := range fleet.Tables {
			revisions[t] = x.set(t, "key", 0, string(t))
		}
		x.remove(fleet.Workers, "key", revisions[fleet.Workers])
		for _, t := range fleet.Tables {
			if t == fleet.Workers {
				x.missing(t, "key")
				continue
			}
			x.has(t, "key", string(t))
			x.checkHistory(t, "key", string(t))
			if got := x.list(t, nil); len(got) != 1 {
				x.Errorf("List %s has %d records, want 1", t, len(got))
			}
		}
	},
	"a record is removed": func(x *tester) {
		revision := x.set(fleet.Jobs, "key", 0, "first")
		revision = x.set(fleet.Jobs, "key", revision, "second")
		x.set(fleet.Jobs, "key.2", 0, "stays")
		x.remove(fleet.Jobs, "key", revision)
		x.missing(fleet.Jobs, "key")
		x.checkHistory(fleet.Jobs, "key")
		x.has(fleet.Jobs, "key.2", "stays")
		if _, ok := x.list(fleet.Jobs, nil)["key"]; ok {
			x.Error("List has it still")
		}
	},
	"a record that has changed is not removed": func(x *tester) {
		first := x.set(fleet.Jobs, "key", 0, "first")
		x.set(fleet.Jobs, "key", first, "second")
		for _, revision := range []uint64{0, first, first + 1000} {
			if err := x.e.Remove(x.ctx, fleet.Jobs, "key", revision); !errors.Is(err, fleet.ErrConflict) {
				x.Errorf("revision %d: got the error %v, want ErrConflict", revision, err)
			}
		}
		x.checkHistory(fleet.Jobs, "key", "first", "second")
	},
	"what is not there is removed already": func(x *tester) {
		x.remove(fleet.Jobs, "never", 0)
		x.remove(fleet.Jobs, "never", 12)
		revision := x.set(fleet.Jobs, "key", 0, "data")
		for range 2 {
			x.remove(fleet.Jobs, "key", revision)
		}
		x.missing(fleet.Jobs, "key")
	},
	"a removed record is created again": func(x *tester) {
		first := x.set(fleet.Jobs, "key", 0, "first")
		x.remove(fleet.Jobs, "key", first)
		x.conflict(fleet.Jobs, fleet.Record{Key: "key", Revision: first, Data: []byte("second")})
		second := x.set(fleet.Jobs, "key", 0, "second")
		if second <= first {
			x.Errorf("the new record has revision %d, and the removed one had %d", second, first)
		}
		x.has(fleet.Jobs, "key", "second")
		x.checkHistory(fleet.Jobs, "key", "second")
	},
}

// valueTests write records at the limits of the allowed values.
var valueTests = map[string]func(*tester){
	"data of any bytes": func(x *tester) {
		all := make([]byte, 512)
		for i := range all {
			all[i] = byte(i)
		}
		for i, data := range [][]byte{all, {0}, []byte("\r\n\r\n"), []byte("NATS/1.0\r\n\r\n"), []byte("\xff\xfe"), []byte(`{"s":"😀"}`)} {
			x.write(fleet.Jobs, fleet.Record{Key: keyOf(i), Data: data})
			x.has(fleet.Jobs, keyOf(i), string(data))
		}
	},
	"empty data is not nil": func(x *tester) {
		for i, data := range [][]byte{nil, {}} {
			r := fleet.Record{Key: keyOf(i), Label: "label", Data: data}
			r.Revision, r.Data = x.write(fleet.Jobs, r)[0], []byte{}
			got := x.get(fleet.Jobs, r.Key)
			r.Time = got.Time
			x.check(r, got)
			x.check(r, x.list(fleet.Jobs, nil)[r.Key])
			x.check(r, x.history(fleet.Jobs, r.Key)[0])
		}
	},
	"data and labels up to their limits": func(x *tester) {
		var records []fleet.Record
		for i := range 3 {
			data := bytes.Repeat([]byte{byte(i), 0xff, '\n', 'x'}, fleet.MaxRecord/4)
			records = append(records, fleet.Record{Key: keyOf(i), Label: longLabel(), Data: data})
		}
		for i, revision := range x.write(fleet.Jobs, records...) {
			records[i].Revision = revision
		}
		for _, r := range records {
			got := x.get(fleet.Jobs, r.Key)
			r.Time = got.Time
			x.check(r, got)
			x.check(r, x.history(fleet.Jobs, r.Key)[0])
		}
	},
	"labels of all characters": func(x *tester) {
		for i, label := range []string{"", " ", " a ", "a:b", `{"t":"\u00e9 \"quoted\""}`, longLabel()} {
			x.write(fleet.Jobs, fleet.Record{Key: keyOf(i), Label: label, Data: []byte("data")})
			if got := x.get(fleet.Jobs, keyOf(i)); got.Label != label {
				x.Errorf("got the label %q, want %q", got.Label, label)
			}
		}
	},
	"keys of all characters": func(x *tester) {
		want := map[string]string{}
		for i, key := range oddKeys {
			want[key] = text(i)
			x.set(fleet.Questions, key, x.set(fleet.Questions, key, 0, "before"), text(i))
		}
		got := map[string]string{}
		for key, r := range x.list(fleet.Questions, nil) {
			got[key] = string(r.Data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			x.Errorf("List (-want +got):\n%s", diff)
		}
		for _, key := range oddKeys {
			x.has(fleet.Questions, key, want[key])
			x.checkHistory(fleet.Questions, key, "before", want[key])
		}
		removed := x.get(fleet.Questions, "a")
		x.remove(fleet.Questions, "a", removed.Revision)
		if got := x.list(fleet.Questions, nil); len(got) != len(oddKeys)-1 {
			x.Errorf("Remove of one key leaves %d of %d", len(got), len(oddKeys))
		}
	},
	"the data is the engine's own": func(x *tester) {
		data := []byte("data")
		x.write(fleet.Jobs, fleet.Record{Key: "key", Data: data})
		clear(data)
		x.has(fleet.Jobs, "key", "data")
		clear(x.get(fleet.Jobs, "key").Data)
		clear(x.list(fleet.Jobs, nil)["key"].Data)
		clear(x.history(fleet.Jobs, "key")[0].Data)
		x.has(fleet.Jobs, "key", "data")
	},
	"the time of a record": func(x *tester) {
		x.set(fleet.Jobs, "key", x.set(fleet.Jobs, "key", 0, "first"), "second")
		got := x.get(fleet.Jobs, "key")
		history := x.history(fleet.Jobs, "key")
		x.check(got, x.list(fleet.Jobs, nil)["key"])
		x.check(got, history[len(history)-1])
		if history[0].Time.IsZero() {
			x.Error("the first record of the history has no time")
		}
	},
}

// oddKeys are keys that an engine could mix up, or could not keep.
var oddKeys = []string{
	"a", "A", "a.b", "a.b.c", "a.B", "a-b", "a_b", "ab", "0", "-", "_", ".", "..", ".a", "a.", "a..b", "con", "nul.txt",
	"6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11", "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11.toolu_01",
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", strings.Repeat("long", 32),
}

// longLabel is a label of 2 KB with each character that a label can have.
func longLabel() string {
	var b strings.Builder
	for i := range 2 << 10 {
		b.WriteByte(byte(' ' + i%('~'-' '+1)))
	}
	return b.String()
}

// historyTests read what was written before.
var historyTests = map[string]func(*tester){
	"the oldest comes first": func(x *tester) {
		var want []string
		revision := uint64(0)
		for i := range 30 {
			revision = x.set(fleet.Jobs, "key", revision, text(i))
			want = append(want, text(i))
		}
		x.checkHistory(fleet.Jobs, "key", want...)
		history := x.history(fleet.Jobs, "key")
		x.check(x.get(fleet.Jobs, "key"), history[len(history)-1])
	},
	"each record is whole": func(x *tester) {
		var want []fleet.Record
		revision := uint64(0)
		for i := range 3 {
			r := fleet.Record{Key: "key", Revision: revision, Label: fmt.Sprint("label ", i), Data: []byte(text(i))}
			revision = x.write(fleet.Jobs, r)[0]
			want = append(want, x.get(fleet.Jobs, "key"))
		}
		for i, r := range x.history(fleet.Jobs, "key") {
			x.check(want[i], r)
		}
	},
	"300 changes": func(x *tester) {
		var want []string
		revision := uint64(0)
		for i := range 300 {
			revision = x.set(fleet.Jobs, "key", revision, text(i))
			want = append(want, text(i))
		}
		x.checkHistory(fleet.Jobs, "key", want...)
	},
	"keys are apart": func(x *tester) {
		keys := []string{"a", "A", "a.b", "ab"}
		for _, key := range keys {
			x.set(fleet.Jobs, key, x.set(fleet.Jobs, key, 0, key+" 1"), key+" 2")
		}
		for _, key := range keys {
			x.checkHistory(fleet.Jobs, key, key+" 1", key+" 2")
		}
	},
	"a loop can be left, and run again": func(x *tester) {
		x.set(fleet.Jobs, "key", x.set(fleet.Jobs, "key", 0, "first"), "second")
		history := x.e.History(x.ctx, fleet.Jobs, "key")
		begun := 0
		for range 50 {
			for r, err := range history {
				if err != nil || string(r.Data) != "first" {
					x.Fatalf("got %s, %v", short(r.Data), err)
				}
				begun++
				break
			}
		}
		if begun != 50 {
			x.Errorf("%d of 50 loops had a record", begun)
		}
		x.checkHistory(fleet.Jobs, "key", "first", "second")
	},
	"a record can be changed in the loop": func(x *tester) {
		revision := x.set(fleet.Jobs, "key", x.set(fleet.Jobs, "key", 0, "first"), "second")
		n := 0
		for _, err := range x.e.History(x.ctx, fleet.Jobs, "key") {
			if err != nil {
				x.Fatal(err)
			}
			if n++; n == 1 {
				x.set(fleet.Jobs, "key", revision, "third")
			}
		}
		if n != 2 && n != 3 {
			x.Errorf("got %d records", n)
		}
		x.checkHistory(fleet.Jobs, "key", "first", "second", "third")
	},
}

// listTests list tables.
var listTests = map[string]func(*tester){
	"1000 records": func(x *tester) {
		for i := 0; i < 1000; i += 100 {
			x.write(fleet.Jobs, numbered(i, i+100)...)
		}
		got := x.list(fleet.Jobs, nil)
		if len(got) != 1000 {
			x.Errorf("got %d records", len(got))
		}
		for _, r := range numbered(0, 1000) {
			r.Revision, r.Time = got[r.Key].Revision, got[r.Key].Time
			x.check(r, got[r.Key])
		}
	},
	"records as they were last written": func(x *tester) {
		records := numbered(0, 10)
		for i, revision := range x.write(fleet.Jobs, records...) {
			records[i].Revision, records[i].Data = revision, []byte("new")
		}
		x.write(fleet.Jobs, records...)
		for key, r := range x.list(fleet.Jobs, nil) {
			x.check(x.get(fleet.Jobs, key), r)
			if string(r.Data) != "new" {
				x.Errorf("%s has %s", key, short(r.Data))
			}
		}
	},
	"what is wanted has its data": func(x *tester) {
		x.write(fleet.Jobs, numbered(0, 20)...)
		wanted := func(label string) bool { return strings.HasPrefix(label, `{"n":1`) }
		got := x.list(fleet.Jobs, wanted)
		if len(got) != 20 {
			x.Errorf("got %d records, want 20", len(got))
		}
		for key, r := range got {
			want := x.get(fleet.Jobs, key)
			if !wanted(r.Label) && r.Data == nil {
				want.Data = nil
			}
			x.check(want, r)
		}
	},
	"a group": func(x *tester) {
		for _, key := range oddKeys {
			x.set(fleet.Questions, key, 0, key)
		}
		for group, want := range map[string][]string{"a": {"a..b", "a.B", "a.b", "a.b.c"}, "nul": {"nul.txt"}, "ab": nil, "nothing": nil} {
			var got []string
			for r, err := range x.e.List(x.ctx, fleet.Questions, group, nil) {
				if err != nil {
					x.Fatal(err)
				}
				x.check(x.get(fleet.Questions, r.Key), r)
				got = append(got, r.Key)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				x.Errorf("keys of the group %s (-want +got):\n%s", group, diff)
			}
		}
	},
	"a loop can be left, and run again": func(x *tester) {
		x.write(fleet.Jobs, numbered(0, 50)...)
		list := x.e.List(x.ctx, fleet.Jobs, "", nil)
		for range 50 {
			for _, err := range list {
				if err != nil {
					x.Fatal(err)
				}
				break
			}
		}
		n := 0
		for _, err := range list {
			if err != nil {
				x.Fatal(err)
			}
			n++
		}
		if n != 50 {
			x.Errorf("got %d records", n)
		}
	},
	"other methods can be called in a loop": func(x *tester) {
		x.write(fleet.Jobs, numbered(0, 20)...)
		for r, err := range x.e.List(x.ctx, fleet.Jobs, "", nil) {
			if err != nil {
				x.Fatal(err)
			}
			x.set(fleet.Jobs, r.Key, r.Revision, "changed")
		}
		for key := range x.list(fleet.Jobs, nil) {
			x.has(fleet.Jobs, key, "changed")
		}
	},
}
