package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/soak"
)

// TestSimulation runs fleets whose machines, network and engine fail, in simulated time. A seed
// decides what happens; the order of goroutines that wake up at the same moment it does not decide.
// To run one of them again:
//
//	CLEW_SOAK=1 go test ./fleet -run 'TestSimulation/seed=123$' -count=10
//
// Faults in the code showed that the simulation can fail. Of 2,000 seeds, 111 find a held job that
// is canceled at once, 6 a tool that starts without a lease, 599 the drop of an open job, 133 the
// drop of a lost one, and 15 questions that a drop forgets.
func TestSimulation(t *testing.T) {
	soak.Search(t)
	t.Parallel()
	seeds := soak.Size(50, 10_000)
	if raced && soak.Running() {
		seeds /= 10
	}
	sum := &tally{steps: map[string]int{}}
	t.Cleanup(func() { sum.check(t, seeds) })
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { sum.add(simulate(t, uint64(seed))) })
		})
	}
}

// A tally counts the events of simulations. A simulation without events proves nothing.
type tally struct {
	mu                    sync.Mutex
	seeds, jobs, attempts int
	machines, prompts     int
	dropped               int
	steps                 map[string]int // by the states before and after
}

func (s *tally) add(w *world, histories map[string]fleettest.History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	s.machines += w.machines
	s.dropped += len(w.dropped)
	for _, l := range w.ledger {
		if l.Kind == fleettest.Prompted {
			s.prompts++
		}
	}
	for _, h := range histories {
		s.jobs++
		s.attempts += len(h[len(h)-1].Job.Attempts)
		for i := 1; i < len(h); i++ {
			s.steps[fmt.Sprintf("%s to %s", h[i-1].Job.State, h[i].Job.State)]++
		}
	}
}

// check checks that each step of a job was taken, unless only some of the seeds were run.
func (s *tally) check(t *testing.T, seeds int) {
	if s.seeds < seeds {
		return
	}
	soak.Figure(t, "%d simulations: %d jobs, %d attempts, %d prompts, %d starts of machines, %d jobs dropped, steps %v", s.seeds, s.jobs, s.attempts, s.prompts, s.machines, s.dropped, s.steps)
	if s.dropped == 0 && soak.Running() {
		t.Error("no job was dropped")
	}
	steps := []string{"queued to claimed", "claimed to running", "running to done", "running to lost", "running to queued"}
	if soak.Running() { // rare ones as well
		steps = allSteps
	}
	for _, step := range steps {
		if s.steps[step] == 0 {
			t.Errorf("no job went from %s", step)
		}
	}
}

// allSteps are the steps of jobs that many simulations take.
var allSteps = []string{
	"blocked to queued", "blocked to failed", "blocked to canceled", "queued to claimed", "queued to waiting", "queued to canceled", "claimed to queued", "claimed to waiting",
	"claimed to running", "running to running", "running to queued", "running to waiting", "running to asking", "running to lost",
	"running to done", "running to failed", "running to canceled", "waiting to queued", "asking to queued", "lost to queued",
	"lost to canceled", "failed to queued", "done to done",
}

// A world is the state of a simulation.
type world struct {
	*testing.T
	seed   uint64
	engine *memfleet.Engine
	begun  time.Time
	all    sync.WaitGroup // what runs

	mu        sync.Mutex
	log       []string
	ledger    []fleettest.Line
	stored    map[string]*fleet.Traces // sessions, by ID
	submitted []string
	machines  int             // that were ever started
	dropping  map[string]bool // jobs that somebody tried to drop
	dropped   []string        // jobs for which this succeeded; the outcome of others may not be known
}

// random returns numbers that depend on the seed and a name.
func (w *world) random(name string, args ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, name, args...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// note writes down what happens, for the reader of a failure.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%10.3fs ", time.Since(w.begun).Seconds())+fmt.Sprintf(format, args...))
}

// upTo returns a random time.
func upTo(r *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(r.Float64() * float64(d))
}

