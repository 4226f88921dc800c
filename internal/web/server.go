// Package web is the web viewer: it shows the sessions of the agent in a browser, as they grow, and
// drives agents if it was started for that.
package web

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/clewdev/clew/internal/drive"
	"github.com/clewdev/clew/internal/tui"
	"github.com/clewdev/clew/internal/viewer"
)

// Options say what a server shows and allows.
type Options struct {
	// Source has the sessions. The caller closes it, after the server.
	Source *viewer.Source
	// Drive has the agents that pages may drive; nil means that they may only read.
	Drive *drive.Agents
	// Keys are the keys of the pages; nil means those of tui.Bindings.
	Keys *tui.Keymap
	// Zone is where days begin and end; nil means time.Local.
	Zone *time.Location
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Version is that of the program.
	Version string
	// Audit gets a line for each request that answers a question or drives an agent; nil means that
	// nothing is written.
	Audit io.Writer
}

// A Server answers the requests of the pages. Its methods may be called by several goroutines.
type Server struct {
	opts   Options
	assets *assets
	mux    *http.ServeMux
}

// New returns a server. It reads nothing before the first request. The caller has to close it.
func New(opts Options) (*Server, error) {
	if opts.Source == nil {
		return nil, errors.New("web: no source of sessions")
	}
	if opts.Zone == nil {
		opts.Zone = time.Local
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Audit == nil {
		opts.Audit = io.Discard
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, assets: files, mux: http.NewServeMux()}
	for i := range routes {
		s.mux.HandleFunc(routes[i].method+" "+routes[i].path, s.serve(&routes[i]))
	}
	return s, nil
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler { return s.mux }

// Close ends the streams and everything that the server follows.
func (s *Server) Close() error { return nil }
