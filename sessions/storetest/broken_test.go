package storetest

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A fakeStore is a [sessions.Memory] with methods that can be replaced.
type fakeStore struct {
	*sessions.Memory
	append    func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	load      func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	sessions  func(ctx context.Context, project string) (map[string]time.Time, error)
	subpaths  func(ctx context.Context, key wire.SessionKey) ([]string, error)
	delete    func(ctx context.Context, key wire.SessionKey) error
	projects  func(ctx context.Context) ([]string, error)
	summaries func(ctx context.Context, project string) (map[string]sessions.Summary, error)
}

func newFake(m *sessions.Memory) *fakeStore {
	return &fakeStore{m, m.Append, m.Load, m.Sessions, m.Subpaths, m.Delete, m.Projects, m.Summaries}
}

func (f *fakeStore) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	return f.append(ctx, key, entries)
}

func (f *fakeStore) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return f.load(ctx, key)
}

func (f *fakeStore) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	return f.sessions(ctx, project)
}

func (f *fakeStore) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	return f.subpaths(ctx, key)
}

func (f *fakeStore) Delete(ctx context.Context, key wire.SessionKey) error { return f.delete(ctx, key) }

func (f *fakeStore) Projects(ctx context.Context) ([]string, error) { return f.projects(ctx) }

func (f *fakeStore) Summaries(ctx context.Context, project string) (map[string]sessions.Summary, error) {
	return f.summaries(ctx, project)
}

// disks are the opened stores, by directory.
var disks sync.Map

// opener returns a function for [RunDurable] that opens stores with a flaw.
func opener(flaw func(*fakeStore)) func(*testing.T, string) sessions.Store {
	return func(_ *testing.T, dir string) sessions.Store {
		memory, _ := disks.LoadOrStore(dir, sessions.NewMemory())
		f := newFake(memory.(*sessions.Memory))
		flaw(f)
		return f
	}
}

func TestSoundStore(t *testing.T) {
	t.Parallel()
	RunDurable(t, opener(func(*fakeStore) {}))
}

// flawVariable is the variable with the flaw of the store that a child process tests.
const flawVariable = "STORETEST_FLAW"

// TestFlawsAreFound runs the suite in child processes over stores that have one flaw each. It must
// fail there.
func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(flawVariable); name != "" {
		RunDurable(t, opener(flaws[name].flaw))
		return
	}
	for name, flaw := range flaws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := runChild(t, name, flaw.found)
			if failed := "--- FAIL: " + childTest(flaw.found) + " "; err == nil || !strings.Contains(out, failed) {
				t.Errorf("the test %q does not find it: %v\n%s", flaw.found, err, out)
			}
		})
	}
}

// runChild runs one test of the suite over a store with a flaw.
func runChild(t *testing.T, flaw, test string) (string, error) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(childTest(test)), "/", "$/^") + "$"
	child := exec.CommandContext(t.Context(), binary, "-test.run="+pattern)
	child.Env = append(os.Environ(), flawVariable+"="+flaw)
	out, err := child.CombinedOutput()
	return string(out), err
}

// childTest returns the full name of a test of the suite.
func childTest(name string) string { return "TestFlawsAreFound/" + strings.ReplaceAll(name, " ", "_") }

// A test that finds no flaw proves nothing.
func TestEveryTestFindsAFlaw(t *testing.T) {
	t.Parallel()
	finds := map[string]bool{}
	for _, flaw := range flaws {
		finds[flaw.found] = true
	}
	for group, tests := range groups {
		for name := range tests {
			if !finds[group+"/"+name] {
				t.Errorf("nothing shows that %q can fail", group+"/"+name)
			}
		}
	}
}

// oneByOne returns a flaw: entries are appended one after the other, with a pause in the middle.
func oneByOne(pause func(ctx context.Context)) func(*fakeStore) {
	return func(f *fakeStore) {
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			for i, entry := range entries {
				if err := f.Memory.Append(ctx, key, []wire.JSON{entry}); err != nil {
					return err
				}
				if i == len(entries)/2 {
					pause(ctx)
				}
			}
			return nil
		}
	}
}

// untilDeadline waits until a context with a deadline ends.
func untilDeadline(ctx context.Context) {
	if _, ok := ctx.Deadline(); ok {
		<-ctx.Done()
	}
}

// together returns a function whose first two calls wait for each other.
func together() func() {
	var calls atomic.Int64
	both := make(chan struct{})
	return func() {
		if calls.Add(1) == 2 {
			close(both)
		}
		<-both
	}
}

// halfLoaded lets a load run in the middle of the first append.
func halfLoaded(f *fakeStore) {
	var mu sync.Mutex
	begun, loaded := false, make(chan struct{})
	var release sync.Once
	f.load = func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
		return func(yield func(wire.JSON, error) bool) {
			mu.Lock()
			defer mu.Unlock()
			if begun {
				release.Do(func() { close(loaded) }) // the append waits for the lock
			}
			f.Memory.Load(ctx, key)(yield)
		}
	}
	f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
		mu.Lock()
		err := f.Memory.Append(ctx, key, entries[:len(entries)/2])
		begun = true
		mu.Unlock()
		<-loaded
		mu.Lock()
		defer mu.Unlock()
		return errors.Join(err, f.Memory.Append(ctx, key, entries[len(entries)/2:]))
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
	"a cancelled append is torn": {"faults/an append that is cancelled is whole or not there", oneByOne(untilDeadline)},
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
	"appends mix": {"concurrent/appends to one transcript stay together", func(f *fakeStore) {
		meet := together()
		oneByOne(func(context.Context) { meet() })(f)
	}},
	"half an append is loaded": {"concurrent/a load during appends sees whole appends", halfLoaded},
	"UUIDs are checked too early": {"concurrent/the same append from many adds once", func(f *fakeStore) {
		withoutUUIDs(f, func(wire.JSON) bool { return true })
		add, meet := f.append, together()
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if there, err := load(ctx, f, key); err != nil || len(there) > 0 {
				return err
			}
			meet()
			return add(ctx, key, entries)
		}
	}},
	"appends get lost": {"concurrent/appends to many transcripts", func(f *fakeStore) {
		var busy sync.Mutex
		lost := make(chan struct{})
		var lose sync.Once
		f.append = func(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
			if !busy.TryLock() {
				lose.Do(func() { close(lost) })
				return nil
			}
			defer busy.Unlock()
			<-lost
			return f.Memory.Append(ctx, key, entries)
		}
	}},
	"a new store is empty": {"durable", func(f *fakeStore) { *f = *newFake(sessions.NewMemory()) }},
}
