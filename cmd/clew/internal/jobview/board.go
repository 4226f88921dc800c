package jobview

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/wording"
)

// A Source has the jobs of a fleet and their questions, such as a [*fleet.Fleet].
type Source interface {
	Changes(ctx context.Context) iter.Seq2[*fleet.Summary, error]
	QuestionChanges(ctx context.Context) iter.Seq2[*fleet.QuestionChange, error]
}

// A Fleet has all that viewers show and do, such as a [*fleet.Fleet]. Answers and decisions are made in its
// name. Its methods may block.
type Fleet interface {
	Source
	Asker
	Files
	Crew
	Job(ctx context.Context, id string) (*fleet.Job, error)
	Watch(ctx context.Context, id string) iter.Seq2[fleet.Update, error]
	Answer(ctx context.Context, job, id string, a fleet.Answer) (*fleet.Question, error)
	Cancel(ctx context.Context, id, why string) (*fleet.Job, error)
	Requeue(ctx context.Context, id string, e fleet.Requeue) (*fleet.Job, error)
	Drop(ctx context.Context, id string) error
}

const (
	// MaxEnded is the minimum number of ended jobs that a board keeps. It forgets the oldest of
	// twice as many; they are in the fleet.
	MaxEnded = 5000
	// Interval is the minimum time between two reports of a board.
	Interval = 250 * time.Millisecond

	followPause = time.Second // before the fleet is followed again
)

// News reports that jobs changed, with a text worth reading aloud, or "".
type News struct {
	Text   string
	Urgent bool // a job asks, or is lost
}

// A Board has the jobs of a fleet as they are now. Its methods may be called from several goroutines.
type Board struct {
	source  Source
	tell    func(News)
	begin   sync.Once
	changed chan struct{} // has a value if there is something to report
	ready   chan struct{} // closed when no table is missing

	mu       sync.Mutex
	jobs     map[string]*fleet.Summary
	ended    int                        // of them
	asked    map[string]map[string]bool // the open questions of jobs
	isCut    bool                       // there are more ended jobs
	failures [2]error                   // why jobs or questions are not followed, or nil
	news     []News
	missing  int // tables that are not there yet
}

// NewBoard returns a board that calls tell after changes, from one goroutine, and never twice within
// [Interval].
func NewBoard(s Source, tell func(News)) *Board {
	return &Board{
		source: s, tell: tell, changed: make(chan struct{}, 1), ready: make(chan struct{}), missing: 2,
		jobs: map[string]*fleet.Summary{}, asked: map[string]map[string]bool{},
	}
}

// Follow follows the fleet until the context ends. Calls after the first one do nothing.
func (b *Board) Follow(ctx context.Context) {
	b.begin.Do(func() {
		jobs := follower[fleet.Summary]{
			board: b, failure: &b.failures[0], all: b.source.Changes, take: b.takeJob, retain: b.retainJobs,
			key: func(s *fleet.Summary) string { return s.ID },
		}
		questions := follower[fleet.QuestionChange]{
			board: b, failure: &b.failures[1], all: b.source.QuestionChanges, take: b.takeQuestion, retain: b.retainQuestions,
			key: func(q *fleet.QuestionChange) string { return q.Job + "." + q.ID },
		}
		go jobs.run(ctx)
		go questions.run(ctx)
		go b.keepTelling(ctx)
	})
}

// A follower follows the jobs or the questions of a fleet.
type follower[T any] struct {
	board   *Board
	failure *error
	all     func(context.Context) iter.Seq2[*T, error]
	key     func(*T) string
	take    func(v *T, isNew bool)
	retain  func(there map[string]bool)
	isKnown bool // all were there once
}

// run follows until the context ends. After an error it starts again.
func (f *follower[T]) run(ctx context.Context) {
	for ctx.Err() == nil {
		there := map[string]bool{} // nil as soon as all are there
		for v, err := range f.all(ctx) {
			f.board.mu.Lock()
			switch *f.failure = err; {
			case err != nil:
			case v != nil:
				f.take(v, there == nil)
				if there != nil {
					there[f.key(v)] = true
				}
			case there != nil:
				f.retain(there)
				f.complete()
				there = nil
			}
			f.board.mu.Unlock()
			if there == nil || err != nil {
				f.board.change()
			}
		}
		_ = pause.For(ctx, followPause)
	}
}

