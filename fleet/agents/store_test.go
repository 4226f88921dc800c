package agents_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

// A stage is a fleet with one worker whose agents are simulated. Its engine and its store fail as a test says.
type stage struct {
	*testing.T
	*fleet.Fleet
	engine  *memfleet.Engine
	client  *memfleet.Client // of the worker
	store   *sessions.Memory
	dir     string // of the worker
	repo    string
	session string                                      // of the last agent
	calls   func(*clewtest.Scenario) *clewtest.Scenario // what the agent does after its prompt, or nil

	mu     sync.Mutex
	put    func(name string) error // before a file is stored
	append func() error            // before entries are stored
	start  func() error            // before an agent is started
	renew  func() error            // before the lease is renewed

	greeting func(env []string) string // what an agent says about itself
	accounts map[string][]string
}

// A faultyEngine is the engine of the worker.
type faultyEngine struct {
	fleet.Engine
	stage *stage
}

func (e *faultyEngine) Put(ctx context.Context, name string, r io.Reader) error {
	if err := e.stage.fault(func() error { return e.stage.put(name) }); err != nil {
		return err
	}
	return e.Engine.Put(ctx, name, r)
}

func (e *faultyEngine) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if t == fleet.Workers {
		if err := e.stage.fault(func() error { return e.stage.renew() }); err != nil {
			return nil, err
		}
	}
	return e.Engine.Set(ctx, t, records...)
}

// A faultyStore is the store of the worker.
type faultyStore struct {
	clew.Store
	stage *stage
}

func (s *faultyStore) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	if err := s.stage.fault(func() error { return s.stage.append() }); err != nil {
		return err
	}
	return s.Store.Append(ctx, key, entries)
}

// fault calls what decides about a fault, one after the other.
func (s *stage) fault(decide func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return decide()
}

var errFault = errors.New("no room")

func never() error { return errFault }

func newStage(t *testing.T) *stage {
	t.Helper()
	e := memfleet.New()
	return &stage{
		T: t, Fleet: fleet.Open(e, "tester"), engine: e, client: e.Client(nil), store: new(sessions.Memory), dir: t.TempDir(), repo: repository(t),
		put: func(string) error { return nil }, append: failing(0), start: failing(0), renew: failing(0), greeting: able,
	}
}

