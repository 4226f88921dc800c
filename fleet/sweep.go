package fleet

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// tick returns the interval at which a worker looks after jobs.
func (w *Worker) tick() time.Duration { return min(time.Second, w.opts.Lease/10) }

// tend looks after the attempts of this worker until the context ends. It waits for nothing else.
func (w *Worker) tend(ctx context.Context) {
	for ctx.Err() == nil {
		_ = pause.For(ctx, w.tick())
		if w.view.isComplete() {
			w.endUnwanted()
		}
	}
}

// endUnwanted ends this worker's canceled attempts, and attempts whose jobs are no longer its own
// although the worker has its lease.
func (w *Worker) endUnwanted() {
	w.mu.Lock()
	running := maps.Clone(w.running)
	w.mu.Unlock()
	for id, h := range running {
		j := w.view.job(id)
		w.mu.Lock()
		number, seen := h.attempt, h.seen
		h.seen = seen || number > 0 && j != nil && len(j.Attempts) >= number
		w.mu.Unlock()
		switch {
		case number == 0, j == nil && !seen, j != nil && len(j.Attempts) < number: // the view lags
		case j == nil, len(j.Attempts) > number, j.Attempts[number-1].Worker != h.owner, !j.Attempts[number-1].Ended.IsZero():
			h.cancel(ErrStale)
		case j.Cancel != nil:
			h.cancel(ErrCanceled)
		}
	}
}

// maxChores is the maximum number of chores that a worker does at a time.
const maxChores = 8

// A chore is something that any worker can do for a job that no worker runs, a question or a dead worker.
type chore struct {
	key   string    // what it is about
	since time.Time // of the record
	now   bool      // it is the business of this worker alone
	do    func(context.Context)
	rank  int
}

// A turn is a chore that is to be done.
type turn struct {
	since time.Time // of the record
	seen  instant   // by this worker, first
}

// A sweeper does chores. All workers know all of them, and for each of them they know in which order they try: the
// first one at once, the others only if it is still to be done after a while.
type sweeper struct {
	*Worker
	turns map[string]turn
	doing sync.WaitGroup
	slots chan struct{}

	choosing sync.Mutex
	busy     map[string]bool
	retained instant // when old jobs were last removed
}

// sweep looks after all jobs until the context ends.
func (w *Worker) sweep(ctx context.Context) {
	s := &sweeper{Worker: w, slots: make(chan struct{}, maxChores), busy: make(map[string]bool), retained: nowInstant()}
	defer s.doing.Wait()
	for ctx.Err() == nil {
		round, end := context.WithTimeout(ctx, w.tick())
		if w.view.isComplete() {
			for _, c := range s.ready(append(w.chores(), s.retention()...)) {
				s.begin(ctx, round, c)
			}
		}
		<-round.Done()
		end()
	}
}

// retention returns the removal of old jobs if the last one started more than an hour ago.
func (s *sweeper) retention() []chore {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	if s.opts.Retain <= 0 || nowInstant().since(s.retained) <= time.Hour {
		return nil
	}
	return []chore{{key: "old jobs", now: true, do: func(ctx context.Context) {
		s.choosing.Lock()
		s.retained = nowInstant()
		s.choosing.Unlock()
		s.removeOld(ctx)
	}}}
}

// chores returns what is to be done, as far as the view knows.
func (w *Worker) chores() []chore {
	var all []chore
	for _, j := range w.view.waiting() {
		if do, now := w.choreOf(j); do != nil {
			all = append(all, chore{key: "job " + j.ID, since: j.Changed, now: now, do: func(ctx context.Context) { do(ctx, j) }})
		}
	}
	for id, why := range w.refusals() {
		if j := w.view.job(id); j != nil && j.State == Queued && w.view.isRefused(j) {
			all = append(all, chore{key: "refused " + id, since: j.Changed, do: func(ctx context.Context) { w.refuse(ctx, j, why) }})
		}
	}
	for _, q := range w.view.openQuestions() {
		j := w.view.job(q.Job)
		if !time.Now().Before(q.Until) || j == nil || !j.waitsFor(q) {
			all = append(all, chore{key: "question " + q.key(), do: func(ctx context.Context) { w.lookAtQuestion(ctx, q) }})
		}
	}
	for _, id := range w.silent() {
		all = append(all, chore{key: "worker " + id, do: func(ctx context.Context) { w.removeSilent(ctx, id) }})
	}
	return all
}

