package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/wording"
)

// A Fleet has the jobs that pages show.
type Fleet = jobview.Fleet

// maxJobs is the maximum number of jobs on a page.
const maxJobs = 200

var (
	fleetTimeout  = 20 * time.Second // for a request to the fleet
	searchTimeout = 5 * time.Second  // for the search for a fleet
)

var _ = timelimit.Register(&fleetTimeout, &searchTimeout)

// jobsEvent reports a change of jobs.
const jobsEvent = "jobs"

// A jobsChange is the event form of a [jobview.News].
type jobsChange struct {
	Text   string `json:"text"`
	Urgent bool   `json:"urgent"`
}

// A jobBoard has the jobs of the fleet as they are now. One of them is for all pages: it follows the fleet
// from the first request on.
type jobBoard struct {
	*jobview.Board
	fleet Fleet
}

func newJobBoard(f Fleet, publish func(jobsChange)) *jobBoard {
	return &jobBoard{jobview.NewBoard(f, func(n jobview.News) { publish(jobsChange(n)) }), f}
}

// jobBoards has the board of a server, as soon as there is a fleet.
type jobBoards struct {
	mu       sync.Mutex
	board    *jobBoard     // or nil
	searched chan struct{} // closed after the current search for the fleet, or nil
}

// known returns the board, or nil if no fleet was found.
func (j *jobBoards) known() *jobBoard {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.board
}

func (s *Server) newJobBoard(f Fleet) *jobBoard {
	return newJobBoard(f, func(c jobsChange) { s.publish(jobsEvent, "", c) })
}

// findBoard returns the jobs if a fleet is known. Otherwise it starts a search for one, unless one
// is running, and returns a channel that is closed after the search.
func (s *Server) findBoard() (b *jobBoard, searched <-chan struct{}) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if s.jobs.board == nil && s.jobs.searched == nil && s.opts.FindFleet != nil {
		s.jobs.searched = make(chan struct{})
		go s.searchFleet(s.ending)
	}
	return s.jobs.board, s.jobs.searched
}

// searchFleet looks for the fleet. A fleet that does not answer delays only job pages, and those
// not for long.
func (s *Server) searchFleet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	f := s.opts.FindFleet(ctx)
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if f != nil {
		s.jobs.board = s.newJobBoard(f)
	}
	close(s.jobs.searched)
	s.jobs.searched = nil
}

// board returns the jobs, or an error if there is no fleet.
func (s *Server) board(ctx context.Context) (*jobBoard, error) {
	b, searched := s.findBoard()
	if b == nil && searched != nil {
		select {
		case <-searched:
			b = s.jobs.known()
		case <-ctx.Done():
			return nil, fleetError(ctx.Err())
		}
	}
	if b != nil {
		return b, nil
	}
	return nil, &refusal{
		status: http.StatusNotFound, reason: "no fleet runs on this machine",
		hint: `Start "clew worker", or show another one with "clew serve --fleet URL".`,
	}
}

// jobList answers with the job list.
func (s *Server) jobList(w http.ResponseWriter, r *http.Request) error {
	b, err := s.board(r.Context())
	if err != nil {
		return err
	}
	b.Follow(s.ending) //nolint:contextcheck // for all pages
	ctx, done := context.WithTimeout(r.Context(), fleetTimeout)
	defer done()
	if err := b.Wait(ctx); err != nil {
		return fleetError(err)
	}
	found := b.List(fuzzy.Parse(r.URL.Query().Get("filter")))
	return reply(w, struct {
		fragment
		Total int `json:"total"`
	}{fragment{s.drawJobs(found)}, len(found.Rows)})
}

// drawJobs draws a job list.
func (s *Server) drawJobs(found *jobview.Listing) string {
	d := s.newJobDrawer()
	if found.Err != nil {
		d.element("p", "error", "The fleet does not answer, so this may be old: "+found.Err.Error())
	}
	shown := found.Rows[:min(maxJobs, len(found.Rows))]
	for i, r := range shown {
		g := r.Group()
		if i == 0 || g != shown[i-1].Group() {
			d.raw("<section><h2>", jobview.GroupNames[g], ` <span class="n">`, wording.Number(found.Counts[g]), `</span></h2><ul class="jobs">`)
		}
		d.item(r)
		if i == len(shown)-1 || g != shown[i+1].Group() {
			d.raw("</ul></section>")
		}
	}
	if more := len(found.Rows) - len(shown); more > 0 {
		d.element("p", "missing", fmt.Sprintf("%s more; filter them, or run: clew jobs --all%s", wording.Number(more), s.opts.FleetFlags))
	}
	if found.IsCut {
		d.element("p", "missing", "Older jobs are not in this list: clew jobs --all"+s.opts.FleetFlags)
	}
	return d.String()
}

// A jobDrawer writes jobs.
type jobDrawer struct {
	markup
	s      *Server
	at     time.Time // now, in the zone of pages
	around jobview.Surroundings
}

func (s *Server) newJobDrawer() *jobDrawer {
	at := s.opts.Now().In(s.opts.Zone)
	return &jobDrawer{s: s, at: at, around: jobview.Surroundings{At: at, Flags: s.opts.FleetFlags}}
}

// item writes a job of the list.
func (d *jobDrawer) item(j jobview.Row) {
	d.raw("<li><a")
	d.attr("href", "/jobs/"+url.PathEscape(j.ID))
	d.raw(">")
	d.text(jobview.Title(j.Summary))
	d.raw(`</a><p class="facts">`)
	d.state(j.State)
	d.reasons(j, "")
	since := jobview.Since(j.Summary)
	d.time(since, wording.Age(since, d.at))
	d.span("path", j.Worker)
	d.span("cost", wording.Dollars(j.CostUSD).Note())
	d.span("note", j.ID)
	d.raw("</p></li>")
}

func (d *jobDrawer) state(s fleet.State) { d.span("state "+styleClasses[jobview.Style(s)], string(s)) }

// reasons writes the reason for a job's state, with the details in its record.
func (d *jobDrawer) reasons(j jobview.Row, said string) {
	class := "reason"
	if j.Asks {
		class += " waits"
	}
	d.span(class, render.Join(d.around.Reason(j), said))
}

// clock is a time of today or of another day.
func (d *jobDrawer) clock(at time.Time) string { return wording.Clock(at, d.at) }
