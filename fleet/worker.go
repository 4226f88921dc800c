package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/wording"
)

// WorkerOptions configures a worker. The zero value of each field has a meaning.
type WorkerOptions struct {
	Host    string // for people
	PID     int
	Version string
	// Slots is the maximum number of jobs that run at a time; 0 means 1.
	Slots int
	// Queues are the queues whose jobs the worker takes; nil means [DefaultQueue].
	Queues []string
	// Accounts are the accounts whose jobs the worker takes; nil means all.
	Accounts []string
	// Lease is the time that the worker may be silent; 0 means [DefaultLease].
	Lease time.Duration
	// PrepareTimeout is the time that an attempt may take to start: to fetch the repository, set it up and
	// start the agent. 0 means an hour, less than 0 no limit.
	PrepareTimeout time.Duration
	// Drain is the time that running jobs have to end after [Worker.Drain]; 0 means no limit.
	Drain time.Duration
	// Retain is the time that jobs are kept after their end; 0 means 30 days, less than 0 for ever.
	Retain time.Duration
	// Logger gets what the worker does; nil means nothing.
	Logger *slog.Logger
}

func (o *WorkerOptions) withDefaults() WorkerOptions {
	var c WorkerOptions
	if o != nil {
		c = *o
	}
	c.Slots = cmp.Or(max(c.Slots, 0), 1)
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.PrepareTimeout = cmp.Or(c.PrepareTimeout, time.Hour)
	c.Retain = cmp.Or(c.Retain, 30*24*time.Hour)
	if c.Queues == nil {
		c.Queues = []string{DefaultQueue}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// A Worker takes jobs and runs them. It also looks after the jobs of others: it takes over the jobs
// of dead workers, wakes waiting jobs, and unblocks jobs whose dependencies are done.
type Worker struct {
	fleet  *Fleet
	runner Runner
	opts   WorkerOptions
	log    *slog.Logger
	view   *view
	seed   string // orders jobs differently for each worker
	drain  chan struct{}
	once   sync.Once

	mu      sync.Mutex
	running map[string]*held     // by job
	lease   string               // the ID of the worker, while it has a lease
	asked   bool                 // the runner was asked whether it is ready
	problem error                // why it is not
	avoided map[string]avoidance // jobs that this worker could not start, or that others took faster
	refused map[string]string    // jobs that the runner does not take
	held    map[string]string    // accounts that it can't use, and why

	news chan struct{} // the record of the worker should be written soon
}

// held is a job that this worker has, or is about to have.
type held struct {
	owner   string // the ID of the worker's lease
	attempt int    // 0 until it is claimed
	seen    bool   // the view has this attempt
	cancel  context.CancelCauseFunc
}

// avoidance is the time for which a job is left to others.
type avoidance struct {
	from instant
	wait time.Duration
}

// NewWorker returns a worker. The runner runs its agents. Options can be nil.
func NewWorker(e Engine, r Runner, o *WorkerOptions) *Worker {
	opts := o.withDefaults()
	w := &Worker{
		fleet: Open(e, "worker "+opts.Host), runner: r, opts: opts, log: opts.Logger, seed: newID(), drain: make(chan struct{}),
		running: make(map[string]*held), avoided: make(map[string]avoidance), refused: make(map[string]string),
		news: make(chan struct{}, 1),
	}
	w.view = newView(e, func(what string, err error) { w.log.Warn(what, "error", err) })
	return w
}

// Drain lets the worker take no more jobs. Run returns when the running jobs end.
func (w *Worker) Drain() { w.once.Do(func() { close(w.drain) }) }

// Busy returns how many jobs run.
func (w *Worker) Busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.running)
}

// Run takes jobs until the context ends or [Worker.Drain] is called. When the context ends, it ends
// the agents at once, and their policies decide about the jobs.
func (w *Worker) Run(ctx context.Context) error {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { w.view.follow(following) })
	background.Go(func() { w.tend(following) })
	background.Go(func() { w.sweep(following) })
	background.Go(func() { w.askRunner(following) })
	defer background.Wait()
	defer stop()
	for {
		again, err := w.runLease(ctx)
		if !again {
			return err
		}
		w.log.Warn("the lease was lost, and the worker begins anew")
	}
}

