package fleet

import (
	"cmp"
	"slices"
	"time"
)

// A queue has the queued jobs in the order in which workers take them. It is not sorted again for each change.
type queue struct {
	jobs   map[string]*Job
	sorted []*Job // jobs that are not in added, and some that are gone
	added  []*Job // in no order, and some that are gone
}

func newQueue() *queue { return &queue{jobs: make(map[string]*Job)} }

// add adds a job, or replaces the job with its ID.
func (q *queue) add(j *Job) {
	q.jobs[j.ID] = j
	if len(q.added) > 2*len(q.jobs)+100 { // a worker that takes no jobs does not read the queue for long
		q.added = slices.DeleteFunc(q.added, q.isGone)
	}
	q.added = append(q.added, j)
}

func (q *queue) remove(id string) { delete(q.jobs, id) }

// after returns up to n jobs after one of them that a function accepts. A nil one is before all others.
func (q *queue) after(last *Job, n int, accepts func(*Job) bool) []*Job {
	q.merge()
	from := 0
	if last != nil {
		from, _ = slices.BinarySearchFunc(q.sorted, last, compareQueued)
	}
	var found []*Job
	for _, j := range q.sorted[from:] {
		if len(found) == n {
			break
		}
		if !q.isGone(j) && (last == nil || compareQueued(j, last) > 0) && accepts(j) {
			found = append(found, j)
		}
	}
	return found
}

// merge sorts all jobs. It drops removed jobs when they are as many as the others.
func (q *queue) merge() {
	added := slices.DeleteFunc(q.added, q.isGone)
	q.added = nil
	if len(added) <= maxInserted && len(q.sorted) < 2*len(q.jobs)+100 {
		for _, j := range added {
			at, _ := slices.BinarySearchFunc(q.sorted, j, compareQueued)
			q.sorted = slices.Insert(q.sorted, at, j)
		}
		return
	}
	slices.SortFunc(added, compareQueued)
	all := make([]*Job, 0, len(q.jobs))
	for _, j := range q.sorted {
		for len(added) > 0 && compareQueued(added[0], j) < 0 {
			all, added = append(all, added[0]), added[1:]
		}
		if !q.isGone(j) {
			all = append(all, j)
		}
	}
	all = append(all, added...)
	q.sorted = all
}

// maxInserted is the maximum number of jobs inserted one by one.
const maxInserted = 32

func (q *queue) isGone(j *Job) bool { return q.jobs[j.ID] != j }

// compareQueued orders queued jobs: the most important first, and then the oldest. A job that the last
// try did not start goes behind the jobs that were there when it was queued again: otherwise jobs that
// can't start, the oldest ones, would take every free slot before the others.
func compareQueued(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), a.lined().Compare(b.lined()), cmp.Compare(a.ID, b.ID))
}

// lined returns the time at which a queued job took its place in the order.
func (j *Job) lined() time.Time {
	if j.notStarted() {
		return j.Changed
	}
	return j.Created
}
