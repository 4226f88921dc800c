package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Store keeps transcripts outside of the agent's own folder, such as in a database, so that a session can be resumed
// on another machine: see [Options.Store]. The packages sessions, sessions/sqlitestore and sessions/natsstore have stores,
// and sessions/storetest tests one. Its methods may be called from several goroutines.
type Store interface {
	// Append adds entries, each a JSON object, to the end of a transcript, in order and all or none. No entries is no
	// change. An entry whose member "uuid" is that of one that is there already is left out, so that an append can be
	// repeated.
	Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	// Load returns the entries of a transcript in order, and none for one that is not there. An entry is the same JSON
	// value that was appended, not necessarily the same text. An error is the last pair.
	Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	// Sessions returns the sessions of a project by ID, with the time of the last append to each one's own transcript.
	Sessions(ctx context.Context, project string) (map[string]time.Time, error)
	// Subpaths returns the subpaths of the transcripts below a session's own, sorted. The key's own subpath is ignored.
	Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error)
}

const defaultStoreTimeout = time.Minute

func (o *Options) storeTimeout() time.Duration { return cmp.Or(o.StoreTimeout, defaultStoreTimeout) }

// errStoreReturn is the error of a store that ended its goroutine, as the Fatal of a test does.
var errStoreReturn = errors.New("it did not return")

// callStore calls a method of a store and waits until it returns or ctx ends. A store may not look at its context, so
// it runs on a goroutine of its own: running is closed when it has returned, and what it changes must not be looked at
// before. A panic is an error.
func callStore(ctx context.Context, method func(context.Context) error) (running <-chan struct{}, err error) {
	done := make(chan struct{})
	outcome := errStoreReturn
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				outcome = fmt.Errorf("panic: %v", p)
			}
		}()
		outcome = method(ctx)
	}()
	select {
	case <-done:
		return done, outcome
	case <-ctx.Done():
		return done, context.Cause(ctx)
	}
}

// withStoreTimeout bounds a call of a store.
func withStoreTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("no answer within %v: %w", limit, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, limit, late)
}

func (o *Options) checkStore() error {
	if o.Store == nil {
		return o.checkNoStore()
	}
	switch {
	case o.Ephemeral:
		return badOption("Store", "not together with Ephemeral")
	case o.EnableFileCheckpointing:
		return badOption("Store", "not together with EnableFileCheckpointing: it does not keep the files")
	case o.Resume != "" && !uuidPattern.MatchString(o.Resume):
		return badOption("Resume", "with a Store it must be the ID of a session, not %q", o.Resume)
	case (o.Resume != "" || o.Continue) && !o.onThisMachine():
		return badOption("Store", "can't resume with this Transport: the agent may not see a folder of this machine")
	case o.StoreProject == "":
		return nil
	}
	key := wire.SessionKey{Project: o.StoreProject, SessionID: "any"}
	if key.Check() != nil {
		return badOption("StoreProject", "%q can't be the name of a folder", o.StoreProject)
	}
	return nil
}

func (o *Options) checkNoStore() error {
	switch {
	case o.StoreProject != "":
		return badOption("StoreProject", "needs Store")
	case o.StoreEager:
		return badOption("StoreEager", "needs Store")
	case o.StoreTimeout != 0:
		return badOption("StoreTimeout", "needs Store")
	}
	return nil
}

// onThisMachine reports whether the agent certainly sees the same files as this process.
func (o *Options) onThisMachine() bool {
	local, ok := o.Transport.(*ProcessTransport)
	return o.Transport == nil || ok && local.Wrap == nil
}

// A configPlace is where an agent on this machine has its settings.
type configPlace struct {
	env   environment // of the agent
	dir   string      // the folder of its settings
	home  string      // the folder that .claude.json lies in
	named bool        // whether a variable names them
}

func (o *Options) configPlace() configPlace {
	p := configPlace{env: environment{fold: runtime.GOOS == "windows", entries: agentEnv(o, os.Environ())}}
	if dir := p.env.value("CLAUDE_CONFIG_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(o.workingFolder(), dir)
		}
		p.dir, p.home, p.named = dir, dir, true
		return p
	}
	p.home = homeFolder(&p.env)
	p.dir = filepath.Join(p.home, ".claude")
	return p
}

// homeFolder returns the home of the user, as the agent sees it.
func homeFolder(env *environment) string {
	variable := "HOME"
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	if home := env.value(variable); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// workingFolder returns the real path of the agent's working folder.
func (o *Options) workingFolder() string {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o.Dir
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// projectNamePattern is what CLAUDE_CODE_PROJECT_DIR_NAME must look like.
var projectNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// project returns the name that the agent gives to its working folder, with the settings where they are or, if named is
// true, in a folder that a variable names.
func (p *configPlace) project(dir string, named bool) string {
	if name := p.env.value("CLAUDE_CODE_PROJECT_DIR_NAME"); named && projectNamePattern.MatchString(name) {
		return name
	}
	return sessionfile.ProjectName(dir)
}
