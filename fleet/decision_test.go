package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/fleet"
)

// An identified engine is an engine whose server knows its users.
type identified struct {
	fleet.Engine
	user string
}

func (e identified) Identity(context.Context) (string, error) { return e.user, nil }

// TestDecisions has two people decide about jobs and an account. Each decision has the name that the server knows, even
// after the job is gone, and its outcome.
func TestDecisions(t *testing.T) {
	t.Parallel()
	e, nobody := newFleet()
	alice, bob := fleet.Open(identified{e, "alice"}, "root@build"), fleet.Open(identified{e, "bob"}, "root@build")
	j := submit(t, alice, &fleet.Spec{})
	if j.User != "alice" || j.By != "root@build" {
		t.Errorf("submitted by %q, %q", j.User, j.By)
	}
	question := fleet.Record{Key: j.ID + ".q", Label: "open", Data: []byte(`{"job":"` + j.ID + `","id":"q","tool":"Bash"}`)}
	if _, err := e.Set(t.Context(), fleet.Questions, question); err != nil {
		t.Fatal(err)
	}
	q, err := bob.Answer(t.Context(), j.ID, "q", fleet.Answer{Allow: true})
	if err != nil || q.Answer.User != "bob" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := alice.Answer(t.Context(), j.ID, "q", fleet.Answer{Text: "No."}); !errors.Is(err, fleet.ErrAnswered) {
		t.Error(err)
	}
	canceled, err := alice.Cancel(t.Context(), j.ID, "enough")
	if err != nil || canceled.Cancel.User != "alice" || canceled.Notes[0].User != "alice" {
		t.Errorf("%+v, %v", canceled, err)
	}
	if err := bob.SetDaily(t.Context(), "default", 5); err != nil {
		t.Error(err)
	}
	if err := nobody.Drop(t.Context(), j.ID); err != nil {
		t.Error(err)
	}
	var got []string
	all, err := nobody.Decisions(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		failed := ""
		if d.Failed != "" {
			failed = " failed"
		}
		if d.At.IsZero() || d.Job != "" && d.Job != j.ID {
			t.Errorf("%+v", d)
		}
		got = append(got, fmt.Sprintf("%s by %q %q%s", d.What, d.User, d.By, failed))
	}
	want := `answer by "alice" "root@build" failed
answer by "bob" "root@build"
cancel by "alice" "root@build"
daily budget by "bob" "root@build"
drop by "" "tester"`
	slices.Sort(got) // clocks may stand still
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if of, err := nobody.Decisions(t.Context(), j.ID); err != nil || len(of) != 4 {
		t.Errorf("the job has %d decisions, %v", len(of), err)
	}
}

// tidied is an engine on which all decisions are removed while they are listed.
type tidied struct{ fleet.Engine }

func (e tidied) Watch(
	ctx context.Context, t fleet.Table, key string, wants func(string) bool,
) iter.Seq2[fleet.Record, error] {
	return func(yield func(fleet.Record, error) bool) {
		for r, err := range e.Engine.Watch(ctx, t, key, wants) {
			if !yield(r, err) || t == fleet.Decisions && r.Key != "" && !yield(fleet.Record{Key: r.Key}, nil) {
				return
			}
		}
	}
}

// A decision that is removed while decisions are listed is not listed, and not as one that can't be read either.
func TestRemovedDecision(t *testing.T) {
	t.Parallel()
	e, f := newFleet()
	if err := f.SetDaily(t.Context(), "team", 5); err != nil {
		t.Fatal(err)
	}
	if all, err := fleet.Open(tidied{e}, "me").Decisions(t.Context(), ""); err != nil || len(all) > 0 {
		t.Errorf("got %+v, %v", all, err)
	}
}

// forgetful is an engine that can't keep decisions.
type forgetful struct{ fleet.Engine }

func (e forgetful) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if t == fleet.Decisions {
		return nil, errors.New("no room")
	}
	return e.Engine.Set(ctx, t, records...)
}

// A decision that can't be recorded does not happen.
func TestUnrecordedDecision(t *testing.T) {
	t.Parallel()
	e, f := newFleet()
	j := submit(t, f, &fleet.Spec{})
	if _, err := fleet.Open(forgetful{e}, "me").Cancel(t.Context(), j.ID, ""); err == nil || job(t, f, j.ID).State != fleet.Queued {
		t.Errorf("%v", err)
	}
}

// A decision that can't be read keeps no other from being listed, and is listed itself.
func TestUnreadableDecision(t *testing.T) {
	t.Parallel()
	for name, wrap := range damageForms {
		e, f := newFleet()
		j, account := submit(t, f, &fleet.Spec{}), "team"
		if _, err := f.Cancel(t.Context(), j.ID, ""); err != nil {
			t.Fatal(err)
		}
		if err := f.SetDaily(t.Context(), account, 5); err != nil {
			t.Fatal(err)
		}
		if err := f.Drop(t.Context(), j.ID); err != nil {
			t.Fatal(err)
		}
		for r, err := range e.List(t.Context(), fleet.Decisions, "", nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(r.Data), "drop") {
				damage(t, e, fleet.Decisions, r.Key)
			}
		}
		all, err := fleet.Open(wrap(e), "me").Decisions(t.Context(), "")
		if err != nil || len(all) != 3 {
			t.Fatalf("%s: %d decisions, %v", name, len(all), err)
		}
		var got []string
		for _, d := range all {
			got = append(got, fmt.Sprintf("%s %s %s %v", d.What, d.Job, d.Account, d.Unreadable != "" && !d.At.IsZero()))
		}
		slices.Sort(got)
		if want := []string{"  team true", " " + j.ID + "  true", "drop " + j.ID + "  false"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if of, err := fleet.Open(wrap(e), "me").Decisions(t.Context(), j.ID); err != nil || len(of) != 2 {
			t.Errorf("%s: the job has %d decisions, %v", name, len(of), err)
		}
	}
}
