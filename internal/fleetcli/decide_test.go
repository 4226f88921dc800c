package fleetcli

import (
	"bytes"
	"testing"

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
