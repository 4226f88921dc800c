package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
)

var start = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// after is some time after the start.
func after(d time.Duration) time.Time { return start.Add(d) }

const worker = "w1"

// owner is the owner of the last attempt.
func owner(j *Job) Owner {
	if a := j.Attempt(); a != nil {
		return Owner{a.Worker, a.Number}
	}
	return Owner{worker, 1}
}

// must applies events that can happen.
func must(t testing.TB, j *Job, events ...Event) *Job {
	t.Helper()
	for _, e := range events {
		next, err := j.Apply(e, after(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		j = next
	}
	return j
}

// jobs returns a job in each state, which has OnLost Hold.
func jobs(t testing.TB) map[State]*Job {
	t.Helper()
	first := Owner{worker, 1}
	blocked := newJob("b", &Spec{Prompt: "p", After: []string{"a"}}, "me", start)
	queued := newJob("j", &Spec{Prompt: "p"}, "me", start)
	claimed := must(t, queued, Claim{worker})
	running := must(t, claimed, Begin{first, "s1", "p1", ""})
	return map[State]*Job{
		Blocked: blocked, Queued: queued, Claimed: claimed, Running: running,
		Waiting:  must(t, running, Pause{Owner: first, Cause: ByLimit, Until: after(2 * time.Hour), Stored: true}),
		Asking:   must(t, running, Park{Owner: first, Question: "q"}),
		Lost:     must(t, running, Lose{Attempt: 1, Cause: ByLoss, Stored: true}),
		Done:     must(t, running, Finish{Owner: first, Cause: ByResult, Result: Result{Text: "ok"}}),
		Failed:   must(t, running, Finish{Owner: first, Cause: ByBudget, Stored: true}),
		Canceled: must(t, queued, Cancel{By: "me"}),
	}
}

// Each event leads from each state to another one, or is refused.
func TestTransitions(t *testing.T) {
	t.Parallel()
	first := Owner{worker, 1}
	for _, tt := range []struct {
		event Event
		leads map[State]State // others refuse it
	}{
		{Unblock{}, map[State]State{Blocked: Queued}},
		{Unblock{Failed: "a"}, map[State]State{Blocked: Failed}},
		{Claim{"w2"}, map[State]State{Queued: Claimed}},
		{Refuse{"no"}, map[State]State{Queued: Waiting}},
		{Begin{first, "s", "p", ""}, map[State]State{Claimed: Running}},
		{Release{1, ByLoss, ""}, map[State]State{Claimed: Queued}},
		{Release{1, ByShutdown, ""}, map[State]State{Claimed: Queued}},
		{Release{1, ByMachine, ""}, map[State]State{Claimed: Queued}},
		{Release{1, ByWorker, ""}, map[State]State{Claimed: Waiting}},
		{Finish{Owner: first, Cause: ByResult, Result: Result{}}, map[State]State{Running: Done}},
		{Finish{Owner: first, Cause: ByResult, Result: Result{Failed: true}}, map[State]State{Running: Failed}},
		{Finish{Owner: first, Cause: ByTime, Result: Result{}}, map[State]State{Running: Failed}},
		{Finish{Owner: first, Cause: ByStorage, Result: Result{}}, map[State]State{Running: Failed}},
		{Pause{Owner: first, Cause: ByLimit, Until: after(3 * time.Hour), Stored: true}, map[State]State{Running: Waiting}},
		{Pause{Owner: first, Cause: ByLimit, Until: after(30 * time.Hour), Stored: true}, map[State]State{Running: Failed}},
		{Wake{}, map[State]State{Waiting: Queued}},
		{Park{Owner: first, Question: "q"}, map[State]State{Running: Asking}},
		{Answered{"q"}, map[State]State{Asking: Queued}},
		{Lose{Attempt: 1, Cause: ByLoss, Stored: true}, map[State]State{Running: Lost}},
		{Requeue{By: "me", Why: "again", Start: Fresh}, map[State]State{Lost: Queued, Failed: Queued}},
		{Requeue{By: "me", Why: "go on", Start: Continued}, map[State]State{Lost: Queued, Failed: Queued}},
		{Requeue{Why: "by nobody", Start: Fresh}, nil},
		{Requeue{By: "me", Start: "backwards"}, nil},
		{Report{Owner: first, Status: "s"}, map[State]State{Running: Running}},
		{Lose{Attempt: 1, Cause: ByLoss, Finished: &Result{}}, map[State]State{Running: Done}},
		{Lose{Attempt: 1, Cause: ByLoss, Finished: &Result{Failed: true}}, map[State]State{Running: Failed}},
		{Lose{Attempt: 1, Cause: ByResult}, nil},
		{Finish{Owner: first, Cause: ByLoss}, nil},
		{Pause{Owner: first, Cause: ByTime, Until: after(3 * time.Hour)}, nil},
		{Pause{Owner: first, Cause: ByLimit, Until: after(3 * time.Hour)}, map[State]State{Running: Lost}},
		{Release{1, ByResult, ""}, nil},
		{Release{1, ByBudget, ""}, map[State]State{Claimed: Failed}},
		{Answered{"another"}, nil},
		{Begin{Owner: first}, nil},
		{Cancel{By: "me"}, map[State]State{
			Blocked: Canceled, Queued: Canceled, Claimed: Claimed, Running: Running, Waiting: Canceled, Asking: Canceled, Lost: Canceled,
		}},
		{Late{Owner: first}, map[State]State{
			Waiting: Waiting, Asking: Asking, Lost: Lost, Done: Done, Failed: Failed,
		}},
	} {
		for state, j := range jobs(t) {
			next, err := j.Apply(tt.event, after(2*time.Hour))
			want, ok := tt.leads[state]
			switch _, isState := errors.AsType[*StateError](err); {
			case ok && err != nil:
				t.Errorf("%T %+v in %s: %v", tt.event, tt.event, state, err)
			case ok && next.State != want:
				t.Errorf("%T %+v in %s leads to %s, want %s", tt.event, tt.event, state, next.State, want)
			case !ok && err == nil:
				t.Errorf("%T %+v in %s leads to %s, want an error", tt.event, tt.event, state, next.State)
			case !ok && !isState && !errors.Is(err, ErrStale):
				t.Errorf("%T in %s: %v", tt.event, state, err)
			}
		}
	}
	if got := jobs(t); len(got) != len(States) {
		t.Errorf("there are %d states, and jobs in %d", len(States), len(got))
	}
}

// A worker that was taken for dead changes nothing.
func TestStale(t *testing.T) {
	t.Parallel()
	first, second := Owner{"w1", 1}, Owner{"w2", 2}
	j := newJob("j", &Spec{Prompt: "p", OnLost: Restart, Attempts: 2}, "me", start)
	j = must(t, j, Claim{"w1"}, Begin{first, "s1", "p1", ""}, Lose{Attempt: 1, Cause: ByLoss, Stored: true}, Claim{"w2"}, Begin{second, "s2", "p2", ""})
	for _, e := range []Event{
		Begin{first, "s1", "p1", ""}, Finish{Owner: first, Cause: ByResult, Result: Result{}}, Pause{Owner: first, Cause: ByLimit, Until: start, Stored: true}, Park{Owner: first, Question: "q"}, Lose{Attempt: 1, Cause: ByLoss, Stored: true},
		Release{1, ByLoss, ""}, Finish{Owner: Owner{"w1", 2}, Cause: ByResult, Result: Result{}}, Late{Owner: Owner{"w3", 1}}, Late{Owner: Owner{"w1", 3}},
	} {
		if next, err := j.Apply(e, start); !errors.Is(err, ErrStale) {
			t.Errorf("%T: %v, %v", e, next, err)
		}
	}
	noted := must(t, j, Late{first, Result{Text: "too late"}, "patch"})
	if noted.Attempts[0].Patch != "patch" || noted.Attempts[1].Patch != "" || j.Attempts[0].Patch != "" {
		t.Errorf("the patch is not with its attempt: %+v", noted.Attempts)
	}
	if n := noted.Notes[len(noted.Notes)-1]; noted.State != Running || n.Result == nil || n.Result.Text != "too late" || n.Attempt != 1 {
		t.Errorf("%s, %+v", noted.State, n)
	}
}

// A lost job follows its policy, up to the maximum number of attempts.
func TestLostPolicies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy   Policy
		attempts int
		stored   bool
		want     []State // after each loss
		next     Start
	}{
		{"", 3, true, []State{Lost}, Fresh},
		{Hold, 3, true, []State{Lost}, Fresh},
		{Restart, 1, true, []State{Lost}, Fresh},
		{Restart, 0, true, []State{Queued, Queued, Lost}, Fresh},
		{Restart, 3, false, []State{Queued, Queued, Lost}, Fresh},
		{Resume, 3, true, []State{Queued, Queued, Lost}, Continued},
		{Resume, 3, false, []State{Lost}, Fresh},
	} {
		j := newJob("j", &Spec{Prompt: "p", OnLost: tt.policy, Attempts: tt.attempts}, "me", start)
		for i, want := range tt.want {
			j = must(t, j, Claim{worker}, Begin{Owner{worker, i + 1}, "s", "p", ""}, Lose{Attempt: i + 1, Cause: ByExit, Stored: tt.stored})
			if j.State != want || j.Cause != ByExit {
				t.Errorf("%s, loss %d: %s by %s, want %s", tt.policy, i+1, j.State, j.Cause, want)
			}
		}
		if j.Next != tt.next {
			t.Errorf("%s: the next attempt is %s, want %s", tt.policy, j.Next, tt.next)
		}
	}
}