// runLease registers the worker, and takes jobs as long as it has its lease. It returns whether the lease
// was lost.
func (w *Worker) runLease(ctx context.Context) (lost bool, err error) {
	started := now()
	l := newLease(w.fleet.engine, newID(), w.opts.Lease, func() *WorkerInfo { return w.info(started) }, w.news)
	if err := w.register(ctx, l); err != nil {
		return false, err
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // even while jobs end
	var background sync.WaitGroup
	background.Go(func() { l.keep(keeping) })
	background.Go(func() { l.watch(keeping) })

	acting, end := context.WithCancelCause(context.WithoutCancel(ctx))
	w.setLease(l.id)
	defer w.setLease("")
	var jobs sync.WaitGroup
	w.takeJobs(ctx, acting, l, &jobs)
	w.endJobs(ctx, l, end, &jobs)
	stop()
	background.Wait()
	end(nil)
	select {
	case <-l.lost:
		return ctx.Err() == nil && !w.isDraining(), nil
	default:
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := w.fleet.engine.Remove(leaving, Workers, l.id, l.revision); err != nil {
		w.log.Warn("the record of this worker stays until its lease is over", "error", err)
	}
	return false, nil
}

// register writes the record of the worker. It tries until the engine answers.
func (w *Worker) register(ctx context.Context, l *lease) error {
	for {
		err := l.renew(ctx)
		if err == nil {
			return nil
		}
		w.log.Warn("the worker can't register", "error", err)
		_ = pause.For(ctx, min(time.Second, w.opts.Lease/10))
		if ctx.Err() != nil {
			return err
		}
	}
}

func (w *Worker) setLease(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lease = id
}

func (w *Worker) isDraining() bool {
	select {
	case <-w.drain:
		return true
	default:
		return false
	}
}

// info returns the record of the worker.
func (w *Worker) info(started time.Time) *WorkerInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &WorkerInfo{
		Host: w.opts.Host, PID: w.opts.PID, Version: w.opts.Version, Started: started, Slots: w.opts.Slots, Busy: len(w.running),
		Queues: w.opts.Queues, Accounts: w.opts.Accounts, Draining: w.isDraining(), Problem: w.problemNow(),
		Refused: maps.Clone(w.refused), Held: maps.Clone(w.held),
	}
}

// problemNow returns why the worker can run no job, or "". The lock is held.
func (w *Worker) problemNow() string {
	if !w.asked {
		return "it is checking whether it can run jobs"
	}
	return problemText(w.problem)
}

func problemText(err error) string {
	if err == nil {
		return ""
	}
	return cut(err.Error(), maxText)
}

// readyTime is the interval at which a runner is asked whether it is ready.
const readyTime = 10 * time.Second

// askRunner asks the runner again and again whether it is ready, until the context ends.
func (w *Worker) askRunner(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.runner.Ready(ctx); ctx.Err() == nil {
			w.setProblem(err)
		}
		_ = pause.For(ctx, readyTime)
	}
}

// setProblem takes note of why the worker can run no jobs, or that it can.
func (w *Worker) setProblem(err error) {
	w.mu.Lock()
	wasAsked := w.asked
	changed := !wasAsked || problemText(w.problem) != problemText(err)
	w.asked, w.problem = true, err
	w.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		w.log.Warn("the worker takes no jobs", "error", err)
	} else if wasAsked {
		w.log.Info("the worker takes jobs again")
	}
	w.tell()
	w.view.poke()
}

// tell makes the worker write its record soon.
func (w *Worker) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// isReady reports whether the worker can run jobs, as far as it knows.
func (w *Worker) isReady() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked && w.problem == nil
}

// takeJobs takes jobs until the worker is stopped, or its lease is lost.
func (w *Worker) takeJobs(ctx, acting context.Context, l *lease, jobs *sync.WaitGroup) {
	tick := time.NewTicker(min(time.Second, w.opts.Lease/10))
	defer tick.Stop()
	for {
		w.fill(acting, l, jobs)
		select {
		case <-ctx.Done():
			return
		case <-w.drain:
			return
		case <-l.lost:
			return
		case <-w.view.changed:
		case <-tick.C:
			w.noteRefused()
		}
	}
}

