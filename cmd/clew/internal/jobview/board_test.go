package jobview

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/polltest"
)

var testNow = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// put writes the record of a job, whatever was there.
func put(t *testing.T, e fleet.Engine, s *fleet.Summary) {
	t.Helper()
	write(t, e, fleet.Jobs, s.ID, s.Label())
}

func write(t *testing.T, e fleet.Engine, table fleet.Table, key, label string) {
	t.Helper()
	old, err := e.Get(t.Context(), table, key)
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := e.Set(t.Context(), table, fleet.Record{Key: key, Revision: old.Revision, Label: label, Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, e fleet.Engine, table fleet.Table, key string) {
	t.Helper()
	r, err := e.Get(t.Context(), table, key)
	if err == nil {
		err = e.Remove(t.Context(), table, key, r.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// until waits until the list of a board satisfies a function.
func until(t *testing.T, b *Board, holds func(*Listing) bool) *Listing {
	t.Helper()
	var l *Listing
	polltest.Until(t, "the board follows the fleet", func() bool {
		l = b.List(fuzzy.Query{})
		return holds(l)
	})
	return l
}

func ids(l *Listing) (ids []string) {
	for _, r := range l.Rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestList(t *testing.T) {
	t.Parallel()
	e := memfleet.New()
	job := func(id string, state fleet.State, age time.Duration) *fleet.Summary {
		return &fleet.Summary{ID: id, Title: "Job " + id, State: state, Created: testNow.Add(-age), Changed: testNow.Add(-age)}
	}
	first := job("first", fleet.Queued, time.Minute)
	first.Priority = 5
	for _, s := range []*fleet.Summary{
		job("ended1", fleet.Done, 2*time.Hour), job("ended2", fleet.Canceled, time.Hour), job("queued", fleet.Queued, time.Hour), first,
		job("waits", fleet.Waiting, time.Minute), job("blocked", fleet.Blocked, 9*time.Hour), job("runs", fleet.Running, time.Hour),
		job("asks", fleet.Running, time.Hour), job("parked", fleet.Asking, 2*time.Hour), job("lost", fleet.Lost, 9*time.Hour), job("claimed", fleet.Claimed, 9*time.Hour),
	} {
		put(t, e, s)
	}
	write(t, e, fleet.Questions, "asks.q1", "open")
	write(t, e, fleet.Questions, "ended1.q1", "open") // of an agent that is gone
	b := NewBoard(fleet.Open(e, "tester"), func(News) {})
	b.Follow(t.Context())
	if err := b.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := b.List(fuzzy.Query{})
	want := []string{"parked", "asks", "lost", "runs", "claimed", "waits", "first", "queued", "blocked", "ended2", "ended1"}
	if diff := cmp.Diff(want, ids(l)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if l.Counts != [GroupCount]int{3, 2, 4, 2} || l.Total != len(want) {
		t.Errorf("counts %v of %d", l.Counts, l.Total)
	}
	if got := ids(b.List(fuzzy.Parse("'runs | 'lost"))); !slices.Equal(got, []string{"lost", "runs"}) {
		t.Errorf("the filter finds %q", got)
	}
	if r, questions := b.Job("asks"); !r.Asks || !slices.Equal(questions, []string{"q1"}) {
		t.Errorf("%+v has the questions %q", r, questions)
	}
	if r, _ := b.Job("nope"); r.Summary != nil {
		t.Errorf("%+v is there", r)
	}
	write(t, e, fleet.Questions, "asks.q1", "answered")
	remove(t, e, fleet.Jobs, "ended1")
	until(t, b, func(l *Listing) bool { return l.Counts == [GroupCount]int{2, 3, 4, 1} })
}

// A board has at most twice MaxEnded ended jobs.
func TestEndedAreForgotten(t *testing.T) {
	t.Parallel()
	b := NewBoard(nil, nil)
	for i := range 2*MaxEnded + 1 {
		b.takeJob(&fleet.Summary{ID: fmt.Sprint(i), State: fleet.Done, Changed: testNow.Add(time.Duration(i) * time.Second)}, false)
	}
	l := b.List(fuzzy.Query{})
	if len(l.Rows) != MaxEnded || !l.IsCut || l.Rows[0].ID != fmt.Sprint(2*MaxEnded) {
		t.Errorf("%d jobs, cut %v, the first is %s", len(l.Rows), l.IsCut, l.Rows[0].ID)
	}
}

func TestSummed(t *testing.T) {
	t.Parallel()
	if got := summed([]News{{"a", false}, {"b", true}, {"c", false}}); got != (News{"3 jobs ask or have ended", true}) {
		t.Errorf("summed %v", got)
	}
}

// A deadFleet can't be reached.
type deadFleet struct{}

var errDead = errors.New("no route to the host")

func (deadFleet) Changes(context.Context) iter.Seq2[*fleet.Summary, error] {
	return func(yield func(*fleet.Summary, error) bool) { yield(nil, errDead) }
}

func (deadFleet) QuestionChanges(context.Context) iter.Seq2[*fleet.QuestionChange, error] {
	return func(yield func(*fleet.QuestionChange, error) bool) { yield(nil, errDead) }
}

// A fleet that can't be reached has no jobs, and the error has the reason.
func TestWaitForFleet(t *testing.T) {
	t.Parallel()
	told := make(chan struct{}, 1)
	b := NewBoard(deadFleet{}, func(News) {
		select {
		case told <- struct{}{}:
		default:
		}
	})
	b.Follow(t.Context())
	for b.List(fuzzy.Parse("")).Err == nil {
		<-told
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(ctx); !errors.Is(err, errDead) {
		t.Errorf("it does not wait for the jobs, or does not say why they are not there: %v", err)
	}
	if l := b.List(fuzzy.Parse("")); l.Complete || len(l.Rows) > 0 {
		t.Errorf("complete %v, %d jobs", l.Complete, len(l.Rows))
	}
}

// A fragileFleet can be followed unless it is broken.
type fragileFleet struct {
	Source
	mu    sync.Mutex
	broke chan struct{} // closed when it breaks
}

func (f *fragileFleet) setBroken(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if broken {
		close(f.broke)
	} else {
		f.broke = make(chan struct{})
	}
}

func (f *fragileFleet) Changes(ctx context.Context) iter.Seq2[*fleet.Summary, error] {
	return unlessBroken(ctx, f, f.Source.Changes)
}

func (f *fragileFleet) QuestionChanges(ctx context.Context) iter.Seq2[*fleet.QuestionChange, error] {
	return unlessBroken(ctx, f, f.Source.QuestionChanges)
}

// unlessBroken returns a sequence that ends with an error when the fleet breaks.
func unlessBroken[T any](ctx context.Context, f *fragileFleet, all func(context.Context) iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		f.mu.Lock()
		broke := f.broke // while it is broken, this is closed
		f.mu.Unlock()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-broke:
				cancel()
			case <-ctx.Done():
			}
		}()
		for v, err := range all(ctx) {
			if ctx.Err() == nil && !yield(v, err) {
				return
			}
		}
		yield(nil, errors.New("the connection is lost"))
	}
}

// A fleet that is cut off is followed again, and removed jobs disappear.
func TestFollowAfterError(t *testing.T) {
	t.Parallel()
	e := memfleet.New()
	fragile := &fragileFleet{Source: fleet.Open(e, "tester"), broke: make(chan struct{})}
	b := NewBoard(fragile, func(News) {})
	put(t, e, &fleet.Summary{ID: "gone", State: fleet.Queued})
	write(t, e, fleet.Questions, "gone.q1", "open")
	b.Follow(t.Context())
	until(t, b, func(l *Listing) bool { return l.Counts[Attention] == 1 })
	fragile.setBroken(true)
	l := until(t, b, func(l *Listing) bool { return l.Err != nil })
	if got := ids(l); !slices.Equal(got, []string{"gone"}) || !strings.Contains(l.Err.Error(), "the connection is lost") {
		t.Errorf("while the connection is lost: %q, %v", got, l.Err)
	}
	remove(t, e, fleet.Jobs, "gone")
	remove(t, e, fleet.Questions, "gone.q1")
	put(t, e, &fleet.Summary{ID: "there", State: fleet.Queued})
	fragile.setBroken(false)
	until(t, b, func(l *Listing) bool { return l.Err == nil && slices.Equal(ids(l), []string{"there"}) })
	if _, questions := b.Job("gone"); len(questions) > 0 {
		t.Errorf("questions are left: %q", questions)
	}
}

// BenchmarkList lists jobs that wait for workers.
func BenchmarkList(b *testing.B) {
	board := NewBoard(nil, nil)
	for i := range 100_000 {
		board.takeJob(&fleet.Summary{ID: fmt.Sprint(i), Title: "Fix the build of the uploader", State: fleet.Queued, Created: testNow.Add(-time.Duration(i*7919%100_000) * time.Second)}, false)
	}
	for name, query := range map[string]string{"all": "", "filter": "uploader 77"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				board.List(fuzzy.Parse(query))
			}
		})
	}
}