// chance reports whether something happens that has a probability.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// faults returns the faults of a machine's connection.
func (w *world) faults(r *rand.Rand) *memfleet.Faults {
	if chance(r, 0.2) {
		return &memfleet.Faults{Seed: r.Uint64(), Lag: 10 * time.Millisecond, Calls: map[string]memfleet.CallFaults{"": {Delay: 5 * time.Millisecond}}}
	}
	bad, slow := r.Float64()*0.3, upTo(r, []time.Duration{100 * time.Millisecond, 3 * time.Second}[r.IntN(2)])
	calls := memfleet.CallFaults{Before: bad * r.Float64(), After: bad * r.Float64(), Late: bad * r.Float64(), Delay: slow}
	return &memfleet.Faults{
		Seed: r.Uint64(), Calls: map[string]memfleet.CallFaults{"": calls}, Break: bad / 3, Lag: slow, Drop: bad, Double: bad,
	}
}

// simulate runs a fleet for some minutes in which much fails, then lets it come to rest, and checks what has
// become of the jobs.
func simulate(t *testing.T, seed uint64) (*world, map[string]fleettest.History) {
	w := &world{T: t, seed: seed, engine: memfleet.New(), begun: time.Now(), stored: map[string]*fleet.Traces{}, dropping: map[string]bool{}}
	r := w.random("world")
	chaos, calm := context.WithTimeout(t.Context(), time.Minute+upTo(r, 3*time.Minute))
	defer calm()
	var parts sync.WaitGroup
	for i := range 2 + r.IntN(3) {
		parts.Go(func() { w.runMachine(chaos, fmt.Sprintf("m%d", i)) })
	}
	parts.Go(func() { w.people(chaos) })
	parts.Wait()
	w.note("calm")
	w.settle()
	w.all.Wait()
	histories := w.check()
	return w, histories
}

// settle lets a machine without faults finish all jobs. People answer all questions, and give up
// lost jobs.
func (w *world) settle() {
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	m := w.start(ctx, "last", w.engine.Client(nil))
	defer m.ended.Wait()
	defer stop()
	f := fleet.Open(w.engine, "person")
	quiet := time.Now().Add(maxDrain + 10*time.Second) // then no earlier action is still under way
	for deadline := time.Now().Add(2 * time.Hour); time.Now().Before(deadline); time.Sleep(5 * time.Second) {
		for q, err := range f.Questions(ctx, "") {
			if err == nil {
				_, _ = f.Answer(ctx, q.Job, q.ID, fleet.Answer{Allow: true}) // the worker may be faster
			}
		}
		if err := f.Release(ctx, fleet.DefaultAccount); err != nil {
			w.Error(err)
		}
		open := 0
		for s, err := range f.Jobs(ctx) {
			switch {
			case err != nil:
				w.Error(err)
			case s.State == fleet.Lost:
				_, _ = f.Cancel(ctx, s.ID, "lost") // its worker may have found the result
				open++
			case !s.State.Ended():
				open++
			}
		}
		if open == 0 && time.Now().After(quiet) {
			return
		}
	}
	w.Error("jobs are still open after two hours without faults")
}

// check compares the records with the deeds of the agents. It returns the records.
func (w *world) check() map[string]fleettest.History {
	w.Helper()
	histories, err := fleettest.Histories(w.Context(), w.engine)
	if err != nil {
		w.Fatal(err)
	}
	w.checkDropped(histories)
	found := fleettest.Check(&fleettest.Evidence{Submitted: w.submitted, Histories: histories, Ledger: w.ledger, Strict: true})
	for _, sentence := range found {
		w.Error(sentence)
	}
	if !w.Failed() {
		return histories
	}
	w.Logf("what happened:\n%s", strings.Join(w.log, "\n"))
	for id, h := range histories {
		for i, c := range h {
			w.Logf("%s %d %10.3fs %s %s %q next %s attempts %+v", id, i+1, c.Time.Sub(w.begun).Seconds(), c.Job.State, c.Job.Cause, c.Job.Text, c.Job.Next, c.Job.Attempts)
		}
	}
	return histories
}

