// Package web is the web viewer, a server for pages that show sessions as they grow. It drives
// agents if it was started for that. The package uses net/http, and its pages are plain ES modules
// (the directory assets), which are embedded and need no build. docs/security.md has the rules
// about access, and their tests.
//
// # Pages
//
// The server renders, and the page shows. Rows, panels, lists and plots are HTML fragments in JSON,
// written by the renderer of the exported page, from the same rows, words and figures as the
// terminal. All pages are one shell without data, and their state is in the URL. Scripts and styles
// are served without their comments, and have at most 60 KiB compressed, which a test checks.
//
// One table, routes, has every request with its requirements and the maximum length of its body.
// Guards run from it before every handler, and a test that has a request for each route fails when
// one is missing. A handler returns an error, which becomes JSON with a reason and a hint. [Listen]
// decides where a server listens, [New] what it shows, and [Server.Serve] runs it. Nothing is read
// before the first request. A file for the owner lets "clew serve --link" and "--rotate" find the
// server.
//
// The address of a session is its ID. If several projects have a session with the same ID, the
// project follows after an @, for each of them, so that an address stays valid when another session
// becomes the newest.
//
// Find in a session runs on the server, since most rows are not in the document. Panels and dialogs
// are there as a whole, and the browser's own find works in them. An outline is sent in parts of
// 1,000 lines.
//
// # Changes
//
// One stream of server-sent events, over fetch, reports changes to a browser. Its tabs share it,
// since HTTP/1.1 allows six connections; without a secure context each tab has its own. It carries
// no content: "rows from 12 on, there are 40, revision 7", and the page asks for these. A ring of
// 1,024 events with IDs lets a page continue after a break; a page that is too late, or that knows
// another server, gets reload. Text that is being written is not in the ring: its last state is
// kept for each session. Streams read the ring at their own pace: nothing waits for a slow one, and
// the events that it missed are merged.
//
// Sessions are followed while a stream watches them and for ten seconds after it, so that a reload
// costs nothing. A new stream gets the revision of each session that it watches, and so misses
// nothing between its first request and the stream.
//
// The pages about jobs share one [jobview.Board], which follows the fleet from the first request
// on. Pages get an event at most every 250 ms, and ask for the list. A job question needs no
// digest, since its record never changes. The file that it would change is on another machine, so
// its input is shown.
//
// # Compression
//
// Responses are not compressed. They are sent over loopback: for 105 KB of rows, gzip at its
// fastest level took 0.69 ms, and the transfer 0.05 ms (the best of 30 runs on a busy machine).
// "ssh -C" and proxies compress for other machines. Without compression, the length of a body that
// has a secret beside other people's text gives nothing away.
package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
)

// Options configures a server.
type Options struct {
	// Source has the sessions. The caller closes it, after the server.
	Source *view.Source
	// Drive has the agents that pages may drive; nil means that they may only read.
	Drive *drive.Agents
	// Fleet has the jobs that pages show; nil means none. With Drive, pages also answer their questions,
	// and cancel, resume and retry them.
	Fleet Fleet
	// FindFleet is called without Fleet, one call at a time, when a page is opened; nil means that
	// there is no fleet. It returns nil if there is no fleet yet, or the context ends.
	FindFleet func(ctx context.Context) Fleet
	// FleetFlags are the flags with which displayed commands find the fleet, such as " --fleet
	// DIR".
	FleetFlags string
	// Machine is the name of this machine in archives.
	Machine string
	// Keys are the keys of the pages; nil means keymap.Bindings.
	Keys *keymap.Map
	// Zone determines the boundaries of days; nil means time.Local.
	Zone *time.Location
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Version is the program's version.
	Version string
	// Origins are the origins of the pages, such as http://127.0.0.1:2539. Requests to other hosts,
	// and from pages of other origins, are refused.
	Origins []string
	// Forwarded means that other programs forward requests to the server: the names of this machine
	// are then known with every port.
	Forwarded bool
	// Rotated is called with each new token but the first; nil means that nothing is called.
	Rotated func(token string)
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
	s.listing.Here = opts.Machine
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
	s.listing.Close()
	return nil
}
