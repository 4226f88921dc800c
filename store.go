package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/internal/tempconfig"
	"github.com/clewdev/clew/wire"
)

// A Store keeps transcripts outside the agent's own directory, such as in a database, so that a
// session can be resumed on another machine: see [StoreOptions.Store]. The packages sessions,
// sqlite/sqlitestore and nats/natsstore have stores, and sessions/storetest tests an
// implementation. Its methods may be called from several goroutines.
type Store interface {
	// Append adds entries, each a JSON object, to the end of a transcript: all of them, in order,
	// or none. An empty list changes nothing. An entry with the same "uuid" as an existing one is
	// left out, so that an append can be repeated.
	Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	// Load returns the entries of a transcript in order. A transcript that does not exist has none.
	// Entries have the same JSON value as those appended, but not necessarily the same text. An
	// error is the last pair.
	Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	// Sessions returns the IDs of the sessions of a project, each with the time of the last append
	// to its main transcript.
	Sessions(ctx context.Context, project string) (map[string]time.Time, error)
	// Subpaths returns the sorted subpaths of the other transcripts of a session, such as
	// subagents. The subpath of the key is ignored.
	Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error)
}

const defaultStoreTimeout = time.Minute

func (o *Options) storeTimeout() time.Duration { return cmp.Or(o.Store.Timeout, defaultStoreTimeout) }

// errStoreReturn is the error of a store that ended its goroutine, as t.Fatal does.
var errStoreReturn = errors.New("the method did not return")

// callStore calls a method of a store and waits until it returns or ctx ends. A store may ignore
// its context, so the method runs in a separate goroutine. running is closed when it returns:
// before that, the caller must not use what the method changes. A panic becomes an error.
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
		return done, control.ContextError(ctx)
	}
}

// withStoreTimeout bounds a call of a store.
func withStoreTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("no answer within %v: %w", limit, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, limit, late)
}

func (o *Options) checkStore() error {
	if o.Store.Store == nil {
		return o.checkNoStore()
	}
	switch {
	case o.Session.Ephemeral:
		return badOption("Store.Store", "can't be combined with Session.Ephemeral")
	case o.EnableFileCheckpointing:
		return badOption("Store.Store", "can't be combined with EnableFileCheckpointing: a store does not keep the files")
	case o.Session.Resume != "" && !newid.IsUUID(o.Session.Resume):
		return badOption("Session.Resume", "with Store.Store it must be the ID of a session, not %q", o.Session.Resume)
	case (o.Session.Resume != "" || o.Session.Continue) && !o.onThisMachine():
		return badOption("Store.Store", "can't resume with this Transport: the agent may not see the directories of this machine")
	case o.Store.Project == "":
		return nil
	}
	key := wire.SessionKey{Project: o.Store.Project, SessionID: "any"}
	if key.Check() != nil {
		return badOption("Store.Project", "%q can't be the name of a directory", o.Store.Project)
	}
	return nil
}

func (o *Options) checkNoStore() error {
	switch {
	case o.Store.Project != "":
		return badOption("Store.Project", "needs Store.Store")
	case o.Store.Eager:
		return badOption("Store.Eager", "needs Store.Store")
	case o.Store.Timeout != 0:
		return badOption("Store.Timeout", "needs Store.Store")
	}
	return nil
}

// onThisMachine reports whether the agent certainly sees the same files as this process.
func (o *Options) onThisMachine() bool {
	local, ok := o.Transport.(*ProcessTransport)
	return o.Transport == nil || ok && local.Wrap == nil
}

// restoreSession copies the session to be resumed from the store to a new directory for the agent's
// settings, and changes the options so that the agent uses that. The caller must remove the
// directory. It is nil if there is nothing to resume from a store: then the agent must have the
// session itself.
func (o *Options) restoreSession(ctx context.Context) (*tempconfig.Folder, error) {
	if o.Store.Store == nil || o.Session.Resume == "" && !o.Session.Continue {
		return nil, nil
	}
	folder, err := tempconfig.New()
	if err != nil {
		return nil, resumeError(err)
	}
	id, err := o.restoreInto(ctx, folder)
	if err != nil || id == "" {
		o.removeConfig(folder)
		return nil, err
	}
	o.Session.Resume, o.Session.Continue = id, false
	o.Env = append(o.Env, "CLAUDE_CONFIG_DIR="+folder.Path())
	return folder, nil
}

// checkContinue returns an error if there is no session to continue. The agent would silently start
// a new one. Only a directory on this machine can be checked. A long path has a name that depends
// on the agent's version, and a worktree of Git may have its sessions elsewhere: neither is.
func (o *Options) checkContinue() error {
	if !o.Session.Continue || !o.startsProcess() {
		return nil
	}
	config, dir := o.configDirs(), o.workingDir()
	project := config.project(dir, config.fromEnv)
	if info, err := os.Lstat(filepath.Join(dir, ".git")); sessionfile.CutName(project) || err == nil && !info.IsDir() {
		return nil
	}
	files, err := os.ReadDir(filepath.Join(config.settings, sessionfile.Folder, project))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // the agent may know better
	}
	if !slices.ContainsFunc(files, func(f fs.DirEntry) bool { return filepath.Ext(f.Name()) == ".jsonl" }) {
		return badOption("Session.Continue", "%s has no session yet", dir)
	}
	return nil
}

