// Package web is the web viewer: it shows the sessions of the agent in a browser, as they grow, and
// drives agents if it was started for that.
package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/keymap"

	"github.com/clewdev/clew/internal/drive"
	"github.com/clewdev/clew/internal/view"
)

// Options say what a server shows and allows.
type Options struct {
	// Source has the sessions. The caller closes it, after the server.
	Source *view.Source
	// Drive has the agents that pages may drive; nil means that they may only read.
	Drive *drive.Agents
	// Fleet has the jobs that pages show; nil means none. With Drive, pages also answer their questions,
	// and cancel, resume and retry them.
	Fleet Fleet
	// FindFleet is called without Fleet, one call at a time, when a page is opened; nil means that there
	// are none. It returns nil if there is no fleet yet, or the context ends.
	FindFleet func(ctx context.Context) Fleet
	// FleetFlags are what the commands that pages show need to find the fleet, such as " --fleet DIR".
	FleetFlags string
	// Keys are the keys of the pages; nil means those of keymap.Bindings.
	Keys *keymap.Map
	// Zone is where days begin and end; nil means time.Local.
	Zone *time.Location
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Version is that of the program.
	Version string
	// Origins are those that pages have, such as http://127.0.0.1:2539. Requests to other hosts, and
	// from pages of other origins, are refused.
	Origins []string
	// Forwarded means that other programs forward requests to the server: the names of this machine
	// are then known with every port.
	Forwarded bool
	// Rotated is called with each new token but the first; nil means that nothing is called.
	Rotated func(token string)
	// Held is called with the size of the transcripts that are kept in memory, in bytes, when it has
	// changed; nil means that nothing is called. It must not block.
	Held func(bytes int64)
	// Audit gets a line for each request that answers a question or drives an agent; nil means that
	// nothing is written.
	Audit io.Writer
}

// A Server answers the requests of the pages. Its methods may be called by several goroutines.
type Server struct {
	opts    Options
	origins *origins
	access  *access
	assets  *assets
	mux     *http.ServeMux
	listing *listing
	views   *views
	used    usageCache
	jobs    jobBoards

	feed     *feed
	followed *followed

	connections connections

	auditing sync.Mutex // one line at a time

	ending context.Context // done when the server is closed
	end    context.CancelFunc
}

// New returns a server. It reads nothing before the first request. The caller has to close it.
func New(opts Options) (*Server, error) {
	if opts.Source == nil {
		return nil, errors.New("web: no source of sessions")
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	known, err := newOrigins(opts.Origins, opts.Forwarded)
	if err != nil {
		return nil, err
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, origins: known, access: newAccess(), assets: files, mux: http.NewServeMux(), feed: newFeed()}
	s.followed = newFollowed(s)
	s.ending, s.end = context.WithCancel(context.Background())
	s.listing = newListing(s.ending, opts.Source, opts.Now)
	s.views = newViews(s.ending, &opts)
	for i := range routes {
		s.mux.HandleFunc(routes[i].path, s.serve(&routes[i])) // the method is checked after the origin
	}
	s.mux.HandleFunc(unknown.path, s.serve(&unknown))
	if opts.Fleet != nil {
		s.jobs.board = s.newJobBoard(opts.Fleet)
	}
	if opts.Drive != nil {
		go s.tellOfAgents(s.ending)
	}
	return s, nil
}

// complete sets the defaults.
func (o *Options) complete() (err error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Audit == nil {
		o.Audit = io.Discard
	}
	if o.Keys == nil {
		o.Keys, err = keymap.New(nil)
	}
	return err
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if !isClean(r.URL.Path) { // ServeMux would redirect it
			s.serve(&unknown)(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// Close ends the streams and everything that the server follows.
func (s *Server) Close() error {
	s.end()
	s.followed.close()
	s.listing.close()
	s.views.close()
	return nil
}
