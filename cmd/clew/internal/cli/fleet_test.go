package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/wire"
)

// A testFleet is a fleet whose server runs in the process of the test.
type testFleet struct {
	*fleet.Fleet
	engine engine.Engine
}

// openTestFleet starts a fleet on a directory. It ends with the test.
func openTestFleet(t testing.TB, dir string) *testFleet {
	t.Helper()
	e, err := engine.Place{Name: dir}.Serve(t.Context(), engine.Server{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &testFleet{fleet.Open(e, "tester@host"), e}
}

// A stateRunner brings one job into a state, in place of an agent.
type stateRunner struct {
	fleet *testFleet
	takes func(j *fleet.Job) bool
	do    func(ctx context.Context, t *fleet.Task) fleet.Event
}

func (*stateRunner) Ready(context.Context) error { return nil }

// Check leaves other jobs as they are: a job that all workers refuse would not stay queued.
func (r *stateRunner) Check(j *fleet.Job) error {
	if !r.takes(j) {
		return fmt.Errorf("%w by this worker", fleet.ErrAccount)
	}
	return nil
}

func (r *stateRunner) Prepare(_ context.Context, t *fleet.Task) (fleet.Run, error) {
	return &stateRun{r, t}, nil
}

func (r *stateRunner) Look(context.Context, *fleet.Job) (*fleet.Traces, error) {
	return &fleet.Traces{}, nil
}

type stateRun struct {
	*stateRunner
	task *fleet.Task
}

func (r *stateRun) IDs() (session, prompt, base string) {
	if repo := r.task.Job.Spec.Repo; repo != nil {
		base = repo.Ref
	}
	return sessionOf(r.task.Job.ID, r.task.Number), "11111111-0000-4000-8000-000000000001", base
}

// sessionOf is the session of an attempt.
func sessionOf(job string, attempt int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012d", crc32.ChecksumIEEE([]byte(job)), attempt)
}

func (r *stateRun) Do(ctx context.Context) fleet.Event { return r.do(ctx, r.task) }

func (r *stateRun) Close() {}

const (
	fleetAnswer = "The test was \x1b[31mwrong."
	fleetPatch  = `diff --git a/a.txt b/a.txt
new file mode 100644
index 0000000..ce01362
--- /dev/null
+++ b/a.txt
@@ -0,0 +1 @@
+hello
`
)

// untilEnded is the end of an attempt that is ended from outside.
func untilEnded(ctx context.Context) fleet.Event {
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), fleet.ErrCanceled) {
		return fleet.Finish{Cause: fleet.ByPerson, Text: "canceled"}
	}
	return fleet.Lose{Cause: fleet.ByShutdown, Stored: true, CostUSD: 0.1}
}

// exampleQuestion is the ID of a question that the help has as an example.
const exampleQuestion = "5a77c21b0e9d4f36"

