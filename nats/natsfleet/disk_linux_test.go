package natsfleet_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/smalldisk"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/nats/natsfleet"
)

// diskSize is the size of the disk of these tests. A twentieth of it has to be free for new jobs.
const diskSize = 40 << 20

// diskFleet opens a fleet whose server has a small disk, and an engine of another connection.
func diskFleet(t *testing.T) (d *smalldisk.Disk, dir string, f *fleet.Fleet, other *natsfleet.Engine) {
	t.Helper()
	at := t.TempDir()
	d = smalldisk.Mount(t, at, diskSize)
	dir = filepath.Join(at, "fleet")
	open(t, &natsfleet.Options{Dir: dir})
	other = open(t, &natsfleet.Options{Dir: dir})
	return d, dir, fleet.Open(other, "person"), other
}

func submit(t *testing.T, f *fleet.Fleet, key string) error {
	t.Helper()
	_, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "Do it.", Key: key})
	return err
}

// checkFailure checks that an error describes the fault of the disk, and its directory.
func checkFailure(t *testing.T, err error, what, dir string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want an error with %q and %s", err, what, dir)
	}
}

// awaitDoctor waits until the doctor finds the disk all right, or not. The engine of a restarted
// server needs a moment before it answers.
func awaitDoctor(t *testing.T, e *natsfleet.Engine, ok bool) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("the disk is as it should be: %t", ok), func() bool {
		findings, _ := e.Doctor(t.Context()) // none while there is no connection
		return slices.ContainsFunc(findings, func(f natsfleet.Finding) bool { return f.Subject == "disk" && f.OK == ok })
	})
}

// TestAlmostFullDisk takes no new jobs when little of the disk is left. Existing jobs can be
// changed and removed.
func TestAlmostFullDisk(t *testing.T) {
	t.Parallel()
	if !smalldisk.Alone(t) {
		return
	}
	d, dir, f, e := diskFleet(t)
	for _, key := range []string{"a", "b"} {
		if err := submit(t, f, key); err != nil {
			t.Fatal(err)
		}
	}
	awaitDoctor(t, e, true)
	d.Fill(diskSize/20 - 64<<10)
	checkFailure(t, submit(t, f, "c"), "almost full", dir)
	_, err := f.SubmitAll(t.Context(), []*fleet.Spec{{Prompt: "Do it.", Key: "c"}, {Prompt: "Do it.", Key: "d"}})
	checkFailure(t, err, "almost full", dir)
	awaitDoctor(t, e, false)
	if err := submit(t, f, "a"); err != nil {
		t.Errorf("a job that is there: %v", err)
	}
	for s, err := range f.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Cancel(t.Context(), s.ID, "no room"); err != nil {
			t.Error(err)
		}
		if err := f.Drop(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
	}
	d.Empty()
	if err := submit(t, f, "c"); err != nil {
		t.Error(err)
	}
	awaitDoctor(t, e, true)
}

// TestFullDisk fills the disk of a server, and makes room: all acknowledged records are there, and
// the server continues by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if !smalldisk.Alone(t) {
		return
	}
	d, dir, f, e := diskFleet(t)
	if err := submit(t, f, "a"); err != nil {
		t.Fatal(err)
	}
	for round := range soak.Size(1, 5) {
		if err := fill(t, e, polltest.Limit); err != nil {
			t.Fatal(err)
		}
		before := revisions(t, e)
		d.Fill(0)
		polltest.Until(t, "a write says that there is no space", func() bool { // a slow machine may cause another error
			err := fill(t, e, time.Second)
			return err != nil && strings.Contains(err.Error(), "no space left") && strings.Contains(err.Error(), dir)
		})
		checkFailure(t, submit(t, f, "b"), "can't be written to", dir)
		awaitDoctor(t, e, false)
		maps.Copy(before, revisions(t, e))
		d.Empty()
		polltest.Until(t, "the server goes on", func() bool { return submit(t, f, fmt.Sprint("round ", round)) == nil })
		awaitDoctor(t, e, true)
		after := revisions(t, e)
		for key, revision := range before {
			if after[key] != revision {
				t.Errorf("record %s had revision %d, and has %d", key, revision, after[key])
			}
		}
	}
}

// fill writes the records of workers until that fails, or often. The server does not answer a
// message that it can't store: the limit is how long to wait for each answer.
func fill(t *testing.T, e *natsfleet.Engine, limit time.Duration) error {
	t.Helper()
	for i := range 40 {
		r := fleet.Record{Key: fmt.Sprint("worker-", i%5), Label: "worker", Data: make([]byte, 8<<10)}
		if there, err := e.Get(t.Context(), fleet.Workers, r.Key); err == nil {
			r.Revision = there.Revision
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := e.Set(ctx, fleet.Workers, r)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func revisions(t *testing.T, e *natsfleet.Engine) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, table := range []fleet.Table{fleet.Jobs, fleet.Workers} {
		for r, err := range e.List(t.Context(), table, "", nil) {
			if err != nil {
				t.Fatal(err)
			}
			all[r.Key] = r.Revision
		}
	}
	return all
}

// TestStartOnFullDisk checks the error of a server that can't start because its disk is full.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	if !smalldisk.Alone(t) {
		return
	}
	at := t.TempDir()
	d := smalldisk.Mount(t, at, diskSize)
	dir := filepath.Join(at, "fleet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.Fill(0)
	e, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err == nil {
		t.Fatal(e.Close())
	}
	checkFailure(t, err, "no space left", dir)
	d.Empty()
	open(t, &natsfleet.Options{Dir: dir})
}