// Limits count no attempt, and end after some time.
func TestLimits(t *testing.T) {
	t.Parallel()
	j := newJob("j", &Spec{Prompt: "p", OnLost: Restart, Attempts: 2}, "me", start)
	at := start
	for n := 1; ; n++ {
		o := Owner{worker, n}
		for _, e := range []Event{Claim{worker}, Begin{o, "s", "p", ""}, Pause{Owner: o, Cause: ByThrottling, Until: at.Add(time.Minute), Stored: true}, Wake{}} {
			next, err := j.Apply(e, at)
			if j.State == Failed {
				if n != maxPauses+1 || j.Cause != ByThrottling {
					t.Errorf("failed after %d pauses by %s", n, j.Cause)
				}
				return
			}
			if _, early := e.(Wake); early {
				if err == nil {
					t.Fatal("woken too early")
				}
				at = at.Add(time.Minute)
				next, err = j.Apply(e, at)
			}
			if err != nil {
				t.Fatal(err)
			}
			if j = next; j.counted() > 1 {
				t.Fatalf("%d attempts count", j.counted())
			}
		}
	}
}

// A job that a worker holds is canceled by the worker, or when that is gone. A result counts more.
func TestCancel(t *testing.T) {
	t.Parallel()
	o := Owner{worker, 1}
	claimed := must(t, newJob("j", &Spec{Prompt: "p", OnLost: Restart, Attempts: 9}, "me", start), Claim{worker})
	running := must(t, claimed, Begin{o, "s", "p", ""})
	wish := Cancel{By: "me", Why: "not needed"}
	if _, err := must(t, claimed, wish).Apply(Begin{o, "s", "p", ""}, start); err == nil {
		t.Error("a canceled job was begun")
	}
	if _, err := must(t, running, wish).Apply(wish, start); err == nil {
		t.Error("a job was canceled twice")
	}
	for _, tt := range []struct {
		job   *Job
		event Event
		want  State
	}{
		{claimed, Release{1, ByWorker, ""}, Canceled}, {running, Finish{Owner: o, Cause: ByPerson, Result: Result{}}, Canceled},
		{running, Lose{Attempt: 1, Cause: ByLoss, Stored: true}, Canceled}, {running, Pause{Owner: o, Cause: ByLimit, Until: start, Stored: true}, Canceled}, {running, Park{Owner: o, Question: "q"}, Canceled},
		{running, Finish{Owner: o, Cause: ByResult, Result: Result{}}, Done}, {running, Finish{Owner: o, Cause: ByResult, Result: Result{Failed: true}}, Canceled},
		{running, Lose{Attempt: 1, Cause: ByLoss, Finished: &Result{}}, Done},
	} {
		j := must(t, tt.job, wish, tt.event)
		if j.State != tt.want || j.Notes[0].By != "me" || j.Notes[0].Text != "not needed" {
			t.Errorf("%+v: %s with %+v, want %s", tt.event, j.State, j.Notes, tt.want)
		}
	}
}

