package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// QuestionChanges returns open questions, new ones, answers and removals. Damaged records don't end
// it.
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

// refusing is an engine that refuses the first write of a question, although it is not there.
type refusing struct {
	fleet.Engine
	refused bool
}

func (e *refusing) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if t == fleet.Questions && !e.refused {
		e.refused = true
		return nil, fleet.ErrConflict
	}
	return e.Engine.Set(ctx, t, records...)
}

// TestAskRefused asks again if the question is not there.
func TestAskRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, f := newFleet()
		asks := &runner{do: func(ctx context.Context, task *fleet.Task) fleet.Event {
			a, err := task.Ask(ctx, &fleet.Question{Tool: "Bash"}, false)
			if err != nil {
				return fleet.Finish{Cause: fleet.ByAgent, Text: err.Error()}
			}
			return say(a.Text)
		}}
		work(t, &refusing{Engine: e}, asks, nil)
		j := submit(t, f, &fleet.Spec{Ask: &fleet.Ask{}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for q, err := range f.QuestionChanges(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if q == nil || !q.Open {
				continue
			}
			if _, err := f.Answer(t.Context(), q.Job, q.ID, fleet.Answer{Text: "no"}); err != nil {
				t.Fatal(err)
			}
			break
		}
		if j = reach(t, f, j.ID, fleet.Done); j.Result() == nil || j.Result().Text != "no" {
			t.Errorf("got %+v", j.Result())
		}
	})
}

// grouped is an engine that counts the records of lists.
type grouped struct {
	fleet.Engine
	listed int
}

func (e *grouped) List(ctx context.Context, t fleet.Table, group string, wants func(string) bool) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range e.Engine.List(ctx, t, group, wants) {
			if e.listed++; !yield(r, err) {
				return
			}
		}
	}
}

// TestQuestionsOfJob lists a job's questions, and drops it with them, without reading the questions
// of other jobs. An unreadable record hides no other, and does not stay.
func TestQuestionsOfJob(t *testing.T) {
	t.Parallel()
	e := &grouped{Engine: memfleet.New()}
	f := fleet.Open(e, "somebody")
	j := submit(t, f, &fleet.Spec{})
	if _, err := f.Cancel(t.Context(), j.ID, ""); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		key, data := fmt.Sprintf("%s%d.q", j.ID, i), `{"job":"other"}`
		switch i {
		case 1:
			key, data = j.ID+".a", "damaged"
		case 2, 3:
			key, data = fmt.Sprint(j.ID, ".b", i), fmt.Sprintf(`{"job":%q,"id":"b%d"}`, j.ID, i)
		}
		if _, err := e.Set(t.Context(), fleet.Questions, fleet.Record{Key: key, Label: "answered", Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	var failed error
	for q, err := range f.Questions(t.Context(), j.ID) {
		if failed = err; err == nil {
			got = append(got, q.ID)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"b2", "b3"}, got); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if _, ok := errors.AsType[*fleet.UnreadableError](failed); !ok || !strings.Contains(failed.Error(), j.ID+".a") {
		t.Errorf("the question that can't be read: %v", failed)
	}
	if err := f.Drop(t.Context(), j.ID); err != nil {
		t.Fatal(err)
	}
	if e.listed != 6 {
		t.Errorf("%d records were listed, want 3 of questions and 3 to drop them", e.listed)
	}
	left := 0
	for _, err := range e.Engine.List(t.Context(), fleet.Questions, "", nil) {
		if left++; err != nil {
			t.Fatal(err)
		}
	}
	if left != 97 {
		t.Errorf("%d questions are left", left)
	}
}
