package agentflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// hang is the time after which a hanging test ends.
const hang = 2 * time.Minute

// A bench has activities whose agents are simulated, one after the other.
type bench struct {
	testsuite.WorkflowTestSuite
	Activities
	config string // the agents' own directory

	mu     sync.Mutex
	agents []*clewtest.Agent // the first one is the next
	tasks  []Task            // of agents that were started
}

func newBench(t *testing.T, agents ...*clewtest.Agent) *bench {
	t.Helper()
	b := &bench{config: t.TempDir(), agents: agents}
	b.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	b.Activities = Activities{Store: new(sessions.Memory), Options: b.options}
	return b
}

func (b *bench) options(task Task) clew.Options {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks = append(b.tasks, task)
	if len(b.agents) == 0 {
		return clew.Options{AgentPath: "there is no other agent"}
	}
	agent := b.agents[0]
	b.agents = b.agents[1:]
	return clew.Options{AgentPath: agent.Path(), Env: append(agent.Env(), "CLAUDE_CONFIG_DIR="+b.config)}
}

// run runs the activity once, as the attempt after the attempts that had these sessions.
func (b *bench) run(task Task, earlier ...string) (*Result, error) {
	env := b.NewTestActivityEnvironment()
	env.SetTestTimeout(hang)
	if earlier != nil {
		env.SetHeartbeatDetails(earlier)
	}
	env.RegisterActivity(&b.Activities)
	value, err := env.ExecuteActivity(b.RunAgent, task)
	if err != nil {
		return nil, err
	}
	result := new(Result)
	return result, value.Get(result)
}

// store puts a session into the store.
func (b *bench) store(t *testing.T, session string) {
	t.Helper()
	entry := fmt.Sprintf(`{"type":"user","uuid":"7d1d5a8e-3f6c-4c54-9be9-0c5bb1c5a0f1","sessionId":%q,`+
		`"message":{"role":"user","content":"Fix it."}}`, session)
	key := wire.SessionKey{Project: project, SessionID: session}
	if err := b.Store.Append(context.Background(), key, []wire.JSON{wire.JSON(entry)}); err != nil {
		t.Error(err)
	}
}

// The frames of agents.
const (
	greeting = `{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}`
	greeted  = `{"type":"control_response","response":{"subtype":"success","request_id":"init","response":{}}}`
	fixed    = `{"type":"result","subtype":"success","result":"Fixed.","total_cost_usd":0.25}`
)

func prompted(words string) *clewtest.Scenario {
	return new(clewtest.Scenario).Expect(greeting).Send(greeted).
		Expect(fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"text","text":%q}]}}`, words))
}

func answering(t *testing.T, prompt string) *clewtest.Agent {
	return clewtest.NewAgent(t, prompted(prompt).Send(fixed))
}

// failing is an agent that the API refuses.
func failing(t *testing.T, failure string, status int, frames ...any) *clewtest.Agent {
	return clewtest.NewAgent(t, prompted("Fix it.").Send(frames...).Send(
		fmt.Sprintf(`{"type":"assistant","error":%q,"message":{"role":"assistant","content":[{"type":"text","text":"No."}]}}`, failure),
		fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"api_error_status":%d,"result":"No."}`, status)))
}

