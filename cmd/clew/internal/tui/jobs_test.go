package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/soak"
)

// A jobFleet is a fleet in memory, with jobs as tests want them.
type jobFleet struct {
	t      testing.TB
	engine *memfleet.Engine
}

// put writes the record of a job, whatever was there.
func (f *jobFleet) put(j *fleet.Job) {
	f.t.Helper()
	if j.Created.IsZero() {
		j.Created = storyTime.Add(-time.Hour)
	}
	if j.Changed.IsZero() {
		j.Changed = j.Created.Add(time.Minute)
	}
	f.write(fleet.Jobs, j.ID, j.Summary().Label(), j)
}

// ask writes a question.
func (f *jobFleet) ask(q *fleet.Question) {
	f.t.Helper()
	q.Asked, q.Until = storyTime.Add(-time.Minute), storyTime.Add(time.Hour)
	f.write(fleet.Questions, q.Job+"."+q.ID, "open", q)
}

func (f *jobFleet) write(table fleet.Table, key, label string, v any) {
	f.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	old, err := f.engine.Get(f.t.Context(), table, key)
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		f.t.Fatal(err)
	}
	if _, err := f.engine.Set(f.t.Context(), table, fleet.Record{Key: key, Revision: old.Revision, Label: label, Data: data}); err != nil {
		f.t.Fatal(err)
	}
}

// as returns the fleet of a person.
func (f *jobFleet) as(name string) *fleet.Fleet { return fleet.Open(f.engine, name) }

// jobs returns the fleet as the viewer's jobs.
func (f *jobFleet) jobs() Jobs {
	return Jobs{Connect: func(context.Context) (Fleet, error) { return f.as("me@laptop"), nil }}
}

func jobAttempt(n int, worker string) fleet.Attempt {
	return fleet.Attempt{
		Number: n, Worker: worker, Start: fleet.Fresh, Claimed: storyTime.Add(-50 * time.Minute), Started: storyTime.Add(-50 * time.Minute),
		Session: fmt.Sprintf("5e55104a-0000-4000-8000-00000000000%d", n),
	}
}

const jobPatch = `diff --git a/upload/retry.go b/upload/retry.go
--- a/upload/retry.go
+++ b/upload/retry.go
@@ -1,3 +1,4 @@
 package upload
 
-const attempts = 3
+// attempts is how often an upload is tried.
+const attempts = 5
`

