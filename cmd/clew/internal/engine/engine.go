// Package engine opens the fleets and the archives that URLs, files and directories name. The scheme of
// a name chooses the implementation; commands know only the interfaces.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/sessions"
)

// An Engine keeps the jobs of a fleet and the transcripts of their agents.
type Engine interface {
	fleet.Engine
	io.Closer
	// Store returns the transcripts of jobs.
	Store(ctx context.Context) (sessions.Store, error)
	// Doctor checks the servers. The error means that they do not answer.
	Doctor(ctx context.Context) ([]Finding, error)
	// URL returns the address of the connected server, or "" while there is none.
	URL() string
	// Serves reports whether the server runs in this process.
	Serves() bool
	// Private reports whether only this user can submit jobs.
	Private() bool
	// Remote returns the URL by which another machine reaches the server at its address to listen,
	// where this machine has the name host. It is "" if the address has no port.
	Remote(listen, host string) string
}

// A Finding is the state of one property of the servers.
type Finding struct {
	Subject string `json:"subject"` // such as "sync" or the name of a stream
	OK      bool   `json:"ok"`
	Text    string `json:"text"`          // a sentence
	Fix     string `json:"fix,omitempty"` // a remedy, unless it is OK
}

// A Place locates a fleet.
type Place struct {
	// Name is a URL, several separated by commas, or a directory of this machine.
	Name string
	// Credentials is a file with the user who connects to the URL, or "".
	Credentials string
}

// A Server has the settings of a server that [Serve] starts.
type Server struct {
	Listen           string // an address, or "" for a port of the loopback interface
	Certificate, Key string // files, or ""
	Users            string // a file, or ""
}

// schemes maps the schemes of URLs to the functions that connect to them.
var schemes = map[string]func(context.Context, Place) (Engine, error){
	"nats": connectNATS, "tls": connectNATS, "ws": connectNATS, "wss": connectNATS,
}

// directories opens the fleets in directories of this machine.
var directories = struct {
	runs    func(ctx context.Context, dir string) bool
	connect func(ctx context.Context, dir string) (Engine, error)
	serve   func(ctx context.Context, dir string, s Server) (Engine, error)
}{runsNATS, connectDirNATS, serveNATS}

// names are the prefixes of the errors of engines.
var names = []string{"natsfleet: ", "natsstore: "}

// TrimName returns the text of an error without the name of an engine at its start.
func TrimName(text string) string {
	for _, name := range names {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// IsURL reports whether a place is a URL, not a directory.
func (p Place) IsURL() bool { return strings.Contains(p.Name, "://") }

// Runs reports whether a server runs in the directory of a place, as far as that is known.
func (p Place) Runs(ctx context.Context) bool { return directories.runs(ctx, p.Name) }

// ErrNotRunning is the error of a directory in which no server runs.
var ErrNotRunning = errors.New("no server runs there")

// schemePattern matches the scheme of a URL.
var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// Connect connects to a fleet. If none runs in a directory, the error wraps [ErrNotRunning]. The
// caller has to close the engine.
func (p Place) Connect(ctx context.Context) (Engine, error) {
	if !p.IsURL() {
		return directories.connect(ctx, p.Name)
	}
	scheme, _, _ := strings.Cut(p.Name, "://")
	connect := schemes[strings.ToLower(scheme)]
	if !schemePattern.MatchString(scheme) {
		return nil, invalidURL()
	}
	if connect == nil {
		return nil, clikit.UsageError(fmt.Sprintf("--fleet has the unknown scheme %q", clikit.Clip(scheme)),
			`Give a URL such as "tls://fleet.example:4222?sync=always".`)
	}
	return connect(ctx, p)
}

// Serve connects to a fleet and, in a directory without a server, starts one. The caller has to
// close the engine.
func (p Place) Serve(ctx context.Context, s Server) (Engine, error) {
	if p.IsURL() {
		return p.Connect(ctx)
	}
	return directories.serve(ctx, p.Name, s)
}