// flag returns the value of a flag of the agent.
func flag(agent *clewtest.Agent, name string) string {
	for _, arg := range agent.Args() {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}

func wantFork(t *testing.T, agent *clewtest.Agent, of string) {
	t.Helper()
	if got := flag(agent, "--resume"); got != of || of == "" {
		t.Errorf("the agent resumes %q, want %q", got, of)
	}
	if id := flag(agent, "--session-id"); !slices.Contains(agent.Args(), "--fork-session") || id == "" || id == of {
		t.Errorf("arguments %q", agent.Args())
	}
}

// The sessions of earlier attempts.
const (
	older = "0b7d2c7e-5a63-4d0c-9a3c-6a1b2d9e8f10"
	newer = "f3a3a1f0-7a0c-4b8e-8f43-5d0f0d0a6c55"
)

func TestResult(t *testing.T) {
	t.Parallel()
	agent := answering(t, "Fix it.")
	got, err := newBench(t, agent).run(Task{Prompt: "Fix it."})
	if err != nil {
		t.Fatal(err)
	}
	want := &Result{Session: flag(agent, "--session-id"), Text: "Fixed.", CostUSD: 0.25}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		stored         []string
		prompt, resume string
	}{
		{"nothing is stored", nil, "Fix it.", ""},
		{"both are stored", []string{older, newer}, goOn, newer},
		{"the newer one has not come so far", []string{older}, goOn, older},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			agent := answering(t, test.prompt)
			b := newBench(t, agent)
			for _, session := range test.stored {
				b.store(t, session)
			}
			if _, err := b.run(Task{Prompt: "Fix it."}, older, newer); err != nil {
				t.Fatal(err)
			}
			if test.resume == "" {
				if id := flag(agent, "--resume"); id != "" {
					t.Errorf("the agent resumes %q", id)
				}
				return
			}
			wantFork(t, agent, test.resume)
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(3 * time.Hour)
	limit := fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d}}`, reset.Unix())
	budget := prompted("Fix it.").Send(`{"type":"result","subtype":"error_max_budget_usd","is_error":true}`)
	for _, test := range []struct {
		name     string
		agent    *clewtest.Agent
		kind     string
		final    bool
		minDelay time.Duration
	}{
		{"limit", failing(t, "rate_limit", 429, limit), ErrorLimit, false, 2 * time.Hour},
		{"limit without an end", failing(t, "rate_limit", 429), "ResultError", false, 0},
		{"overloaded", failing(t, "overloaded", 529), "ResultError", false, 0},
		{"refused", failing(t, "authentication_failed", 401), ErrorRefused, true, 0},
		{"budget", clewtest.NewAgent(t, budget), ErrorBudget, true, 0},
		{"exit", clewtest.NewAgent(t, prompted("Fix it.").Exit(3)), "ExitError", false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := newBench(t, test.agent).run(Task{Prompt: "Fix it."})
			var failed *temporal.ApplicationError
			if !errors.As(err, &failed) {
				t.Fatalf("error %v", err)
			}
			if failed.Type() != test.kind || failed.NonRetryable() != test.final {
				t.Errorf("type %q, final %t, want %q, %t", failed.Type(), failed.NonRetryable(), test.kind, test.final)
			}
			if delay := failed.NextRetryDelay(); delay < test.minDelay || delay > test.minDelay+2*time.Hour {
				t.Errorf("the next attempt is in %v", delay)
			}
		})
	}
}

func (b *bench) newEnvironment() *testsuite.TestWorkflowEnvironment {
	env := b.NewTestWorkflowEnvironment()
	env.SetTestTimeout(hang)
	env.RegisterWorkflow(Change)
	env.RegisterActivity(&b.Activities)
	return env
}

// change runs the workflow, and answers its question if there is one.
func (b *bench) change(answer func(signal func(yes bool))) *testsuite.TestWorkflowEnvironment {
	env := b.newEnvironment()
	env.RegisterDelayedCallback(func() { answer(func(yes bool) { env.SignalWorkflow(Approval, yes) }) }, 24*time.Hour)
	env.ExecuteWorkflow(Change, "Fix it.")
	return env
}

const asking = "Say what you would change, but don't change it yet.\n\nFix it."

func TestChange(t *testing.T) {
	t.Parallel()
	lost := clewtest.NewAgent(t, prompted(asking).Exit(3))
	reader, writer := answering(t, asking), answering(t, "Your plan was approved. Make the change.")
	b := newBench(t, lost, reader, writer)
	env := b.change(func(signal func(bool)) {
		if n := len(b.tasks); n != 2 {
			t.Errorf("%d agents were started before the approval, want 2", n)
		}
		signal(true)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var done Result
	if err := env.GetWorkflowResult(&done); err != nil {
		t.Fatal(err)
	}
	if want := (Result{Session: flag(writer, "--session-id"), Text: "Fixed.", CostUSD: 0.25}); done != want {
		t.Errorf("result %+v, want %+v", done, want)
	}
	wantFork(t, writer, flag(reader, "--session-id"))
	if tools := flag(reader, "--tools"); tools != "Read,Glob,Grep" {
		t.Errorf("the agent that reads has the tools %q", tools)
	}
	var plan Result
	if value, err := env.QueryWorkflow(Plan); err != nil || value.Get(&plan) != nil || plan.Session != flag(reader, "--session-id") {
		t.Errorf("plan %+v, error %v", plan, err)
	}
}

// TestRetry lets Temporal run the activity again, with the heartbeat of the first attempt.
func TestRetry(t *testing.T) {
	t.Parallel()
	second := answering(t, goOn)
	b := newBench(t, clewtest.NewAgent(t, prompted(asking).Exit(3)), second)
	env := b.newEnvironment()
	var first string
	var once sync.Once
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		once.Do(func() { // in place of the agent, which does not know the ID before
			var attempts []string
			if err := details.Get(&attempts); err != nil || len(attempts) != 1 {
				t.Errorf("details %q, error %v", attempts, err)
				return
			}
			first = attempts[0]
			b.store(t, first)
		})
	})
	env.ExecuteWorkflow(Change, "Fix it.") // which nobody approves
	wantFork(t, second, first)
}

func TestNotApproved(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(func(bool)){
		"no":        func(signal func(bool)) { signal(false) },
		"no answer": func(func(bool)) {},
	} {
		env := newBench(t, answering(t, asking)).change(answer)
		var failed *temporal.ApplicationError
		if err := env.GetWorkflowError(); !errors.As(err, &failed) || failed.Type() != ErrorRejected {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
