package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// A view is a worker's copy of the records: of open jobs, workers, accounts and open questions. It
// lags the engine by some milliseconds, and decides nothing by itself: each change of a record that
// follows from it is refused if the record changed.
type view struct {
	engine  Engine
	changed chan struct{} // has an element when something changed
	warn    func(what string, err error)

	mu        sync.Mutex
	complete  map[Table]bool
	jobs      map[string]*Job // all open ones
	queued    *queue          // the queued ones of them
	workers   map[string]*seen
	accounts  map[string]*Account
	questions map[string]*Question // those without an answer
	asked     chan struct{}        // closed when the next question is asked, answered or removed
	damaged   map[place]uint64     // the revisions of records that can't be read
}

// place is the table and key of a record.
type place struct {
	table Table
	key   string
}

// seen is a worker, and when its record was last seen to change.
type seen struct {
	revision uint64      // 0 if there is no record
	info     *WorkerInfo // the last that could be read, or nil
	at       instant
}

func newView(e Engine, warn func(string, error)) *view {
	return &view{
		engine: e, changed: make(chan struct{}, 1), warn: warn, complete: make(map[Table]bool),
		jobs: make(map[string]*Job), queued: newQueue(), workers: make(map[string]*seen),
		accounts: make(map[string]*Account), questions: make(map[string]*Question), asked: make(chan struct{}), damaged: make(map[place]uint64),
	}
}

// poke signals a change.
func (v *view) poke() {
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// viewed are the tables that decide about jobs.
var viewed = []Table{Jobs, Workers, Accounts, Questions}

// follow keeps the view up to date until the context ends.
func (v *view) follow(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range viewed {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := v.followTable(ctx, t); err != nil && ctx.Err() == nil {
					v.warn("the engine does not answer", err)
				}
				_ = pause.For(ctx, 200*time.Millisecond)
			}
		})
	}
	all.Wait()
}

// followTable takes the records of a table until an error. It forgets the records that no longer
// exist when it starts.
func (v *view) followTable(ctx context.Context, t Table) error {
	there := make(map[string]bool)
	whole := false
	for r, err := range v.engine.Watch(ctx, t, "", wantsOf(t)) {
		switch {
		case err != nil:
			return err
		case r.Key == "":
			whole = true
			v.retain(t, there)
		default:
			if !whole {
				there[r.Key] = true
			}
			v.take(t, r)
		}
		v.poke()
	}
	return nil
}

// wantsOf says of which records of a table the data is needed.
func wantsOf(t Table) func(label string) bool {
	switch t {
	case Jobs:
		return isOpen
	case Questions:
		return func(label string) bool { return label == "open" }
	}
	return nil
}

// retain forgets the records that are not there.
func (v *view) retain(t Table, there map[string]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.complete[t] = true
	isGone := func(key string) bool { return !there[key] }
	maps.DeleteFunc(v.damaged, func(p place, _ uint64) bool { return p.table == t && isGone(p.key) })
	switch t {
	case Jobs:
		maps.DeleteFunc(v.jobs, func(key string, _ *Job) bool { return isGone(key) })
		maps.DeleteFunc(v.queued.jobs, func(key string, _ *Job) bool { return isGone(key) })
	case Accounts:
		maps.DeleteFunc(v.accounts, func(key string, _ *Account) bool { return isGone(key) })
	case Questions:
		maps.DeleteFunc(v.questions, func(key string, _ *Question) bool { return isGone(key) })
	case Workers:
		for key, s := range v.workers {
			if isGone(key) && s.revision != 0 {
				v.workers[key] = &seen{at: nowInstant()}
			}
		}
	}
}

// take takes a record. One that can't be read is reported once.
func (v *view) take(t Table, r Record) {
	if err := v.takeOnce(t, r); err != nil {
		v.warn("a record can't be read", err)
	}
}

// takeOnce takes a record. It returns an error if the record can't be read and has not been taken before.
func (v *view) takeOnce(t Table, r Record) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := place{t, r.Key}
	err := v.takeRecord(t, r)
	if err == nil {
		delete(v.damaged, at)
		return nil
	}
	before := v.damaged[at]
	v.damaged[at] = r.Revision
	if before == r.Revision || before != 0 && t == Workers { // which write theirs again and again
		return nil
	}
	return err
}

// takeRecord takes a record. A record without a revision was removed, and a wanted record without
// data is damaged.
func (v *view) takeRecord(t Table, r Record) error {
	switch t {
	case Jobs:
		return v.takeJob(r)
	case Workers:
		return v.takeWorker(r)
	case Accounts:
		if r.Revision == 0 {
			delete(v.accounts, r.Key)
			return nil
		}
		a, err := accountOf(r)
		v.accounts[r.Key] = a
		return err
	case Questions:
		close(v.asked)
		v.asked = make(chan struct{})
		delete(v.questions, r.Key)
		if r.Revision == 0 || r.Label != openLabel {
			return nil
		}
		q, err := questionOf(r)
		if err != nil {
			return err
		}
		v.questions[r.Key] = q
	}
	return nil
}

