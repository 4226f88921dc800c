//go:build unix

package fleetsoak

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/nats/natsfleet"
)

// jobsVariable is the environment variable for the number of jobs. A tenth as many processes are killed.
const jobsVariable = "CLEW_FLEET_JOBS"

// lease is the lease of the workers in a search.
const lease = 2 * time.Second

// A trial is a fleet, with the faults that it has to survive.
type trial struct {
	*testing.T
	setup   setup // what all processes share
	jobs    int
	kills   int // how many processes are killed at least
	rng     *rand.Rand
	proxy   *proxy
	engine  *natsfleet.Engine
	fleet   *fleet.Fleet
	server  *process
	workers []*process
	clerk   *process // submits
	others  int      // jobs that it does not submit
	stopped sync.WaitGroup
	done    map[string]int // how often something was done
}

// TestProcesses kills, stops and cuts off processes of a fleet while jobs run, and then compares the
// records with what agents have done.
func TestProcesses(t *testing.T) {
	t.Parallel()
	rnd := soak.Search(t)
	jobs := soak.Size(50, 2000)
	if n, err := strconv.Atoi(os.Getenv(jobsVariable)); err == nil {
		jobs = n
	}
	tr := newTrial(t, rnd, jobs, nil)
	began := time.Now()
	tr.torment()
	tr.heal()
	tormented := time.Since(began)
	waiting := tr.settle()
	for i, w := range tr.workers {
		w.end(t)
		tr.workers[i] = nil
	}
	tr.judge()
	soak.Figure(t, "%d jobs, %d workers, %v: %d processes killed (%v), %d jobs needed a decision, in %v, and %v until all had ended",
		tr.jobs, len(tr.workers), lease, tr.killed(), tr.done, waiting, tormented.Round(time.Second), time.Since(began).Round(time.Second))
}

// TestFaults does the same with few jobs, and most faults once: the first one comes when the first
// agent has its prompt.
func TestFaults(t *testing.T) {
	random := soak.Search(t)
	t.Parallel()
	tr := newTrial(t, random, 10, func(s *setup) {
		s.Slow, s.Lease = 4, 6*time.Second
	})
	polltest.Until(t, "an agent has its prompt", func() bool { return tr.prompts() > 0 })
	tr.killClerk()
	tr.killAgent()
	tr.killWorker()
	tr.killServer()
	tr.cut()
	polltest.Until(t, "all jobs are submitted", tr.allSubmitted)
	tr.cancel()
	tr.heal()
	tr.settle()
	for i, w := range tr.workers {
		w.end(t)
		tr.workers[i] = nil
	}
	tr.judge()
}

// newTrial starts a fleet. The function, if any, prepares it before.
func newTrial(t *testing.T, rnd *rand.Rand, jobs int, prepare func(*setup)) *trial {
	t.Helper()
	tr := &trial{
		T: t, jobs: jobs, kills: jobs / 10, rng: rnd, done: map[string]int{},
		workers: make([]*process, min(3+jobs/1000, 8)),
	}
	tr.setup = setup{Dir: keptDir(t), Slots: 4, Lease: lease, MinFree: -1}
	if prepare != nil {
		prepare(&tr.setup)
	}
	if err := os.Mkdir(filepath.Join(tr.setup.Dir, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	tr.server = tr.start(serverRole, "")
	opts, err := natsfleet.Find(t.Context(), tr.setup.engineDir())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(opts.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr.proxy = newProxy(t, u.Host)
	if tr.engine, err = tr.setup.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.engine.Close() }) // the server may be gone
	tr.fleet = fleet.Open(tr.engine, "person")
	for i := range tr.workers {
		tr.startWorker(i)
	}
	tr.clerk = tr.startClerk(0)
	return tr
}

// keptDir returns a directory that stays if the test fails.
func keptDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "clew-fleetsoak-") //nolint:usetesting // t.TempDir does not stay
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s has the logs of all processes, the ledger of the agents and the records: "+
				"look for the ID of a job with grep -r, and remove the directory", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (tr *trial) start(r role, name string) *process {
	tr.Helper()
	s := tr.setup
	s.Role, s.Name = r, name
	return start(tr, &s)
}

func (tr *trial) startWorker(i int) {
	tr.Helper()
	s := tr.setup
	s.Role, s.Name, s.URL = workerRole, strconv.Itoa(i), "nats://"+tr.proxy.listener.Addr().String()
	tr.workers[i] = start(tr, &s)
}

func (tr *trial) startClerk(from int) *process {
	tr.Helper()
	s := tr.setup
	s.Role, s.From, s.Jobs = submitterRole, max(0, from), tr.jobs
	return start(tr, &s)
}

