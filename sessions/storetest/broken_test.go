package storetest

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A fakeStore is a [sessions.Memory] of which methods can be replaced.
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

// disks are the stores that were opened, by their folders.
var disks sync.Map

// opener returns a function for [RunDurable] that opens stores which a flaw has made different.
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

// flawVariable names the flaw of the store that a child process tests.
const flawVariable = "STORETEST_FLAW"

// TestFlawsAreFound runs the suite over stores that have a flaw each, in child processes: it must fail there.
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
