package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A flaw is an error in a store.
type flaw struct {
	found string // the test of the suite that has to fail
	flaw  func(*fakeStore)
}

var flaws = merged(entryFlaws, uuidFlaws, keyFlaws, faultFlaws, offerFlaws)

func merged(parts ...map[string]flaw) map[string]flaw {
	all := map[string]flaw{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

var errFlaw = errors.New("refused for no reason")

// onAppend changes entries before they are appended.
func onAppend(change func([]wire.JSON) []wire.JSON) func(*fakeStore) {
	return func(f *fakeStore) {
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			return f.Memory.Append(ctx, key, change(slices.Clone(entries)))
		}
	}
}

// refusing returns an error for some appends.
func refusing(refuses func([]wire.JSON) bool) func(*fakeStore) {
	return func(f *fakeStore) {
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if refuses(entries) {
				return errFlaw
			}
			return f.Memory.Append(ctx, key, entries)
		}
	}
}

// onLoad changes what is loaded.
func onLoad(change func([]wire.JSON) []wire.JSON) func(*fakeStore) {
	return func(f *fakeStore) {
		f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
			return func(yield func(wire.JSON, error) bool) {
				entries, err := load(ctx, f.Memory, key)
				for _, entry := range change(entries) {
					if !yield(entry, nil) {
						return
					}
				}
				if err != nil {
					yield("", err)
				}
			}
		}
	}
}

// decoded changes each entry like a careless store.
func decoded(entries []wire.JSON) []wire.JSON {
	for i, entry := range entries {
		var value map[string]any
		if entry.Decode(&value) == nil {
			text, _ := json.Marshal(value)
			entries[i] = wire.JSON(text)
		}
	}
	return entries
}

var entryFlaws = map[string]flaw{
	"the last entry is lost": {"entries/order is kept over appends", onAppend(func(entries []wire.JSON) []wire.JSON {
		return entries[:max(0, len(entries)-1)]
	})},
	"entries are sorted": {"entries/order is that of appends, not of names", onLoad(func(entries []wire.JSON) []wire.JSON {
		return slices.Sorted(slices.Values(entries))
	})},
	"an unknown transcript is invented": {
		"entries/what was never written is empty", onLoad(func(entries []wire.JSON) []wire.JSON {
			return append(entries, wire.JSON("{}"))[:max(1, len(entries))]
		}),
	},
	"an empty append is an error": {"entries/an empty append changes nothing", refusing(func(entries []wire.JSON) bool {
		return len(entries) == 0
	})},
	"numbers are rounded":     {"entries/JSON of every kind comes back", onAppend(decoded)},
	"surrogates are replaced": {"entries/half a surrogate comes back", onAppend(decoded)},
	"large entries are left out": {"entries/an entry of 5 MB", onAppend(func(entries []wire.JSON) []wire.JSON {
		return slices.DeleteFunc(entries, func(entry wire.JSON) bool { return len(entry) > 1<<20 })
	})},
	"long appends are cut": {"entries/2000 entries in one append", onAppend(func(entries []wire.JSON) []wire.JSON {
		return entries[:min(len(entries), 1000)]
	})},
	"the caller's slice is kept": {"entries/the entries are the store's own", func(f *fakeStore) {
		var kept []wire.JSON
		f.append = func(_ context.Context, _ wire.SessionKey, entries []wire.JSON) error {
			kept = entries
			return nil
		}
		onLoad(func([]wire.JSON) []wire.JSON { return kept })(f)
	}},
	"the first word on a subagent stays": {"entries/what is said of a subagent", onLoad(func(entries []wire.JSON) []wire.JSON {
		said := 0
		return slices.DeleteFunc(entries, func(entry wire.JSON) bool {
			if strings.Contains(string(entry), "agent_metadata") {
				said++
			}
			return said > 1
		})
	})},
	"a loop that is left keeps its connection": {"entries/a loop can be left, and run again", func(f *fakeStore) {
		free := 20
		f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
			return func(yield func(wire.JSON, error) bool) {
				if free--; free < 0 {
					yield("", errFlaw)
					return
				}
				for entry, err := range f.Memory.Load(ctx, key) {
					if !yield(entry, err) {
						return
					}
				}
				free++
			}
		}
	}},
	"one call at a time": {"entries/other methods can be called in a loop", busyInLoops},
	"no append in loops": {"entries/a transcript can be changed in its own loop", busyInLoops},
}

