// Package fleets has the tests of jobs with the real agent.
package fleets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
)

// A stage is a fleet over a scripted model.
type stage struct {
	*testing.T
	*fleet.Fleet

	engine *memfleet.Engine
	store  clew.Store
	model  *clewtest.Model
}

func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	clewtest.RealAgent(t)
	e := memfleet.New()
	return &stage{t, fleet.Open(e, "tester"), e, new(sessions.Memory), clewtest.NewModel(t)}
}

// work starts a worker with its own directories, as on a separate machine, and returns how to end it at
// once.
func (s *stage) work(o *agents.Options) (stop func()) {
	s.Helper()
	o.Base = scene.Options(s.T, s.model, &clew.Options{Env: []string{"CLAUDE_CODE_MAX_RETRIES=0"}})
	o.Base.Dir = ""
	o.Dir, o.Store, o.MinFree, o.MinFreeShare = scene.Dir(s.T), s.store, -1, -1
	o.Logger = slog.New(slog.NewTextHandler(s.Output(), nil))
	o.Policy.Repos = []string{"*"}
	r, err := agents.New(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	w := fleet.NewWorker(s.engine, r, &fleet.WorkerOptions{Slots: 2, Logger: o.Logger})
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			s.Errorf("the worker: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	s.Cleanup(stop)
	return stop
}

func (s *stage) submit(spec *fleet.Spec) string {
	s.Helper()
	j, err := s.Submit(s.Context(), spec)
	if err != nil {
		s.Fatal(err)
	}
	return j.ID
}

// reach waits until a job is in a state.
func (s *stage) reach(id string, want fleet.State) *fleet.Job {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
	defer cancel()
	var last *fleet.Job
	for u, err := range s.Watch(ctx, id) {
		if err != nil {
			s.Fatalf("%v; the job is %+v", err, last)
		}
		if u.Job == nil {
			continue
		}
		if last = u.Job; last.State == want {
			return last
		}
		if last.State == fleet.Lost {
			break
		}
	}
	s.Fatalf("the job is %s by %s (%s), want %s", last.State, last.Cause, last.Text, want)
	return nil
}

// repository makes a repository with a file.
func repository(t *testing.T) string {
	t.Helper()
	dir := scene.Dir(t)
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("Hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// A job changes a file of a repository, and its patch fits there.
func TestPatch(t *testing.T) {
	s := newStage(t)
	repo := repository(t)
	s.model.On("Greet the world").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo World >> greeting.txt; echo $CLEW_JOB $CLEW_ATTEMPT > ids.txt"}))
	s.model.OnToolResult("").Reply(clewtest.Text("Greeted."))
	s.work(&agents.Options{})
	id := s.submit(&fleet.Spec{Prompt: "Greet the world", Repo: &fleet.Repo{URL: repo}, Agent: fleet.AgentSpec{AllowedTools: []string{"Bash"}}})
	j := s.reach(id, fleet.Done)
	if got := j.Result().Text; got != "Greeted." || j.CostUSD() <= 0 {
		t.Errorf("%q for %v", got, j.CostUSD())
	}
	r, err := s.File(t.Context(), j.Attempt().Patch)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	patch, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	apply := exec.CommandContext(t.Context(), "git", "apply")
	apply.Dir, apply.Stdin = repo, bytes.NewReader(patch)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, patch)
	}
	for name, want := range map[string]string{"greeting.txt": "Hello\nWorld\n", "ids.txt": id + " 1\n"} {
		if got, err := os.ReadFile(filepath.Join(repo, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A working directory has the policy's files, which git ignores, and the files that the policy's command
// makes. The command runs only in a trusted repository.
func TestSetup(t *testing.T) {
	s := newStage(t)
	trusted, other := repository(t), repository(t)
	for _, repo := range []string{trusted, other} {
		if err := os.MkdirAll(filepath.Join(repo, ".git", "info"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{".git/info/exclude": ".env.test\n", ".env.test": "PORT=7\n"} {
			if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.model.On("Look around").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "cat .env.test; cat made.txt || echo nothing made"}))
	s.model.OnToolResult("nothing made").Reply(clewtest.Text("Not set up."))
	s.model.OnToolResult("PORT=7\nmade by").Reply(clewtest.Text("Set up."))
	s.work(&agents.Options{Policy: agents.Policy{
		Trusted: []string{trusted}, Copy: []string{".env.test"}, Setup: []string{"sh", "-c", "echo made by $CLEW_JOB > made.txt"},
	}})
	for repo, want := range map[string]string{trusted: "Set up.", other: "Not set up."} {
		j := s.reach(s.submit(&fleet.Spec{
			Prompt: "Look around", Repo: &fleet.Repo{URL: repo}, Agent: fleet.AgentSpec{AllowedTools: []string{"Bash"}},
		}), fleet.Done)
		if got := j.Result().Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A job is queued again if the policy's command fails, and has the command's output.
func TestSetupFails(t *testing.T) {
	s := newStage(t)
	repo := repository(t)
	s.work(&agents.Options{Policy: agents.Policy{Trusted: []string{repo}, Setup: []string{"sh", "-c", "echo no such package; exit 3"}}})
	id := s.submit(&fleet.Spec{Prompt: "Look around", Repo: &fleet.Repo{URL: repo}})
	j := s.reach(id, fleet.Queued)
	polltest.Until(t, "the job is queued again", func() bool {
		j = s.reach(id, fleet.Queued)
		return j.Releases > 0
	})
	if first := &j.Attempts[0]; !strings.Contains(first.Text, "exit status 3: no such package") || len(s.model.Requests()) > 0 {
		t.Errorf("%+v, with %d requests", first, len(s.model.Requests()))
	}
}

// An agent whose worker is gone continues on another machine: in a fork of its session, with its files.
func TestResumeElsewhere(t *testing.T) {
	s := newStage(t)
	repo := repository(t)
	s.model.On("Build the house").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo walls > house.txt"}))
	s.model.OnToolResult("").Once().Hang()
	s.model.On("The machine that you ran on was lost").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo roof >> house.txt"}))
	s.model.OnToolResult("").Reply(clewtest.Text("Built."))
	stop := s.work(&agents.Options{SnapshotEvery: time.Second})
	id := s.submit(&fleet.Spec{
		Prompt: "Build the house", Repo: &fleet.Repo{URL: repo}, Agent: fleet.AgentSpec{AllowedTools: []string{"Bash"}}, OnLost: fleet.Resume,
	})
	if _, err := s.model.WaitRequest(t.Context(), 2); err != nil { // with the result of the call, which is not answered
		t.Fatal(err)
	}
	polltest.Until(t, "there is a snapshot", func() bool { return s.reach(id, fleet.Running).Attempt().Snapshot != "" })
	stop()
	s.work(&agents.Options{})
	j := s.reach(id, fleet.Done)
	if len(j.Attempts) != 2 || j.Attempts[0].Session == j.Attempts[1].Session || j.Result().Text != "Built." {
		t.Errorf("%+v", j.Attempts)
	}
	r, err := s.File(t.Context(), j.Attempt().Patch)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if patch, err := io.ReadAll(r); err != nil || !strings.Contains(string(patch), "+walls\n+roof\n") {
		t.Errorf("%s\n%v", patch, err)
	}
}

// A permission question is answered from outside.
func TestApproval(t *testing.T) {
	s := newStage(t)
	s.model.On("Deploy it").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "make deploy"}))
	s.model.OnToolResult("not today").Reply(clewtest.Text("Then not."))
	s.model.OnToolResult("").Reply(clewtest.Text("Deployed."))
	s.work(&agents.Options{})
	for _, allow := range []bool{true, false} {
		id := s.submit(&fleet.Spec{Prompt: "Deploy it", Ask: &fleet.Ask{}})
		q := s.question(id)
		if q.Tool != "Bash" || !strings.Contains(string(q.Input), "make deploy") {
			t.Errorf("%+v", q)
		}
		if _, err := s.Answer(t.Context(), id, q.ID, fleet.Answer{Allow: allow, Text: "not today"}); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "Deployed.", false: "Then not."}[allow]
		if j := s.reach(id, fleet.Done); j.Result().Text != want {
			t.Errorf("%q, want %q", j.Result().Text, want)
		}
	}
}

// question waits for a job question.
func (s *stage) question(id string) (found *fleet.Question) {
	s.Helper()
	polltest.Until(s, "there is a question", func() bool {
		for q, err := range s.Questions(s.Context(), "") {
			if err != nil {
				s.Fatal(err)
			}
			if q.Job == id {
				found = q
			}
		}
		return found != nil
	})
	return found
}

// Limits, an overloaded model and refused credentials are waits, not failures.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fail  func(*clewtest.Rule)
		cause fleet.Cause
		held  bool
	}{
		{"overloaded", func(r *clewtest.Rule) { r.Fail(529) }, fleet.ByThrottling, false},
		{"credentials", func(r *clewtest.Rule) { r.Fail(401) }, fleet.ByAccount, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			tt.fail(s.model.On("Try it"))
			s.work(&agents.Options{})
			id := s.submit(&fleet.Spec{Prompt: "Try it", Account: "team"})
			j := s.reach(id, fleet.Waiting)
			if j.Cause != tt.cause || j.Until.Before(time.Now()) {
				t.Errorf("%s until %v: %s", j.Cause, j.Until, j.Text)
			}
			accounts, err := s.Accounts(t.Context())
			if err != nil || len(accounts) != 1 || accounts[0].Held != tt.held || accounts[0].Cause != tt.cause {
				t.Errorf("%+v, %v", accounts, err)
			}
			if _, err := s.Cancel(t.Context(), id, "seen"); err != nil && !errors.Is(err, fleet.ErrStale) {
				t.Error(err)
			}
		})
	}
}

// A rejected limit with a reset blocks the account until then, with a little more for each job.
func TestLimitWithReset(t *testing.T) {
	s := newStage(t)
	reset := time.Now().Add(2 * time.Hour)
	s.model.On("Try it").Fail(429).
		Header("anthropic-ratelimit-unified-status", "rejected").
		Header("anthropic-ratelimit-unified-representative-claim", "five_hour").
		Header("anthropic-ratelimit-unified-reset", strconv.FormatInt(reset.Unix(), 10))
	s.work(&agents.Options{Accounts: map[string][]string{"team": {"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-scripted", "ANTHROPIC_API_KEY="}}})
	id := s.submit(&fleet.Spec{Prompt: "Try it", Account: "team"})
	j := s.reach(id, fleet.Waiting)
	if after := j.Until.Sub(reset); j.Cause != fleet.ByLimit || after < -time.Second || after > time.Minute {
		t.Errorf("%s until %v after the reset: %s", j.Cause, after, j.Text)
	}
}

// A call that nobody answers is deferred: its agent ends, and another one continues the call when the
// answer is there.
func TestDeferral(t *testing.T) {
	for _, allow := range []bool{true, false} {
		t.Run(fmt.Sprintf("allow=%v", allow), func(t *testing.T) {
			s := newStage(t)
			s.model.On("Deploy it").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo deployed | tee log.txt"}))
			s.model.OnToolResult("deployed").Once().Reply(clewtest.Text("It runs."))
			s.model.OnToolResult("not today").Once().Reply(clewtest.Text("It was refused."))
			s.model.On("The call that had to wait").Reply(clewtest.Text("All is done."))
			s.work(&agents.Options{})
			id := s.submit(&fleet.Spec{Prompt: "Deploy it", Ask: &fleet.Ask{Tools: []string{"Bash"}, Park: fleet.Duration(time.Second)}})
			j := s.reach(id, fleet.Asking)
			q := s.question(id)
			if q.ID != j.Question || q.Tool != "Bash" || j.Worker() != "" {
				t.Errorf("%+v of %+v", q, j)
			}
			if _, err := s.Answer(t.Context(), id, q.ID, fleet.Answer{Allow: allow, Text: "not today"}); err != nil {
				t.Fatal(err)
			}
			if j := s.reach(id, fleet.Done); j.Result().Text != "All is done." || len(j.Attempts) != 2 {
				t.Errorf("%q after %d attempts", j.Result().Text, len(j.Attempts))
			}
			said := 0
			for _, r := range s.model.Requests() {
				if strings.Contains(string(r.Body), map[bool]string{true: "It runs.", false: "It was refused."}[allow]) {
					said++
				}
			}
			if said == 0 {
				t.Error("the call was not decided about")
			}
		})
	}
}

// An agent that is killed in the middle of a call continues in a fork, and is told which call may have
// happened; without a policy the job is lost.
func TestKilled(t *testing.T) {
	for policy, want := range map[fleet.Policy]fleet.State{fleet.Resume: fleet.Done, fleet.Hold: fleet.Lost} {
		t.Run(string(policy), func(t *testing.T) {
			s := newStage(t)
			s.model.On("Kill yourself").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "kill -9 $PPID"}))
			s.model.On("The machine that you ran on was lost").Reply(clewtest.Text("I live."))
			s.work(&agents.Options{})
			id := s.submit(&fleet.Spec{Prompt: "Kill yourself", Agent: fleet.AgentSpec{AllowedTools: []string{"Bash"}}, OnLost: policy})
			j := s.reach(id, want)
			if a := j.Attempts[0]; a.Cause != fleet.ByExit || len(j.Attempts) != map[fleet.State]int{fleet.Done: 2, fleet.Lost: 1}[want] {
				t.Errorf("%+v", j.Attempts)
			}
		})
	}
}