// ready returns the chores whose turn it is for this worker, those before others for which it is the first one.
func (s *sweeper) ready(chores []chore) []chore {
	s.mu.Lock()
	own := s.lease
	s.mu.Unlock()
	live := s.view.live()
	turns := make(map[string]turn, len(chores))
	var ready []chore
	for _, c := range chores {
		t, known := s.turns[c.key]
		if !known || !t.since.Equal(c.since) {
			t = turn{c.since, nowInstant()}
		}
		turns[c.key] = t
		if !c.now {
			c.rank = min(rankOf(c.key, own, live), maxRank)
		}
		if nowInstant().since(t.seen) >= time.Duration(c.rank)*2*s.tick() {
			ready = append(ready, c)
		}
	}
	s.turns = turns
	slices.SortFunc(ready, func(a, b chore) int { return cmp.Compare(a.rank, b.rank) })
	return ready
}

// maxRank is the last turn of a worker. So a chore is late by some seconds at most, however many workers there are.
const maxRank = 4

// rankOf returns how many of the workers come before one. The order is another one for each chore.
func rankOf(key, own string, live []string) (rank int) {
	if own == "" {
		return len(live)
	}
	mine := weightOf(key, own)
	for _, id := range live {
		if id != own && weightOf(key, id) > mine {
			rank++
		}
	}
	return rank
}

func weightOf(key, worker string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, worker+" "+key) //nolint:errcheck // a hash takes all
	sum := h.Sum64()
	// The upper bits of the hash, which decide, depend little on its last bytes.
	sum = (sum ^ sum>>33) * 0xff51afd7ed558ccd
	return sum ^ sum>>33
}

// begin does a chore, unless it is being done. It waits for a slot until the round ends, and leaves the chore to the
// next round then.
func (s *sweeper) begin(ctx, round context.Context, c chore) {
	if s.isBusy(c.key) {
		return
	}
	select {
	case s.slots <- struct{}{}:
	case <-round.Done():
		return
	}
	s.choosing.Lock()
	defer s.choosing.Unlock()
	s.busy[c.key] = true
	s.doing.Go(func() {
		defer func() {
			s.choosing.Lock()
			defer s.choosing.Unlock()
			delete(s.busy, c.key)
			<-s.slots
		}()
		c.do(ctx)
	})
}

func (s *sweeper) isBusy(key string) bool {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	return s.busy[key]
}

// lookAtQuestion closes a question that nobody answered in time, or that nobody waits for any more.
func (w *Worker) lookAtQuestion(ctx context.Context, q *Question) {
	if !time.Now().Before(q.Until) {
		w.expire(ctx, q)
		return
	}
	if j := w.view.job(q.Job); j != nil && j.waitsFor(q) {
		return
	}
	j, _, err := w.fleet.get(ctx, q.Job) // the view may lag
	if errors.Is(err, ErrNotFound) || err == nil && !j.waitsFor(q) {
		w.close(ctx, q, "Nobody waits for the answer any more.")
	}
}

// waitsFor reports whether an attempt waits for an answer, or the job without one.
func (j *Job) waitsFor(q *Question) bool {
	if j.State == Asking {
		return j.Question == q.ID
	}
	a := j.Attempt()
	return j.State.Held() && a.Number == q.Attempt || j.Next == Continued && j.From != nil && j.From.Cause == ByQuestion
}