// fill starts as many jobs as there are free slots.
func (w *Worker) fill(acting context.Context, l *lease, jobs *sync.WaitGroup) {
	free := w.opts.Slots - w.Busy()
	if free <= 0 || !w.isReady() || !w.view.isComplete() || l.age() >= w.opts.Lease*unsureNum/unsureDen {
		return
	}
	for _, j := range w.choose(free) {
		ctx, cancel := context.WithCancelCause(acting)
		w.mu.Lock()
		w.running[j.ID] = &held{owner: l.id, cancel: cancel}
		w.mu.Unlock()
		jobs.Go(func() {
			defer w.view.poke()
			defer w.release(j.ID)
			defer cancel(nil)
			w.attempt(ctx, l, j.ID)
		})
	}
}

// release frees a slot.
func (w *Worker) release(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, id)
}

// choose returns up to n jobs to take. Workers that choose at the same time mostly choose different
// ones: each starts somewhere else among the first jobs, of which there are about as many as
// workers. Jobs that the last try did not start come last: taken again and again, they would leave
// others where they are.
func (w *Worker) choose(n int) []*Job {
	jobs := w.accepted(n * max(1, len(w.view.live())))
	if len(jobs) > n {
		slices.SortStableFunc(jobs, func(a, b *Job) int {
			return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), cmp.Compare(w.rank(a), w.rank(b)))
		})
	}
	return jobs[:min(n, len(jobs))]
}

// accepted returns the first n jobs that the worker may take and that the runner takes.
func (w *Worker) accepted(n int) []*Job {
	var taken []*Job
	at := time.Now()
	for last := (*Job)(nil); len(taken) < n; {
		jobs := w.view.candidates(last, n-len(taken), func(j *Job) bool { return w.may(j, at) })
		if len(jobs) == 0 {
			break
		}
		for _, j := range jobs {
			if w.runner.Check(j) == nil {
				taken = append(taken, j)
			}
			last = j
		}
	}
	return taken
}

// noteRefused puts the queued jobs that the runner does not take, and the accounts that it can't use,
// into the record of the worker, with the reason. It does so while all slots are taken, too: otherwise
// nobody would know until one is free.
func (w *Worker) noteRefused() {
	refused, held := make(map[string]string), make(map[string]string)
	if w.isReady() && w.view.isComplete() && !w.isDraining() {
		at := time.Now()
		for _, j := range w.view.candidates(nil, maxChecked, func(j *Job) bool { return w.may(j, at) }) {
			switch err := w.runner.Check(j); {
			case err == nil:
			case errors.Is(err, ErrAccount):
				held[j.Spec.account()] = cut(err.Error(), maxSaid)
			case len(refused) < maxRefused:
				refused[j.ID] = cut(err.Error(), maxSaid)
			}
		}
	}
	w.mu.Lock()
	changed := !maps.Equal(w.refused, refused) || !maps.Equal(w.held, held)
	w.refused, w.held = refused, held
	w.mu.Unlock()
	if changed {
		w.tell()
	}
}

// refusals returns the refused jobs with their reasons.
func (w *Worker) refusals() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.refused)
}

// rank orders jobs of one priority differently for each worker. Jobs that the last try did not start
// come last.
func (w *Worker) rank(j *Job) uint64 {
	h := fnv.New64a()
	io.WriteString(h, w.seed+j.ID) //nolint:errcheck // a hash takes all
	rank := h.Sum64() >> 1
	if j.notStarted() {
		rank |= 1 << 63
	}
	return rank
}

// The maximum number of refused jobs in a worker's record, and of queued jobs that are checked for it.
const (
	maxRefused = 100
	maxChecked = 1000
)

// may reports whether this worker takes a queued job now.
func (w *Worker) may(j *Job, at time.Time) bool {
	if !slices.Contains(w.opts.Queues, j.Spec.queue()) || w.opts.Accounts != nil && !slices.Contains(w.opts.Accounts, j.Spec.account()) {
		return false
	}
	if _, blocked := w.view.accounts[j.Spec.account()].Blocked(at); blocked { // the view is locked
		return false
	}
	w.mu.Lock()
	a, avoids := w.avoided[j.ID]
	_, runs := w.running[j.ID]
	w.mu.Unlock()
	return !runs && (!avoids || nowInstant().since(a.from) >= a.wait)
}