// Of two calls at once none can be deferred: both wait for their answers. It is luck that the agent
// asks for both before the first may be deferred; TestTwoCallsWait of fleet/agents leaves nothing to it.
func TestTwoCallsAtOnce(t *testing.T) {
	soak.Search(t)
	s := newStage(t)
	s.model.On("Do both").Reply(
		clewtest.ToolUse("Bash", map[string]string{"command": "echo one"}), clewtest.ToolUse("Bash", map[string]string{"command": "echo two"}))
	s.model.OnToolResult("one").Reply(clewtest.Text("Both are done."))
	s.model.OnToolResult("two").Reply(clewtest.Text("Both are done."))
	s.work(&agents.Options{})
	id := s.submit(&fleet.Spec{Prompt: "Do both", Ask: &fleet.Ask{Tools: []string{"Bash"}, Park: fleet.Duration(time.Second)}})
	answered := map[string]bool{}
	for len(answered) < 2 {
		q := s.question(id)
		time.Sleep(3 * time.Second) // longer than it takes to park
		if _, err := s.Answer(t.Context(), id, q.ID, fleet.Answer{Allow: true}); err != nil {
			t.Fatal(err)
		}
		answered[q.ID] = true
	}
	if j := s.reach(id, fleet.Done); len(j.Attempts) != 1 || j.Result().Text != "Both are done." {
		t.Errorf("%d attempts: %q", len(j.Attempts), j.Result().Text)
	}
}
