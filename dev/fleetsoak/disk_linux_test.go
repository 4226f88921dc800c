package fleetsoak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/smalldisk"
	"github.com/clewdev/clew/internal/soak"
)

const (
	serverDisk = 64 << 20
	workerDisk = 16 << 20
	workerFree = 4 << 20 // below which the worker takes no jobs
)

// batch is the number of jobs that are submitted at first, and again each time that the server's disk is full.
const batch = 100

// TestFullDisks fills the disk of the server and that of a worker while jobs run, makes room again, and then
// compares the records with what agents have done. Nobody is killed, and nothing is started again.
func TestFullDisks(t *testing.T) {
	t.Parallel()
	rnd := soak.Search(t)
	if !smalldisk.Alone(t) {
		return
	}
	began := time.Now()
	rounds := soak.Size(1, 8)
	disks := map[string]*smalldisk.Disk{}
	tr := newTrial(t, rnd, batch, func(s *setup) {
		s.MinFree, s.Slow = workerFree, 8 // so that jobs run all the time
		for name, size := range map[string]int64{"engine": serverDisk, "worker0": workerDisk} {
			dir := filepath.Join(s.Dir, name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			disks[name] = smalldisk.Mount(t, dir, size)
		}
	})
	x := &diskTrial{trial: tr, server: disks["engine"], worker: disks["worker0"], logged: map[string]int{}}
	for range rounds {
		x.fillServer()
		x.fillWorker()
	}
	x.heal()
	waiting := x.settle()
	for i, w := range x.workers {
		w.end(t)
		x.workers[i] = nil
	}
	x.judge()
	if x.ran == 0 {
		t.Error("no job ran while the disk of the server was full")
	}
	soak.Figure(t, "%d jobs, the disk of the server was full %d times, with %d jobs running, and that of a worker as often: %d jobs needed a decision, %v until all had ended",
		x.jobs+x.others, rounds, x.ran, waiting, time.Since(began).Round(time.Second))
}

// A diskTrial is a fleet whose disks are filled.
type diskTrial struct {
	*trial
	server, worker *smalldisk.Disk
	keys           int            // of jobs that the test itself has submitted
	ran            int            // jobs that ran when the disk was full
	isFull         bool           // the disk of the server stays full, also if the server drops something
	logged         map[string]int // how much of each log was read
}

// fillServer fills the disk of the server while jobs run: first so far that it takes no new ones, and then wholly.
func (x *diskTrial) fillServer() {
	x.Helper()
	x.await("the jobs are submitted", func() bool { return len(distinct(x.setup.acknowledged())) == x.jobs })
	old := x.submitOne()
	if old == nil {
		x.Fatal("the server takes no job before its disk is full")
	}
	if _, err := x.fleet.Cancel(x.Context(), old.ID, "test"); err != nil {
		x.Fatal(err)
	}
	if _, err := x.fleet.Wait(x.Context(), old.ID); err != nil {
		x.Fatal(err)
	}
	x.server.Fill(serverDisk / 40) // half of what new jobs need
	x.clerk.end(x)
	x.jobs += batch
	x.clerk = x.startClerk(x.jobs - batch)
	x.awaitLog("submitter.log", "the disk of the server is almost full", x.setup.engineDir())
	if err := x.fleet.Drop(x.Context(), old.ID); err != nil {
		x.Errorf("an old job can't be dropped, with little of the disk free: %v", err)
	}
	x.others--
	x.server.Fill(0)
	states, _, err := x.states(x.Context())
	if err != nil {
		x.Fatal(err)
	}
	x.ran += states[fleet.Running]
	x.isFull = true
	x.awaitLog("submitter.log", "no space left on device", x.setup.engineDir())
	x.awaitLog("worker*.log", "no space left on device", x.setup.engineDir())
	x.isFull = false
	x.server.Empty()
	x.await("the server takes jobs again", func() bool { return len(distinct(x.setup.acknowledged())) == x.jobs })
}

// fillWorker fills the disk of a worker until the worker takes no jobs for that reason.
func (x *diskTrial) fillWorker() {
	x.Helper()
	x.worker.Fill(0)
	dir := filepath.Join(x.setup.Dir, "worker0")
	x.await("the worker says that its disk is full", func() bool {
		workers, err := x.fleet.Workers(x.Context())
		if err != nil {
			x.Fatal(err)
		}
		for _, w := range workers {
			if strings.Contains(w.Problem, "too little of the disk is free") && strings.Contains(w.Problem, dir) {
				return true
			}
		}
		return false
	})
	x.worker.Empty()
}

// submitOne submits a job in addition to the submitter's. It returns nil if the server does not take it.
func (x *diskTrial) submitOne() *fleet.Job {
	j, err := x.fleet.Submit(x.Context(), &fleet.Spec{
		Prompt: "Do one more.", Key: fmt.Sprint("one more ", x.keys), Queue: claudeQueue, Attempts: 20, OnLost: fleet.Restart,
	})
	if err != nil {
		x.Log(err)
		return nil
	}
	x.keys++
	x.others++
	return j
}

// awaitLog waits until one of the logs has a line with two texts, after the lines that were read before.
func (x *diskTrial) awaitLog(pattern, text, dir string) {
	x.Helper()
	x.await(fmt.Sprintf("%s has a line with %q and %s", pattern, text, dir), func() bool {
		names, err := filepath.Glob(filepath.Join(x.setup.Dir, pattern))
		if err != nil {
			x.Fatal(err)
		}
		found := false
		for _, name := range names {
			log, err := os.ReadFile(name)
			if err != nil {
				x.Fatal(err)
			}
			for line := range strings.Lines(string(log[x.logged[name]:])) {
				found = found || strings.Contains(line, text) && strings.Contains(line, dir)
			}
			x.logged[name] = len(log)
		}
		return found
	})
}

// await waits until something is so.
func (x *diskTrial) await(what string, is func() bool) {
	x.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.Fatalf("not so: %s", what)
		}
		if x.isFull {
			x.server.Fill(0)
		}
	}
}
