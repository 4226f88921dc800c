package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func queued(r *rand.Rand, id string) *Job {
	return &Job{ID: id, Spec: Spec{Priority: r.IntN(3)}, Created: time.Unix(r.Int64N(10), 0)}
}

func idsOf(jobs []*Job) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// TestQueue compares a queue with a list that is sorted whenever it is read.
func TestQueue(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		q, model := newQueue(), map[string]*Job{}
		reads := 2 + r.IntN(100) // few, so that many are added at a time, or many
		for range 500 {
			id := fmt.Sprint(r.IntN(120))
			switch n := r.IntN(2 * reads); {
			case n < reads:
				model[id] = queued(r, id)
				q.add(model[id])
			case n < 2*reads-2:
				delete(model, id)
				q.remove(id)
			default:
				odd := func(j *Job) bool { return len(j.ID)%2 == 1 }
				var want []*Job
				for _, j := range model {
					if odd(j) {
						want = append(want, j)
					}
				}
				slices.SortFunc(want, compareQueued)
				n = 1 + r.IntN(5)
				var got []*Job
				for last := (*Job)(nil); ; last = got[len(got)-1] {
					part := q.after(last, n, odd)
					if len(part) > n {
						t.Fatalf("got %d jobs, and not %d", len(part), n)
					}
					if got = append(got, part...); len(part) < n {
						break
					}
				}
				if diff := cmp.Diff(idsOf(want), idsOf(got)); diff != "" {
					t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
				}
			}
		}
	}
}

// TestQueueIsBounded has jobs that come and go while nobody reads the queue.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	q := newQueue()
	q.add(queued(r, "stays"))
	for i := range 10_000 {
		id := fmt.Sprint(i % 5000) // some with an ID that was there before
		q.add(queued(r, id))
		q.remove(id)
	}
	if len(q.added) > 200 {
		t.Errorf("the queue has %d entries for %d jobs", len(q.added), len(q.jobs))
	}
	if got := idsOf(q.after(nil, 10, func(*Job) bool { return true })); len(got) != 1 || got[0] != "stays" {
		t.Errorf("got %v", got)
	}
}

// BenchmarkQueue measures what a worker does after each change in a fleet with 100,000 queued jobs.
func BenchmarkQueue(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	q := newQueue()
	jobs := make([]*Job, 100_000)
	for i := range jobs {
		jobs[i] = queued(r, newID())
		q.add(jobs[i])
	}
	all := func(*Job) bool { return true }
	q.after(nil, 10, all)
	for name, change := range map[string]func(int){
		"claimed": func(i int) { q.remove(jobs[i%len(jobs)].ID) },
		"added": func(i int) {
			j := *jobs[i%len(jobs)]
			q.add(&j)
		},
		"sorted again": func(int) { slices.SortFunc(slices.Collect(maps.Values(q.jobs)), compareQueued) },
	} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				change(i)
				q.after(nil, 10, all)
			}
		})
	}
}
