package agentjob

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	_ "modernc.org/sqlite"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// hang is the time after which a hanging test ends.
const hang = 2 * time.Minute

// A bench is a database with a worker whose agents are simulated, one after the other.
type bench struct {
	t      *testing.T
	db     *sql.DB
	events <-chan *river.Event
	store  *store
	config string // the agents' own directory

	mu     sync.Mutex
	agents []*clewtest.Agent // the first one is the next
}

// A store signals each append.
type store struct {
	sessions.Memory
	appended chan struct{}
}

func (s *store) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	err := s.Memory.Append(ctx, key, entries)
	s.appended <- struct{}{}
	return err
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "river.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1) // as the driver wants it
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, db: db, store: &store{appended: make(chan struct{}, 10)}, config: t.TempDir()}
}

func (b *bench) insert(args Args) *river.Job[Args] {
	b.t.Helper()
	client, err := river.NewClient(riversqlite.New(b.db), &river.Config{})
	if err != nil {
		b.t.Fatal(err)
	}
	inserted, err := client.Insert(b.t.Context(), args, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return &river.Job[Args]{JobRow: inserted.Job, Args: args}
}

// start starts a client, as a new process would, whose jobs get these agents.
func (b *bench) start(agents ...*clewtest.Agent) *river.Client[*sql.Tx] {
	b.t.Helper()
	b.agents = agents
	workers := river.NewWorkers()
	river.AddWorker(workers, &Worker{Store: b.store, Options: b.options})
	client, err := river.NewClient(riversqlite.New(b.db), &river.Config{
		Logger:      slog.New(slog.DiscardHandler),
		Queues:      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}},
		RetryPolicy: atOnce{}, Workers: workers,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var unsubscribe func()
	b.events, unsubscribe = client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed,
		river.EventKindJobCancelled, river.EventKindJobSnoozed)
	b.t.Cleanup(unsubscribe)
	if err := client.Start(context.WithoutCancel(b.t.Context())); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { b.stop(client) })
	return client
}

func (b *bench) stop(client *river.Client[*sql.Tx]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), hang)
	defer cancel()
	if err := client.StopAndCancel(ctx); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) options(*river.Job[Args]) clew.Options {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.agents) == 0 {
		return clew.Options{AgentPath: "there is no other agent"}
	}
	agent := b.agents[0]
	b.agents = b.agents[1:]
	return clew.Options{AgentPath: agent.Path(), Env: append(agent.Env(), "CLAUDE_CONFIG_DIR="+b.config)}
}

// waitStored waits until the store has something.
func (b *bench) waitStored() {
	b.t.Helper()
	select {
	case <-b.store.appended:
	case <-time.After(hang):
		b.t.Fatal("nothing is stored")
	}
}

// next waits for the next end of an attempt.
func (b *bench) next(want river.EventKind) *rivertype.JobRow {
	b.t.Helper()
	select {
	case event := <-b.events:
		if event.Kind != want {
			b.t.Fatalf("%s, want %s; errors %v", event.Kind, want, event.Job.Errors)
		}
		return event.Job
	case <-time.After(hang):
		b.t.Fatal("nothing happens")
	}
	return nil
}

// atOnce tries again without a pause.
type atOnce struct{}

func (atOnce) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

// The frames of agents.
const (
	greeting = `{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}`
	greeted  = `{"type":"control_response","response":{"subtype":"success","request_id":"init","response":{}}}`
	fixed    = `{"type":"result","subtype":"success","result":"Fixed.","total_cost_usd":0.25}`
)

// stored is the frame with which an agent puts its session into the store.
func (b *bench) stored(session string) *wire.TranscriptMirrorMessage {
	entry := fmt.Sprintf(`{"type":"user","uuid":"7d1d5a8e-3f6c-4c54-9be9-0c5bb1c5a0f1","sessionId":%q,`+
		`"message":{"role":"user","content":"Fix it."}}`, session)
	file := filepath.Join(b.config, "projects", "p", session+".jsonl")
	return &wire.TranscriptMirrorMessage{FilePath: file, Entries: []wire.JSON{wire.JSON(entry)}}
}

func prompted(words string) *clewtest.Scenario {
	return new(clewtest.Scenario).Expect(greeting).Send(greeted).
		Expect(fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"text","text":%q}]}}`, words))
}

// failing is an agent that the API refuses.
func failing(t *testing.T, failure string, status int, frames ...any) *clewtest.Agent {
	return clewtest.NewAgent(t, prompted("Fix it.").Send(frames...).Send(
		fmt.Sprintf(`{"type":"assistant","error":%q,"message":{"role":"assistant","content":[{"type":"text","text":"No."}]}}`, failure),
		fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"api_error_status":%d,"result":"No."}`, status)))
}