// avoid leaves a job to others for some time.
func (w *Worker) avoid(id string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.avoided) > maxAvoided {
		maps.DeleteFunc(w.avoided, func(_ string, a avoidance) bool { return nowInstant().since(a.from) > a.wait })
	}
	w.avoided[id] = avoidance{nowInstant(), wait}
}

// The time for which a worker leaves a job to others: a job taken by another worker, and, after the
// job's own pause, a job that it could not start itself.
const (
	takenTime  = 100 * time.Millisecond
	failedTime = 5 * time.Second
)

// maxAvoided is the number of avoided jobs that this worker remembers before it forgets those it
// may try again.
const maxAvoided = 1000

// attempt takes a job and runs an attempt of it to its end.
func (w *Worker) attempt(ctx context.Context, l *lease, id string) {
	j, err := w.fleet.change(ctx, id, Claim{l.id})
	if err != nil {
		w.avoid(id, takenTime) // most often another worker was faster
		return
	}
	t := &Task{Job: j, Number: len(j.Attempts), worker: w, lease: l}
	w.mu.Lock()
	w.running[id].attempt = t.Number
	w.mu.Unlock()
	if err := errors.Join(j.Spec.Check(), w.runner.Check(j)); err != nil { // the record may be another one than was chosen
		w.giveBack(ctx, t, err)
		return
	}
	log := w.log.With("job", id, "attempt", t.Number)
	log.Info("claimed")
	run, err := w.prepare(ctx, t)
	if err != nil {
		log.Warn("the attempt can't begin", "error", err)
		w.giveBack(ctx, t, err)
		return
	}
	defer run.Close()
	if err := w.begin(ctx, t, run); err != nil {
		log.Warn("the attempt did not begin", "error", err)
		w.giveBack(ctx, t, err)
		return
	}
	log.Info("running")
	w.end(ctx, t, run.Do(ctx))
}

// prepare lets the runner prepare an attempt, for as long as that may take.
func (w *Worker) prepare(ctx context.Context, t *Task) (Run, error) {
	limit := w.opts.PrepareTimeout
	if limit < 0 {
		return w.runner.Prepare(ctx, t)
	}
	slow := fmt.Errorf("it could not start within %s", wording.Duration(limit))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	run, err := w.runner.Prepare(ctx, t)
	if err != nil && errors.Is(context.Cause(ctx), slow) && !errors.Is(err, slow) {
		err = fmt.Errorf("%w: %w", slow, err)
	}
	return run, err
}

// begin records that the prompt is about to be sent.
func (w *Worker) begin(ctx context.Context, t *Task, run Run) error {
	if err := t.MayAct(ctx); err != nil {
		return err
	}
	session, prompt, base := run.IDs()
	_, err := w.fleet.change(ctx, t.Job.ID, Begin{t.Owner(), session, prompt, base})
	if err != nil {
		return err
	}
	return t.MayAct(ctx) // the write may take long
}

// giveBack gives a job back whose prompt was not sent.
func (w *Worker) giveBack(ctx context.Context, t *Task, why error) {
	cause := ByWorker
	switch {
	case errors.Is(why, ErrBudget):
		cause = ByBudget
	case errors.Is(context.Cause(ctx), ErrShutdown):
		cause = ByShutdown
	case errors.Is(why, ErrNotReady):
		cause = ByMachine
		w.setProblem(why)
	case errors.Is(why, ErrAccount):
		cause = ByMachine
	case errors.Is(context.Cause(ctx), ErrLease):
		cause = ByLoss
	}
	w.avoid(t.Job.ID, releasePause(t.Job.Releases+1)+failedTime)
	w.write(ctx, t, Release{t.Number, cause, why.Error()}, Lose{Attempt: t.Number, Cause: ByExit, Text: why.Error()})
}

