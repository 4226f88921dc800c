package fleet_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// An audit finds what is missing, and only that.
func TestAudit(t *testing.T) {
	t.Parallel()
	engine := memfleet.New()
	f := fleet.Open(engine, "tester")
	for _, key := range []string{"fine", "file", "session", "gap"} {
		j, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "x", Key: key})
		if err != nil {
			t.Fatal(err)
		}
		j = happen(t, j, fleet.Claim{Worker: "w"})
		if key != "gap" {
			write(t, engine, j)
		}
		owner := fleet.Owner{Worker: "w", Attempt: 1}
		j = happen(t, j, fleet.Begin{Owner: owner, Session: key, Prompt: "p"})
		if key != "gap" {
			write(t, engine, j)
		}
		end := fleet.Finish{Owner: owner, Cause: fleet.ByResult}
		if key == "file" {
			end.Patch = j.ID + "/1/patch.diff"
		}
		j = happen(t, j, end)
		if key == "gap" { // another attempt, without a record of its start
			j.Attempts = append(j.Attempts, j.Attempts[0])
			j.Attempts[1].Number = 2
		}
		write(t, engine, j)
	}
	var got []string
	jobs := 0
	stored := map[string]time.Time{"fine": {}, "file": {}, "gap": {}, "other": {}}
	for flaw, err := range f.Audit(t.Context(), stored) {
		switch {
		case err != nil:
			t.Fatal(err)
		case flaw.Text == "":
			jobs++
		case flaw.Job == "":
			got = append(got, flaw.Session)
		default:
			j, err := f.Job(t.Context(), flaw.Job)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, j.Spec.Key)
		}
	}
	want := map[string]int{"file": 1, "session": 1, "gap": 1, "other": 1}
	found := map[string]int{}
	for _, name := range got {
		found[name]++
	}
	if diff := cmp.Diff(want, found); diff != "" || jobs != 4 {
		t.Errorf("%d jobs; (-want +got):\n%s", jobs, diff)
	}
	if len(stored) != 4 {
		t.Error("the sessions of the caller were changed")
	}
}

func happen(t *testing.T, j *fleet.Job, e fleet.Event) *fleet.Job {
	t.Helper()
	next, err := j.Apply(e, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// write overwrites a record.
func write(t *testing.T, e fleet.Engine, j *fleet.Job) {
	t.Helper()
	data, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Get(t.Context(), fleet.Jobs, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	r.Data = data
	if _, err := e.Set(t.Context(), fleet.Jobs, r); err != nil {
		t.Fatal(err)
	}
}