// A record is the same after it was written and read.
func TestRecord(t *testing.T) {
	t.Parallel()
	for state, j := range jobs(t) {
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var got Job
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(j, &got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
	}
}

// Whatever happens, in whatever order, a record keeps its promises.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	steps, r := soak.Size(100_000, 2_000_000), soak.Rand(t)
	taken := map[string]int{}
	j, at := randomJob(r), start
	for step := range steps {
		if r.IntN(60) == 0 {
			j, at = randomJob(r), start
		}
		at = at.Add(time.Duration(r.IntN(int(time.Hour))))
		e := randomEvent(r, j, at)
		before := j.clone()
		next, err := j.Apply(e, at)
		if step%16 == 0 && !reflect.DeepEqual(before, j) {
			t.Fatalf("step %d: %T has changed its job (-before +after):\n%s", step, e, cmp.Diff(before, j))
		}
		if err != nil {
			if _, ok := errors.AsType[*StateError](err); !ok && !errors.Is(err, ErrStale) {
				t.Fatalf("step %d: %v", step, err)
			}
			continue
		}
		if why := broken(j, next, e); why != "" {
			t.Fatalf("step %d: %T %+v: %s\nbefore: %+v\nafter: %+v", step, e, e, why, j, next)
		}
		taken[e.name()]++
		j = next
	}
	for _, e := range allEvents {
		if taken[e.name()] < steps/10_000 {
			t.Errorf("%T has happened %d times only", e, taken[e.name()])
		}
	}
}

