package fleet_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// An account whose record can't be read is held until a person releases it, and costs no other account.
func TestUnreadableAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memfleet.New()
		f := fleet.Open(e, "me")
		if err := f.SetDaily(t.Context(), "other", 5); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Set(t.Context(), fleet.Accounts, fleet.Record{Key: "team", Data: []byte("{")}); err != nil {
			t.Fatal(err)
		}
		blocked := func() (names []string) {
			all, err := f.Accounts(t.Context())
			if err != nil || len(all) != 2 {
				t.Fatalf("%d accounts, %v", len(all), err)
			}
			for _, a := range all {
				if _, is := a.Blocked(time.Now()); is {
					names = append(names, a.Name)
				}
			}
			return names
		}
		if got := blocked(); len(got) != 1 || got[0] != "team" {
			t.Errorf("blocked %v", got)
		}
		if err := f.Release(t.Context(), "team"); err != nil {
			t.Fatal(err)
		}
		if got := blocked(); len(got) != 0 {
			t.Errorf("blocked after the release: %v", got)
		}
	})
}

// A wait for a job whose record can't be read ends with an error, and not with "not found".
func TestWaitUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memfleet.New()
		f := fleet.Open(e, "me")
		j, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "p"})
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() {
			_, err := f.Wait(t.Context(), j.ID)
			waited <- err
		}()
		synctest.Wait()
		r, err := e.Get(t.Context(), fleet.Jobs, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.Data = []byte("{")
		if _, err := e.Set(t.Context(), fleet.Jobs, r); err != nil {
			t.Fatal(err)
		}
		err = <-waited
		if _, ok := errors.AsType[*fleet.UnreadableError](err); !ok {
			t.Errorf("%v", err)
		}
	})
}
