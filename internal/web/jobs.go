package web

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/fuzzy"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/usage"
)

// A Fleet has the jobs that pages show, such as a [*fleet.Fleet]. Answers and decisions are made in its
// name.
type Fleet interface {
	Changes(ctx context.Context) iter.Seq2[*fleet.Summary, error]
	QuestionChanges(ctx context.Context) iter.Seq2[*fleet.QuestionChange, error]
	Job(ctx context.Context, id string) (*fleet.Job, error)
	Questions(ctx context.Context, job string) iter.Seq2[*fleet.Question, error]
	File(ctx context.Context, name string) (io.ReadCloser, error)
	Answer(ctx context.Context, job, id string, a fleet.Answer) (*fleet.Question, error)
	Cancel(ctx context.Context, id, why string) (*fleet.Job, error)
	Requeue(ctx context.Context, id string, e fleet.Requeue) (*fleet.Job, error)
}

// Limits of the list of jobs.
const (
	maxJobs      = 200  // that a page shows
	maxEndedJobs = 5000 // that are kept; older ones are in the fleet

	jobsInterval = 250 * time.Millisecond // between two events
	fleetTimeout = 20 * time.Second       // for a request to the fleet
	fleetPause   = time.Second            // before the fleet is followed again
)

// jobsEvent says that jobs have changed.
const jobsEvent = "jobs"

// A jobsChange says that jobs have changed, and what is worth to be read aloud, or "".
type jobsChange struct {
	Text   string `json:"text"`
	Urgent bool   `json:"urgent"` // a job asks
}

// A jobBoard has the jobs of the fleet as they are now. One of them is for all pages: it follows the fleet
// from the first request on.
type jobBoard struct {
	fleet   Fleet
	publish func(jobsChange)
	begin   sync.Once
	changed chan struct{} // has a value if there is something to publish

	mu       sync.Mutex
	jobs     map[string]*fleet.Summary
	ended    int                        // of them
	asked    map[string]map[string]bool // the open questions of jobs
	isCut    bool                       // there are more jobs that have ended
	failures [2]error                   // why jobs or questions are not followed, or nil
	news     []jobsChange
	missing  int           // tables that are not there yet
	ready    chan struct{} // closed when there are none
}

func newJobBoard(f Fleet, publish func(jobsChange)) *jobBoard {
	return &jobBoard{
		fleet: f, publish: publish, changed: make(chan struct{}, 1), ready: make(chan struct{}), missing: 2,
		jobs: map[string]*fleet.Summary{}, asked: map[string]map[string]bool{},
	}
}

// follow follows the fleet until the context ends.
func (b *jobBoard) follow(ctx context.Context) {
	b.begin.Do(func() {
		jobs := fleetFollower[fleet.Summary]{
			board: b, failure: &b.failures[0], all: b.fleet.Changes, take: b.takeJob, retain: b.retainJobs,
			key: func(s *fleet.Summary) string { return s.ID },
		}
		questions := fleetFollower[fleet.QuestionChange]{
			board: b, failure: &b.failures[1], all: b.fleet.QuestionChanges, take: b.takeQuestion, retain: b.retainQuestions,
			key: func(q *fleet.QuestionChange) string { return q.Job + "." + q.ID },
		}
		go jobs.run(ctx)
		go questions.run(ctx)
		go b.tell(ctx)
	})
}

// A fleetFollower follows the jobs or the questions of a fleet.
type fleetFollower[T any] struct {
	board   *jobBoard
	failure *error
	all     func(context.Context) iter.Seq2[*T, error]
	key     func(*T) string
	take    func(v *T, isNew bool)
	retain  func(there map[string]bool)
	isKnown bool // all were there once
}

// run follows until the context ends. After an error it begins again.
func (f *fleetFollower[T]) run(ctx context.Context) {
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
		_ = pause(ctx, fleetPause) // the loop looks
	}
}

// complete lets requests go on that wait for all jobs and questions. The lock is held.
func (f *fleetFollower[T]) complete() {
	if f.isKnown {
		return
	}
	f.isKnown = true
	if f.board.missing--; f.board.missing == 0 {
		close(f.board.ready)
	}
}

// change has an event published.
func (b *jobBoard) change() {
	select {
	case b.changed <- struct{}{}:
	default: // the last one is not published yet
	}
}

// tell publishes what has changed, not too often.
func (b *jobBoard) tell(ctx context.Context) {
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
		b.publish(summed(news))
		if pause(ctx, jobsInterval) != nil {
			return
		}
	}
}

// summed returns news as one.
func summed(news []jobsChange) jobsChange {
	switch len(news) {
	case 0:
		return jobsChange{}
	case 1:
		return news[0]
	}
	isUrgent := slices.ContainsFunc(news, func(n jobsChange) bool { return n.Urgent })
	return jobsChange{tty.Thousands(int64(len(news))) + " jobs ask or have ended", isUrgent}
}

