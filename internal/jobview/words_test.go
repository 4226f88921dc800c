package jobview

import (
	"testing"

	"github.com/clewdev/clew/fleet"
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
