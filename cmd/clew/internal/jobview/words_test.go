package jobview

import (
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/wording"
)

// Names in records are not part of the commands that users copy, but words of them.
func TestReasonQuotesNames(t *testing.T) {
	t.Parallel()
	const name = "x; rm -rf ~"
	worker := func(queue, account string) []*fleet.WorkerInfo {
		return []*fleet.WorkerInfo{{Queues: []string{queue}, Accounts: []string{account}}}
	}
	queued := func(queue, account string) *fleet.Summary {
		return &fleet.Summary{State: fleet.Queued, Queue: queue, Account: account}
	}
	for _, tt := range []struct {
		job     *fleet.Summary
		workers []*fleet.WorkerInfo
		want    string
	}{
		{queued(name, "a"), worker("q", "a"), "no worker takes the queue x; rm -rf ~; clew worker --queue 'x; rm -rf ~' --fleet X"},
		{queued("q", name), worker("q", "a"), "no worker takes the account x; rm -rf ~; clew worker --account 'x; rm -rf ~' --fleet X"},
		{&fleet.Summary{State: fleet.Waiting, Cause: fleet.ByAccount, Account: name}, nil, "the credentials of x; rm -rf ~ were refused; clew fleet account 'x; rm -rf ~' --release --fleet X"},
	} {
		s := Surroundings{At: testNow, Known: true, Workers: tt.workers, Flags: " --fleet X"}
		if got := s.Reason(NewRow(tt.job, false)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// A job that can't start, or can't end, has a reason.
func TestReasonSaysWhy(t *testing.T) {
	t.Parallel()
	until := testNow.Add(time.Minute)
	well := []*fleet.WorkerInfo{{Host: "a", Queues: []string{"q"}}}
	refusing := []*fleet.WorkerInfo{{Host: "a", Queues: []string{"q"}, Refused: map[string]string{"j": "not allowed"}}}
	ill := []*fleet.WorkerInfo{{Host: "a", Queues: []string{"q"}, Problem: "claude is not there"}}
	holding := []*fleet.WorkerInfo{{Host: "a", Queues: []string{"q"}, Held: map[string]string{"x": "the account can't be used: it has no login"}}}
	for _, tt := range []struct {
		job     fleet.Summary
		workers []*fleet.WorkerInfo
		want    string
	}{
		{fleet.Summary{State: fleet.Queued}, well, "waits for a free worker"},
		{fleet.Summary{ID: "j", State: fleet.Queued}, refusing, "refused: not allowed"},
		{fleet.Summary{ID: "j", State: fleet.Queued}, append(refusing, well...), "waits for a free worker"},
		{fleet.Summary{State: fleet.Queued, Cause: fleet.ByPolicy, Text: "not allowed"}, well, "refused: not allowed"},
		{fleet.Summary{State: fleet.Waiting, Cause: fleet.ByPolicy, Text: "not allowed", Until: until}, well,
			"refused: not allowed; is tried again at " + wording.Clock(until, testNow)},
		{fleet.Summary{State: fleet.Failed, Cause: fleet.ByPolicy, Text: "not allowed"}, well, "no worker takes it: not allowed"},
		{fleet.Summary{State: fleet.Queued}, ill, "a can run no jobs: claude is not there"},
		{fleet.Summary{State: fleet.Queued}, append(ill, well...), "waits for a free worker"},
		{fleet.Summary{State: fleet.Queued, Account: "x"}, holding, "on a, the account can't be used: it has no login"},
		{fleet.Summary{State: fleet.Queued, Account: "y"}, holding, "waits for a free worker"},
		{fleet.Summary{State: fleet.Queued, Account: "x"}, append(holding, well...), "waits for a free worker"},
		{fleet.Summary{State: fleet.Queued, Cause: fleet.ByWorker, Text: "no such repository"}, well, "could not begin: no such repository"},
		{fleet.Summary{State: fleet.Queued, Cause: fleet.ByMachine, Text: "no room"}, well, "could not begin: no room"},
		{fleet.Summary{State: fleet.Queued, Cause: fleet.ByPerson, Text: "again"}, well, "waits for a free worker"},
		{fleet.Summary{State: fleet.Waiting, Cause: fleet.ByWorker, Text: "no such repository", Until: until}, well,
			"could not begin: no such repository; is tried again at " + wording.Clock(until, testNow)},
		{fleet.Summary{State: fleet.Failed, Cause: fleet.ByWorker, Text: "no such repository"}, well, "no worker could begin it: no such repository"},
		{fleet.Summary{State: fleet.Failed, Cause: fleet.ByAgent, Text: "something long"}, well, "the agent reports an error"},
		{fleet.Summary{State: fleet.Running}, well, ""},
		{fleet.Summary{State: fleet.Running, Text: "the work can't be stored yet: no room"}, well, "the work can't be stored yet: no room"},
	} {
		tt.job.Queue = "q"
		s := Surroundings{At: testNow, Known: true, Workers: tt.workers}
		if got := s.Reason(NewRow(&tt.job, false)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestWho(t *testing.T) {
	t.Parallel()
	key := "U" + strings.Repeat("BPAS6", 11)
	for _, test := range []struct{ user, by, want string }{
		{"", "ann@host", "ann@host (unverified)"},
		{"ann", "root@host", "ann (root@host)"},
		{key, "ann@host", "key UBPAS6BP (ann@host)"},
		{key[:55], "ann@host", key[:55] + " (ann@host)"},
		{"", "policy", "policy"},
		{"ann", "policy", "ann (policy)"},
		{"", "", ""},
	} {
		if got := Who(test.user, test.by); got != test.want {
			t.Errorf("Who(%q, %q) is %q, want %q", test.user, test.by, got, test.want)
		}
	}
	for _, test := range []struct{ got, want string }{
		{Submitter(&fleet.Job{By: "ann@host"}), "ann@host (unverified)"},
		{Author(&fleet.Note{By: "ann@host"}), "ann@host (unverified)"},
		{Author(&fleet.Note{By: "root@host", User: "ann"}), "ann (root@host)"},
		{Author(&fleet.Note{By: "w1", Result: new(fleet.Result)}), "worker w1"},
		{Answerer(&fleet.Answer{By: "root@host", User: "ann"}), "ann (root@host)"},
		{Answerer(&fleet.Answer{By: "ann@host"}), "ann@host (unverified)"},
		{Answerer(&fleet.Answer{By: "policy", Expired: true}), ""},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// A job that ended is as old as its end.
func TestSince(t *testing.T) {
	t.Parallel()
	for _, state := range fleet.States {
		s := &fleet.Summary{State: state, Created: testNow.Add(-time.Hour), Changed: testNow}
		want := s.Created
		if state == fleet.Done || state == fleet.Failed || state == fleet.Canceled {
			want = s.Changed
		}
		if got := Since(s); got != want {
			t.Errorf("a job that is %s counts from %v", state, got)
		}
	}
}