// repository makes a repository with a file.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("Hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, dir, "init", "-q", "-b", "main")
	gittest.Run(t, dir, "add", ".")
	gittest.Run(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// runner returns a runner whose agents write a file, and report it.
func (s *stage) runner() *agents.Runner {
	s.Helper()
	r, err := agents.New(s.Context(), &agents.Options{
		Base: &clew.Options{Transport: clew.TransportFunc(s.startAgent)}, Dir: s.dir, Store: &faultyStore{s.store, s},
		Policy: agents.Policy{Repos: []string{"*"}}, MinFree: -1, MinFreeShare: -1, Logger: s.log(), Accounts: s.accounts,
	})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *stage) log() *slog.Logger { return slog.New(slog.NewTextHandler(s.Output(), nil)) }

// work starts the worker, and returns what stops it.
func (s *stage) work() (stop func()) {
	s.Helper()
	w := fleet.NewWorker(&faultyEngine{s.client, s}, s.runner(), &fleet.WorkerOptions{Logger: s.log()})
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			s.Error(err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	s.Cleanup(stop)
	return stop
}

func (s *stage) startAgent(_ context.Context, launch *clew.Launch) (clew.Connection, error) {
	if err := s.fault(func() error { return s.start() }); err != nil {
		return nil, err
	}
	scenario := new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"subtype":"success","request_id":"init","response":` + s.greetingOf(launch) + `}}`)
	if strings.HasPrefix(filepath.Base(launch.Dir), "probe-") {
		return clewtest.NewAgent(s, scenario).Conn(), nil
	}
	if err := os.WriteFile(filepath.Join(launch.Dir, "work.txt"), []byte("work\n"), 0o600); err != nil {
		return nil, err
	}
	for _, arg := range launch.Args {
		if id, ok := strings.CutPrefix(arg, "--session-id="); ok {
			s.session = id
		}
	}
	mirror := func(entry string) string {
		return fmt.Sprintf(`{"type":"transcript_mirror","filePath":"/home/me/.claude/projects/p/%s.jsonl","entries":[%s]}`, s.session, entry)
	}
	scenario.Expect(`{"type":"user"}`).Send(mirror(`{"uuid":"1"}`), mirror(`{"uuid":"2"}`), mirror(`{"uuid":"3"}`))
	if s.calls != nil {
		return clewtest.NewAgent(s, s.calls(scenario)).Conn(), nil
	}
	return clewtest.NewAgent(s, scenario.Send(worked)).Conn(), nil
}

// able is the greeting of an agent that can run jobs.
func able([]string) string { return `{"hook_on_failure_supported":true}` }

func (s *stage) greetingOf(launch *clew.Launch) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeting(launch.Env)
}

// worked is the result of an agent.
const worked = `{"type":"result","subtype":"success","result":"Worked."}`

func (s *stage) submit(policy fleet.Policy) string {
	s.Helper()
	j, err := s.Submit(s.Context(), &fleet.Spec{Prompt: "Work.", Repo: &fleet.Repo{URL: s.repo}, OnLost: policy})
	if err != nil {
		s.Fatal(err)
	}
	return j.ID
}

// reach waits until a job is in a state.
func (s *stage) reach(id string, want fleet.State) *fleet.Job {
	s.Helper()
	var last *fleet.Job
	for u, err := range s.Watch(s.Context(), id) {
		if err != nil {
			s.Fatal(err)
		}
		if u.Job == nil {
			continue
		}
		if last = u.Job; last.State == want {
			return last
		}
	}
	s.Fatalf("the job is %s by %s (%s), want %s", last.State, last.Cause, last.Text, want)
	return nil
}

// checkDone checks that a job is done with a patch, and that its session is whole and its tree is gone.
func (s *stage) checkDone(id string) *fleet.Job {
	s.Helper()
	j := s.reach(id, fleet.Done)
	if patch := s.patch(j); !strings.Contains(patch, "+work\n") {
		s.Errorf("the patch is %q", patch)
	}
	var entries []string
	for entry, err := range s.store.Load(s.Context(), wire.SessionKey{Project: agents.Project, SessionID: s.session}) {
		if err != nil {
			s.Fatal(err)
		}
		entries = append(entries, string(entry))
	}
	if got := strings.Join(entries, " "); got != `{"uuid":"1"} {"uuid":"2"} {"uuid":"3"}` {
		s.Errorf("the session has %s", got)
	}
	synctest.Wait()
	if trees := s.trees(); len(trees) > 0 {
		s.Errorf("there are still %q", trees)
	}
	return j
}

// patch returns the patch of the last attempt.
func (s *stage) patch(j *fleet.Job) string {
	s.Helper()
	r, err := s.File(s.Context(), j.Attempt().Patch)
	if err != nil {
		s.Fatal(err)
	}
	defer r.Close()
	patch, err := io.ReadAll(r)
	if err != nil {
		s.Fatal(err)
	}
	return string(patch)
}

// trees returns the files that agents wrote and that still exist.
func (s *stage) trees() []string {
	found, err := filepath.Glob(filepath.Join(s.dir, "trees", "*", "work", "work.txt"))
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// said reports whether the record of a job had a text that contains another one, while it was running.
func (s *stage) said(id, text string) bool {
	for j, err := range s.History(s.Context(), id) {
		if err != nil {
			s.Fatal(err)
		}
		if j.State == fleet.Running && strings.Contains(j.Text, text) {
			return true
		}
	}
	return false
}

// failing returns an error n times.
func failing(n int) func() error {
	return func() error {
		if n--; n >= 0 {
			return errFault
		}
		return nil
	}
}

// on calls a function for the file of a name.
func on(name string, f func() error) func(string) error {
	return func(is string) error {
		if strings.HasSuffix(is, "/"+name) {
			return f()
		}
		return nil
	}
}

// A job is done when all its work is stored, and not before.
func TestStoreAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(s *stage)
	}{
		{"patch", func(s *stage) { s.put = on("patch.diff", failing(7)) }},
		{"snapshot", func(s *stage) { s.put = on("snapshot.bundle", failing(7)) }},
		{"session", func(s *stage) { s.append = failing(7) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				tt.spoil(s)
				s.work()
				id := s.submit(fleet.Hold)
				if j := s.checkDone(id); len(j.Attempts) != 1 || j.Text != "" {
					t.Errorf("%+v", j)
				}
				if !s.said(id, "the work can't be stored yet") || !s.said(id, errFault.Error()) {
					t.Error("the record did not say why the job runs")
				}
			})
		})
	}
}

// A cut in the moment in which the patch is stored, shorter than the lease, costs nothing but time.
func TestStoreAfterCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		cut := false
		s.put = on("patch.diff", func() error {
			if !cut {
				cut = true
				s.client.Cut()
				time.AfterFunc(12*time.Second, s.client.Reconnect)
			}
			return nil
		})
		s.work()
		if j := s.checkDone(s.submit(fleet.Hold)); len(j.Attempts) != 1 {
			t.Errorf("%d attempts", len(j.Attempts))
		}
	})
}

// A job whose work can't be stored before its worker loses the lease is not done. Its tree stays,
// and the record names it.
func TestStoreNever(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(s *stage)
	}{
		{"patch", func(s *stage) { s.put = on("patch.diff", never) }},
		{"session", func(s *stage) { s.append = never }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				tt.spoil(s)
				s.work()
				id := s.submit(fleet.Hold)
				s.reach(id, fleet.Running)
				time.Sleep(time.Hour)
				s.reach(id, fleet.Running) // for as long as there is a lease
				s.mu.Lock()
				s.renew = never
				s.mu.Unlock()
				j := s.reach(id, fleet.Lost)
				if a := j.Attempt(); j.Cause != fleet.ByLoss || a.Patch != "" || a.Result != nil {
					t.Errorf("%s by %s: %+v", j.State, j.Cause, a)
				}
				synctest.Wait()
				trees := s.trees()
				if len(trees) != 1 || !strings.Contains(j.Text, errFault.Error()+"; it is in "+filepath.Dir(trees[0])) {
					t.Errorf("%q, and there are %q", j.Text, trees)
				}
				s.mu.Lock()
				s.put, s.append, s.renew = func(string) error { return nil }, failing(0), failing(0)
				s.mu.Unlock()
				if _, err := s.Requeue(t.Context(), id, fleet.Requeue{Start: fleet.Fresh}); err != nil {
					t.Fatal(err)
				}
				if j := s.reach(id, fleet.Done); len(j.Attempts) != 2 || j.Attempt().Patch == "" {
					t.Errorf("%+v", j)
				}
				synctest.Wait()
				s.runner() // another one with the same directory leaves the tree
				if left := s.trees(); !slices.Equal(left, trees) {
					t.Errorf("there are %q", left)
				}
			})
		})
	}
}

// A person can end a job whose work can't be stored, and has its tree.
func TestStoreCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.put = on("patch.diff", never)
		s.work()
		id := s.submit(fleet.Hold)
		s.reach(id, fleet.Running)
		time.Sleep(time.Hour)
		if _, err := s.Cancel(t.Context(), id, "enough"); err != nil {
			t.Fatal(err)
		}
		j := s.reach(id, fleet.Canceled)
		synctest.Wait()
		if a := j.Attempt(); a.Patch != "" || len(s.trees()) != 1 || !strings.Contains(a.Text, "it is in "+s.dir) {
			t.Errorf("%+v, and there are %q", a, s.trees())
		}
	})
}