// restoreInto copies a session to a directory, and returns its ID, or "" if the store does not have
// it.
func (o *Options) restoreInto(ctx context.Context, folder *tempconfig.Folder) (id string, err error) {
	config, dir := o.configDirs(), o.workingDir()
	r := &restorer{
		store: o.Store.Store, timeout: o.storeTimeout(), log: o.logger(), folder: folder,
		project: cmp.Or(o.Store.Project, config.project(dir, config.fromEnv)),
		name:    config.project(dir, true),
	}
	if o.Session.Continue {
		id, err = r.restoreNewest(ctx)
	} else {
		id, err = r.restore(ctx, o.Session.Resume)
	}
	if err != nil {
		return "", err
	}
	if id == "" {
		r.log.Warn("the session to resume is not in the store", "project", r.project, "resume", o.Session.Resume)
		return "", nil
	}
	if r.name != r.project {
		o.Store.Project = r.project // what the agent writes now belongs there as well
	}
	source := tempconfig.Source{Dir: config.settings, HomeDir: config.home}
	if config.keychain() {
		source.Credentials = tempconfig.Keychain
	}
	if err := folder.CopySettings(ctx, source); err != nil {
		return "", resumeError(err)
	}
	return id, nil
}

// keychain reports whether the agent would look for its credentials in the keychain of macOS.
func (p *configDirs) keychain() bool {
	return runtime.GOOS == "darwin" && !p.fromEnv &&
		p.env.value("ANTHROPIC_API_KEY") == "" && p.env.value("CLAUDE_CODE_OAUTH_TOKEN") == ""
}

func resumeError(err error) error { return fmt.Errorf("clew: resuming from the store: %w", err) }

// removeConfig removes a directory of settings, which may be nil.
func (o *Options) removeConfig(folder *tempconfig.Folder) {
	if err := folder.Remove(); err != nil {
		o.logger().Warn("a directory with credentials could not be removed", "directory", folder.Path(), "error", err)
	}
}

// A restorer copies a session from a store to a directory.
type restorer struct {
	store   Store
	timeout time.Duration
	log     *slog.Logger
	folder  *tempconfig.Folder
	project string // the project of the session in the store
	name    string // the name of that project in the directory
}

// call calls a method of the store.
func (r *restorer) call(ctx context.Context, e *StoreError, method func(context.Context) error) error {
	ctx, cancel := withStoreTimeout(ctx, r.timeout)
	defer cancel()
	if _, e.Err = callStore(ctx, method); e.Err != nil {
		return e
	}
	return nil
}

// restoreNewest restores the newest session of the project, and returns its ID, or "" if there is
// none. It passes over transcripts of subagents.
func (r *restorer) restoreNewest(ctx context.Context) (id string, err error) {
	var times map[string]time.Time
	failure := &StoreError{Method: "Sessions", Key: wire.SessionKey{Project: r.project}}
	err = r.call(ctx, failure, func(ctx context.Context) error {
		found, err := r.store.Sessions(ctx, r.project)
		times = found
		return err
	})
	if err != nil {
		return "", err
	}
	newestFirst := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(times[b].Compare(times[a]), cmp.Compare(a, b))
	})
	for _, id := range newestFirst {
		if !newid.IsUUID(id) {
			r.log.Warn("the ID of a session in the store is not a UUID", "id", id)
			continue
		}
		key := wire.SessionKey{Project: r.project, SessionID: id}
		n, err := r.load(ctx, key, unlessSidechain)
		if err == nil && n > 0 {
			return id, r.restoreBelow(ctx, key)
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// restore restores a session and returns its ID, or "" if the store does not have it.
func (r *restorer) restore(ctx context.Context, id string) (string, error) {
	key := wire.SessionKey{Project: r.project, SessionID: id}
	n, err := r.load(ctx, key, nil)
	if err != nil || n == 0 {
		return "", err
	}
	return id, r.restoreBelow(ctx, key)
}

// restoreBelow restores the other transcripts of a session.
func (r *restorer) restoreBelow(ctx context.Context, key wire.SessionKey) error {
	var subpaths []string
	err := r.call(ctx, &StoreError{Method: "Subpaths", Key: key}, func(ctx context.Context) error {
		found, err := r.store.Subpaths(ctx, key)
		subpaths = slices.Clone(found)
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(subpaths)
	for _, key.Subpath = range slices.Compact(subpaths) {
		if err := key.Check(); err != nil || key.Subpath == "" {
			r.log.Warn("a transcript in the store has an unsafe path", "subpath", key.Subpath)
			continue
		}
		if _, err := r.load(ctx, key, nil); err != nil {
			return err
		}
	}
	return nil
}

// A filter reports whether a transcript is wanted, given its first entry.
type filter func(first wire.JSON) bool

// load writes a transcript to the directory, and returns how many entries it has. A nil filter
// accepts all transcripts.
func (r *restorer) load(ctx context.Context, key wire.SessionKey, wanted filter) (int, error) {
	there := key
	there.Project = r.name
	n := 0
	err := r.call(ctx, &StoreError{Method: "Load", Key: key}, func(ctx context.Context) error {
		written, err := r.folder.WriteTranscript(there, filtered(ctx, r.store.Load(ctx, key), wanted))
		n = written
		return err
	})
	if err != nil {
		return 0, err // n may still change
	}
	return n, nil
}

// filtered returns the entries of a transcript, or none if the filter does not want it. It ends
// with ctx.
func filtered(ctx context.Context, entries iter.Seq2[wire.JSON, error], wanted filter) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		first := true
		for entry, err := range entries {
			if ctx.Err() != nil {
				err = control.ContextError(ctx)
			}
			if first && err == nil && wanted != nil && !wanted(entry) {
				return
			}
			first = false
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

// unlessSidechain accepts all transcripts except subagent transcripts, which older agents kept in
// the same directory.
func unlessSidechain(first wire.JSON) bool {
	var head struct {
		IsSidechain bool `json:"isSidechain"`
	}
	return first.Decode(&head) != nil || !head.IsSidechain
}