// busyInLoops refuses appends while a loop runs.
func busyInLoops(f *fakeStore) {
	loops := 0
	refusing(func([]wire.JSON) bool { return loops > 0 })(f)
	f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
		return func(yield func(wire.JSON, error) bool) {
			loops++
			defer func() { loops-- }()
			f.Memory.Load(ctx, key)(yield)
		}
	}
}

// withoutUUIDs renames the member uuid while an entry is in the store, so that the store does not
// find it.
func withoutUUIDs(f *fakeStore, which func(wire.JSON) bool) {
	const name, hidden = `"uuid":`, `"hidden uuid":`
	rename := func(from, to string) func([]wire.JSON) []wire.JSON {
		return func(entries []wire.JSON) []wire.JSON {
			for i, entry := range entries {
				if which(entry) {
					entries[i] = wire.JSON(strings.Replace(string(entry), from, to, 1))
				}
			}
			return entries
		}
	}
	onAppend(rename(name, hidden))(f)
	onLoad(rename(hidden, name))(f)
}

// unlessKnown leaves out entries by a name that a flaw gives them, in one transcript or in all.
func unlessKnown(name func(wire.SessionKey, wire.JSON) string) func(*fakeStore) {
	return func(f *fakeStore) {
		known := map[string]bool{}
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			fresh := slices.DeleteFunc(slices.Clone(entries), func(entry wire.JSON) bool {
				n := name(key, entry)
				defer func() { known[n] = true }()
				return known[n]
			})
			return f.Memory.Append(ctx, key, fresh)
		}
	}
}

func uuidOf(entry wire.JSON) string {
	uuid, _ := sessions.EntryUUID(entry)
	return uuid
}

var uuidFlaws = map[string]flaw{
	"UUIDs are ignored": {"uuids/a repeated append adds nothing", func(f *fakeStore) {
		withoutUUIDs(f, func(wire.JSON) bool { return true })
	}},
	"an append with a known UUID is left out whole": {"uuids/an append that overlaps adds the rest", func(f *fakeStore) {
		known := map[string]bool{}
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			for _, entry := range entries {
				if known[uuidOf(entry)] {
					return nil
				}
			}
			for _, entry := range entries {
				known[uuidOf(entry)] = true
			}
			return f.Memory.Append(ctx, key, entries)
		}
	}},
	"the last of two stays": {"uuids/the first of two in one append stays", onAppend(func(entries []wire.JSON) []wire.JSON {
		slices.Reverse(entries)
		return entries
	})},
	"the same text is left out": {
		"uuids/entries without a UUID are added again",
		unlessKnown(func(_ wire.SessionKey, entry wire.JSON) string { return string(entry) }),
	},
	"UUIDs count for all": {
		"uuids/each transcript counts for itself",
		unlessKnown(func(_ wire.SessionKey, entry wire.JSON) string { return uuidOf(entry) }),
	},
	"UUIDs are compared as they are written": {"uuids/a UUID is compared as what it says", func(f *fakeStore) {
		withoutUUIDs(f, func(entry wire.JSON) bool { return strings.Contains(string(entry), `\u`) })
	}},
	"odd UUIDs are refused": {"uuids/odd UUIDs", refusing(func(entries []wire.JSON) bool {
		return slices.ContainsFunc(entries, func(entry wire.JSON) bool { return strings.ContainsAny(uuidOf(entry), "';*>") })
	})},
	"UUIDs outlive a transcript": {
		"keys/a deleted transcript can be written again",
		unlessKnown(func(key wire.SessionKey, entry wire.JSON) string { return key.String() + uuidOf(entry) }),
	},
}
