package fleet

import (
	"context"
	"errors"
	"maps"
	"time"
)

// sweep looks after all jobs until the context ends.
func (w *Worker) sweep(ctx context.Context) {
	every := min(time.Second, w.opts.Lease/10)
	retained := nowInstant()
	for ctx.Err() == nil {
		pause(ctx, every)
		if !w.view.isComplete() {
			continue
		}
		w.endStale()
		for _, j := range w.view.waiting() {
			w.look(ctx, j)
		}
		for _, q := range w.view.openQuestions() {
			w.lookAtQuestion(ctx, q)
		}
		w.removeSilent(ctx)
		if nowInstant().since(retained) > time.Hour && w.opts.Retain > 0 {
			retained = nowInstant()
			w.removeOld(ctx)
		}
	}
}

// endStale ends the attempts of this worker whose jobs were taken away: somebody has decided so, although
// the worker has its lease.
func (w *Worker) endStale() {
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
		case number == 0, j == nil && !seen, j != nil && len(j.Attempts) < number: // the view is behind
		case j == nil, len(j.Attempts) > number, j.Attempts[number-1].Worker != h.owner, !j.Attempts[number-1].Ended.IsZero():
			h.cancel(ErrStale)
		}
	}
}

// lookAtQuestion closes a question that nobody has answered in time, or that nobody waits for any more.
func (w *Worker) lookAtQuestion(ctx context.Context, q *Question) {
	if !time.Now().Before(q.Until) {
		w.expire(ctx, q)
		return
	}
	if j := w.view.job(q.Job); j != nil && j.waitsFor(q) {
		return
	}
	j, _, err := w.fleet.get(ctx, q.Job) // the view may be behind
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

// look does what is to be done for a job that is not queued.
func (w *Worker) look(ctx context.Context, j *Job) {
	switch j.State {
	case Claimed, Running:
		w.lookAtHeld(ctx, j)
	case Waiting:
		if !time.Now().Before(j.Until) {
			w.try(ctx, j, Wake{})
		}
	case Asking:
		if !w.view.isAsked(j.ID + "." + j.Question) {
			w.lookAtAnswer(ctx, j)
		}
	case Blocked:
		w.lookAtDependencies(ctx, j)
	}
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

// lookAtHeld cancels a job of this worker if that is wanted, and takes jobs away from workers that are dead.
func (w *Worker) lookAtHeld(ctx context.Context, j *Job) {
	w.mu.Lock()
	h, own := w.running[j.ID], w.lease
	w.mu.Unlock()
	a := j.Attempt()
	if h != nil && h.owner == a.Worker {
		if j.Cancel != nil {
			h.cancel(ErrCanceled)
		}
		return
	}
	if a.Worker != own && !w.view.isDead(ctx, a.Worker, w.opts.Lease) {
		return // a job of this worker that does not run was claimed by a write whose outcome was not known
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

// lookTime is how long a stored session may take to be read.
const lookTime = 30 * time.Second

// lookAtAnswer queues a job whose question has an answer. The view may be behind, so the record decides.
func (w *Worker) lookAtAnswer(ctx context.Context, j *Job) {
	r, err := w.fleet.engine.Get(ctx, Questions, j.ID+"."+j.Question)
	if err == nil {
		q, err := questionOf(r)
		if err != nil || q.Answer == nil {
			return
		}
	} else if !errors.Is(err, ErrNotFound) {
		return
	}
	w.try(ctx, j, Answered{j.Question})
}

// expire answers a question that nobody has answered in time.
func (w *Worker) expire(ctx context.Context, q *Question) {
	w.close(ctx, q, "Nobody has answered in time. This is not a refusal. Go on without it, or stop and say what you need.")
}

// close answers a question in the name of nobody.
func (w *Worker) close(ctx context.Context, q *Question, text string) {
	a := &Answer{At: now(), By: "policy", Expired: true, Text: text}
	if _, err := w.fleet.answer(ctx, q.key(), a); err != nil && !errors.Is(err, ErrAnswered) && !errors.Is(err, ErrNotFound) && ctx.Err() == nil {
		w.log.Warn("the question can't be answered", "job", q.Job, "error", err)
	}
}

// lookAtDependencies lets a job begin if all jobs before it are done, and ends it if one was not done.
func (w *Worker) lookAtDependencies(ctx context.Context, j *Job) {
	for _, id := range j.Spec.After {
		if w.view.job(id) != nil {
			return // it is open
		}
	}
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

// silence is how long the record of a dead worker stays.
const silence = 10 * time.Minute

// removeSilent removes the records of workers that are dead and have no jobs.
func (w *Worker) removeSilent(ctx context.Context) {
	_, silent := w.view.others(silence)
	if len(silent) == 0 {
		return
	}
	holds := make(map[string]bool)
	for _, j := range w.view.waiting() {
		holds[j.Worker()] = true
	}
	for _, id := range silent {
		if holds[id] || !w.view.isDead(ctx, id, w.opts.Lease) {
			continue
		}
		if r, err := w.fleet.engine.Get(ctx, Workers, id); err == nil {
			if err := w.fleet.engine.Remove(ctx, Workers, id, r.Revision); err != nil {
				continue
			}
		}
		w.view.forget(id)
	}
}

// removeOld removes the jobs that have ended long ago.
func (w *Worker) removeOld(ctx context.Context) {
	before := time.Now().Add(-w.opts.Retain)
	var old []string
	for s, err := range w.fleet.Jobs(ctx) {
		if err != nil {
			w.log.Warn("the jobs can't be listed", "error", err)
			return
		}
		if s.State.Ended() && s.Changed.Before(before) {
			old = append(old, s.ID)
		}
	}
	for _, id := range old {
		if err := w.fleet.Drop(ctx, id); err != nil && ctx.Err() == nil {
			w.log.Warn("an old job can't be removed", "job", id, "error", err)
		}
	}
}