var allEvents = []Event{
	Unblock{}, Claim{}, Refuse{}, Begin{}, Release{}, Report{}, Finish{}, Pause{}, Wake{}, Park{}, Answered{"q"}, Lose{}, Requeue{}, Cancel{}, Late{},
}

func randomJob(r *rand.Rand) *Job {
	spec := &Spec{Prompt: "p", OnLost: []Policy{"", Hold, Resume, Restart}[r.IntN(4)], Attempts: r.IntN(4)}
	if r.IntN(4) == 0 {
		spec.After = []string{"a"}
	}
	return newJob("j", spec, "me", start)
}

// randomEvent returns an event that often fits the job.
func randomEvent(r *rand.Rand, j *Job, at time.Time) Event {
	o := owner(j)
	if r.IntN(8) == 0 {
		o.Attempt += r.IntN(3) - 1
	}
	if r.IntN(8) == 0 {
		o.Worker = "w2"
	}
	causes := []Cause{ByResult, ByAgent, ByBudget, ByTurns, ByTime, ByPerson, ByAccount, ByExit, ByStorage}
	result := Result{Failed: r.IntN(2) == 0}
	switch allEvents[r.IntN(len(allEvents))].(type) {
	case Unblock:
		return Unblock{Failed: []string{"", "a"}[r.IntN(2)]}
	case Claim:
		return Claim{[]string{worker, "w2"}[r.IntN(2)]}
	case Refuse:
		if r.IntN(4) > 0 { // or few jobs get far
			return Claim{worker}
		}
		return Refuse{"no"}
	case Begin:
		return Begin{o, "s", "p", ""}
	case Report:
		return Report{Owner: o, Status: "works", Text: "stores", CostUSD: 1}
	case Release:
		return Release{o.Attempt, ByWorker, ""}
	case Finish:
		return Finish{Owner: o, Cause: causes[r.IntN(len(causes))], Result: result}
	case Pause:
		return Pause{
			Owner: o, Cause: ByLimit, Until: at.Add(time.Duration(r.IntN(int(6 * time.Hour)))), Stored: r.IntN(4) > 0, Progress: r.IntN(2) == 0,
		}
	case Wake:
		return Wake{}
	case Park:
		return Park{Owner: o, Question: "q"}
	case Answered:
		return Answered{"q"}
	case Lose:
		lost := Lose{Attempt: o.Attempt, Cause: []Cause{ByLoss, ByExit, ByShutdown}[r.IntN(3)], Stored: r.IntN(2) == 0}
		if r.IntN(4) == 0 {
			lost.Finished = &result
		}
		return lost
	case Requeue:
		return Requeue{By: "me", Why: "", Start: []Start{Fresh, Continued}[r.IntN(2)]}
	case Cancel:
		if r.IntN(4) > 0 { // or few jobs get far
			return Wake{}
		}
		return Cancel{By: "me"}
	default:
		return Late{o, result, "patch"}
	}
}

