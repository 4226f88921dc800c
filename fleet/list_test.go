package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/polltest"
)

// TestDamagedLabels lists and follows jobs of which some have records that can't be read. Each costs only itself,
// and is reported with its ID.
func TestDamagedLabels(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
	defer cancel()
	e := memfleet.New()
	f := fleet.Open(e, "somebody")
	set := func(key, label string) {
		t.Helper()
		if _, err := e.Set(ctx, fleet.Jobs, fleet.Record{Key: key, Label: label, Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(where string, got map[string]*fleet.Summary, keys ...string) {
		t.Helper()
		for _, key := range keys {
			if s := got[key]; s == nil || s.State != fleet.Damaged || !strings.Contains(s.Title, "can't be read") {
				t.Errorf("%s: %s is %+v", where, key, s)
			}
		}
	}
	set("none", "")
	set("odd", "done|x")
	set("unknown", "dancing|||||||||||||")
	j := submit(t, f, &fleet.Spec{})
	listed := map[string]*fleet.Summary{}
	for s, err := range f.Jobs(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		listed[s.ID] = s
	}
	check("list", listed, "none", "odd", "unknown")
	if s := listed[j.ID]; s == nil || s.State != fleet.Queued {
		t.Errorf("the job that can be read is %+v", s)
	}
	if got, err := f.Job(ctx, j.ID[:6]); err != nil || got.ID != j.ID {
		t.Errorf("a shortened ID: %v", err)
	}

	followed := map[string]*fleet.Summary{}
	for s, err := range f.Changes(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case s == nil:
			set("later", "done|x")
			continue
		case s.ID == "later":
			r, err := e.Get(ctx, fleet.Jobs, "odd")
			if err == nil {
				err = e.Remove(ctx, fleet.Jobs, "odd", r.Revision)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if followed[s.ID] = s; s.ID == "odd" && s.State == "" {
			break
		}
	}
	check("changes", followed, "none", "unknown", "later")
	if s := followed[j.ID]; s == nil || s.State != fleet.Queued {
		t.Errorf("the job that can be read is %+v", s)
	}
}

// TestShortID finds jobs by ID prefixes, unless several jobs share one.
func TestShortID(t *testing.T) {
	t.Parallel()
	f := fleet.Open(memfleet.New(), "person")
	first := map[byte]string{}
	for n := range 33 { // an ID has 32 letters and digits, so that two start with the same one
		j, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "Do it.", Key: fmt.Sprint(n)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Job(t.Context(), j.ID[:11]); err != nil || got.ID != j.ID {
			t.Errorf("got %v, %v", got, err)
		}
		if other := first[j.ID[0]]; other != "" {
			if _, err := f.Job(t.Context(), j.ID[:1]); !errors.Is(err, fleet.ErrAmbiguous) {
				t.Errorf("%s and %s: got %v", other, j.ID, err)
			}
			if err := f.Drop(t.Context(), j.ID[:1]); !errors.Is(err, fleet.ErrAmbiguous) {
				t.Errorf("drop: got %v", err)
			}
		}
		first[j.ID[0]] = j.ID
	}
	if _, err := f.Job(t.Context(), "1"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