func (tr *trial) killed() int {
	return tr.done["worker killed"] + tr.done["server killed"] + tr.done["agent killed"] + tr.done["submitter killed"]
}

func (tr *trial) allSubmitted() bool {
	_, err := os.Stat(filepath.Join(tr.setup.Dir, "submitted"))
	return err == nil
}

// torment does something bad to the fleet, again and again, while its jobs run.
func (tr *trial) torment() {
	for tr.killed() < tr.kills || !tr.allSubmitted() {
		tr.pause(20*time.Millisecond, 200*time.Millisecond)
		tr.awaitPrompts(tr.jobs * tr.killed() / tr.kills)
		what, do := tr.evil()
		if do() {
			tr.done[what]++
		}
		if tr.Failed() {
			tr.FailNow()
		}
	}
}

// awaitPrompts waits until agents have got so many prompts, but not for long: they may all be dead.
func (tr *trial) awaitPrompts(n int) {
	for late := time.Now().Add(lease); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		if tr.prompts() >= n {
			return
		}
	}
}

// prompts returns how many prompts agents have got.
func (tr *trial) prompts() int {
	text, _ := os.ReadFile(tr.setup.ledger()) // it is not there before the first one
	return bytes.Count(text, []byte(`"`+fleettest.Prompted+`"`))
}

// evil chooses what to do next. It returns whether it was done.
func (tr *trial) evil() (what string, do func() bool) {
	switch n := tr.rng.IntN(100); {
	case n < 40:
		return "worker killed", tr.killWorker
	case n < 55:
		return "agent killed", tr.killAgent
	case n < 60:
		return "server killed", tr.killServer
	case n < 63:
		return "submitter killed", tr.killClerk
	case n < 78:
		return "worker stopped", tr.stopWorker
	case n < 84:
		return "connections cut", tr.cut
	case n < 90:
		return "connections delayed", tr.delay
	}
	return "job canceled", tr.cancel
}

// pause lets the jobs run for some time.
func (tr *trial) pause(least, most time.Duration) {
	time.Sleep(least + time.Duration(tr.rng.Int64N(int64(most-least))))
}

func (tr *trial) killWorker() bool {
	i := tr.rng.IntN(len(tr.workers))
	tr.workers[i].kill()
	tr.startWorker(i)
	return true
}

func (tr *trial) killServer() bool {
	tr.server.kill()
	tr.server = tr.start(serverRole, "")
	return true
}

func (tr *trial) killClerk() bool {
	if tr.allSubmitted() {
		return false
	}
	tr.clerk.kill()
	tr.clerk = tr.startClerk(len(distinct(tr.setup.acknowledged())) - 20)
	return true
}

// killAgent kills an agent that has got its prompt and has not finished.
func (tr *trial) killAgent() bool {
	ledger, err := tr.setup.readLedger()
	if err != nil {
		return false // nobody has written yet
	}
	finished := map[string]bool{}
	for i, e := range slices.Backward(ledger) {
		switch e.Kind {
		case fleettest.Finished:
			finished[e.Session] = true
		case fleettest.Prompted:
			// The number of a process that has just ended is not used again so soon.
			if !finished[e.Session] && syscall.Kill(e.PID, syscall.SIGKILL) == nil {
				return true
			}
		}
		if len(ledger)-i > 40 {
			break
		}
	}
	return false
}

// stopWorker stops a worker for longer than its lease and the grace of others, and then continues it.
func (tr *trial) stopWorker() bool {
	w := tr.workers[tr.rng.IntN(len(tr.workers))]
	w.signal(syscall.SIGSTOP)
	tr.stopped.Go(func() {
		time.Sleep(lease + 3*time.Second)
		w.signal(syscall.SIGCONT)
	})
	return true
}

func (tr *trial) cut() bool {
	tr.proxy.cut()
	return true
}

// delay delays what workers and server say, for a time that may be longer than a lease.
func (tr *trial) delay() bool {
	d := time.Duration(tr.rng.Int64N(int64(lease)))
	hold := func() { time.Sleep(d / 2) }
	tr.proxy.hold.Store(&hold)
	tr.pause(d/2, d+time.Millisecond)
	tr.proxy.hold.Store(nil)
	return true
}

// cancel cancels a job, unless it has ended.
func (tr *trial) cancel() bool {
	ids := tr.setup.acknowledged()
	if len(ids) == 0 {
		return false
	}
	_, err := tr.fleet.Cancel(tr.Context(), ids[tr.rng.IntN(len(ids))], "test")
	return err == nil
}

// heal lets all processes run.
func (tr *trial) heal() {
	tr.Helper()
	tr.stopped.Wait()
	tr.proxy.hold.Store(nil)
	tr.clerk.end(tr)
}