// complete wakes the callers that wait for all jobs and questions. The lock is held.
func (f *follower[T]) complete() {
	if f.isKnown {
		return
	}
	f.isKnown = true
	if f.board.missing--; f.board.missing == 0 {
		close(f.board.ready)
	}
}

// change asks for a report.
func (b *Board) change() {
	select {
	case b.changed <- struct{}{}:
	default: // the last one is not reported yet
	}
}

// keepTelling reports changes, not too often.
func (b *Board) keepTelling(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.changed:
		}
		b.mu.Lock()
		news := b.news
		b.news = nil
		b.mu.Unlock()
		b.tell(summed(news))
		_ = pause.For(ctx, Interval)
	}
}

// summed returns news as one.
func summed(news []News) News {
	switch len(news) {
	case 0:
		return News{}
	case 1:
		return news[0]
	}
	isUrgent := slices.ContainsFunc(news, func(n News) bool { return n.Urgent })
	return News{wording.Number(len(news)) + " jobs ask or have ended", isUrgent}
}

// takeJob takes a job as it is now. The lock is held.
func (b *Board) takeJob(s *fleet.Summary, isNew bool) {
	before := b.jobs[s.ID]
	if before == nil {
		before = new(fleet.Summary)
	}
	if before.State.Ended() {
		b.ended--
	}
	if s.State == "" {
		delete(b.jobs, s.ID)
		return
	}
	b.jobs[s.ID] = s
	if s.State.Ended() {
		if b.ended++; b.ended > 2*MaxEnded {
			b.cut()
		}
	}
	if isNew && s.State != before.State && (s.State.Ended() || s.State == fleet.Lost) {
		b.news = append(b.news, News{"Job " + Title(s) + " is " + string(s.State), s.State == fleet.Lost})
	}
}

// cut forgets the jobs that ended first.
func (b *Board) cut() {
	var ended []Row
	for _, s := range b.jobs {
		if s.State.Ended() {
			ended = append(ended, NewRow(s, false))
		}
	}
	slices.SortFunc(ended, Row.Compare)
	for _, r := range ended[MaxEnded:] {
		delete(b.jobs, r.ID)
	}
	b.ended, b.isCut = MaxEnded, true
}

// retainJobs forgets the jobs that are not there.
func (b *Board) retainJobs(there map[string]bool) {
	for id := range b.jobs {
		if !there[id] {
			b.takeJob(&fleet.Summary{ID: id}, false)
		}
	}
}

// retainQuestions forgets the questions that are not there.
func (b *Board) retainQuestions(there map[string]bool) {
	for job, ids := range b.asked {
		for id := range ids {
			if !there[job+"."+id] {
				b.takeQuestion(&fleet.QuestionChange{Job: job, ID: id}, false)
			}
		}
	}
}

// takeQuestion takes a question that is open or is not any more.
func (b *Board) takeQuestion(q *fleet.QuestionChange, isNew bool) {
	if !q.Open {
		if delete(b.asked[q.Job], q.ID); len(b.asked[q.Job]) == 0 {
			delete(b.asked, q.Job)
		}
		return
	}
	if b.asked[q.Job] == nil {
		b.asked[q.Job] = map[string]bool{}
	}
	if isNew && !b.asked[q.Job][q.ID] {
		b.news = append(b.news, News{"Job " + b.title(q.Job) + " asks a question", true})
	}
	b.asked[q.Job][q.ID] = true
}

// title is the name of a job that may be unknown.
func (b *Board) title(id string) string {
	if s := b.jobs[id]; s != nil {
		return Title(s)
	}
	return id
}

// Wait waits until all jobs are there. If the context ends before, it returns why they are not.
func (b *Board) Wait(ctx context.Context) error {
	select {
	case <-b.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.failures[0], b.failures[1], ctx.Err())
}

// A Group is a part of the job list.
type Group int

// The groups, in their order.
const (
	Attention Group = iota // of a person
	Running
	Waiting
	Ended
	GroupCount
)