// choreOf returns what is to be done for a job that is not queued, or nil. It may be the business of this worker
// alone.
func (w *Worker) choreOf(j *Job) (do func(context.Context, *Job), now bool) {
	switch j.State {
	case Claimed, Running:
		w.mu.Lock()
		h, own := w.running[j.ID], w.lease
		w.mu.Unlock()
		a := j.Attempt()
		switch {
		case h != nil && h.owner == a.Worker:
		case a.Worker == own: // it was claimed by a write whose outcome was not known
			return w.takeAway, true
		case w.view.isSilent(a.Worker, w.opts.Lease):
			return w.takeAway, false
		}
	case Waiting:
		if !time.Now().Before(j.Until) {
			return func(ctx context.Context, j *Job) { w.try(ctx, j, Wake{}) }, false
		}
	case Asking:
		if asked, _ := w.view.isAsked(j.ID + "." + j.Question); !asked {
			return w.lookAtAnswer, false
		}
	case Blocked:
		if !slices.ContainsFunc(j.Spec.After, func(id string) bool { return w.view.job(id) != nil }) {
			return w.lookAtDependencies, false
		}
	}
	return nil, false
}

// try lets an event happen, and reports whether it has. Another worker may have been faster.
func (w *Worker) try(ctx context.Context, j *Job, e Event) bool {
	next, err := w.fleet.change(ctx, j.ID, e)
	_, refused := errors.AsType[*StateError](err)
	switch {
	case err == nil:
		w.log.Info(e.name(), "job", j.ID, "state", next.State, "cause", next.Cause)
	case refused, errors.Is(err, ErrStale), errors.Is(err, ErrNotFound), ctx.Err() != nil:
	default:
		w.log.Warn("the record can't be written", "job", j.ID, "error", err)
	}
	return err == nil
}

// refuse records that no live worker takes a queued job. The view may lag, so the record decides: it
// must not have changed since.
func (w *Worker) refuse(ctx context.Context, j *Job, why string) {
	if is, _, err := w.fleet.get(ctx, j.ID); err == nil && is.State == Queued && is.Changed.Equal(j.Changed) {
		w.try(ctx, j, Refuse{why})
	}
}

// takeAway takes a job away from a worker that is dead, or from this one, which does not run it.
func (w *Worker) takeAway(ctx context.Context, j *Job) {
	w.mu.Lock()
	own := w.lease
	w.mu.Unlock()
	a := j.Attempt()
	if a.Worker != own && !w.view.isDead(ctx, a.Worker, w.opts.Lease) {
		return
	}
	if j.State == Claimed {
		w.try(ctx, j, Release{a.Number, ByLoss, "the worker " + a.Worker + " is gone"})
		return
	}
	lost := Lose{Attempt: a.Number, Cause: ByLoss, Text: "the worker " + a.Worker + " is gone"}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if traces, err := w.runner.Look(looking, j); err == nil {
		lost.Stored, lost.Finished, lost.CostUSD = traces.Stored, traces.Finished, traces.CostUSD
	} else {
		lost.Text += ", and its session could not be read: " + err.Error()
	}
	if w.try(ctx, j, lost) {
		if err := w.fleet.spend(ctx, j.Spec.account(), lost.CostUSD); err != nil {
			w.log.Warn("the account does not have the cost", "job", j.ID, "error", err)
		}
	}
}

// lookTime is the timeout for reading a stored session.
const lookTime = 30 * time.Second

// lookAtAnswer queues a job whose question has an answer, or is gone. The view may lag, so the
// record decides. A question that can't be read is removed: nobody can answer it, and the agent
// asks again.
func (w *Worker) lookAtAnswer(ctx context.Context, j *Job) {
	key := j.ID + "." + j.Question
	q, revision, err := w.fleet.question(ctx, key)
	if errors.Is(err, errUnreadable) {
		w.log.Warn("the question is removed", "job", j.ID, "error", err)
		if err := w.fleet.engine.Remove(ctx, Questions, key, revision); err != nil {
			return
		}
	} else if err != nil && !errors.Is(err, ErrNotFound) || err == nil && q.Answer == nil {
		return
	}
	w.try(ctx, j, Answered{j.Question})
}