// limit is the time that the fleet may take to settle. It only ends a test that would never end.
const limit = 20 * time.Minute

// settle waits until all jobs have ended. When none of them continues by itself, the jobs that need a
// decision get one. It returns the number of decisions.
func (tr *trial) settle() (decisions int) {
	tr.Helper()
	ctx, cancel := context.WithTimeout(tr.Context(), limit)
	defer cancel()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for ; ctx.Err() == nil; <-look.C {
		states, lost, err := tr.states(ctx)
		if err != nil {
			tr.Log(err)
			continue
		}
		moving := states[fleet.Queued] + states[fleet.Claimed] + states[fleet.Running] + states[fleet.Waiting]
		switch {
		case moving > 0, len(lost) == 0 && states[fleet.Blocked] > 0: // what blocked them has just ended
		case len(lost) == 0:
			tr.Logf("the jobs have ended: %v", states)
			return decisions
		default:
			for _, id := range lost {
				if _, err := tr.fleet.Requeue(ctx, id, fleet.Requeue{Why: "again", Start: fleet.Fresh}); err != nil {
					tr.Errorf("a lost job can't be queued again: %v", err)
					return decisions
				}
				decisions++
			}
		}
	}
	states, _, err := tr.states(tr.Context())
	tr.Errorf("the jobs have not ended: %v, %v", states, err)
	return decisions
}

// states counts the jobs by their states, and returns the lost ones.
func (tr *trial) states(ctx context.Context) (states map[fleet.State]int, lost []string, err error) {
	states = map[fleet.State]int{}
	for s, err := range tr.fleet.Jobs(ctx) {
		if err != nil {
			return nil, nil, err
		}
		states[s.State]++
		if s.State == fleet.Lost {
			lost = append(lost, s.ID)
		}
	}
	return states, lost, nil
}

// judge compares the records with the acknowledged jobs and with the acts of agents.
func (tr *trial) judge() {
	tr.Helper()
	ledger, err := tr.setup.readLedger()
	if err != nil {
		tr.Fatal(err)
	}
	histories, err := fleettest.Histories(tr.Context(), tr.engine)
	if err != nil {
		tr.Fatal(err)
	}
	acked := distinct(tr.setup.acknowledged())
	if len(acked) != tr.jobs || len(histories) != tr.jobs+tr.others {
		tr.Errorf("%d jobs are acknowledged, of %d, and %d there, of %d", len(acked), tr.jobs, len(histories), tr.jobs+tr.others)
	}
	for id, h := range histories {
		// Agents don't fail, so a job fails only with one before it, or if no worker could begin it.
		if j := h[len(h)-1].Job; j.State == fleet.Failed && j.Cause != fleet.ByDependency && j.Cause != fleet.ByLoss {
			tr.Errorf("job %s has failed by %s: %s", id, j.Cause, j.Text)
		}
	}
	evidence := &fleettest.Evidence{Submitted: acked, Histories: histories}
	for _, e := range ledger {
		if e.Kind != renewed {
			evidence.Ledger = append(evidence.Ledger, e.Line)
		}
	}
	wrong := append(fleettest.Check(evidence), tooLate(ledger, histories, tr.setup.Lease)...)
	for i, sentence := range wrong {
		if i == 20 {
			tr.Errorf("and %d more", len(wrong)-i)
			break
		}
		tr.Error(sentence)
	}
}

func distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// tooLate returns one sentence for each tool that was started when its worker could not be sure of its
// lease: when the worker began to look, the last renewal before the start was older than two thirds of the
// lease. A worker that is stopped between that look and the start can't know; the checker of histories
// finds it if another attempt has begun meanwhile.
func tooLate(ledger []entry, histories map[string]fleettest.History, lease time.Duration) (wrong []string) {
	renewals := map[string][]time.Time{}
	for _, e := range ledger {
		if e.Kind == renewed {
			renewals[e.Worker] = append(renewals[e.Worker], e.Time)
		}
	}
	for _, e := range ledger {
		if e.Kind != fleettest.Acted {
			continue
		}
		h := histories[e.Job]
		if len(h) == 0 || len(h[len(h)-1].Job.Attempts) < e.Attempt {
			wrong = append(wrong, fmt.Sprintf("%s: the record does not have the attempt", e.Line))
			continue
		}
		worker := h[len(h)-1].Job.Attempts[e.Attempt-1].Worker
		if !slices.ContainsFunc(renewals[worker], func(r time.Time) bool {
			return !r.After(e.Time) && e.Asked.Sub(r) < lease*2/3
		}) {
			wrong = append(wrong, fmt.Sprintf("%s: the worker %s had not renewed its lease", e.Line, worker))
		}
	}
	return wrong
}