// flag returns the value of a flag of the agent.
func flag(agent *clewtest.Agent, name string) string {
	args := agent.Args()
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
		if arg == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// wantFork checks that the second agent continues a copy of the session of the first.
func wantFork(t *testing.T, first, second *clewtest.Agent) {
	t.Helper()
	if got, want := flag(second, "--resume"), flag(first, "--session-id"); got != want || want == "" {
		t.Errorf("the second agent resumes %q, want %q", got, want)
	}
	if !slices.Contains(second.Args(), "--fork-session") {
		t.Error("it does not fork")
	}
	if id := flag(second, "--session-id"); id == "" || id == flag(first, "--session-id") {
		t.Errorf("its own session is %q", id)
	}
}

// goOnAgent is an agent that continues the work of another one, and ends it.
func goOnAgent(t *testing.T) *clewtest.Agent { return clewtest.NewAgent(t, prompted(goOn).Send(fixed)) }

func TestOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	job := b.insert(Args{Prompt: "Fix it."})
	b.start(clewtest.NewAgent(t, prompted("Fix it.").Send(fixed)))
	var got Output
	if err := json.Unmarshal(b.next(river.EventKindJobCompleted).Output(), &got); err != nil {
		t.Fatal(err)
	}
	want := Output{Session: sessionID(job, 1), Text: "Fixed.", CostUSD: 0.25}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestLostAgentIsContinued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	job := b.insert(Args{Prompt: "Fix it."})
	first := clewtest.NewAgent(t, prompted("Fix it.").Send(b.stored(sessionID(job, 1))).Exit(3))
	second := goOnAgent(t)
	b.start(first, second)
	if row := b.next(river.EventKindJobFailed); !strings.Contains(row.Errors[0].Error, "exited with code 3") {
		t.Errorf("error %q", row.Errors[0].Error)
	}
	b.next(river.EventKindJobCompleted)
	wantFork(t, first, second)
}

func TestNothingStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.insert(Args{Prompt: "Fix it."})
	second := clewtest.NewAgent(t, prompted("Fix it.").Send(fixed))
	b.start(clewtest.NewAgent(t, prompted("Fix it.").Exit(3)), second)
	b.next(river.EventKindJobFailed)
	b.next(river.EventKindJobCompleted)
	if id := flag(second, "--resume"); id != "" {
		t.Errorf("the second agent resumes %q, of which nothing is stored", id)
	}
}

func TestStoppedClient(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	job := b.insert(Args{Prompt: "Fix it."})
	first := clewtest.NewAgent(t, prompted("Fix it.").Send(b.stored(sessionID(job, 1))).Do(clewtest.Hang()))
	client := b.start(first)
	b.waitStored()
	b.stop(client)
	if row := b.next(river.EventKindJobSnoozed); row.State != rivertype.JobStateAvailable || row.Attempt != 0 {
		t.Errorf("state %s, attempt %d", row.State, row.Attempt)
	}
	second := goOnAgent(t)
	b.start(second)
	b.next(river.EventKindJobCompleted)
	wantFork(t, first, second)
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	job := b.insert(Args{Prompt: "Fix it."})
	reset := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	limit := fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d}}`, reset.Unix())
	first, second := failing(t, "rate_limit", 429, b.stored(sessionID(job, 1)), limit), goOnAgent(t)
	client := b.start(first, second)
	row := b.next(river.EventKindJobSnoozed)
	if row.State != rivertype.JobStateScheduled || row.Attempt != 0 {
		t.Errorf("state %s, attempt %d", row.State, row.Attempt)
	}
	if late := row.ScheduledAt.Sub(reset); late < 0 || late > time.Hour {
		t.Errorf("it goes on %v after the limit is over", late)
	}
	if _, err := client.JobRetry(t.Context(), row.ID); err != nil { // does not wait for the time
		t.Fatal(err)
	}
	b.next(river.EventKindJobCompleted)
	wantFork(t, first, second)
}

func TestNoSecondAttempt(t *testing.T) {
	t.Parallel()
	budget := prompted("Fix it.").Send(`{"type":"result","subtype":"error_max_budget_usd","is_error":true}`)
	for name, agent := range map[string]*clewtest.Agent{
		"credentials refused": failing(t, "authentication_failed", 401),
		"budget used up":      clewtest.NewAgent(t, budget),
	} {
		b := newBench(t)
		b.insert(Args{Prompt: "Fix it."})
		b.start(agent)
		if row := b.next(river.EventKindJobCancelled); row.State != rivertype.JobStateCancelled {
			t.Errorf("%s: state %s", name, row.State)
		}
	}
}

func TestOverloaded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.insert(Args{Prompt: "Fix it."})
	b.start(failing(t, "overloaded", 529), clewtest.NewAgent(t, prompted("Fix it.").Send(fixed)))
	b.next(river.EventKindJobFailed)
	if row := b.next(river.EventKindJobCompleted); row.Attempt != 2 {
		t.Errorf("attempt %d, want 2", row.Attempt)
	}
}

func TestFollowUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const earlier = "0b7d2c7e-5a63-4d0c-9a3c-6a1b2d9e8f10"
	b.insert(Args{Prompt: "And now?", Session: earlier})
	agent := clewtest.NewAgent(t, prompted("And now?").Send(fixed))
	b.start(agent)
	b.next(river.EventKindJobCompleted)
	if got := flag(agent, "--resume"); got != earlier || !slices.Contains(agent.Args(), "--fork-session") {
		t.Errorf("arguments %q", agent.Args())
	}
}