// expire answers a question that nobody answered in time. It returns the answer that counts, or nil
// if the engine does not return it.
func (w *Worker) expire(ctx context.Context, q *Question) *Answer {
	return w.close(ctx, q, "Nobody has answered in time. This is not a refusal. Go on without it, or stop and say what you need.")
}

// close answers a question in the name of nobody. It returns the answer that counts: an answer that
// was faster, or this one, even if the record can't be read.
func (w *Worker) close(ctx context.Context, q *Question, text string) *Answer {
	a := &Answer{At: now(), By: "policy", Expired: true, Text: text}
	is, err := w.fleet.answer(ctx, q.key(), a)
	switch {
	case err == nil, errors.Is(err, ErrAnswered):
		return is.Answer
	case errors.Is(err, errUnreadable):
		return a
	case !errors.Is(err, ErrNotFound) && ctx.Err() == nil:
		w.log.Warn("the question can't be answered", "job", q.Job, "error", err)
	}
	return nil
}

// lookAtDependencies lets a job start if all jobs before it are done, and ends it if one was not
// done.
func (w *Worker) lookAtDependencies(ctx context.Context, j *Job) {
	for _, id := range j.Spec.After {
		before, _, err := w.fleet.get(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && before.State.Ended() && before.State != Done:
			w.try(ctx, j, Unblock{Failed: id})
			return
		case err != nil || before.State != Done:
			return
		}
	}
	w.try(ctx, j, Unblock{})
}

// silence is the time after which the record of a dead worker is removed.
const silence = 10 * time.Minute

// silent returns the workers that are silent for long and have no jobs.
func (w *Worker) silent() []string {
	ids := w.view.silent(silence)
	if len(ids) == 0 {
		return nil
	}
	holds := make(map[string]bool)
	for _, j := range w.view.waiting() {
		holds[j.Worker()] = true
	}
	return slices.DeleteFunc(ids, func(id string) bool { return holds[id] })
}

// removeSilent removes the record of a worker that is dead.
func (w *Worker) removeSilent(ctx context.Context, id string) {
	if !w.view.isDead(ctx, id, w.opts.Lease) {
		return
	}
	r, err := read(ctx, w.fleet.engine, Workers, id)
	if err == nil && r.Revision != 0 {
		err = w.fleet.engine.Remove(ctx, Workers, id, r.Revision)
	}
	if err == nil {
		w.view.forget(id)
	}
}

// engineTime returns about the time by the clock of the engine: when it last stored the lease of this worker.
func (w *Worker) engineTime(ctx context.Context) (at time.Time, lease string, err error) {
	w.mu.Lock()
	lease = w.lease
	w.mu.Unlock()
	r, err := w.fleet.engine.Get(ctx, Workers, lease)
	return r.Time, lease, err
}

// removeOld removes the jobs that ended long ago. Each worker starts with its own part of them, and
// takes the leftovers of others some hours later. The engine's clock counts, at both ends: the clock of
// one machine may be a month ahead.
func (w *Worker) removeOld(ctx context.Context) {
	at, own, err := w.engineTime(ctx)
	if err != nil {
		w.log.Warn("old jobs are not removed, since the time of the server is not known", "error", err)
		return
	}
	before := at.Add(-w.opts.Retain)
	live := w.view.live()
	var old []string
	for r, err := range w.fleet.engine.List(ctx, Jobs, "", func(string) bool { return false }) {
		if err != nil {
			w.log.Warn("some jobs can't be listed", "error", err)
			break // those before the error can be removed
		}
		if !summaryOf(r.Key, r.Label).State.Ended() || !r.Time.Before(before) {
			continue
		}
		late := time.Duration(min(rankOf(r.Key, own, live), maxRank)) * 2 * time.Hour
		if r.Time.Add(late).Before(before) {
			old = append(old, r.Key)
		}
	}
	for _, id := range old {
		err := w.fleet.dropWith(ctx, id, func(_ string, drop func() error) error { return drop() })
		if err != nil && ctx.Err() == nil {
			w.log.Warn("an old job can't be removed", "job", id, "error", err)
		}
	}
}
