package fleet_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// TestShortID finds jobs by the beginning of their IDs, unless several begin so.
func TestShortID(t *testing.T) {
	t.Parallel()
	f := fleet.Open(memfleet.New(), "person")
	first := map[byte]string{}
	for n := range 33 { // an ID has 32 letters and digits, so that two begin with the same one
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