// broken returns which promise a change breaks, or "".
func broken(before, after *Job, e Event) string {
	open := 0
	for i := range after.Attempts {
		a := &after.Attempts[i]
		if a.Number != i+1 {
			return "attempts are not numbered from 1 on"
		}
		if a.Ended.IsZero() {
			open++
		}
		if i < len(before.Attempts) && !before.Attempts[i].Ended.IsZero() && a.Ended != before.Attempts[i].Ended {
			return "an attempt has ended twice"
		}
	}
	last := after.Attempt()
	_, byPerson := e.(Requeue)
	_, late := e.(Late)
	lost, isLoss := e.(Lose)
	began := before.State != Running && after.State == Running
	switch {
	case after.State.Held() != (open == 1) || open > 1 || open == 1 && !last.Ended.IsZero():
		return "the open attempt is not the last one, or no worker holds it"
	case after.State == Running && last.Started.IsZero(), after.State == Claimed && !last.Started.IsZero():
		return "the prompt was sent in another state"
	case began && (before.State != Claimed || last.Session == "" || last.Prompt == ""):
		return "the prompt has no session, or was not prepared"
	case before.State.Ended() && after.State != before.State && !(byPerson && before.State == Failed):
		return "a job has ended twice"
	case late && after.State != before.State:
		return "a late result has changed the job"
	case byPerson && len(after.Notes) == len(before.Notes):
		return "nobody is named who has decided"
	case before.State == Running && after.State == Queued && !isLoss, before.State == Running && after.State == Waiting && after.Next == Fresh && after.Spec.OnLost != Restart:
		return "a job whose prompt was sent is queued again"
	case isLoss && after.State == Queued && !follows(after, lost):
		return "a lost job is queued again against its policy"
	case (after.State == Waiting) == after.Until.IsZero():
		return "it waits for no time, or has one in vain"
	case !slices.Contains(States, after.State):
		return "its state is unknown"
	}
	return ""
}

// follows reports whether a lost job that was queued follows its policy, with a note about it.
func follows(j *Job, lost Lose) bool {
	n := j.Notes[len(j.Notes)-1]
	switch j.Spec.OnLost {
	case Restart:
		return j.Next == Fresh && n.By == "policy" && n.Text == string(Restart) && (lost.Cause == ByShutdown || j.counted() < j.Spec.attempts())
	case Resume:
		return j.Next == Continued && n.By == "policy" && n.Text == string(Resume) && lost.Stored && (lost.Cause == ByShutdown || j.counted() < j.Spec.attempts())
	}
	return false
}

// The session that can be continued is kept until there is another one, or a person starts afresh.
func TestContinue(t *testing.T) {
	t.Parallel()
	first, third := Owner{worker, 1}, Owner{worker, 3}
	j := newJob("j", &Spec{Prompt: "p", OnLost: Resume}, "me", start)
	j = must(t, j, Claim{worker}, Begin{first, "s1", "p1", ""}, Report{Owner: first, Snapshot: "work"},
		Lose{Attempt: 1, Cause: ByLoss, Stored: true}, Claim{worker}, Release{2, ByMachine, "no space"})
	want := &From{1, "s1", ByLoss}
	if diff := cmp.Diff(want, j.From); diff != "" || j.Next != Continued || j.State != Queued {
		t.Errorf("%s, %s:\n%s", j.State, j.Next, diff)
	}
	j = must(t, j, Claim{worker}, Begin{third, "s3", "p3", ""}, Finish{Owner: third, Cause: ByBudget, Stored: true})
	if diff := cmp.Diff(&From{3, "s3", ByBudget}, j.From); diff != "" || j.Attempt().Snapshot != "work" {
		t.Errorf("the work is in %q\n%s", j.Attempt().Snapshot, diff)
	}
	if again := must(t, j, Requeue{By: "me", Start: Continued, BudgetUSD: 5, MaxTurns: 40}); again.Spec.Limits.BudgetUSD != 5 || again.Spec.Agent.MaxTurns != 40 || again.Next != Continued {
		t.Errorf("%s with a budget of %v and %d turns", again.Next, again.Spec.Limits.BudgetUSD, again.Spec.Agent.MaxTurns)
	}
	if again := must(t, j, Requeue{By: "me", Start: Fresh}); again.From != nil || again.Next != Fresh {
		t.Errorf("%s, %+v", again.Next, again.From)
	}
	never := must(t, newJob("j", &Spec{Prompt: "p"}, "me", start), Claim{worker}, Begin{first, "s", "p", ""}, Lose{Attempt: 1, Cause: ByLoss})
	if _, err := never.Apply(Requeue{By: "me", Start: Continued}, start); err == nil {
		t.Error("a session is continued that was not stored")
	}
}