// end records the end of an attempt.
func (w *Worker) end(ctx context.Context, t *Task, e Event) {
	cost := 0.0
	switch end := e.(type) {
	case Finish:
		end.Owner, cost = t.Owner(), end.CostUSD
		e = end
	case Pause:
		end.Owner, cost = t.Owner(), end.CostUSD
		e = end
		blocking, cancel := context.WithTimeout(context.WithoutCancel(ctx), accountTime)
		defer cancel()
		if err := w.fleet.block(blocking, t.Job.Spec.account(), &end); err != nil {
			w.log.Warn("the account could not be blocked", "error", err)
		}
	case Park:
		end.Owner, cost = t.Owner(), end.CostUSD
		e = end
	case Lose:
		end.Attempt, cost = t.Number, end.CostUSD
		e = end
	default:
		e = Lose{Attempt: t.Number, Cause: ByExit, Text: fmt.Sprintf("the runner has returned %T", e)}
	}
	if !w.write(ctx, t, e) {
		return // its cost was added when the job was taken
	}
	spending, cancel := context.WithTimeout(context.WithoutCancel(ctx), accountTime)
	defer cancel()
	if err := w.fleet.spend(spending, t.Job.Spec.account(), cost); err != nil {
		w.log.Warn("the account does not have the cost", "job", t.Job.ID, "cost", cost, "error", err)
	}
}

// writeTime is the time for which a worker tries to write the end of an attempt, and accountTime the time for its
// effect on the account.
const writeTime = 10 * time.Minute

var accountTime = 30 * time.Second

var _ = timelimit.Register(&accountTime)

// write writes an event of an attempt, or another one if that can't happen. It tries for a long
// time, even after the lease is lost: the record itself refuses late events.
func (w *Worker) write(ctx context.Context, t *Task, events ...Event) (written bool) {
	limit := writeTime
	if cause := context.Cause(ctx); errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrLease) {
		limit = min(limit, w.opts.Lease) // then others write it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for wait := 50 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		j, err := w.fleet.change(ctx, t.Job.ID, events[0])
		_, refused := errors.AsType[*StateError](err)
		switch {
		case err == nil:
			w.log.Info(events[0].name(), "job", t.Job.ID, "attempt", t.Number, "state", j.State)
			return true
		case errors.Is(err, ErrStale), errors.Is(err, ErrNotFound), refused && len(events) == 1:
			w.late(ctx, t, events[0])
			return false
		case refused:
			events = events[1:]
			continue
		}
		w.log.Warn("the record can't be written", "job", t.Job.ID, "error", err)
		_ = pause.For(ctx, wait)
	}
	return false
}

// late keeps a result that came too late.
func (w *Worker) late(ctx context.Context, t *Task, e Event) {
	w.log.Warn("the job was taken away", "job", t.Job.ID, "attempt", t.Number)
	end, ok := e.(Finish)
	if !ok {
		return
	}
	if _, err := w.fleet.change(ctx, t.Job.ID, Late{t.Owner(), end.Result, end.Patch}); err != nil {
		w.log.Warn("a late result could not be kept", "job", t.Job.ID, "error", err)
	}
}

// endJobs waits for the jobs that run, and ends them if the lease is lost, the context ends, or the time to
// drain is over.
func (w *Worker) endJobs(ctx context.Context, l *lease, end context.CancelCauseFunc, jobs *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		jobs.Wait()
	}()
	var late <-chan time.Time
	if w.opts.Drain > 0 {
		t := time.NewTimer(w.opts.Drain)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-done:
	case <-l.lost:
		end(ErrLease)
	case <-ctx.Done():
		end(ErrShutdown)
	case <-late:
		end(ErrShutdown)
	}
	<-done
}

// await waits for the answer to a question, and returns ErrParked after some time, unless that is 0.
func (w *Worker) await(ctx context.Context, q *Question, park time.Duration) (*Answer, error) {
	var parked <-chan time.Time
	if park > 0 {
		t := time.NewTimer(park)
		defer t.Stop()
		parked = t.C
	}
	asked := false
	poll := time.NewTicker(min(time.Second, w.opts.Lease/10))
	defer poll.Stop()
	for {
		isAsked, changed := w.view.isAsked(q.key())
		asked = asked || isAsked
		if asked && !isAsked || !asked {
			is, _, err := w.fleet.question(ctx, q.key())
			if err == nil && is.Answer != nil {
				return is.Answer, nil
			}
			if errors.Is(err, ErrNotFound) {
				return nil, fmt.Errorf("fleet: the question of job %s was removed: %w", q.Job, err)
			}
		}
		if !time.Now().Before(q.Until) {
			if a := w.expire(ctx, q); a != nil {
				return a, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-parked:
			return nil, ErrParked
		case <-changed:
		case <-poll.C:
		}
	}
}