// takeJob takes a job as it is now. The lock is held.
func (b *jobBoard) takeJob(s *fleet.Summary, isNew bool) {
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
		if b.ended++; b.ended > 2*maxEndedJobs {
			b.cut()
		}
	}
	if isNew && s.State != before.State && (s.State.Ended() || s.State == fleet.Lost) {
		b.news = append(b.news, jobsChange{"Job " + jobTitle(s) + " is " + string(s.State), s.State == fleet.Lost})
	}
}

// cut forgets the jobs that have ended first.
func (b *jobBoard) cut() {
	var ended []*fleet.Summary
	for _, s := range b.jobs {
		if s.State.Ended() {
			ended = append(ended, s)
		}
	}
	slices.SortFunc(ended, compareJobs)
	for _, s := range ended[maxEndedJobs:] {
		delete(b.jobs, s.ID)
	}
	b.ended, b.isCut = maxEndedJobs, true
}

// retainJobs forgets the jobs that are not there.
func (b *jobBoard) retainJobs(there map[string]bool) {
	for id := range b.jobs {
		if !there[id] {
			b.takeJob(&fleet.Summary{ID: id}, false)
		}
	}
}

// retainQuestions forgets the questions that are not there.
func (b *jobBoard) retainQuestions(there map[string]bool) {
	for job, ids := range b.asked {
		for id := range ids {
			if !there[job+"."+id] {
				b.takeQuestion(&fleet.QuestionChange{Job: job, ID: id}, false)
			}
		}
	}
}

// takeQuestion takes a question that is open or is not any more.
func (b *jobBoard) takeQuestion(q *fleet.QuestionChange, isNew bool) {
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
		b.news = append(b.news, jobsChange{"Job " + b.title(q.Job) + " asks a question", true})
	}
	b.asked[q.Job][q.ID] = true
}

// title is the name of a job that may be unknown.
func (b *jobBoard) title(id string) string {
	if s := b.jobs[id]; s != nil {
		return jobTitle(s)
	}
	return id
}

func jobTitle(s *fleet.Summary) string { return cmp.Or(tty.Line(s.Title), s.ID) }

// wait waits until all jobs are there, and locks them.
func (b *jobBoard) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fleetTimeout)
	defer cancel()
	select {
	case <-b.ready:
		b.mu.Lock()
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return fleetError(cmp.Or(b.failures[0], b.failures[1], ctx.Err()))
}

// board returns the jobs, or an error if the server has no fleet.
func (s *Server) board() (*jobBoard, error) {
	if s.jobs == nil {
		return nil, &refusal{
			status: http.StatusNotFound, reason: "this server shows no jobs",
			hint: `Start it with "clew serve --fleet URL", or start "clew worker" before it.`,
		}
	}
	return s.jobs, nil
}

// The groups of the list.
var jobGroups = []string{"Need attention", "Running", "Waiting", "Ended"}

// group is the index of the group of a job. The lock is held.
func (b *jobBoard) group(s *fleet.Summary) int {
	switch {
	case s.State.Ended():
		return 3
	case s.State == fleet.Lost, s.State == fleet.Asking, len(b.asked[s.ID]) > 0:
		return 0
	case s.State.Held():
		return 1
	}
	return 2
}

// compareJobs sorts jobs of a group: those that have ended by their end, the newest first, and others as
// workers take them.
func compareJobs(a, b *fleet.Summary) int {
	if a.State.Ended() && b.State.Ended() {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.ID, b.ID))
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// jobList answers with the list of jobs.
func (s *Server) jobList(w http.ResponseWriter, r *http.Request) error {
	b, err := s.board()
	if err != nil {
		return err
	}
	b.follow(s.ending) //nolint:contextcheck // for all pages
	if err := b.wait(r.Context()); err != nil {
		return err
	}
	list, found := s.drawJobs(b, r.URL.Query().Get("filter"))
	b.mu.Unlock() // a client may read slowly
	return reply(w, struct {
		fragment
		Total int `json:"total"`
	}{fragment{list}, found})
}

// drawJobs draws the jobs that match a filter. The lock is held.
func (s *Server) drawJobs(b *jobBoard, filter string) (list string, found int) {
	groups, found := b.find(fuzzy.Parse(filter))
	d := jobDrawer{s: s, at: s.opts.Now()}
	if err := cmp.Or(b.failures[:]...); err != nil {
		d.element("p", "error", "The fleet does not answer, so this may be old: "+err.Error())
	}
	left := maxJobs
	for i, jobs := range groups {
		if len(jobs) == 0 || left == 0 {
			continue
		}
		d.raw("<section><h2>", jobGroups[i], ` <span class="n">`, tty.Thousands(int64(len(jobs))), `</span></h2><ul class="jobs">`)
		for _, j := range jobs[:min(left, len(jobs))] {
			d.item(j, len(b.asked[j.ID]) > 0)
		}
		left -= min(left, len(jobs))
		d.raw("</ul></section>")
	}
	if more := found - maxJobs; more > 0 {
		d.element("p", "missing", fmt.Sprintf("%s more; filter them, or run: clew jobs --all", tty.Thousands(int64(more))))
	}
	if b.isCut {
		d.element("p", "missing", "Older jobs are not in this list: clew jobs --all")
	}
	return d.String(), found
}

