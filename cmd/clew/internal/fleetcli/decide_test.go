package fleetcli

import (
	"bytes"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
)

// A job whose record can't be read can be dropped, and nothing else.
func TestDropUnreadable(t *testing.T) {
	t.Parallel()
	c, e := newConnection(t)
	if _, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "broken", Data: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := &decision{place: place{Program: &Program{}}, decide: dropped}
	o.Out = &out
	if _, err := o.named(t.Context(), c, []string{"broken"}); err == nil {
		t.Error("the job was found")
	}
	o.unread = true
	if _, err := o.named(t.Context(), c, []string{"nothing"}); err == nil {
		t.Error("a job that does not exist was found")
	}
	jobs, err := o.named(t.Context(), c, []string{"broken"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.one(t.Context(), c, jobs[0]); err != nil || out.String() != "broken is dropped\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A hint names only commands that the job does not refuse.
func TestHintIsPossible(t *testing.T) {
	t.Parallel()
	from := &fleet.From{Attempt: 1, Session: "s"}
	lost := func(attempts int, from *fleet.From) *fleet.Job {
		return &fleet.Job{State: fleet.Lost, Cause: fleet.ByLoss, From: from, Attempts: make([]fleet.Attempt, attempts)}
	}
	unpaid := &fleet.Job{State: fleet.Failed, Cause: fleet.ByBudget, Attempts: make([]fleet.Attempt, 1)}
	for want, j := range map[string]*fleet.Job{
		`Go on with "clew jobs resume a", or begin again with "clew jobs retry a".`: lost(1, from),
		`Begin again with "clew jobs retry a".`:                                     lost(1, nil),
		`Begin again with "clew jobs retry a --budget USD".`:                        unpaid,
		``: lost(100, from), // no job has more
	} {
		j.ID = "a"
		if got := hintOf("", j); got != want {
			t.Errorf("%s, %d attempts: got %q, want %q", j.State, len(j.Attempts), got, want)
		}
		if isStuck(jobview.NewRow(j.Summary(), false)) != (want != "") {
			t.Errorf("%s, %d attempts: completion does not agree with %q", j.State, len(j.Attempts), want)
		}
	}
}