// endings maps outcomes of a job to agents that produce them.
var endings = map[string]func(ctx context.Context, t *fleet.Task) fleet.Event{
	"done": func(ctx context.Context, t *fleet.Task) fleet.Event {
		patch, err := t.Put(ctx, "patch.diff", strings.NewReader(fleetPatch))
		if err != nil {
			return fleet.Lose{Cause: fleet.ByExit, Text: err.Error()}
		}
		return fleet.Finish{Cause: fleet.ByResult, Result: fleet.Result{Text: fleetAnswer}, Stored: true, CostUSD: 0.25, Patch: patch}
	},
	"halfway": func(ctx context.Context, t *fleet.Task) fleet.Event {
		patch, err := t.Put(ctx, "patch.diff", strings.NewReader(fleetPatch))
		if err != nil {
			return fleet.Lose{Cause: fleet.ByExit, Text: err.Error()}
		}
		return fleet.Finish{Cause: fleet.ByTurns, Result: fleet.Result{Failed: true}, Stored: true, Patch: patch}
	},
	"plain": func(context.Context, *fleet.Task) fleet.Event {
		return fleet.Finish{Cause: fleet.ByResult, Result: fleet.Result{Text: "Yes."}, Stored: true}
	},
	"failed": func(context.Context, *fleet.Task) fleet.Event {
		return fleet.Finish{Cause: fleet.ByAgent, Text: "it \x1b[31mbroke", Result: fleet.Result{Failed: true}, Stored: true}
	},
	"budget": func(context.Context, *fleet.Task) fleet.Event {
		return fleet.Finish{Cause: fleet.ByBudget, Result: fleet.Result{Failed: true}, Stored: true, CostUSD: 2}
	},
	"turns": func(context.Context, *fleet.Task) fleet.Event {
		return fleet.Finish{Cause: fleet.ByTurns, Result: fleet.Result{Failed: true}, Stored: true, CostUSD: 2}
	},
	"lost": func(context.Context, *fleet.Task) fleet.Event {
		return fleet.Lose{Cause: fleet.ByLoss, Text: "the worker w is gone", Stored: true}
	},
	"waiting": func(context.Context, *fleet.Task) fleet.Event {
		return fleet.Pause{Cause: fleet.ByLimit, Until: time.Now().Add(20 * time.Hour), Stored: true}
	},
	"running": func(ctx context.Context, _ *fleet.Task) fleet.Event { return untilEnded(ctx) },
	"asks": func(ctx context.Context, t *fleet.Task) fleet.Event {
		return afterAnswer(ctx, t, &fleet.Question{
			ID: exampleQuestion, Tool: "Bash", Input: json.RawMessage(`{"command":"rm -rf \u001b[31mbuild","description":"Remove"}`), Reason: "no rule",
		})
	},
	"long": func(ctx context.Context, t *fleet.Task) fleet.Event {
		return afterAnswer(ctx, t, &fleet.Question{
			ID: exampleQuestion, Tool: "Bash", Input: json.RawMessage(`{"command":"` + strings.Repeat(`make\n`, 50) + `rm -rf \u001b[31m/"}`),
		})
	},
	"question": func(ctx context.Context, t *fleet.Task) fleet.Event {
		return afterAnswer(ctx, t, &fleet.Question{Tool: "AskUserQuestion", Input: json.RawMessage(
			`{"questions":[{"question":"Which database?","header":"DB","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}`)})
	},
	"asking": func(ctx context.Context, t *fleet.Task) fleet.Event {
		q := &fleet.Question{ID: "q1", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}
		if _, err := t.Ask(ctx, q, true); !errors.Is(err, fleet.ErrParked) {
			return fleet.Lose{Cause: fleet.ByExit, Text: fmt.Sprint(err)}
		}
		return fleet.Park{Question: q.ID}
	},
}

// afterAnswer ends an attempt with the answer to a question.
func afterAnswer(ctx context.Context, t *fleet.Task, q *fleet.Question) fleet.Event {
	a, err := t.Ask(ctx, q, false)
	if err != nil {
		return untilEnded(ctx)
	}
	text := fmt.Sprintf("allow %v, text %q, answers %v", a.Allow, a.Text, a.Answers)
	return fleet.Finish{Cause: fleet.ByResult, Result: fleet.Result{Text: text}, Stored: true}
}

// reached reports whether a job is where an ending leads to.
func (f *testFleet) reached(ctx context.Context, id, ending string) (bool, error) {
	j, err := f.Job(ctx, id)
	if err != nil {
		return false, err
	}
	switch ending {
	case "done", "plain":
		return j.State == fleet.Done, nil
	case "failed", "halfway", "budget", "turns":
		return j.State == fleet.Failed, nil
	case "asks", "long", "question":
		for _, err := range f.Questions(ctx, id) {
			return err == nil, err
		}
		return false, nil
	}
	return string(j.State) == ending, nil
}