// find returns the jobs that match, by group and in order. The lock is held.
func (b *jobBoard) find(q fuzzy.Query) (groups [4][]*fleet.Summary, found int) {
	var m fuzzy.Matcher
	for _, j := range b.jobs {
		if !q.Empty() {
			text := strings.Join([]string{j.Title, string(j.State), j.Worker, j.Queue, j.Account, j.By, j.ID}, " ")
			if _, ok := m.Match(q, fuzzy.Prepare(text)); !ok {
				continue
			}
		}
		found++
		i := b.group(j)
		groups[i] = append(groups[i], j)
	}
	for _, jobs := range groups {
		slices.SortFunc(jobs, compareJobs)
	}
	return groups, found
}

// A jobDrawer writes jobs.
type jobDrawer struct {
	markup
	s  *Server
	at time.Time
}

// item writes a job of the list.
func (d *jobDrawer) item(j *fleet.Summary, asks bool) {
	d.raw("<li><a")
	d.attr("href", "/jobs/"+url.PathEscape(j.ID))
	d.raw(">")
	d.text(jobTitle(j))
	d.raw(`</a><p class="facts">`)
	d.state(j.State)
	d.reasons(d.reason(j, asks), asks)
	since := j.Created
	if j.State.Ended() {
		since = j.Changed
	}
	d.time(since, d.age(since))
	d.span("path", j.Worker)
	d.span("cost", dollars(j.CostUSD))
	d.span("note", j.ID)
	d.raw("</p></li>")
}

// jobStyles are the styles of states.
var jobStyles = map[fleet.State]tty.Style{
	fleet.Done: tty.Success, fleet.Failed: tty.Failure, fleet.Lost: tty.Failure, fleet.Asking: tty.Waiting, fleet.Waiting: tty.Waiting,
	fleet.Canceled: tty.Dim, fleet.Blocked: tty.Dim,
}

func (d *jobDrawer) state(s fleet.State) { d.span("state "+styleClasses[jobStyles[s]], string(s)) }

// reasons writes why a job is in its state.
func (d *jobDrawer) reasons(text string, asks bool) {
	class := "reason"
	if asks {
		class += " waits"
	}
	d.span(class, text)
}

// age says how long ago a time was. Pages look again every minute.
func (d *jobDrawer) age(at time.Time) string {
	if d.at.Sub(at) < time.Minute {
		return "just now"
	}
	return render.Duration(d.at.Sub(at)) + " ago"
}

// clock is a time of today or of another day.
func (d *jobDrawer) clock(at time.Time) string {
	at, now := at.In(d.s.opts.Zone), d.at.In(d.s.opts.Zone)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// dollars returns an amount for people, or "" if there is none.
func dollars(usd float64) string {
	const most = 1e6 // what a record says may be wrong, and more than nine times that does not fit
	if usd <= 0 {
		return ""
	}
	return render.Money(usage.Money(min(usd, most) * float64(usage.Dollar)))
}

// jobCauses say why a job is lost or has failed, or why an attempt has ended.
var jobCauses = map[fleet.Cause]string{
	fleet.ByWorker: "no worker could begin it", fleet.ByLoss: "the worker is gone", fleet.ByExit: "the agent ended without a result",
	fleet.ByLimit: "a limit of the account", fleet.ByThrottling: "too many requests", fleet.ByQuestion: "a question without an answer",
	fleet.ByBudget: "the budget is used up", fleet.ByTurns: "the turns are used up", fleet.ByTime: "it took too long", fleet.ByAgent: "the agent reports an error",
	fleet.ByAccount: "the credentials were refused", fleet.ByDependency: "a job before it was not done", fleet.ByShutdown: "the worker was stopped",
	fleet.ByPerson: "by a person", fleet.ByTranscript: "found in the stored transcript", fleet.ByResult: "with a result",
}

// reason says in words why a job is in its state, or what it waits for. It returns "" if there is nothing to
// say.
func (d *jobDrawer) reason(j *fleet.Summary, asks bool) string {
	switch {
	case asks && !j.State.Ended(), j.State == fleet.Asking:
		return "asks a question"
	case j.State == fleet.Blocked:
		return "waits for other jobs"
	case j.State == fleet.Queued:
		return "waits for a worker"
	case j.State == fleet.Claimed:
		return "is being prepared"
	case j.State == fleet.Waiting:
		return d.waits(j)
	case j.State == fleet.Lost, j.State == fleet.Failed:
		return jobCauses[j.Cause]
	}
	return ""
}

func (d *jobDrawer) waits(j *fleet.Summary) string {
	until := d.clock(j.Until)
	switch j.Cause {
	case fleet.ByLimit:
		return "waits for the limit of " + j.Account + " until " + until
	case fleet.ByThrottling:
		return "too many requests; goes on at " + until
	case fleet.ByAccount:
		return "the credentials of " + j.Account + " were refused; clew fleet account " + j.Account + " --release"
	}
	return "goes on at " + until
}