// checkDropped checks that nothing is left of jobs that were dropped, and that no others are gone.
// It adds the histories of dropped jobs, to check their agents as well.
func (w *world) checkDropped(histories map[string]fleettest.History) {
	w.Helper()
	for _, id := range w.dropped {
		if _, there := histories[id]; there {
			w.Errorf("job %s was dropped, and is there", id)
		}
		for q, err := range fleet.Open(w.engine, "person").Questions(w.Context(), id) {
			w.Errorf("job %s was dropped, and its question %+v is there: %v", id, q, err)
		}
	}
	for id, records := range w.engine.Removed(fleet.Jobs) {
		if _, there := histories[id]; there {
			continue
		}
		for _, r := range records {
			j := new(fleet.Job)
			if err := json.Unmarshal(r.Data, j); err != nil {
				w.Fatal(err)
			}
			histories[id] = append(histories[id], fleettest.Change{Time: r.Time, Job: j})
		}
		last := histories[id][len(records)-1].Job
		if !w.dropping[id] || !last.State.Ended() {
			w.Errorf("job %s is gone, and was %s", id, last.State)
		}
	}
}

// drop lets a person drop a job.
func (w *world) drop(ctx context.Context, f *fleet.Fleet, id string) error {
	w.dropping[id] = true
	err := f.Drop(ctx, id)
	if err == nil {
		w.dropped = append(w.dropped, id)
	}
	return err
}

// people submit jobs, cancel them, answer questions and requeue lost jobs.
func (w *world) people(ctx context.Context) {
	r := w.random("people")
	f := fleet.Open(w.engine.Client(w.faults(r)), "person")
	jobs := 0
	for ctx.Err() == nil {
		if jobs < 8 && chance(r, 0.6) {
			jobs++
			w.submit(ctx, f, r, jobs)
		} else if len(w.submitted) > 0 {
			w.decide(ctx, f, r, w.submitted[r.IntN(len(w.submitted))])
		}
		w.sleep(ctx, upTo(r, 15*time.Second))
	}
}

func (w *world) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (w *world) submit(ctx context.Context, f *fleet.Fleet, r *rand.Rand, number int) {
	spec := &fleet.Spec{Prompt: "Do it.", Key: fmt.Sprint("job ", number), Priority: r.IntN(3), Attempts: r.IntN(5)}
	spec.OnLost = []fleet.Policy{fleet.Hold, fleet.Resume, fleet.Restart}[r.IntN(3)]
	if chance(r, 0.4) {
		spec.Ask = &fleet.Ask{Wait: fleet.Duration(upTo(r, 5*time.Minute) + time.Second), Park: fleet.Duration(upTo(r, time.Minute) - 10*time.Second)}
	}
	if len(w.submitted) > 0 && chance(r, 0.2) {
		spec.After = []string{w.submitted[r.IntN(len(w.submitted))]}
	}
	tries := 1 + r.IntN(2) // also twice, with the same key
	for range tries {
		j, err := f.Submit(ctx, spec)
		w.note("submit %d: %v", number, err)
		if err == nil && !slices.Contains(w.submitted, j.ID) {
			w.submitted = append(w.submitted, j.ID)
		}
	}
}

// decide lets a person do something about a job.
func (w *world) decide(ctx context.Context, f *fleet.Fleet, r *rand.Rand, id string) {
	var err error
	what := ""
	switch n := r.IntN(11); {
	case n < 2:
		what = "cancel"
		_, err = f.Cancel(ctx, id, "not any more")
	case n < 5:
		what = "requeue"
		_, err = f.Requeue(ctx, id, fleet.Requeue{Why: "go on", Start: []fleet.Start{fleet.Fresh, fleet.Continued}[r.IntN(2)]})
	case n < 6:
		what = "drop"
		err = w.drop(ctx, f, id)
	case n < 7:
		what = "release"
		err = f.Release(ctx, fleet.DefaultAccount)
	default:
		what = "answer"
		for q, failed := range f.Questions(ctx, "") {
			if err = failed; err == nil {
				_, err = f.Answer(ctx, q.Job, q.ID, fleet.Answer{Allow: chance(r, 0.5)})
			}
			break
		}
	}
	w.note("%s %s: %v", what, id, err)
}