// A job tells which decisions are possible as the decisions themselves do.
func TestCheckRequeue(t *testing.T) {
	t.Parallel()
	for _, state := range States {
		for _, from := range []*From{nil, {Attempt: 1, Session: "s"}} {
			for _, attempts := range []int{0, maxAttempts - 1, maxAttempts} {
				j := &Job{ID: "j", State: state, From: from, Attempts: make([]Attempt, attempts)}
				isStuck := (state == Lost || state == Failed) && attempts < maxAttempts
				for start, want := range map[Start]bool{Fresh: isStuck, Continued: isStuck && from != nil, "backwards": false} {
					why := j.CheckRequeue(start)
					_, err := j.Apply(Requeue{By: "me", Start: start}, j.Changed)
					if (why == nil) != want || fmt.Sprint(why) != fmt.Sprint(err) {
						t.Errorf("%s, %d attempts, session %v, %s: %v, and the decision says %v", state, attempts, from, start, why, err)
					}
				}
				if got := j.Summary().MayRequeue(); got != isStuck {
					t.Errorf("%s, %d attempts: the summary says %t", state, attempts, got)
				}
			}
		}
	}
}

// A job that failed because another one was not done waits for it again when a person requeues it.
func TestDependencyAgain(t *testing.T) {
	t.Parallel()
	j := must(t, newJob("j", &Spec{Prompt: "p", After: []string{"a"}}, "me", start), Unblock{Failed: "a"}, Requeue{By: "me", Start: Fresh})
	if j.State != Blocked || j.Cause != ByDependency || len(j.Notes) != 2 {
		t.Errorf("%s by %s, %+v", j.State, j.Cause, j.Notes)
	}
}

// A job that no worker can start fails, except while workers stop or can run no job at all.
func TestReleases(t *testing.T) {
	t.Parallel()
	for cause, want := range map[Cause]int{ByWorker: maxReleases, ByLoss: maxReleases, ByShutdown: maxAttempts, ByMachine: maxAttempts} {
		j := newJob("j", &Spec{Prompt: "p"}, "me", start)
		n := 0
		for ; j.State == Queued; n++ {
			j = must(t, j, Claim{worker}, Release{n + 1, cause, strings.Repeat("why ", 1000)})
			if j.State == Waiting {
				j = wake(t, j)
			}
		}
		if n != want || j.State != Failed || j.Cause != cause || !strings.HasPrefix(j.Text, "why why") {
			t.Errorf("%s after %d releases by %s, want %d: %s", j.State, n, cause, want, j.Text)
		}
	}
}

// wake continues a job at its time, and not before.
func wake(t *testing.T, j *Job) *Job {
	t.Helper()
	if _, err := j.Apply(Wake{}, j.Until.Add(-1)); err == nil {
		t.Error("woken too early")
	}
	next, err := j.Apply(Wake{}, j.Until)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A job that a worker could not start waits, longer each time, and keeps the reason even when it is
// queued again.
func TestReleasePauses(t *testing.T) {
	t.Parallel()
	j := newJob("j", &Spec{Prompt: "p"}, "me", start)
	var pauses []time.Duration
	for n := range maxReleases - 1 {
		j = must(t, j, Claim{worker}, Release{n + 1, ByWorker, "no such repository"})
		pauses = append(pauses, j.Until.Sub(j.Changed))
		if j = wake(t, j); j.State != Queued || j.Cause != ByWorker || j.Text != "no such repository" || !j.Until.IsZero() {
			t.Errorf("%s by %s: %s", j.State, j.Cause, j.Text)
		}
	}
	var want []time.Duration
	for seconds := 1; seconds <= 256; seconds *= 2 {
		want = append(want, time.Duration(seconds)*time.Second)
	}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if begun := must(t, j, Claim{worker}, Begin{Owner{worker, maxReleases}, "s", "p", ""}); begun.Releases != 0 || begun.Text != "" {
		t.Errorf("%d releases: %s", begun.Releases, begun.Text)
	}
}

// The largest record fits.
func TestLargestRecord(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00e4", 100_000)
	j := newJob("j", &Spec{Prompt: strings.Repeat("p", maxPrompt), OnLost: Restart, Attempts: maxAttempts}, "me", start)
	if err := j.Spec.Check(); err != nil {
		t.Fatal(err)
	}
	result := Result{Text: long, Output: []byte(`"` + long + `"`)}
	for n := 1; j.State == Queued; n++ {
		o := Owner{worker, n}
		j = must(t, j, Claim{worker}, Begin{o, "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000000", long[:64]},
			Report{Owner: o, Status: long, Text: long}, Lose{Attempt: n, Cause: ByLoss, Text: long}, Late{o, result, ""})
	}
	r, err := j.record(0)
	if err != nil || len(r.Data) > MaxRecord || len(r.Label) > 2<<10 {
		t.Errorf("%d bytes with a label of %d: %v", len(r.Data), len(r.Label), err)
	}
}
