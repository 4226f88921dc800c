package fleettest

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// The methods of an engine that a flaw replaces.
type (
	records    = iter.Seq2[fleet.Record, error]
	messages   = iter.Seq2[[]byte, error]
	fakeEngine struct {
		*memfleet.Engine
		set     func(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error)
		get     func(ctx context.Context, t fleet.Table, key string) (fleet.Record, error)
		list    func(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records
		watch   func(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records
		history func(ctx context.Context, t fleet.Table, key string) records
		remove  func(ctx context.Context, t fleet.Table, key string, revision uint64) error
		publish func(ctx context.Context, subject string, message []byte) error
		listen  func(ctx context.Context, subject string) messages
		put     func(ctx context.Context, name string, r io.Reader) error
		open    func(ctx context.Context, name string) (io.ReadCloser, error)
		delete  func(ctx context.Context, prefix string) error
	}
)

// newFake returns an engine without a flaw.
func newFake(m *memfleet.Engine) *fakeEngine {
	return &fakeEngine{m, m.Set, m.Get, m.List, m.Watch, m.History, m.Remove, m.Publish, m.Listen, m.Put, m.Open, m.Delete}
}

func (f *fakeEngine) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	return f.set(ctx, t, records...)
}

func (f *fakeEngine) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	return f.get(ctx, t, key)
}

func (f *fakeEngine) List(ctx context.Context, t fleet.Table, group string, wants func(string) bool) records {
	return f.list(ctx, t, group, wants)
}

func (f *fakeEngine) Watch(ctx context.Context, t fleet.Table, key string, wants func(string) bool) records {
	return f.watch(ctx, t, key, wants)
}

func (f *fakeEngine) History(ctx context.Context, t fleet.Table, key string) records {
	return f.history(ctx, t, key)
}

func (f *fakeEngine) Remove(ctx context.Context, t fleet.Table, key string, revision uint64) error {
	return f.remove(ctx, t, key, revision)
}

func (f *fakeEngine) Publish(ctx context.Context, subject string, message []byte) error {
	return f.publish(ctx, subject, message)
}

func (f *fakeEngine) Listen(ctx context.Context, subject string) messages {
	return f.listen(ctx, subject)
}

func (f *fakeEngine) Put(ctx context.Context, name string, r io.Reader) error {
	return f.put(ctx, name, r)
}

func (f *fakeEngine) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.open(ctx, name)
}

func (f *fakeEngine) Delete(ctx context.Context, prefix string) error { return f.delete(ctx, prefix) }

// disks are the opened engines, by directory.
var disks sync.Map

// opener returns a function for [RunDurable] that opens engines with a flaw.
func opener(flaw func(*fakeEngine)) func(*testing.T, string) fleet.Engine {
	return func(_ *testing.T, dir string) fleet.Engine {
		engine, _ := disks.LoadOrStore(dir, memfleet.New())
		f := newFake(engine.(*memfleet.Engine))
		flaw(f)
		return f
	}
}

func TestSoundEngine(t *testing.T) {
	t.Parallel()
	RunDurable(t, opener(func(*fakeEngine) {}))
}

// A flaw is an error in an engine.
type flaw struct {
	found string // the test of the suite that has to fail
	flaw  func(*fakeEngine)
}

var flaws = merged(recordFlaws, valueFlaws, listFlaws, watchFlaws, changeFlaws, messageFlaws, fileFlaws, contextFlaws)

func merged(parts ...map[string]flaw) map[string]flaw {
	all := map[string]flaw{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

var errFlaw = errors.New("refused for no reason")

// flawVariable is the variable with the flaw of the engine that a child process tests.
const flawVariable = "FLEETTEST_FLAW"

// TestFlawsAreFound runs the suite in child processes over engines that have one flaw each. It must fail
// there.
func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(flawVariable); name != "" {
		patience = time.Second // what a flaw leaves out never comes
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

// runChild runs one test of the suite over an engine with a flaw.
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
	tests := map[string]bool{"durable": true}
	for group, all := range groups {
		for name := range all {
			tests[group+"/"+name] = true
		}
	}
	for name := range tests {
		if !finds[name] {
			t.Errorf("nothing shows that %q can fail", name)
		}
	}
	for name, flaw := range flaws {
		if !tests[flaw.found] {
			t.Errorf("%s: there is no test %q", name, flaw.found)
		}
	}
}