// GroupNames are their headings.
var GroupNames = [GroupCount]string{"Need attention", "Running", "Waiting", "Ended"}

// A Row is a job in a list.
type Row struct {
	*fleet.Summary
	Asks bool // it waits for an answer

	// The sort keys: first the rank, then the time of the submit or the end. They are numbers,
	// since a list of 100,000 jobs is sorted again after each change.
	rank  int
	since int64
}

// ranks are the states in the order of a list. All ended jobs are equal.
var ranks = []fleet.State{fleet.Lost, fleet.Running, fleet.Claimed, fleet.Waiting, fleet.Queued, fleet.Blocked}

// NewRow returns a job's row. asked reports whether it has an open question.
func NewRow(s *fleet.Summary, asked bool) Row {
	const priorities = 256 // more than there are, unless a record is wrong
	if s.State.Ended() {
		return Row{Summary: s, rank: len(ranks) * priorities, since: -s.Changed.UnixMilli()}
	}
	r := Row{Summary: s, Asks: asked || s.State == fleet.Asking, since: s.Created.UnixMilli()}
	if s.State == fleet.Queued && (s.Cause == fleet.ByWorker || s.Cause == fleet.ByPolicy) {
		r.since = s.Changed.UnixMilli() // it went to the end of the queue
	}
	rank := -1
	if !r.Asks {
		rank = slices.Index(ranks, s.State)
	}
	r.rank = rank*priorities - max(min(s.Priority, priorities/2-1), -priorities/2)
	return r
}

// Group returns the part of the list that has the job.
func (r Row) Group() Group {
	switch {
	case r.State.Ended():
		return Ended
	case r.Asks, r.State == fleet.Lost, r.State == fleet.Damaged:
		return Attention
	case r.State.Held():
		return Running
	}
	return Waiting
}

// Compare orders list rows: first jobs that wait for a person, then in the order in which workers
// take them, and ended jobs at last, the newest first.
func (r Row) Compare(o Row) int {
	switch {
	case r.rank != o.rank:
		return cmp.Compare(r.rank, o.rank)
	case r.since != o.since:
		return cmp.Compare(r.since, o.since)
	}
	return strings.Compare(r.ID, o.ID)
}

// A Listing is the job list at a time.
type Listing struct {
	Rows   []Row // the matching rows, in order
	Counts [GroupCount]int
	Total  int // including rows that don't match
	// Complete reports that all jobs and questions were known once, and IsCut that older ended jobs
	// are missing.
	Complete, IsCut bool
	Err             error // why the list may be old, or nil
}

// List returns the jobs that match a query.
func (b *Board) List(q fuzzy.Query) *Listing {
	all := b.all()
	if q.Empty() {
		all.sort()
		return all
	}
	var m fuzzy.Matcher
	all.Rows = slices.DeleteFunc(all.Rows, func(r Row) bool {
		text := strings.Join([]string{r.Title, string(r.State), r.Worker, r.Queue, r.Account, r.By, r.ID}, " ")
		_, ok := m.Match(q, fuzzy.Prepare(text))
		return !ok
	})
	all.sort()
	return all
}

// all returns all jobs, in no order.
func (b *Board) all() *Listing {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &Listing{Rows: make([]Row, 0, len(b.jobs)), Total: len(b.jobs), Complete: b.missing == 0, IsCut: b.isCut, Err: cmp.Or(b.failures[:]...)}
	for _, s := range b.jobs {
		l.Rows = append(l.Rows, NewRow(s, len(b.asked[s.ID]) > 0))
	}
	return l
}

func (l *Listing) sort() {
	slices.SortFunc(l.Rows, Row.Compare)
	for _, r := range l.Rows {
		l.Counts[r.Group()]++
	}
}

// Job returns a job's row, and the IDs of its open questions in order. The row of an unknown
// job has no summary.
func (b *Board) Job(id string) (r Row, questions []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.asked[id] {
		questions = append(questions, q)
	}
	slices.Sort(questions)
	if s := b.jobs[id]; s != nil {
		r = NewRow(s, len(questions) > 0)
	}
	return r, questions
}