// A machine is a process with a worker and its agents.
type machine struct {
	*world
	name   string
	client *memfleet.Client
	worker *fleet.Worker
	stop   context.CancelFunc
	ended  sync.WaitGroup
	number int
	lease  time.Duration

	gate   sync.Mutex
	isDead bool
	paused chan struct{} // closed when it continues, or nil
	pauses int
}

// runMachine starts a machine again and again, and lets it fail.
func (w *world) runMachine(ctx context.Context, name string) {
	for life := 0; ctx.Err() == nil; life++ {
		r := w.random("%s %d", name, life)
		m := w.start(context.WithoutCancel(ctx), name, w.engine.Client(w.faults(r)))
		for m.suffer(ctx, r) {
		}
		w.all.Go(func() { m.ended.Wait() }) // a worker that was killed takes some time to notice
		w.sleep(ctx, upTo(r, 30*time.Second))
	}
}

// start starts a machine.
func (w *world) start(ctx context.Context, name string, c *memfleet.Client) *machine {
	w.mu.Lock()
	w.machines++
	m := &machine{world: w, name: name, client: c, number: w.machines}
	w.mu.Unlock()
	ctx, m.stop = context.WithCancel(ctx)
	r := w.random("options %s %d", name, m.number)
	m.lease = []time.Duration{30 * time.Second, 15 * time.Second}[r.IntN(2)]
	m.worker = fleet.NewWorker(c, m, &fleet.WorkerOptions{Host: name, PID: m.number, Slots: 1 + r.IntN(3), Lease: m.lease})
	m.ended.Go(func() {
		err := m.worker.Run(ctx)
		w.note("%s %d ended: %v", name, m.number, err)
	})
	w.note("%s %d starts", name, m.number)
	return m
}

// suffer lets something happen to the machine after some time, and reports whether it still runs.
func (m *machine) suffer(ctx context.Context, r *rand.Rand) bool {
	m.sleep(ctx, upTo(r, time.Minute))
	n := r.IntN(10)
	if ctx.Err() != nil {
		n = r.IntN(4) // the end
	}
	switch {
	case n < 2:
		m.kill()
		return false
	case n == 2:
		m.note("%s is told to stop", m.name)
		m.stop()
		m.killAfter(upTo(r, time.Minute))
		return false
	case n == 3:
		m.note("%s drains", m.name)
		m.worker.Drain()
		m.killAfter(upTo(r, maxDrain))
		return false
	case n < 7:
		d := upTo(r, 80*time.Second)
		m.note("%s is cut off for %v", m.name, d)
		m.client.Cut()
		m.sleep(ctx, d)
		m.client.Reconnect()
		m.note("%s is back", m.name)
	default:
		d := upTo(r, 80*time.Second)
		m.note("%s is stopped for %v", m.name, d)
		m.suspend()
		m.sleep(ctx, d)
		m.resume()
		m.note("%s goes on", m.name)
	}
	return true
}

// maxDrain is the time that a machine has to drain before it is killed.
const maxDrain = 2 * time.Minute

// killAfter kills the machine after some time, if it still runs then.
func (m *machine) killAfter(after time.Duration) {
	m.all.Go(func() {
		time.Sleep(after)
		m.kill()
	})
}

// kill ends the worker and its agents at once.
func (m *machine) kill() {
	m.note("%s is killed", m.name)
	m.gate.Lock()
	m.isDead = true
	m.gate.Unlock()
	m.client.Kill()
	m.stop()
}