// someJobs returns a fleet with jobs in all states.
func someJobs(t testing.TB) *jobFleet {
	t.Helper()
	f := &jobFleet{t, memfleet.New()}
	spec := func(title string) fleet.Spec {
		return fleet.Spec{
			Prompt: title + ".\nThen run the tests, and *explain* what you did.", Title: title,
			Repo: &fleet.Repo{URL: "https://git.example.com/uploader.git", Ref: "main"}, Account: "team",
		}
	}
	running := jobAttempt(1, "worker000001")
	running.CostUSD, running.Status = 0.42, "go test ./upload"
	f.put(&fleet.Job{ID: "asksxxxxxxxx", Spec: spec("Drop the old tables"), By: "ann@desk", State: fleet.Running, Attempts: []fleet.Attempt{running}})
	f.ask(&fleet.Question{Job: "asksxxxxxxxx", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"psql -c 'drop table old'"}`)})
	lost := jobAttempt(1, "worker000002")
	lost.Ended, lost.Cause = storyTime.Add(-20*time.Minute), fleet.ByLoss
	f.put(&fleet.Job{
		ID: "lostxxxxxxxx", Spec: spec("Upgrade the parser"), By: "ann@desk", State: fleet.Lost, Cause: fleet.ByLoss, Attempts: []fleet.Attempt{lost},
		From: &fleet.From{Attempt: 1, Session: lost.Session, Cause: fleet.ByLoss},
	})
	f.put(&fleet.Job{ID: "runsxxxxxxxx", Spec: spec("Fix the flaky upload test"), By: "me@laptop", State: fleet.Running, Attempts: []fleet.Attempt{running}})
	f.put(&fleet.Job{ID: "limitxxxxxxx", Spec: spec("Translate the manual"), State: fleet.Waiting, Cause: fleet.ByLimit, Until: storyTime.Add(90 * time.Minute)})
	f.put(&fleet.Job{ID: "queuexxxxxxx", Spec: spec("Write release notes"), State: fleet.Queued})
	done := jobAttempt(2, "worker000001")
	done.Ended, done.Cause, done.CostUSD, done.Patch = storyTime.Add(-10*time.Minute), fleet.ByResult, 1.25, "donexxxxxxxx/2.patch"
	done.Result = &fleet.Result{Text: "An upload is tried **five** times now:\n\n- `retry.go` has the number\n- the tests pass"}
	f.put(&fleet.Job{
		ID: "donexxxxxxxx", Spec: spec("Try uploads more often"), By: "me@laptop", State: fleet.Done, Cause: fleet.ByResult, Changed: storyTime.Add(-10 * time.Minute),
		Attempts: []fleet.Attempt{lost, done}, Notes: []fleet.Note{{At: storyTime.Add(-15 * time.Minute), By: "ann@desk", Text: "resumed: the machine was rebooted", Attempt: 1}},
	})
	if err := f.engine.Put(t.Context(), "donexxxxxxxx/2.patch", strings.NewReader(jobPatch)); err != nil {
		t.Fatal(err)
	}
	budget := jobAttempt(1, "worker000002")
	budget.Ended, budget.Cause, budget.CostUSD = storyTime.Add(-30*time.Minute), fleet.ByBudget, 3
	f.put(&fleet.Job{
		ID: "failxxxxxxxx", Spec: spec("Rewrite everything"), By: "me@laptop", State: fleet.Failed, Cause: fleet.ByBudget, Changed: storyTime.Add(-30 * time.Minute),
		Attempts: []fleet.Attempt{budget}, From: &fleet.From{Attempt: 1, Session: budget.Session, Cause: fleet.ByBudget},
	})
	f.put(&fleet.Job{ID: "cancxxxxxxxx", Spec: spec("Something else"), State: fleet.Canceled, Cause: fleet.ByPerson, Changed: storyTime.Add(-40 * time.Minute)})
	return f
}

// tellJobs starts a story at the session list.
func tellJobs(t *testing.T, opts Options, f *jobFleet, columns, rows int) *story {
	t.Helper()
	opts.Jobs = f.jobs()
	return tellWith(t, opts, someSessions(), columns, rows, listing).see("Fix the flaky")
}

// jobStories lists the screens about jobs, each with the keys that lead to it and a text that is
// then on it. Each key is pressed as soon as the text before it is on the screen.
var jobStories = []struct {
	name string
	keys []string // a text to see and a key, and so on
	see  string
}{
	{"jobs", nil, "Drop the old"},
	{"jobs_filter", []string{"Drop the old", "/", "esc clear", "u", "/ u", "p", "/ up", "l"}, "/ upl"},
	{"jobs_palette", []string{"Drop the old", "ctrl+p"}, "filter the list"},
	{"job_asks", []string{"Drop the old", "enter"}, "submitted"},
	{"job_question", []string{"Drop the old", "enter", "submitted", "a"}, "yes"},
	{"job_lost", []string{"Drop the old", "j", "Upgrade", "enter"}, "submitted"},
	{"job_done", []string{"Drop the old", "G", "Try uploads", "k", "Try uploads", "k", "Try uploads", "enter"}, "submitted"},
	{"job_patch", []string{"Drop the old", "G", "Try uploads", "k", "Try uploads", "k", "Try uploads", "enter", "submitted", "f"}, "attempts = 5"},
	{"job_resume", []string{"Drop the old", "G", "Rewrite", "k", "Rewrite", "enter", "submitted", "r"}, "dollars"},
}

// walkJobs goes from the session list to a screen about jobs.
func (s *story) walkJobs(keys []string) *story {
	s.t.Helper()
	s.see("J jobs").press("J")
	for i := 0; i+1 < len(keys); i += 2 {
		s.see(keys[i]).press(keys[i+1])
	}
	return s
}

func TestJobScreens(t *testing.T) {
	t.Parallel()
	for _, tt := range jobStories {
		inAllSizes(t, tt.name, func(t *testing.T, opts Options, columns, rows int) *story {
			t.Helper()
			return tellJobs(t, opts, someJobs(t), columns, rows).walkJobs(tt.keys).see(tt.see)
		})
	}
	inAllSizes(t, "jobs_none", func(t *testing.T, opts Options, columns, rows int) *story {
		t.Helper()
		opts.Jobs.Connect = func(context.Context) (Fleet, error) { return nil, nil }
		return tellWith(t, opts, someSessions(), columns, rows, listing).see("Fix the flaky").press("J").see("No fleet runs")
	})
}

// A user watches the list, opens a job that asks, is not the first to answer, answers the next
// question, and reads the outcome.
func TestJobStory(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	s := tellJobs(t, storyOptions(), f, 100, 30).see("J jobs").press("J").see("2 need attention", "Waiting")
	s.press("]", "]", "j").selected("Write release notes")
	// The list changes, and the selected job stays selected where it is.
	a := jobAttempt(1, "worker000003")
	newer := &fleet.Job{ID: "newxxxxxxxxx", Spec: fleet.Spec{Prompt: "Sort the imports"}, State: fleet.Running, Attempts: []fleet.Attempt{a}}
	f.put(newer)
	s.see("Sort the imports", "2 running").selected("Write release notes")
	f.ask(&fleet.Question{Job: "newxxxxxxxxx", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"make fmt"}`)})
	s.see("3 need attention").selected("Write release notes")
	s.press("/").types("imports").see("1 of 9").press("enter").see("Sort the imports", "make fmt")
	// Somebody else answers first.
	s.press("a").see("no, and say why")
	if _, err := f.as("ann@desk").Answer(t.Context(), "newxxxxxxxxx", "q1", fleet.Answer{Text: "No."}); err != nil {
		t.Fatal(err)
	}
	s.see("it was answered by ann@desk (unverified): denied", "Answered questions")
	// The next question is answered here.
	f.ask(&fleet.Question{Job: "newxxxxxxxxx", ID: "q2", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"gofmt -w ."}`)})
	s.see("gofmt -w .").press("a").see("no, and say why").press("e").see("Tell the agent why").types("Use goimports.").press("enter").see("denied: Bash: gofmt")
	if q := f.question("newxxxxxxxxx", "q2"); q.Answer == nil || q.Answer.Allow || q.Answer.Text != "Use goimports." || q.Answer.By != "me@laptop" {
		t.Errorf("the answer is %+v", q.Answer)
	}
	f.ask(&fleet.Question{Job: "newxxxxxxxxx", ID: "q3", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"goimports -w ."}`)})
	s.see("goimports -w .").press("a").see("yes, once").press("y").see("allowed: Bash: goimports")
	if q := f.question("newxxxxxxxxx", "q3"); q.Answer == nil || !q.Answer.Allow {
		t.Errorf("the answer is %+v", q.Answer)
	}
	// It is done, with a patch.
	a.Ended, a.Cause, a.Patch = storyTime, fleet.ByResult, "newxxxxxxxxx/1.patch"
	a.Result = &fleet.Result{Text: "The imports are sorted."}
	if err := f.engine.Put(t.Context(), a.Patch, strings.NewReader(jobPatch)); err != nil {
		t.Fatal(err)
	}
	newer.State, newer.Cause, newer.Attempts, newer.Changed = fleet.Done, fleet.ByResult, []fleet.Attempt{a}, storyTime
	f.put(newer)
	s.see("The imports are sorted.", "attempt 1 has changed files").press("f").see("retry.go", "const attempts = 5").press("q").see("The imports are sorted.")
	s.press("q").see("1 of 9").press("esc").see("9 jobs").press("q").see("Fix the flaky").press("q").ends()
}