// make submits a job and brings it into the state that an ending leads to. Jobs that run or ask do so until
// the test ends.
func (f *testFleet) make(t testing.TB, ending string, spec *fleet.Spec) *fleet.Job {
	t.Helper()
	if spec.Ask == nil {
		spec.Ask = &fleet.Ask{Park: -1}
	}
	if ending == "waiting" {
		spec.Account = "team" // jobs of other accounts continue
	}
	if ending == "asking" {
		spec.Ask = &fleet.Ask{Park: fleet.Duration(time.Millisecond)}
	}
	j, err := f.Submit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if ending == "queued" {
		return j
	}
	stays := ending == "running" || ending == "asks" || ending == "long" || ending == "question"
	f.work(t, &stateRunner{f, func(other *fleet.Job) bool { return other.ID == j.ID }, endings[ending]}, stays, func(ctx context.Context) {
		polltest.Until(t, "job "+j.ID+" becomes "+ending, func() bool {
			ok, err := f.reached(ctx, j.ID, ending)
			if err != nil {
				t.Fatalf("job %s did not become %s: %v", j.ID, ending, err)
			}
			return ok
		})
	})
	return j
}

// work runs a worker until a function returns or, if it stays, until the test ends.
func (f *testFleet) work(t testing.TB, r *stateRunner, stays bool, until func(ctx context.Context)) {
	t.Helper()
	w := fleet.NewWorker(f.engine, r, &fleet.WorkerOptions{Host: "machine", Lease: 10 * time.Minute})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	end := func() {
		stop()
		running.Wait()
	}
	until(ctx)
	if stays {
		t.Cleanup(end)
		return
	}
	end()
}

// remember stores a transcript of the first attempt of a job.
func (f *testFleet) remember(t testing.TB, job string) {
	t.Helper()
	store, err := f.engine.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session := sessionOf(job, 1)
	entry := func(kind, id, parent, message string) wire.JSON {
		return wire.JSON(fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":%q,"isSidechain":false,"timestamp":"2026-11-15T10:00:00Z","message":%s}`,
			kind, id, parent, session, message))
	}
	prompt := "11111111-0000-4000-8000-000000000001"
	err = store.Append(t.Context(), wire.SessionKey{Project: agents.Project, SessionID: session}, []wire.JSON{
		entry("user", prompt, "null", `{"role":"user","content":"Fix the test."}`),
		entry("assistant", "22222222-0000-4000-8000-000000000001", fmt.Sprintf("%q", prompt),
			`{"id":"m","role":"assistant","content":[{"type":"text","text":"I have looked."}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fleetKey is the key of the scriptFleet of a script.
type fleetKey struct{}

// A scriptFleet is the fleet of a script, once "fleet" was run.
type scriptFleet struct{ *testFleet }

// scriptFleetUp runs "fleet": it starts the fleet of the script; and "fleet ID": it stores the transcript of a job.
func scriptFleetUp(ts *testscript.TestScript, neg bool, args []string) {
	t, ok := ts.Value(testKey{}).(testing.TB)
	f, has := ts.Value(fleetKey{}).(*scriptFleet)
	switch {
	case neg || !ok || !has || len(args) > 1:
		ts.Fatalf("usage: fleet [ID]")
	case len(args) == 1:
		f.remember(t, args[0])
	default:
		f.testFleet = openTestFleet(t, filepath.Join(ts.Getenv("WORK"), "clew", "fleet"))
	}
}

// scriptJob runs "job ENDING NAME [TITLE [COMMIT]]": it makes a job, sets the variable NAME to its
// ID, and NAME_question to the ID of its question.
func scriptJob(ts *testscript.TestScript, neg bool, args []string) {
	t, ok := ts.Value(testKey{}).(testing.TB)
	f, has := ts.Value(fleetKey{}).(*scriptFleet)
	if neg || !ok || !has || len(args) < 2 {
		ts.Fatalf("usage: job ENDING NAME [TITLE [COMMIT]]")
	}
	spec := &fleet.Spec{Prompt: "Fix the test.", Key: args[1], OnLost: fleet.Hold, Repo: &fleet.Repo{URL: "https://host/repo.git"}}
	if len(args) > 2 {
		spec.Title = args[2]
	}
	if len(args) > 3 {
		spec.Repo.Ref = args[3]
	}
	j := f.make(t, args[0], spec)
	setScriptEnv(ts, args[1], j.ID)
	for q, err := range f.Questions(t.Context(), j.ID) {
		if err != nil {
			ts.Fatalf("%v", err)
		}
		setScriptEnv(ts, args[1]+"_question", q.ID)
	}
}