// suspend stops the agents and the connection. The worker's clocks keep running, unlike the clocks
// of a sleeping machine; but its decisions have no effect before it resumes.
func (m *machine) suspend() {
	m.client.Cut()
	m.gate.Lock()
	defer m.gate.Unlock()
	m.paused = make(chan struct{})
	m.pauses++
}

// suspensions returns how often the machine was suspended.
func (m *machine) suspensions() int {
	m.gate.Lock()
	defer m.gate.Unlock()
	return m.pauses
}

func (m *machine) resume() {
	m.client.Reconnect()
	m.gate.Lock()
	defer m.gate.Unlock()
	close(m.paused)
	m.paused = nil
}

// live lets time pass for an agent. It returns false if the agent was ended.
func (m *machine) live(ctx context.Context, d time.Duration) bool {
	m.sleep(ctx, d)
	for ctx.Err() == nil {
		m.gate.Lock()
		paused := m.paused
		m.gate.Unlock()
		if paused == nil {
			return true
		}
		select {
		case <-paused:
		case <-ctx.Done():
		}
	}
	return false
}

// act lets an agent do something, unless it is dead.
func (m *machine) act(do func()) {
	m.gate.Lock()
	defer m.gate.Unlock()
	if m.isDead {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

// Ready fails at times, for a while.
func (m *machine) Ready(context.Context) error {
	if m.name != "last" && chance(m.random("ready %s %d", m.name, int(time.Since(m.begun)/time.Minute)), 0.1) {
		return errors.New("not now")
	}
	return nil
}

// Check refuses some jobs on some machines.
func (m *machine) Check(j *fleet.Job) error {
	if m.name != "last" && chance(m.random("check %s %s", m.name, j.ID), 0.1) {
		return errors.New("not on this machine")
	}
	return nil
}

// Look reads the store.
func (m *machine) Look(ctx context.Context, j *fleet.Job) (*fleet.Traces, error) {
	r := m.random("look %s %d", j.ID, len(j.Attempts))
	m.sleep(ctx, upTo(r, time.Second))
	if chance(r, 0.05) {
		return nil, errors.New("the store does not answer")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	traces := fleet.Traces{}
	if there := m.stored[j.Attempt().Session]; there != nil {
		traces = *there
	}
	return &traces, nil
}

// Prepare takes some time, and fails at times.
func (m *machine) Prepare(ctx context.Context, t *fleet.Task) (fleet.Run, error) {
	r := m.random("agent %s %d", t.Job.ID, t.Number)
	if !m.live(ctx, upTo(r, 5*time.Second)) {
		return nil, context.Cause(ctx)
	}
	if chance(r, 0.05) {
		return nil, errors.New("the disk is full")
	}
	return &simAgent{machine: m, task: t, rand: r, session: fmt.Sprintf("%s-%d-%d", t.Job.ID, t.Number, m.number)}, nil
}

// A simAgent is an attempt.
type simAgent struct {
	*machine
	task    *fleet.Task
	rand    *rand.Rand
	session string
	cost    float64
}

func (a *simAgent) IDs() (session, prompt, base string) { return a.session, "prompt-" + a.session, "" }

func (a *simAgent) Close() {}

// say writes a line of the ledger.
func (a *simAgent) say(kind fleettest.Kind, text string) {
	a.act(func() {
		a.ledger = append(a.ledger, fleettest.Line{
			Time: time.Now(), Kind: kind, Job: a.task.Job.ID, Attempt: a.task.Number, Session: a.session, Text: text,
		})
	})
	a.note("%s: %s attempt %d %s", a.name, a.task.Job.ID, a.task.Number, kind)
}

// store changes what is stored of the session.
func (a *simAgent) store(change func(*fleet.Traces)) {
	a.act(func() {
		if a.stored[a.session] == nil {
			a.stored[a.session] = new(fleet.Traces)
		}
		change(a.stored[a.session])
	})
}

func (a *simAgent) isStored() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stored[a.session] != nil
}

// Do sends the prompt, uses some tools, and ends in one of many ways.
func (a *simAgent) Do(ctx context.Context) fleet.Event {
	a.say(fleettest.Prompted, "")
	for range a.rand.IntN(5) {
		if !a.live(ctx, upTo(a.rand, 15*time.Second)) {
			return a.stopped(ctx)
		}
		a.cost += 0.01
		a.store(func(t *fleet.Traces) { t.Stored, t.CostUSD = true, a.cost })
		if chance(a.rand, 0.2) {
			if err := a.task.Report(ctx, fleet.Report{Status: "works", CostUSD: a.cost}); errors.Is(err, fleet.ErrStale) {
				return a.stopped(ctx)
			}
		}
		if chance(a.rand, 0.2) {
			q := &fleet.Question{Tool: "Bash"}
			answer, err := a.task.Ask(ctx, q, chance(a.rand, 0.7))
			if errors.Is(err, fleet.ErrParked) {
				return fleet.Park{Question: q.ID, CostUSD: a.cost}
			}
			if err != nil {
				return a.stopped(ctx)
			}
			if !answer.Allow {
				continue
			}
		}
		if a.task.MayAct(ctx) != nil {
			return a.stopped(ctx)
		}
		a.use()
	}
	if !a.live(ctx, upTo(a.rand, 10*time.Second)) {
		return a.stopped(ctx)
	}
	return a.end(ctx)
}

// use uses a tool, which nothing but the death of the machine ends. It takes up to a third of the lease:
// then it is over before others take the job away. A machine that is suspended meanwhile can't promise that.
func (a *simAgent) use() {
	a.say(fleettest.Acted, "")
	before := a.suspensions()
	time.Sleep(upTo(a.rand, a.lease/3))
	if a.suspensions() == before {
		a.say(fleettest.Acted, "")
	}
}

// end ends the agent by itself.
func (a *simAgent) end(ctx context.Context) fleet.Event {
	stored := a.isStored()
	switch n := a.rand.IntN(20); {
	case n < 2:
		until := time.Now().Add(upTo(a.rand, 2*time.Minute)).UTC().Round(time.Millisecond)
		return fleet.Pause{Cause: fleet.ByLimit, Text: "limit", Until: until, Stored: stored, Progress: chance(a.rand, 0.5), CostUSD: a.cost}
	case n == 2:
		until := time.Now().Add(upTo(a.rand, 30*time.Second)).UTC().Round(time.Millisecond)
		return fleet.Pause{Cause: fleet.ByThrottling, Until: until, Stored: stored, CostUSD: a.cost}
	case n == 3:
		return fleet.Pause{Cause: fleet.ByAccount, Until: time.Now().UTC().Round(time.Millisecond), Stored: stored}
	case n == 4:
		return fleet.Lose{Cause: fleet.ByExit, Text: "exit status 1", Stored: stored, CostUSD: a.cost}
	case n == 5:
		return fleet.Finish{Cause: fleet.ByBudget, Stored: stored, CostUSD: a.cost}
	}
	result := fleet.Result{Text: "done by " + a.session, Turns: 1}
	a.say(fleettest.Finished, result.Text)
	a.store(func(t *fleet.Traces) { t.Stored, t.Finished = true, &result })
	a.live(ctx, upTo(a.rand, 2*time.Second)) // the worker reads the result even if it is to end the agent
	return fleet.Finish{Cause: fleet.ByResult, Result: result, Stored: true, CostUSD: a.cost}
}

// stopped returns the end of an agent that its worker ended.
func (a *simAgent) stopped(ctx context.Context) fleet.Event {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, fleet.ErrCanceled):
		return fleet.Finish{Cause: fleet.ByPerson, Stored: a.isStored(), CostUSD: a.cost}
	case errors.Is(cause, fleet.ErrShutdown):
		return fleet.Lose{Cause: fleet.ByShutdown, Stored: a.isStored(), CostUSD: a.cost}
	default:
		return fleet.Lose{Cause: fleet.ByLoss, Text: fmt.Sprint(cause), Stored: a.isStored(), CostUSD: a.cost}
	}
}