// question returns a question as it is now.
func (f *jobFleet) question(job, id string) *fleet.Question {
	f.t.Helper()
	for q, err := range f.as("tester").Questions(f.t.Context(), job) {
		if err != nil {
			f.t.Fatal(err)
		}
		if q.ID == id {
			return q
		}
	}
	f.t.Fatalf("job %s has no question %s", job, id)
	return nil
}

// In a list, the keys that answer questions answer none.
func TestListAnswersNothing(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	s := tellJobs(t, storyOptions(), f, 100, 30).see("J jobs").press("J").selected("Drop the old tables")
	s.press("y", "n", "e").copied("asksxxxxxxxx")
	s.press("enter").see("drop table old").press("y", "n").copied("asksxxxxxxxx").see("drop table old")
	if q := f.question("asksxxxxxxxx", "q1"); q.Answer != nil {
		t.Errorf("a key of the list has answered: %+v", q.Answer)
	}
}

// The user can't allow a call that was not shown completely, and keys count only after the question
// was on the screen for a while.
func TestJobQuestionIsRead(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("echo %d", i))
	}
	input, err := json.Marshal(map[string]string{"command": strings.Join(lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	f.ask(&fleet.Question{Job: "runsxxxxxxxx", ID: "q1", Attempt: 1, Tool: "Bash", Input: input})
	s := tellJobs(t, storyOptions(), f, 80, 24).see("J jobs").press("J").see("3 need attention").press("j").selected("Fix the flaky")
	s.press("enter").see("Questions").press("a").see("echo 3", "yes, once").press("y").see("press space to see them first")
	s.press("space").see("echo 30").press("y").see("press space to see them first")
	for _, last := range []string{"echo 50", "echo 68", "echo 86", "echo 99"} {
		s.press("space").see(last)
	}
	s.press("y").see("allowed: Bash")

	screen, a := openJobScreen(t, f, "asksxxxxxxxx")
	a.do(keymap.AnswerJob)
	question, ok := screen.top().(*questionScreen)
	if !ok {
		t.Fatalf("%T is on top", screen.top())
	}
	question.draw(80, 24)
	press := func() tea.Cmd {
		cmd, _ := question.typed(tea.KeyPressMsg{Text: "y", Code: 'y'})
		return cmd
	}
	if cmd := press(); cmd != nil || question.sent {
		t.Error("a key answers before the question could be read")
	}
	question.update(settledMsg{})
	if cmd := press(); cmd == nil || !question.sent {
		t.Error("the question can't be answered")
	}
	if cmd := press(); cmd != nil {
		t.Error("it is answered twice")
	}
}

// openJobScreen returns a job screen without a running program.
func openJobScreen(t testing.TB, f *jobFleet, id string) (*app, *jobScreen) {
	t.Helper()
	a := &app{ctx: t.Context(), opts: storyOptions(), src: newFakeSource(), display: &display{}, width: 80, height: 24}
	a.opts.Keys = keymap.Default()
	a.opts.Jobs = f.jobs()
	a.fleet = f.as("me@laptop")
	list := &jobsScreen{base: newBase(a)}
	list.follow()
	list.board.Follow(t.Context())
	if err := list.board.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	runAll(list, list.refresh())
	list.listing = false
	j := newJob(list, id)
	a.stack = []screen{list, j}
	msg, ok := j.start()().(answer)
	if !ok {
		t.Fatal("the job is not read")
	}
	j.update(msg.msg)
	return a, j
}

// The agent's own questions are answered with options.
func TestJobOwnQuestion(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	f.ask(&fleet.Question{Job: "runsxxxxxxxx", ID: "q1", Attempt: 1, Tool: "AskUserQuestion", Input: json.RawMessage(
		`{"questions":[{"question":"Which color?","options":[{"label":"Red"},{"label":"Blue"}]},{"question":"Which size?","options":[{"label":"Large"}]}]}`)})
	s := tellJobs(t, storyOptions(), f, 80, 24).see("J jobs").press("J").see("3 need attention").press("j").selected("Fix the flaky")
	s.press("enter").see("Which color?").press("a").see("in your own words").press("2").see("Which size?").press("2").see("Your answer:")
	s.types("Small").press("enter").see("answered: Which color?")
	if q := f.question("runsxxxxxxxx", "q1"); q.Answer == nil || fmt.Sprint(q.Answer.Answers) != "map[Which color?:Blue Which size?:Small]" {
		t.Errorf("the answer is %+v", q.Answer)
	}
}

// budgetJob returns a job of someJobs that failed.
func budgetJob(cause fleet.Cause) *fleet.Job {
	a := jobAttempt(1, "worker000002")
	a.Ended, a.Cause, a.CostUSD = storyTime.Add(-30*time.Minute), cause, 3
	return &fleet.Job{
		ID: "failxxxxxxxx", Spec: fleet.Spec{Prompt: "Rewrite everything", Agent: fleet.AgentSpec{MaxTurns: 40}}, State: fleet.Failed, Cause: cause,
		Attempts: []fleet.Attempt{a}, From: &fleet.From{Attempt: 1, Session: a.Session, Cause: cause},
	}
}

// Decisions need a yes, and the screen reports their outcome.
func TestJobDecisions(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	s := tellJobs(t, storyOptions(), f, 100, 30).see("J jobs").press("J").see("8 jobs")
	state := func(id string) fleet.State {
		j, err := f.as("tester").Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return j.State
	}
	open := func(filter, title string) {
		s.press("/").types(filter).see("1 of").press("enter").see("submitted", title)
	}
	back := func() { s.press("q").see("1 of").press("esc").unseen("1 of") }
	open("'notes", "Write release notes")
	s.see("queued · no worker runs; clew worker")
	s.press("r").see("only a lost or failed job can be resumed").press("D").see("only an ended job can be dropped")
	s.press("x").see("Cancel \"Write release notes\"? y/n").press("n").unseen("y/n")
	if got := state("queuexxxxxxx"); got != fleet.Queued {
		t.Errorf("without a yes it is %s", got)
	}
	s.press("x").see("y/n").press("y").see("the job is canceled", "gave no reason").press("D").see("Drop").press("y").see("the job was dropped", "Nothing matches").press("esc").see("7 jobs")
	open("'parser", "Upgrade the parser")
	s.press("r").see("Go on with").press("y").see("the job is queued")
	if j, err := f.as("tester").Job(t.Context(), "lostxxxxxxxx"); err != nil || j.Next != fleet.Continued || j.Notes[0].By != "me@laptop" {
		t.Errorf("%+v, %v", j, err)
	}
	back()
	open("'Rewrite", "Rewrite everything")
	s.press("r").see("budget in dollars").types("much").press("enter").see("is not a number above 0")
	s.press("r").see("budget in dollars").types("$7.50").press("enter").see("the job is queued")
	if j, err := f.as("tester").Job(t.Context(), "failxxxxxxxx"); err != nil || j.Spec.Limits.BudgetUSD != 7.5 {
		t.Errorf("%+v, %v", j, err)
	}
	// A used-up budget is one of all attempts, and used-up turns can be had again.
	f.put(budgetJob(fleet.ByBudget))
	s.see("failed · the budget is used up").press("R").see("Begin again with a budget in dollars").types("9").press("enter").see("the job is queued")
	if j, err := f.as("tester").Job(t.Context(), "failxxxxxxxx"); err != nil || j.Spec.Limits.BudgetUSD != 9 || j.Next != fleet.Fresh {
		t.Errorf("%+v, %v", j, err)
	}
	tired := budgetJob(fleet.ByAgent)
	tired.Attempts = slices.Repeat(tired.Attempts, 100) // no job has more
	f.put(tired)
	s.see("failed · the agent reports an error").unseen("R retry")
	s.press("R").see("the job can't be restarted: it has had 100 attempts")
	s.press("r").see("the job can't be resumed: it has had 100 attempts")
	f.put(budgetJob(fleet.ByTurns))
	s.see("failed · the turns are used up").press("r").see("how many turns: 40").press("enter").see("the job is queued")
	if j, err := f.as("tester").Job(t.Context(), "failxxxxxxxx"); err != nil || j.Spec.Agent.MaxTurns != 40 || j.Next != fleet.Continued {
		t.Errorf("%+v, %v", j, err)
	}
	back()
	open("'flaky", "Fix the flaky upload test")
	s.press("x").see("Its worker ends the agent").press("y").see("its worker ends it", "its worker ends it, as me@laptop (unverified) wants")
	back()
	// The record changes between the question and the yes.
	open("'Drop the old", "Drop the old tables")
	s.press("x").see("y/n")
	f.put(&fleet.Job{ID: "asksxxxxxxxx", Spec: fleet.Spec{Prompt: "Drop the old tables"}, State: fleet.Done, Changed: storyTime})
	s.press("y").see("is done")
}

// The messages of a running job's agent are shown as they arrive, and its session is opened if it
// is on this machine.
func TestJobTail(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	a := jobAttempt(1, "worker000001")
	a.Session = id(2)
	f.put(&fleet.Job{ID: "runsxxxxxxxx", Spec: fleet.Spec{Prompt: "Work"}, State: fleet.Running, Attempts: []fleet.Attempt{a}})
	s := tellJobs(t, storyOptions(), f, 100, 40).see("J jobs").press("J").see("8 jobs").press("j", "j").selected("Work").press("enter").see("Live", "nothing yet")
	n := 0
	s.waits("nothing of the agent is shown", func() bool { // frames that come before somebody listens are lost
		n++
		frame := fmt.Sprintf(`1`+"\n"+`{"type":"assistant","uuid":"%d","message":{"role":"assistant","id":"m%d","content":[{"type":"text","text":"I read \u001b[2J the tests."}]}}`, n, n)
		if err := f.engine.Publish(t.Context(), "live.runsxxxxxxxx", []byte(frame)); err != nil {
			t.Error(err)
		}
		return strings.Contains(s.term.Text(), "I read") && strings.Contains(s.term.Text(), "the tests.")
	})
	s.press("o").see("Fix the flaky").press("q").see("Live")
	a.Session = "5e55104a-0000-4000-8000-000000000009"
	f.put(&fleet.Job{ID: "runsxxxxxxxx", Spec: fleet.Spec{Prompt: "Work"}, State: fleet.Running, Attempts: []fleet.Attempt{a}, Changed: storyTime})
	s.see("session 5e55104a").press("o").see("is not among those of this machine; clew jobs tail runsxxxxxxxx")
	s.press("Y").copied("clew jobs tail runsxxxxxxxx")
}

// The viewer does not wait for a fleet, does not mention jobs without one, and finds a fleet that
// appears later.
func TestNoFleet(t *testing.T) {
	t.Parallel()
	opts := storyOptions()
	opts.Jobs.Connect = func(ctx context.Context) (Fleet, error) { // it never answers
		<-ctx.Done()
		return nil, ctx.Err()
	}
	tellWith(t, opts, someSessions(), 100, 30, listing).see("Fix the flaky", "enter open").unseen("J jobs").press("J").see("Looking for the fleet").press("q").see("Fix the flaky").press("q").ends()

	f := someJobs(t)
	var there atomic.Bool
	opts.Jobs.Connect = func(context.Context) (Fleet, error) {
		if !there.Load() {
			return nil, nil
		}
		return f.as("me"), nil
	}
	s := tellWith(t, opts, someSessions(), 100, 30, listing).see("Fix the flaky").press("J").see("No fleet runs", "clew worker").press("q").see("enter open").unseen("J jobs")
	there.Store(true)
	s.press("ctrl+p").types("fleet").see("jobs of the fleet").press("enter").see("8 jobs").press("q").see("J jobs")

	// It comes while the screen waits for it.
	there.Store(false)
	s = tellWith(t, opts, someSessions(), 100, 30, listing).see("Fix the flaky").press("J").see("No fleet runs")
	there.Store(true)
	s.see("8 jobs")

	opts.Jobs.Connect = func(context.Context) (Fleet, error) { return nil, errors.New("no \x1b[31mroute to the host") }
	opts.Jobs.IsNamed = true
	tellWith(t, opts, someSessions(), 100, 30, listing).see(`jobs are not shown: no \x1b[31mroute to the host`).press("J").see("The fleet can't be reached: no ")
}

// A list that may be outdated is marked.
func TestFleetIsLost(t *testing.T) {
	t.Parallel()
	_, j := openJobScreen(t, someJobs(t), "runsxxxxxxxx")
	listing := j.list.board.List(fuzzy.Parse(""))
	listing.Err = errors.New("the connection is lost")
	j.list.update(listingMsg{listing, ""})
	text, _ := unpaint(strings.Join(j.list.draw(100, 30).Lines, "\n"))
	if !strings.Contains(text, "The fleet does not answer, so this may be old: the connection is lost") || !strings.Contains(text, "Drop the old tables") {
		t.Error(text)
	}
}

// hostileJob has hostile texts wherever a record has texts.
func hostileJob(text string) *fleet.Job {
	a := jobAttempt(1, text)
	a.Session, a.Ended, a.Cause, a.Text, a.Status, a.Patch, a.CostUSD = text, storyTime, fleet.Cause(text), text, text, "hostile/1.patch", 1e300
	a.Result = &fleet.Result{Text: text, File: text, Failed: true}
	return &fleet.Job{
		ID: "hostile", By: text, State: fleet.Failed, Cause: fleet.Cause(text), Text: text,
		Spec: fleet.Spec{
			Prompt: text, Title: text, Queue: text, Account: text, Repo: &fleet.Repo{URL: text, Ref: text, Branch: text},
		},
		Attempts: []fleet.Attempt{a}, Cancel: &fleet.Note{By: text, Text: text},
		Notes: []fleet.Note{{At: storyTime, By: text, Text: text, Result: &fleet.Result{Text: text}}},
	}
}

// Every screen about jobs fits every terminal, and nothing in a record reaches it as a command.
func TestJobsFit(t *testing.T) {
	t.Parallel()
	for n, text := range append([]string{strings.Join(hostileTexts, "\n")}, hostileTexts...) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := someJobs(t)
			text := text[:min(len(text), soak.Size(1<<10, 8<<10))] // a record is not longer than 8 KB
			failed := hostileJob(text)
			f.put(failed)
			open := *failed
			open.ID, open.State, open.Attempts = "hostile2", fleet.Running, []fleet.Attempt{jobAttempt(1, text)}
			f.put(&open)
			f.ask(&fleet.Question{Job: "hostile2", ID: "q1", Tool: text, Input: json.RawMessage(`{"a":1}`), Reason: text, Subagent: text})
			f.ask(&fleet.Question{Job: "hostile2", ID: "q2", Tool: text, Input: json.RawMessage(`{"a":2}`), Answer: &fleet.Answer{By: text, Text: text}})
			if err := f.engine.Put(t.Context(), "hostile/1.patch", strings.NewReader("diff --git a/"+text+" b/x\n@@ -1 +1 @@\n-"+text+"\n+"+text+"\n")); err != nil {
				t.Fatal(err)
			}
			a, j := openJobScreen(t, f, "hostile")
			list := j.list
			list.update(listingMsg{list.board.List(fuzzy.Parse("")), ""})
			failing := &jobsScreen{base: newBase(a), missed: true, err: errors.New(text)}
			j.showPatch()
			diff := a.top()
			runAll(diff, diff.start())
			_, asking := openJobScreen(t, f, "hostile2")
			asking.update(tailMsg{from: asking.tail.watch, frames: []agentFrame{agentSays(t, 1, text)}})
			if len(asking.tail.lines) == 0 && strings.TrimSpace(text) != "" {
				t.Error("the frame of the agent is not shown")
			}
			asking.showQuestion(nil)
			question := asking.top()
			question.update(settledMsg{})
			broken := newJob(list, "nope")
			broken.update(jobMsg{err: errors.New(text)})
			for name, s := range map[string]screen{
				"list": list, "failing": failing, "job": j, "asking": asking, "question": question, "diff": diff, "broken": broken,
			} {
				step := 1
				if n > 0 {
					step = soak.Size(8, 1) // the single texts share the sizes
				}
				for width := 1 + n%step; width <= 200; width += step {
					checkFits(t, name, s, width, 1+(width*7)%60)
				}
				for height := 1 + n%step; height <= 60; height += step {
					checkFits(t, name, s, 80, height)
				}
			}
		})
	}
}

// BenchmarkJobs measures a key in a list of 100,000 jobs, and the change of one of them.
func BenchmarkJobs(b *testing.B) {
	f := &jobFleet{b, memfleet.New()}
	for i := range 100 {
		var records []fleet.Record
		for n := range 1000 {
			s := fleet.Summary{ID: fmt.Sprintf("job%09d", i*1000+n), Title: "Fix the flaky upload test", State: fleet.Queued, Created: storyTime.Add(-time.Duration(n) * time.Second)}
			records = append(records, fleet.Record{Key: s.ID, Label: s.Label(), Data: []byte("{}")})
		}
		if _, err := f.engine.Set(b.Context(), fleet.Jobs, records...); err != nil {
			b.Fatal(err)
		}
	}
	f.put(&fleet.Job{ID: "first", State: fleet.Queued, Spec: fleet.Spec{Prompt: "x"}})
	_, j := openJobScreen(b, f, "first")
	list := j.list
	msg := listingMsg{list.board.List(fuzzy.Parse("")), ""}
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			list.take(msg)
		}
	})
	b.Run("key", func(b *testing.B) {
		for b.Loop() {
			list.do(keymap.PageDown)
			list.draw(120, 40)
		}
	})
}