// takeWorker takes the record of a worker. A change shows that the worker lives, even if it can't
// be read.
func (v *view) takeWorker(r Record) (err error) {
	old := v.workers[r.Key]
	s := &seen{revision: r.Revision, at: nowInstant()}
	if r.Revision != 0 {
		if s.info, err = workerOf(r); err != nil && old != nil {
			s.info = old.info
		}
	}
	if old == nil || old.revision != r.Revision { // otherwise it is the same again, after a new watch
		v.workers[r.Key] = s
	}
	return err
}

func (v *view) takeJob(r Record) error {
	delete(v.jobs, r.Key)
	v.queued.remove(r.Key)
	if r.Revision == 0 || !isOpen(r.Label) {
		return nil
	}
	j, err := jobOf(r)
	if err != nil {
		return err
	}
	v.jobs[j.ID] = j
	if j.State == Queued {
		v.queued.add(j)
	}
	return nil
}

// isComplete reports whether all tables were read once.
func (v *view) isComplete() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.complete) == len(viewed)
}

// job returns an open job, or nil.
func (v *view) job(id string) *Job {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.jobs[id]
}

// isAsked reports whether a question has no answer. The channel is closed when that may be
// different.
func (v *view) isAsked(key string) (bool, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.questions[key] != nil, v.asked
}

// waiting returns the open jobs that are not queued.
func (v *view) waiting() []*Job {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []*Job
	for _, j := range v.jobs {
		if j.State != Queued {
			all = append(all, j)
		}
	}
	return all
}

// openQuestions returns the questions that have no answer.
func (v *view) openQuestions() []*Question {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.questions))
}

// candidates returns up to n queued jobs that follow another job and that a worker may take, the
// best first.
func (v *view) candidates(last *Job, n int, may func(*Job) bool) []*Job {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.queued.after(last, n, may)
}

// silence returns how long the record of a worker was not seen to change, by the clock of this worker, how long its
// lease is, and which revision the record had: 0 if there was none. A worker that was not seen before is taken note of.
func (v *view) silence(id string, length time.Duration) (silent, lease time.Duration, revision uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.workers[id]
	if s == nil {
		s = &seen{at: nowInstant()}
		v.workers[id] = s
	}
	switch {
	case s.info != nil:
		length = cmp.Or(time.Duration(s.info.Lease), length)
	case s.revision != 0: // nobody knows its lease
		length = max(length, silence)
	}
	return nowInstant().steady(s.at), length, s.revision
}

// isSilent reports whether a worker was not seen to renew its lease for longer than that.
func (v *view) isSilent(id string, length time.Duration) bool {
	silent, lease, _ := v.silence(id, length)
	return silent > lease+grace
}

// isDead reports whether a worker did not renew its lease for longer than that. This worker may
// itself have missed renewals, cut off or asleep: so the record is read again before it decides. A
// record that can't be read also means a dead worker: a live one would have replaced it.
func (v *view) isDead(ctx context.Context, id string, length time.Duration) bool {
	silent, lease, revision := v.silence(id, length)
	if silent <= lease+grace {
		return false
	}
	r, err := read(ctx, v.engine, Workers, id)
	if err != nil {
		return false
	}
	if r.Revision == revision {
		return true
	}
	r.Key = id
	v.take(Workers, r)
	return false
}

// live returns the workers that seem to be alive.
func (v *view) live() (ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, s := range v.workers {
		if s.info != nil && nowInstant().steady(s.at) < time.Duration(s.info.Lease) {
			ids = append(ids, id)
		}
	}
	return ids
}

// isRefused reports whether there are live workers for the queue and the account of a job, and all of
// them refuse it. A worker that can run no jobs now may take it later.
func (v *view) isRefused(j *Job) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := false
	for _, s := range v.workers {
		w := s.info
		if w == nil || w.Draining || nowInstant().steady(s.at) >= time.Duration(w.Lease) || !w.Serves(j.Spec.queue(), j.Spec.account()) {
			continue
		}
		if w.Refused[j.ID] == "" {
			return false
		}
		found = true
	}
	return found
}

// silent returns the workers whose records are unchanged for some time.
func (v *view) silent(since time.Duration) (ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, s := range v.workers {
		if nowInstant().steady(s.at) > since {
			ids = append(ids, id)
		}
	}
	return ids
}

// forget forgets a worker.
func (v *view) forget(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.workers, id)
}
