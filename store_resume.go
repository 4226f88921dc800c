package clew

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/tempconfig"
	"github.com/clewdev/clew/wire"
)

// restoreSession copies the session to be resumed from the store to a new directory for the agent's
// settings, and changes the options so that the agent uses that. The caller must remove the
// directory. It is nil if there is nothing to resume from a store: then the agent must have the
// session itself.
func (o *Options) restoreSession(ctx context.Context) (*tempconfig.Folder, error) {
	if o.Store == nil || o.Resume == "" && !o.Continue {
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
	o.Resume, o.Continue = id, false
	o.Env = append(o.Env, "CLAUDE_CONFIG_DIR="+folder.Path())
	return folder, nil
}

// restoreInto copies a session to a directory, and returns its ID, or "" if the store does not have
// it.
func (o *Options) restoreInto(ctx context.Context, folder *tempconfig.Folder) (id string, err error) {
	config, dir := o.configDirs(), o.workingDir()
	r := &restorer{
		store: o.Store, timeout: o.storeTimeout(), log: o.logger(), folder: folder,
		project: cmp.Or(o.StoreProject, config.project(dir, config.fromEnv)),
		name:    config.project(dir, true),
	}
	if o.Continue {
		id, err = r.restoreNewest(ctx)
	} else {
		id, err = r.restore(ctx, o.Resume)
	}
	if err != nil {
		return "", err
	}
	if id == "" {
		r.log.Warn("the session to resume is not in the store", "project", r.project, "resume", o.Resume)
		return "", nil
	}
	if r.name != r.project {
		o.StoreProject = r.project // what the agent writes now belongs there as well
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
		if !uuidPattern.MatchString(id) {
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
				err = context.Cause(ctx)
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

// unlessSidechain accepts all transcripts except those of subagents, which older agents kept in the
// same directory.
func unlessSidechain(first wire.JSON) bool {
	var head struct {
		IsSidechain bool `json:"isSidechain"`
	}
	return first.Decode(&head) != nil || !head.IsSidechain
}
