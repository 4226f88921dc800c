package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// QuestionChanges tells of open questions, of new ones, of answers and of what is removed. Damaged records
// don't end it.
func TestQuestionChanges(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := memfleet.New()
	f := fleet.Open(e, "somebody")
	set := func(key, data string) {
		if _, err := e.Set(ctx, fleet.Questions, fleet.Record{Key: key, Label: "open", Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	set("a.q1", `{"job":"a","id":"q1","tool":"Bash"}`)
	steps := []func(){
		func() { set("b.q2", "damaged") },
		func() {
			if _, err := f.Answer(ctx, "a", "q1", fleet.Answer{Allow: true}); err != nil {
				t.Fatal(err)
			}
		},
		func() {
			r, err := e.Get(ctx, fleet.Questions, "b.q2")
			if err == nil {
				err = e.Remove(ctx, fleet.Questions, "b.q2", r.Revision)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	}
	var got []*fleet.QuestionChange
	for q, err := range f.QuestionChanges(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, q); len(got) == 1 {
			continue // nil follows
		}
		if len(steps) == 0 {
			break
		}
		steps[0]()
		steps = steps[1:]
	}
	want := []*fleet.QuestionChange{{Job: "a", ID: "q1", Open: true}, nil, {Job: "b", ID: "q2", Open: true}, {Job: "a", ID: "q1"}, {Job: "b", ID: "q2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
